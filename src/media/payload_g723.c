/* SPDX-License-Identifier: Apache-2.0 */
/*
 * G.723.1 payloads (RFC 3551, 4.5.3): frames one behind the other; the two low
 * bits of a frame's first octet say how long it is, and the rate may change at
 * any frame.
 */
#include <string.h>

#include "media/payload_format.h"

#define SID 2u
#define RATE_BITS 3u
#define LONGEST 24u

/* Octets by rate bits; 3 is reserved. */
static const uint8_t frame_bytes[] = { LONGEST, 20, 4, 0 };

static int g723_open(struct payload_iter *it)
{
	unsigned n = 0;
	size_t bytes;

	for (size_t at = 0; at < it->n; at += bytes, n++) {
		bytes = frame_bytes[it->p[at] & RATE_BITS];
		if (!bytes)
			return PAYLOAD_BAD_TYPE;
		if (n == PAYLOAD_FRAMES_MAX)
			return PAYLOAD_TOO_MANY;
		if (bytes > it->n - at)
			return PAYLOAD_SHORT;
	}
	it->info.nframes = n;
	return PAYLOAD_OK;
}

static void g723_next(struct payload_iter *it, struct cr_frame *frame)
{
	unsigned rate = it->p[it->at] & RATE_BITS;

	frame->kind = rate == SID ? CR_FRAME_SID : CR_FRAME_SPEECH;
	frame->mode = (uint8_t)rate;
	frame->bytes = frame_bytes[rate];
	memcpy(frame->data, it->p + it->at, frame->bytes);
	it->at += frame->bytes;
}

/* The rate bits decide; the mode is for readers. */
static bool fits(const struct cr_frame *f)
{
	return f->kind != CR_FRAME_BAD && f->bytes &&
	       f->bytes == frame_bytes[f->data[0] & RATE_BITS];
}

static int g723_pack(const struct payload_cfg *cfg, uint8_t cmr,
		     const struct cr_frame *frames, unsigned n, uint8_t *buf,
		     size_t cap)
{
	(void)cfg;
	(void)cmr;
	return payload_concat(frames, n, buf, cap, fits);
}

static size_t g723_max_bytes(const struct payload_cfg *cfg)
{
	(void)cfg;
	return LONGEST;
}

const struct payload_format payload_g723 = {
	.open = g723_open,
	.next = g723_next,
	.pack = g723_pack,
	.max_bytes = g723_max_bytes,
};
