/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fixed-point functions: e^x by its series after taking out powers of two, the
 * logarithm as its inverse by Halley's iteration, the root digit by digit.
 */
#include "sim/fixed.h"

/* In units of 2^-60, for the series. */
#define ONE_60 (INT64_C(1) << 60)
#define LN2_60 INT64_C(799144290325165978)
/* ln 2^30 in units of 2^-32 */
#define MOST_X INT64_C(89311334154)

/* e^@f for 0 <= @f < ln 2, in units of 2^-60. */
static int64_t series(int64_t f)
{
	int64_t sum = ONE_60, term = ONE_60;

	for (int i = 1; term; i++) {
		term = (int64_t)((__int128)term * f >> 60) / i;
		sum += term;
	}
	return sum;
}

int64_t fixed_exp(int64_t x)
{
	__int128 x60;
	int64_t twos;
	int shift;

	if (x >= MOST_X)
		return INT64_C(1) << 62;
	if (x < -24 * FIXED_ONE)
		return 0;
	x60 = (__int128)x * (ONE_60 / FIXED_ONE);
	twos = (int64_t)(x60 / LN2_60);
	twos -= x60 < (__int128)twos * LN2_60;
	shift = 28 - (int)twos;
	x60 = series((int64_t)(x60 - (__int128)twos * LN2_60));
	return (int64_t)(shift >= 0 ? x60 >> shift : x60 << -shift);
}

int64_t fixed_log(int64_t y)
{
	int64_t x = 0, step;

	/* each step is below 2 and, near the end, cubes the error */
	for (int i = 0; i < 64; i++) {
		int64_t e = fixed_exp(x);

		step = (int64_t)((((__int128)y - e) << 33) / ((__int128)y + e));
		x += step;
		if (!step)
			break;
	}
	return x;
}

int64_t fixed_sqrt(int64_t y)
{
	unsigned __int128 left = (unsigned __int128)y << 32;
	uint64_t root = 0;

	for (uint64_t bit = UINT64_C(1) << 47; bit; bit >>= 1) {
		uint64_t with = root | bit;

		if ((unsigned __int128)with * with <= left)
			root = with;
	}
	return (int64_t)root;
}
