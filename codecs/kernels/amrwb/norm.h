/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Normalising as the AMR-WB encoder's binary does it.
 */
#ifndef CODECS_KERNELS_AMRWB_NORM_H
#define CODECS_KERNELS_AMRWB_NORM_H

#include <stdint.h>

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

#endif
