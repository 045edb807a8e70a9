/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Payloads that need not be understood: frames of one length, one behind the
 * other, of which the last may be a SID of another length (GSM and G.729: RFC
 * 3551, 4.5.8 and 4.5.6); and packets that are one frame each (Opus: RFC 7587,
 * 4.2). What the octets mean is the decoder's affair.
 */
#include <errno.h>
#include <string.h>

#include "media/payload_format.h"

static int frames_open(struct payload_iter *it)
{
	size_t frame = it->cfg->frame_bytes, rest = it->n % frame;
	size_t n = it->n / frame;

	if (rest && rest != it->cfg->sid_bytes)
		return PAYLOAD_SHORT;
	n += rest != 0;
	if (n > PAYLOAD_FRAMES_MAX)
		return PAYLOAD_TOO_MANY;
	it->info.nframes = (unsigned)n;
	return PAYLOAD_OK;
}

static void copy(struct payload_iter *it, struct cr_frame *frame, size_t bytes)
{
	frame->mode = 0;
	frame->bytes = (uint16_t)bytes;
	memcpy(frame->data, it->p + it->at, bytes);
	it->at += bytes;
}

static void frames_next(struct payload_iter *it, struct cr_frame *frame)
{
	bool sid = it->n - it->at < it->cfg->frame_bytes;

	frame->kind = sid ? CR_FRAME_SID : CR_FRAME_SPEECH;
	copy(it, frame, sid ? it->cfg->sid_bytes : it->cfg->frame_bytes);
}

static size_t most_bytes(const struct payload_cfg *cfg)
{
	return cfg->frame_bytes;
}

/* May @f, the last one or another, travel in this format? */
static bool fits(const struct payload_cfg *cfg, const struct cr_frame *f,
		 bool last)
{
	if (f->kind == CR_FRAME_SID)
		return last && f->bytes && f->bytes == cfg->sid_bytes;
	return f->kind == CR_FRAME_SPEECH && f->bytes == cfg->frame_bytes;
}

static bool any(const struct cr_frame *f)
{
	(void)f;
	return true;
}

static int frames_pack(const struct payload_cfg *cfg, uint8_t cmr,
		       const struct cr_frame *frames, unsigned n, uint8_t *buf,
		       size_t cap)
{
	(void)cmr;
	while (n && frames[n - 1].kind == CR_FRAME_NO_DATA)
		n--;
	for (unsigned i = 0; i < n; i++)
		if (!fits(cfg, &frames[i], i == n - 1))
			return -EINVAL;
	return payload_concat(frames, n, buf, cap, any);
}

static int whole_open(struct payload_iter *it)
{
	if (it->n > it->cfg->frame_bytes)
		return PAYLOAD_TOO_LONG;
	it->info.nframes = 1;
	return PAYLOAD_OK;
}

static void whole_next(struct payload_iter *it, struct cr_frame *frame)
{
	frame->kind = CR_FRAME_SPEECH;
	copy(it, frame, it->n);
}

static int whole_pack(const struct payload_cfg *cfg, uint8_t cmr,
		      const struct cr_frame *frames, unsigned n, uint8_t *buf,
		      size_t cap)
{
	(void)cmr;
	while (n && frames[n - 1].kind == CR_FRAME_NO_DATA)
		n--;
	if (n > 1 || (n && (frames->kind == CR_FRAME_BAD || !frames->bytes ||
			    frames->bytes > cfg->frame_bytes)))
		return -EINVAL;
	return payload_concat(frames, n, buf, cap, any);
}

const struct payload_format payload_frames = {
	.open = frames_open,
	.next = frames_next,
	.pack = frames_pack,
	.max_bytes = most_bytes,
};

const struct payload_format payload_whole = {
	.open = whole_open,
	.next = whole_next,
	.pack = whole_pack,
	.max_bytes = most_bytes,
};
