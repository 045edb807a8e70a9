/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The band from 6 to 7 kHz, in place, as AMR-WB's encoder and decoder both
 * filter it:
 *
 *     x[i] = signal[i] >> 2
 *     y[i] = (0x4000 + sum over k = 0..30 of c[k] * x[i + k - 30]) >> 15
 *
 * c symmetric, where x goes back by the 30 samples of the memory, which holds
 * them shifted. Sum and result wrap: exact for all inputs.
 */
#ifndef CODECS_KERNELS_BAND_6K_7K_H
#define CODECS_KERNELS_BAND_6K_7K_H

#include "codecs/kernels/fir.h"

enum {
	BAND_MEMORY = 30, /**< and as many taps, and one */
	BAND_BLOCK = 16,  /**< samples at once */
};

/** Filter @signal[@n], @n a multiple of 16, with @c[30] and once more c[0].
 * @mem[30]: the memory. @x[30 + @n] gets it and, shifted, the signal. */
AVX2_INLINE void band_6k_7k(int16_t signal[], int n, const int16_t c[],
			    int16_t mem[], int16_t x[])
{
	enum { SHIFT = 15 };
	__m256i pair[BAND_MEMORY / 2];

	for (int k = 0; k < BAND_MEMORY; k += 2)
		pair[k / 2] = _mm256_set1_epi32(load_pair(c + k));
	memcpy(x, mem, BAND_MEMORY * sizeof(*x));
	for (int i = 0; i < n; i += BAND_BLOCK)
		store256(x + BAND_MEMORY + i,
			 _mm256_srai_epi16(load256(signal + i), 2));
	for (int i = 0; i < n; i += BAND_BLOCK) {
		struct fir_sums s = fir_begin();

		for (int k = 0; k < BAND_MEMORY; k += 2)
			fir_add(&s, pair[k / 2], x + i + k);
		fir_add_one(&s, c[0], x + i + BAND_MEMORY);
		store256(signal + i, fir_round(s, SHIFT));
	}
	memcpy(mem, x + n, BAND_MEMORY * sizeof(*mem));
}

#endif
