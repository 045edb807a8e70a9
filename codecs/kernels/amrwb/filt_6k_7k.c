/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Filt_6k_7k: the band from 6 to 7 kHz, in place,
 *
 *     y[i] = (0x4000 + sum over k = 0..30 of c[k] * (x[i + k - 30] >> 2)) >>
 * 15,
 *
 * c symmetric, where x goes back by the 30 samples of the memory, which holds
 * them shifted. Sum and result wrap: exact for all inputs. Lengths that are no
 * multiple of 16, or longer than the library's buffer, are the library's.
 */
#include "codecs/kernels/amrwb.h"
#include "codecs/kernels/amrwb/fir.h"

enum {
	TAPS = 31,
	MEMORY = TAPS - 1,
	LONGEST = 80,
	BLOCK = 16,
	SHIFT = 15,
};

AVX2 static void filt_6k_7k_avx2(int16_t signal[], int n, int16_t mem[])
{
	int16_t x[MEMORY + LONGEST];
	__m256i pair[MEMORY / 2];

	for (int k = 0; k < MEMORY; k += 2)
		pair[k / 2] = _mm256_set1_epi32(load_pair(voAWB_fir_6k_7k + k));
	memcpy(x, mem, MEMORY * sizeof(*x));
	for (int i = 0; i < n; i += BLOCK)
		store256(x + MEMORY + i,
			 _mm256_srai_epi16(load256(signal + i), 2));
	for (int i = 0; i < n; i += BLOCK) {
		struct fir_sums s = { _mm256_setzero_si256(),
				      _mm256_setzero_si256() };

		for (int k = 0; k < MEMORY; k += 2)
			fir_add(&s, pair[k / 2], x + i + k);
		fir_add_one(&s, voAWB_fir_6k_7k[MEMORY], x + i + MEMORY);
		store256(signal + i, fir_round(s, SHIFT));
	}
	memcpy(mem, x + n, MEMORY * sizeof(*mem));
}

void Filt_6k_7k(int16_t signal[], int16_t n, int16_t mem[])
{
	if (!cr_kernels_fast || n <= 0 || n > LONGEST || n % BLOCK) {
		stock_Filt_6k_7k(signal, n, mem);
		return;
	}
	filt_6k_7k_avx2(signal, n, mem);
}
