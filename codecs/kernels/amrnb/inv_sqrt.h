/* SPDX-License-Identifier: Apache-2.0 */
/*
 * 2^30 / sqrt(v) as Inv_sqrt computes it, for the kernels that need many.
 */
#ifndef CODECS_KERNELS_AMRNB_INV_SQRT_H
#define CODECS_KERNELS_AMRNB_INV_SQRT_H

#include "codecs/kernels/kernel.h"

/* The library's table: 2^15 / sqrt of 1 to 4 in 48 steps. */
extern const int16_t inv_sqrt_tbl[49];

static inline int32_t inverse_root(int32_t v)
{
	int norm, exponent, step, between;
	int32_t here;

	if (v <= 0)
		return 0x3fffffff;
	norm = leading_shifts(v);
	exponent = 30 - norm;
	v <<= norm;
	if (exponent % 2 == 0)
		v >>= 1;
	step = (v >> 25) - 16;
	between = v >> 10 & 0x7fff;
	here = inv_sqrt_tbl[step] * 65536;
	here -= 2 * between * (inv_sqrt_tbl[step] - inv_sqrt_tbl[step + 1]);
	return here >> (exponent / 2 + 1);
}

#endif
