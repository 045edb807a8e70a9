/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Packet time.
 */
#include "node/packet_time.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "node/call_request.h"

/* All that is asked for is a multiple of it. */
#define STEP (CR_MS / 2)
/* PCM is encoded by so much at a time where a packet time is asked for: packets
 * of any length are whole frames then, and the encoder stays if that changes.
 */
#define PCM_FRAME (10 * CR_MS)
#define PCM_FRAME_MIN (5 * CR_MS)

static unsigned samples_in(const struct pipeline_side *s, cr_ns t)
{
	return (unsigned)(t * pipeline_side_rate(s) / CR_SEC);
}

static void use(struct pipeline_side *s, cr_ns frame, unsigned frames)
{
	bool told = s->codec->any_length || s->codec->lengths;

	s->cfg.samples = told ? samples_in(s, frame) : 0;
	s->payload.samples = s->cfg.samples;
	s->frames = frames;
}

/* The frames that make a packet of @time; 0: none do. */
static cr_ns frame_for(const struct pipeline_side *s, cr_ns time)
{
	const struct cr_codec *c = s->codec;
	const struct cr_codec_cfg natural = { .sample_rate =
						      s->cfg.sample_rate };
	cr_ns frame = cr_codec_frame_ns(c, &natural);

	if (time < CALL_PTIME_MIN || time > CALL_PTIME_MAX)
		return 0;
	if (c->any_length) {
		if (c->declares_cost) /* one of these is a packet's */
			frame = time;
		else
			frame = time % PCM_FRAME ? PCM_FRAME_MIN : PCM_FRAME;
		if (time % PCM_FRAME_MIN ||
		    samples_in(s, time) > CR_PCM_SAMPLES_MAX)
			return 0;
	} else if (cr_codec_has_length(c, time)) {
		frame = time;
	}
	if (time % frame || time / frame > PAYLOAD_FRAMES_MAX ||
	    (s->payload.kind == PAYLOAD_WHOLE && time != frame))
		return 0;
	return frame;
}

/* "30 or 60" */
static const char *possible(const struct pipeline_side *s, char *buf,
			    size_t size)
{
	cr_ns before = 0;
	size_t n = 0;

	buf[0] = '\0';
	for (cr_ns t = CALL_PTIME_MIN; t <= CALL_PTIME_MAX; t += STEP) {
		if (!frame_for(s, t))
			continue;
		if (before)
			n += (size_t)snprintf(buf + n, size - n, "%s%g",
					      n ? ", " : "",
					      (double)before / 1e6);
		before = t;
	}
	(void)snprintf(buf + n, size - n, "%s%g", n ? " or " : "",
		       (double)before / 1e6);
	return buf;
}

int packet_time_set(struct pipeline_side *s, cr_ns time, const char *path,
		    struct cr_err *e)
{
	cr_ns frame = frame_for(s, time);
	char list[320];

	if (!frame)
		return cr_fail(
			e, -EINVAL, "%sptime: packets of %s last %s ms, not %g",
			path, s->codec->name, possible(s, list, sizeof(list)),
			(double)time / 1e6);
	use(s, frame, (unsigned)(time / frame));
	return 0;
}

void packet_time_follow(struct pipeline_side *s, cr_ns time)
{
	const struct cr_codec *c = s->codec;
	const struct cr_codec_cfg natural = { .sample_rate =
						      s->cfg.sample_rate };

	if (c->any_length || (c->lengths && cr_codec_has_length(c, time)))
		use(s, time, 1);
	else
		use(s, cr_codec_frame_ns(c, &natural), 1);
}
