/* SPDX-License-Identifier: Apache-2.0 */
/*
 * div_s, norm_l, norm_s: the basic operators that the codec calls thousands of
 * times a frame and the library computes bit by bit.
 *
 *	div_s(a, b) = a 2^15 / b		for 0 < a < b
 *		      32767			for a = b > 0, else 0
 *	norm_l(v), norm_s(v)			how far v can be shifted left
 *
 * The norms take the magnitude of a negative value, not its complement as
 * ITU-T's operators do: norm_l(-2^30) is 0. They are 0 for 0 and the lowest.
 *
 * Valid: everything.
 */
#include "codecs/kernels/amrnb.h"
#include "codecs/kernels/amrnb/arith.h"

int16_t div_s(int16_t a, int16_t b)
{
	if (!cr_kernels_fast)
		return stock_div_s(a, b);
	return quotient(a, b);
}

int16_t norm_l(int32_t v)
{
	if (!cr_kernels_fast)
		return stock_norm_l(v);
	return (int16_t)leading_shifts(v);
}

int16_t norm_s(int16_t v)
{
	if (!cr_kernels_fast)
		return stock_norm_s(v);
	return (int16_t)leading_shifts16(v);
}
