/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two time stamps per frame, in one array.
 */
#include "feeder/times.h"

#include <stdlib.h>

struct pair {
	cr_ns sent, received; /* 0: never */
};

struct times {
	uint64_t count;
	struct pair *frames;
};

struct times *times_new(uint64_t frames)
{
	struct times *t = malloc(sizeof(*t));

	if (!t)
		return NULL;
	t->count = frames;
	t->frames = calloc(frames ? frames : 1, sizeof(*t->frames));
	if (!t->frames) {
		free(t);
		return NULL;
	}
	return t;
}

void times_free(struct times *t)
{
	if (!t)
		return;
	free(t->frames);
	free(t);
}

void times_sent(struct times *t, uint64_t frame, cr_ns now)
{
	if (frame < t->count)
		t->frames[frame].sent = now;
}

void times_received(struct times *t, uint64_t frame, cr_ns now)
{
	if (frame < t->count)
		t->frames[frame].received = now;
}

void times_write_header(FILE *f, cr_ns realtime_offset)
{
	const struct times_header h = { .magic = TIMES_MAGIC,
					.record_bytes =
						sizeof(struct times_record),
					.realtime_offset = realtime_offset };

	(void)fwrite(&h, sizeof(h), 1, f);
}

void times_write(const struct times *t, FILE *f, uint32_t call,
		 uint32_t ts_first, uint32_t ts_units)
{
	for (uint64_t i = 0; i < t->count; i++) {
		const struct times_record r = {
			.call = call,
			.rtp_ts = ts_first + (uint32_t)i * ts_units,
			.sent = t->frames[i].sent,
			.received = t->frames[i].received,
		};

		if (r.sent)
			(void)fwrite(&r, sizeof(r), 1, f);
	}
}
