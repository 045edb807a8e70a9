/* SPDX-License-Identifier: Apache-2.0 */
/*
 * band_pass_6k_7k: the decoder's band from 6 to 7 kHz; band_6k_7k.h has the
 * arithmetic, exact for all inputs. The shifted signal goes to the caller's
 * memory. Lengths that are no multiple of 16 are the library's.
 */
#include "codecs/kernels/amrwb_dec.h"
#include "codecs/kernels/band_6k_7k.h"

AVX2 static void band_pass_avx2(int16_t signal[], int n, int16_t mem[],
				int16_t x[])
{
	band_6k_7k(signal, n, fir_6k_7k, mem, x);
}

void band_pass_6k_7k(int16_t signal[], int16_t n, int16_t mem[], int16_t x[])
{
	if (!cr_kernels_fast || n <= 0 || n % BAND_BLOCK) {
		stock_band_pass_6k_7k(signal, n, mem, x);
		return;
	}
	band_pass_avx2(signal, n, mem, x);
}
