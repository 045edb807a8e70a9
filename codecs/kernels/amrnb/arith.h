/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The codec's arithmetic that the kernels share: quotients, norms of 16 bits,
 * limited shifts, and 31-bit numbers in halves ("double precision format": h
 * the upper 16 bits, l the 15 below them).
 */
#ifndef CODECS_KERNELS_AMRNB_ARITH_H
#define CODECS_KERNELS_AMRNB_ARITH_H

#include "codecs/kernels/kernel.h"

/** a 2^15 / b for 0 < a < b, 32767 for a = b > 0, else 0: div_s. */
static inline int16_t quotient(int16_t a, int16_t b)
{
	if (a <= 0 || a > b)
		return 0;
	if (a == b)
		return INT16_MAX;
	return (int16_t)(((uint32_t)a << 15) / (uint32_t)b);
}

/** leading_shifts() for 16 bits: norm_s. */
static inline int leading_shifts16(int16_t v)
{
	unsigned magnitude = v < 0 ? (unsigned)-v : (unsigned)v;

	if (!magnitude || magnitude >> 15)
		return 0;
	return __builtin_clz(magnitude) - 17;
}

/** pv_round: the upper half, rounded; or limited, and that noted. */
static inline int16_t round_upper(int32_t v, int32_t *overflow)
{
	if (v > INT32_MAX - 0x8000) {
		*overflow = 1;
		return INT16_MAX;
	}
	return (int16_t)((v + 0x8000) >> 16);
}

/** The upper half of a 31-bit number. */
static inline int16_t upper(int32_t v)
{
	return (int16_t)(v >> 16);
}

/** The lower half: 0 to 32767, also of a negative number. */
static inline int16_t lower(int32_t v)
{
	return (int16_t)(v >> 1 & 0x7fff);
}

/** The 31-bit number of two halves. */
static inline int32_t join(int16_t high, int16_t low)
{
	return (int32_t)(((uint32_t)high << 16) + 2 * (uint32_t)low);
}

/** v 2^bits, limited to 32 bits: L_shl. @bits: from 0 to 31. */
static inline int32_t shift_limited(int32_t v, int bits)
{
	int32_t shifted = (int32_t)((uint32_t)v << bits);

	if (shifted >> bits != v)
		return v < 0 ? INT32_MIN : INT32_MAX;
	return shifted;
}

#endif
