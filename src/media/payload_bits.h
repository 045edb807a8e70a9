/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bits of payloads whose frames do not begin at octets: private to payload*.c.
 * Bit 0 is the highest of the first octet. The caller knows that the bits are
 * there.
 */
#ifndef MEDIA_PAYLOAD_BITS_H
#define MEDIA_PAYLOAD_BITS_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* The @width <= 8 bits at bit @at, right-justified. */
static inline unsigned bits_get(const uint8_t *p, size_t at, unsigned width)
{
	unsigned shift = (unsigned)(at % 8);
	unsigned two = (unsigned)p[at / 8] << 8;

	if (shift + width > 8)
		two |= p[at / 8 + 1];
	return two >> (16 - shift - width) & ((1u << width) - 1);
}

/* Or the @width <= 8 low bits of @v in at bit @at. */
static inline void bits_put(uint8_t *p, size_t at, unsigned width, unsigned v)
{
	unsigned shift = (unsigned)(at % 8);
	unsigned two = v << (16 - shift - width);

	p[at / 8] = (uint8_t)(p[at / 8] | two >> 8);
	if (shift + width > 8)
		p[at / 8 + 1] = (uint8_t)(p[at / 8 + 1] | two);
}

/* Copy @bits from bit @at of @p to the start of @out, zeros behind. */
static inline void speech_get(const uint8_t *p, size_t at, unsigned bits,
			      uint8_t *out)
{
	unsigned whole = bits / 8, rest = bits % 8;
	unsigned shift = (unsigned)(at % 8);

	p += at / 8;
	if (!shift)
		memcpy(out, p, whole);
	else
		for (unsigned i = 0; i < whole; i++)
			out[i] = (uint8_t)(p[i] << shift |
					   p[i + 1] >> (8 - shift));
	if (rest)
		out[whole] = (uint8_t)(bits_get(p + whole, shift, rest)
				       << (8 - rest));
}

/* Or the first @bits of @in in at bit @at of @p. */
static inline void speech_put(uint8_t *p, size_t at, unsigned bits,
			      const uint8_t *in)
{
	unsigned whole = bits / 8, rest = bits % 8;

	if (at % 8 == 0)
		memcpy(p + at / 8, in, whole);
	else
		for (unsigned i = 0; i < whole; i++)
			bits_put(p, at + 8u * i, 8, in[i]);
	if (rest)
		bits_put(p, at + 8u * whole, rest, in[whole] >> (8 - rest));
}

#endif
