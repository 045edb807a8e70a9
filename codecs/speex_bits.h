/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How many bits a Speex frame has: it says so itself, and frames follow each
 * other without regard for octets (the Speex manual, chapters 8 to 10; RFC
 * 5574, 3.3). Pure.
 *
 *   narrow band   0, mode (4), bits of the mode
 *   wide band     the same, then 1, layer (3), bits of the layer
 *   end           0, 1111: the rest is filled up with ones
 *   requests      0, 1110, code (4), value; 0, 1101, octets (4), 5 bits, the
 *                 octets, as libspeex skips them: they go before a frame, and
 *                 we count them as its part
 */
#ifndef CODECS_SPEEX_BITS_H
#define CODECS_SPEEX_BITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	SPEEX_BITS_END = 0,    /* no further frame     */
	SPEEX_BITS_BAD = -1,   /* reserved             */
	SPEEX_BITS_SHORT = -2, /* ends within a frame  */
	SPEEX_BITS_HEAD = 5,   /* of a frame, or of what stands for one */
	SPEEX_BITS_LAYER = 4,  /* a layer's head */
	SPEEX_BITS_NONE = 0,   /* mode of a frame that need not be sent */
	SPEEX_BITS_NOISE = 1,  /* mode of noise */
	SPEEX_BITS_USER = 13,  /* modes that are none */
	SPEEX_BITS_REQUEST = 14,
	SPEEX_BITS_TERMINATOR = 15,
};

static inline unsigned speex_bits_read(const uint8_t *p, size_t at, unsigned n)
{
	unsigned value = 0;

	for (; n; n--, at++)
		value = value << 1 | ((unsigned)p[at / 8] >> (7 - at % 8) & 1u);
	return value;
}

/* Bits of a request behind its head at @at, or SPEEX_BITS_SHORT. */
static inline int speex_bits_request(const uint8_t *p, size_t at, size_t end,
				     unsigned mode)
{
	static const uint8_t values[16] = { 1, 1, 4,  4,  4,  4,  4,  4,
					    8, 8, 16, 16, 32, 32, 64, 64 };
	unsigned code;

	if (at + 4 > end)
		return SPEEX_BITS_SHORT;
	code = speex_bits_read(p, at, 4);
	return mode == SPEEX_BITS_REQUEST ? 4 + values[code]
					  : 4 + 5 + 8 * (int)code;
}

/**
 * Go from bit *@at of @p, of which @end bits are there, to the next frame's
 * head, past requests. Its mode, or SPEEX_BITS_BAD, _SHORT, or
 * SPEEX_BITS_TERMINATOR: no further frame.
 */
static inline int speex_bits_seek(const uint8_t *p, size_t *at, size_t end)
{
	const size_t from = *at;

	for (;;) {
		unsigned mode;
		int bits;

		if (*at + SPEEX_BITS_HEAD > end)
			return *at == from ? SPEEX_BITS_TERMINATOR
					   : SPEEX_BITS_SHORT;
		if (speex_bits_read(p, *at, 1))
			return SPEEX_BITS_BAD;
		mode = speex_bits_read(p, *at + 1, 4);
		if (mode == SPEEX_BITS_TERMINATOR)
			return *at == from ? SPEEX_BITS_TERMINATOR
					   : SPEEX_BITS_BAD;
		if (mode != SPEEX_BITS_REQUEST && mode != SPEEX_BITS_USER)
			return (int)mode;
		bits = speex_bits_request(p, *at + SPEEX_BITS_HEAD, end, mode);
		if (bits < 0)
			return bits;
		*at += SPEEX_BITS_HEAD + (size_t)bits;
	}
}

/* Bits of a frame of the narrow band in each mode; 0: reserved. */
static const uint16_t speex_bits_narrow[16] = { 5,   43,  119, 160, 220, 300,
						364, 492, 79,  0,   0,	 0 };

/**
 * Bits of the frame that begins at bit @at of @p, of which @end bits are there:
 * with its layer for the wide band, if there is one. Else SPEEX_BITS_END, _BAD
 * or _SHORT.
 */
static inline int speex_bits_frame(const uint8_t *p, size_t at, size_t end)
{
	static const uint16_t layer[8] = { 4, 36, 112, 192, 352 };
	size_t from = at;
	int mode = speex_bits_seek(p, &at, end);

	if (mode == SPEEX_BITS_TERMINATOR)
		return SPEEX_BITS_END;
	if (mode < 0)
		return mode;
	if (!speex_bits_narrow[mode])
		return SPEEX_BITS_BAD;
	at += speex_bits_narrow[mode];
	if (at + SPEEX_BITS_LAYER <= end && speex_bits_read(p, at, 1)) {
		unsigned wide = speex_bits_read(p, at + 1, 3);

		if (!layer[wide])
			return SPEEX_BITS_BAD;
		at += layer[wide];
	}
	return at <= end ? (int)(at - from) : SPEEX_BITS_SHORT;
}

/**
 * Does the frame at bit @at, which is whole, say that there is silence behind
 * it? libspeex's encoder with DTX ends frames of mode 1 with 1111, other
 * encoders with 0000, and its decoder makes noise of what is missing then.
 */
static inline bool speex_bits_silent(const uint8_t *p, size_t at, size_t end)
{
	int mode = speex_bits_seek(p, &at, end);

	if (mode == SPEEX_BITS_NONE)
		return true;
	return mode == SPEEX_BITS_NOISE &&
	       speex_bits_read(p, at + speex_bits_narrow[mode] - 4, 4) == 15;
}

#endif
