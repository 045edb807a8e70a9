/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Segments of speech, and calls' ways through them.
 */
#include "campaign/segments.h"

#include "base/divisor.h"
#include "campaign/random.h"

#define SEGMENT_MIN CR_SEC
#define SEGMENT_MAX (10 * CR_SEC)
#define POOL_BYTES (16u << 20) /* PCM needs no codec time: as many as fit */
#define CODED_SEGMENTS 64u
#define MIN_SEGMENTS 16u
#define MAX_SEGMENTS 256u

struct segments segments_of(cr_ns ptime, cr_ns duration, size_t bytes,
			    bool coded)
{
	cr_ns time = cr_ns_max(cr_ns_min(duration, SEGMENT_MAX), SEGMENT_MIN);
	struct segments s = { .frames = (unsigned)(time / ptime) };

	s.count = (unsigned)(POOL_BYTES / (bytes * s.frames));
	if (s.count < MIN_SEGMENTS)
		s.count = MIN_SEGMENTS;
	if (s.count > MAX_SEGMENTS)
		s.count = MAX_SEGMENTS;
	if (coded && s.count > CODED_SEGMENTS)
		s.count = CODED_SEGMENTS;
	return s;
}

void segment_way_init(struct segment_way *w, struct segments in, uint64_t seed)
{
	struct random r = random_fork(seed, 3);

	w->in = in;
	w->first = random_next(&r) % in.count;
	w->offset = random_next(&r) % in.frames;
	/* a step without common divisor visits every segment */
	do
		w->step = 1 + random_next(&r) % (in.count - 1);
	while (common_divisor(w->step, in.count) != 1);
}

size_t segment_at(const struct segment_way *w, uint64_t frame)
{
	uint64_t pos = w->offset + frame;
	uint64_t segment =
		(w->first + pos / w->in.frames * w->step) % w->in.count;

	return (size_t)(segment * w->in.frames + pos % w->in.frames);
}
