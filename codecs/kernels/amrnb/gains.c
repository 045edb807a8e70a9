/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Exponents of the gain quantisers.
 */
#include "codecs/kernels/amrnb/gains.h"

#include "codecs/kernels/amrnb/arith.h"

bool gains_align(const int16_t frac[], const int exp[], int n,
		 struct coefficient c[])
{
	int largest = exp[0];

	for (int i = 0; i < n; i++) {
		if (exp[i] < -GAINS_EXPONENT || exp[i] > GAINS_EXPONENT)
			return false;
		if (exp[i] > largest)
			largest = exp[i];
	}
	for (int i = 0; i < n; i++) {
		int shift = largest + 1 - exp[i];
		int32_t v = shift < 31 ? frac[i] * 65536 >> shift : 0;

		c[i].high = (uint16_t)upper(v);
		c[i].low = lower(v);
	}
	return true;
}

int16_t gains_code(int16_t gain, int16_t predicted, int16_t exp)
{
	int32_t v = 2 * gain * predicted, shifted;

	if (exp < 10)
		return exp > 10 - 31 ? upper(v >> (10 - exp)) : 0;
	/* the processor takes 5 bits of a count */
	shifted = (int32_t)((uint32_t)v << ((exp - 10) & 31));
	if (shifted >> ((exp - 10) & 31) == v)
		return upper(shifted);
	return v < 0 ? INT16_MIN : INT16_MAX;
}
