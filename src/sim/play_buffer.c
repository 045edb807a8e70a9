/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A call's jitter buffer: frames become RTP packets of a clock of 48 kHz, whose
 * payload is what the simulator wants back.
 */
#include "sim/play_buffer.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "rtp/jitter.h"

#define CLOCK 48000

/* What a packet carries. */
struct load {
	uint64_t frame;
	cr_ns arrival;
	cr_ns received; /* it waits from here on */
};

struct play_buffer {
	struct jitter *j;
	cr_ns ptime;
	uint64_t next; /* number of the frame behind the last one */
	cr_ns now;     /* of the latest put */
	play_buffer_gone *gone;
	void *arg;
};

static struct load load_from(const uint8_t *payload)
{
	struct load l;

	memcpy(&l, payload, sizeof(l));
	return l;
}

static void drop_unplayed(void *arg, const struct jitter_output *packet)
{
	const struct play_buffer *b = arg;
	struct load l = load_from(packet->payload);

	b->gone(b->arg, &(struct play_frame){ .frame = l.frame,
					      .arrival = l.arrival,
					      .waited = b->now - l.received });
}

int play_buffer_open(struct play_buffer **out, const struct campaign_flow *f,
		     play_buffer_gone *gone, void *arg)
{
	const struct campaign_buffer *c = &f->buffer;
	struct jitter_cfg cfg = {
		.kind = (enum jitter_kind)c->kind,
		.least = c->least,
		.most = c->most,
		.clock = CLOCK,
		.slots = campaign_buffer_slots(c, f->ptime),
		.slot_bytes = sizeof(struct load),
		.gone = drop_unplayed,
	};
	struct play_buffer *b;
	int rc;

	*out = NULL;
	if (c->kind == JITTER_OFF)
		return 0;
	b = calloc(1, sizeof(*b));
	if (!b)
		return -ENOMEM;
	b->ptime = f->ptime;
	b->gone = gone;
	b->arg = arg;
	cfg.arg = b;
	rc = jitter_open(&b->j, &cfg, NULL);
	CR_ASSERT(rc != -EINVAL); /* the campaign's loader has checked it */
	if (rc)
		free(b);
	else
		*out = b;
	return rc;
}

void play_buffer_close(struct play_buffer *b)
{
	if (!b)
		return;
	jitter_close(b->j);
	free(b);
}

/* Rounded to the clock, without adding up. */
static uint32_t timestamp_of(const struct play_buffer *b, uint64_t frame)
{
	__int128 t = (__int128)frame * b->ptime;

	return (uint32_t)(t * CLOCK / CR_SEC);
}

bool play_buffer_put(struct play_buffer *b, uint64_t frame, uint64_t seq,
		     cr_ns arrival, cr_ns now)
{
	const struct load l = { frame, arrival, now };
	const struct rtp_packet p = {
		.seq = (uint16_t)seq,
		.ts = timestamp_of(b, frame),
		.payload = (const uint8_t *)&l,
		.payload_bytes = sizeof(l),
	};
	const struct jitter_input in = {
		.rtp = &p,
		.arrival = arrival,
		.duration = (uint32_t)(b->ptime * CLOCK / CR_SEC),
	};

	b->now = now;
	return jitter_put(b->j, &in) >= 0;
}

bool play_buffer_next(struct play_buffer *b, cr_ns now, struct play_frame *f)
{
	struct jitter_output out;
	enum jitter_next what;
	struct load l;

	do
		what = jitter_next(b->j, now, &out);
	while (what == JITTER_PAUSE);
	if (what == JITTER_NOTHING)
		return false;
	if (what == JITTER_CONCEAL) {
		*f = (struct play_frame){ .frame = b->next++,
					  .arrival = now,
					  .concealed = true };
		return true;
	}
	l = load_from(out.payload);
	*f = (struct play_frame){ .frame = l.frame,
				  .arrival = l.arrival,
				  .waited = now - l.received };
	b->next = l.frame + 1;
	return true;
}

cr_ns play_buffer_due(const struct play_buffer *b)
{
	return jitter_due(b->j);
}

bool play_buffer_waits(const struct play_buffer *b)
{
	return jitter_waiting(b->j) > 0;
}

void play_buffer_end(struct play_buffer *b)
{
	jitter_reset(b->j);
}
