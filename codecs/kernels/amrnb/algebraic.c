/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The steps around a search with few pulses, in the order of the library's
 * code_* functions: sharpen h, correlate it with the target (cor_h_x), take the
 * signs out (set_sign); then code vector, filtered code vector, and the code
 * vector sharpened.
 */
#include "codecs/kernels/amrnb/algebraic.h"

#include "codecs/kernels/amrnb.h"

AVX2 bool algebraic_start(struct algebraic *a, int16_t x[], int16_t h[],
			  int32_t *overflow)
{
	int16_t dn[SUBFRAME];

	if (!pulses_can_sharpen(a->lag, a->gain))
		return false;
	memcpy(a->given, h, sizeof(a->given));
	pulses_sharpen(h, a->lag, a->gain, overflow);
	cor_h_x(h, x, dn, 1, overflow);
	if (tracks_set_target(&a->tracks, dn, a->sign)) {
		a->best = chain_no_winner();
		return true;
	}
	memcpy(h, a->given, sizeof(a->given));
	return false;
}

AVX2 bool algebraic_found(const struct algebraic *a, int16_t h[])
{
	if (a->best.square >= 0)
		return true;
	memcpy(h, a->given, sizeof(a->given));
	return false;
}

AVX2 unsigned algebraic_build(const struct algebraic *a, const int16_t h[],
			      int16_t code[], int16_t y[], int32_t *overflow)
{
	struct pulses pulses = { .n = a->pulses };
	unsigned positive = 0;

	memset(code, 0, SUBFRAME * sizeof(*code));
	for (int k = 0; k < a->pulses; k++) {
		int16_t position = a->best.position[k];
		bool plus = a->sign[position] > 0;

		code[position] = plus ? 8191 : -8192;
		pulses.sign[k] = plus ? INT16_MAX : INT16_MIN;
		pulses.position[k] = position;
		positive |= (unsigned)plus << k;
	}
	pulses_filter(&pulses, h, y, overflow);
	pulses_sharpen(code, a->lag, a->gain, overflow);
	return positive;
}
