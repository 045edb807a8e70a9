/* SPDX-License-Identifier: Apache-2.0 */
/*
 * band_pass_6k_7k: the band from 6 to 7 kHz, in place,
 *
 *     y[i] = (0x4000 + sum over k = 0..30 of c[k] * (signal[i + k - 30] >> 2))
 * >> 15,
 *
 * c symmetric, where the signal goes back by the 30 samples of the memory,
 * which holds them shifted. Sum and result wrap: exact for all inputs. Lengths
 * that are no multiple of 16 are the library's.
 */
#include "codecs/kernels/amrwb/fir.h"
#include "codecs/kernels/amrwb_dec.h"

enum {
	MEMORY = 30, /* and as many taps, and one */
	BLOCK = 16,
	SHIFT = 15,
};

AVX2 static void band_pass_avx2(int16_t signal[], int n, int16_t mem[],
				int16_t x[])
{
	__m256i pair[MEMORY / 2];

	for (int k = 0; k < MEMORY; k += 2)
		pair[k / 2] = _mm256_set1_epi32(load_pair(fir_6k_7k + k));
	memcpy(x, mem, MEMORY * sizeof(*x));
	for (int i = 0; i < n; i += BLOCK)
		store256(x + MEMORY + i,
			 _mm256_srai_epi16(load256(signal + i), 2));
	for (int i = 0; i < n; i += BLOCK) {
		struct fir_sums s = { _mm256_setzero_si256(),
				      _mm256_setzero_si256() };

		for (int k = 0; k < MEMORY; k += 2)
			fir_add(&s, pair[k / 2], x + i + k);
		fir_add_one(&s, fir_6k_7k[0], x + i + MEMORY);
		store256(signal + i, fir_round(s, SHIFT));
	}
	memcpy(mem, x + n, MEMORY * sizeof(*mem));
}

void band_pass_6k_7k(int16_t signal[], int16_t n, int16_t mem[], int16_t x[])
{
	if (!cr_kernels_fast || n <= 0 || n % BLOCK) {
		stock_band_pass_6k_7k(signal, n, mem, x);
		return;
	}
	band_pass_avx2(signal, n, mem, x);
}
