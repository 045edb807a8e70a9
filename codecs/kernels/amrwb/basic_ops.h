/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Arithmetic as the AMR-WB encoder's binary does it.
 */
#ifndef CODECS_KERNELS_AMRWB_BASIC_OPS_H
#define CODECS_KERNELS_AMRWB_BASIC_OPS_H

#include "codecs/kernels/kernel.h"

/** Left shifts that bring @v to [2^30, 2^31) or [-2^31, -2^30): 0 for 0, 31
 * for -1. Of a negative number the complement counts, unlike in AMR-NB. */
static inline int norm_l(int32_t v)
{
	uint32_t bits = (uint32_t)(v < 0 ? ~v : v);

	if (!v)
		return 0;
	return bits ? __builtin_clz(bits) - 1 : 31;
}

/** v * 2^n, wrapped; 0 <= @n <= 31. */
static inline int32_t shift_left(int32_t v, int n)
{
	return (int32_t)((uint32_t)v << n);
}

/** Upper 16 bits, rounded; INT16_MIN where that overflows. */
static inline int32_t round_wrapped(int32_t v)
{
	return add_wrapped(v, 0x8000) >> 16;
}

/** Upper 16 bits, rounded; @most where that overflows. */
static inline int32_t round_limited(int32_t v, int16_t most)
{
	return v > INT32_MAX - 0x8000 ? most : round_wrapped(v);
}

/** Shifted left by 2 and upper 16 bits, rounded, both saturating. */
static inline int16_t round_q14(int32_t v)
{
	if (v > (1 << 29) - 1 - (1 << 13))
		return INT16_MAX;
	return v < -(1 << 29) ? INT16_MIN : (int16_t)((v + (1 << 13)) >> 14);
}

#endif
