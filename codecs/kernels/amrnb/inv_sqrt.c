/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Inv_sqrt: 2^30 / sqrt(v), by a table of 49 values and a straight line.
 *
 *	n = v << norm, one bit less if norm is even; 2^29 <= n < 2^31
 *	i = (n >> 25) - 16,	b = bits 10 to 24 of n
 *	r = (2^16 t(i) - 2 b (t(i) - t(i + 1))) >> (16 - norm / 2)
 *
 * It only saves the calls. Valid: everything; 0x3fffffff for v <= 0.
 */
#include "codecs/kernels/amrnb.h"
#include "codecs/kernels/amrnb/inv_sqrt.h"
#include "codecs/kernels/kernel.h"

int32_t Inv_sqrt(int32_t v, int32_t *overflow)
{
	if (!cr_kernels_fast)
		return stock_Inv_sqrt(v, overflow);
	return inverse_root(v);
}
