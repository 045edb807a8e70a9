/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Speex payloads (RFC 5574, 3.3): frames one behind the other, bit by bit, and
 * after the last one a zero and ones up to the octet's end. A frame that we
 * hand on is filled up in the same way. Which frames have which bits is
 * codecs/speex_bits.h.
 */
#include <errno.h>
#include <string.h>

#include "codecs/speex_bits.h"
#include "media/payload_bits.h"
#include "media/payload_format.h"

/* A frame with room for a request. */
#define LONGEST 128u

static size_t octets(size_t bits)
{
	return (bits + 7) / 8;
}

/* A zero, then ones, in the bits of @p behind @bits up to the octet's end. */
static void fill_up(uint8_t *p, size_t bits)
{
	unsigned rest = (unsigned)(-bits & 7);

	if (!rest)
		return;
	p += bits / 8;
	*p = (uint8_t)((*p & (0xff00u >> bits % 8)) | ((1u << (rest - 1)) - 1));
}

static int speex_open(struct payload_iter *it)
{
	size_t end = 8 * it->n, at = 0;
	unsigned n = 0;
	int bits;

	while ((bits = speex_bits_frame(it->p, at, end)) > 0) {
		if (n++ == PAYLOAD_FRAMES_MAX)
			return PAYLOAD_TOO_MANY;
		if (octets((size_t)bits) > LONGEST)
			return PAYLOAD_TOO_LONG;
		at += (size_t)bits;
	}
	if (bits < 0)
		return bits == SPEEX_BITS_SHORT ? PAYLOAD_SHORT
						: PAYLOAD_BAD_TYPE;
	if (!n)
		return PAYLOAD_EMPTY;
	/* How it is filled up is not looked at: there are senders of zeros. */
	if (octets(at) != it->n)
		return PAYLOAD_SURPLUS;
	it->info.nframes = n;
	return PAYLOAD_OK;
}

static void speex_next(struct payload_iter *it, struct cr_frame *frame)
{
	unsigned bits = (unsigned)speex_bits_frame(it->p, it->at, 8 * it->n);

	frame->kind = speex_bits_silent(it->p, it->at, 8 * it->n)
			      ? CR_FRAME_SID
			      : CR_FRAME_SPEECH;
	frame->mode = 0;
	frame->bytes = (uint16_t)octets(bits);
	speech_get(it->p, it->at, bits, frame->data);
	fill_up(frame->data, bits);
	it->at += bits;
}

/* Bits of @f, if it is one frame, well filled up; else 0. */
static unsigned bits_of(const struct cr_frame *f)
{
	int bits = 0;

	if ((f->kind == CR_FRAME_SPEECH || f->kind == CR_FRAME_SID) &&
	    f->bytes <= LONGEST)
		bits = speex_bits_frame(f->data, 0, 8 * (size_t)f->bytes);
	if (bits <= 0 || octets((size_t)bits) != f->bytes)
		return 0;
	return (unsigned)bits;
}

static int speex_pack(const struct payload_cfg *cfg, uint8_t cmr,
		      const struct cr_frame *frames, unsigned n, uint8_t *buf,
		      size_t cap)
{
	size_t at = 0;

	(void)cfg;
	(void)cmr;
	while (n && frames[n - 1].kind == CR_FRAME_NO_DATA)
		n--;
	for (unsigned i = 0; i < n; i++) {
		unsigned bits = bits_of(&frames[i]);

		if (!bits)
			return -EINVAL;
		if (octets(at + bits) > cap)
			return -ENOSPC;
		memset(buf + octets(at), 0, octets(at + bits) - octets(at));
		speech_put(buf, at, bits, frames[i].data);
		at += bits;
	}
	fill_up(buf, at);
	return (int)octets(at);
}

static size_t speex_max_bytes(const struct payload_cfg *cfg)
{
	(void)cfg;
	return LONGEST;
}

const struct payload_format payload_speex = {
	.open = speex_open,
	.next = speex_next,
	.pack = speex_pack,
	.max_bytes = speex_max_bytes,
};
