/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Segments of speech, and calls' ways through them.
 */
#include "campaign/segments.h"

#include "base/divisor.h"
#include "campaign/campaign.h"
#include "campaign/random.h"

#define SEGMENT_MIN CR_SEC
#define SEGMENT_MAX (10 * CR_SEC)
#define POOL_BYTES (16u << 20) /* PCM needs no codec time: as many as fit */
#define CODED_SEGMENTS 64u
#define MIN_SEGMENTS 16u
#define MAX_SEGMENTS 256u

/* PCM without a codec is that of a telephone. */
static unsigned rate_of(const struct campaign_endpoint *in)
{
	return in->codec ? campaign_endpoint_rate(in) : 8000;
}

/* Of a packet, headers aside. */
static size_t packet_bytes(const struct campaign_flow *f)
{
	const struct cr_codec *codec = f->in.codec;

	if (!codec || codec->any_length)
		return (size_t)(f->ptime * rate_of(&f->in) / CR_SEC) * 2;
	return codec->frame_max ? codec->frame_max
				: codec->modes[f->in.cfg.mode].bytes;
}

struct segments segments_of(const struct campaign_flow *f, cr_ns duration)
{
	cr_ns time = cr_ns_max(cr_ns_min(duration, SEGMENT_MAX), SEGMENT_MIN);
	bool coded = f->in.codec && !f->in.codec->any_length;
	struct segments s = { .frames = (unsigned)(time / f->ptime) };
	size_t bytes = packet_bytes(f) * s.frames;

	s.count = (unsigned)(POOL_BYTES / (bytes ? bytes : 1));
	if (s.count < MIN_SEGMENTS)
		s.count = MIN_SEGMENTS;
	if (s.count > MAX_SEGMENTS)
		s.count = MAX_SEGMENTS;
	if (coded && s.count > CODED_SEGMENTS)
		s.count = CODED_SEGMENTS;
	return s;
}

void segment_walk_init(struct segment_walk *w, struct segments in,
		       uint64_t seed)
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

size_t segment_at(const struct segment_walk *w, uint64_t frame)
{
	uint64_t pos = w->offset + frame;
	uint64_t segment =
		(w->first + pos / w->in.frames * w->step) % w->in.count;

	return (size_t)(segment * w->in.frames + pos % w->in.frames);
}
