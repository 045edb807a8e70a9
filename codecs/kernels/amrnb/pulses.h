/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The steps with the pulses of a codebook before and after the search.
 */
#ifndef CODECS_KERNELS_AMRNB_PULSES_H
#define CODECS_KERNELS_AMRNB_PULSES_H

#include "codecs/kernels/amrnb/response.h"

/** Can pulses_sharpen() do this? Other lags and gains (no encoder has them)
 * are the library's. */
static inline bool pulses_can_sharpen(int lag, int16_t gain)
{
	return lag >= 16 && gain != INT16_MIN;
}

/**
 * Repeat what is in @v at the pitch,
 *
 *     v[i] += gain * v[i - lag] >> 15,  i from lag on,
 *
 * saturated, and set *@overflow if it was. @gain: Q15.
 */
AVX2 void pulses_sharpen(int16_t v[SUBFRAME], int lag, int16_t gain,
			 int32_t *overflow);

/** Pulses, and the factor of each, Q15. */
struct pulses {
	int n;
	int16_t position[8], sign[8];
};

/**
 * Filter the pulses: @y is the sum of sign * h, moved to the pulse's position,
 * of all pulses. The products, in Q15, are summed with saturation in the order
 * of the pulses, then rounded. Sets *@overflow where that saturates.
 * @h: with 40 samples before h[0], which are read.
 */
AVX2 void pulses_filter(const struct pulses *pulses, const int16_t h[],
			int16_t y[SUBFRAME], int32_t *overflow);

#endif
