/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Filt_6k_7k: the encoder's band from 6 to 7 kHz; band_6k_7k.h has the
 * arithmetic, exact for all inputs. Lengths that are no multiple of 16, or
 * longer than the library's buffer, are the library's.
 */
#include "codecs/kernels/amrwb.h"
#include "codecs/kernels/band_6k_7k.h"

enum { LONGEST = 80 };

AVX2 static void filt_6k_7k_avx2(int16_t signal[], int n, int16_t mem[])
{
	int16_t x[BAND_MEMORY + LONGEST];

	band_6k_7k(signal, n, voAWB_fir_6k_7k, mem, x);
}

void Filt_6k_7k(int16_t signal[], int16_t n, int16_t mem[])
{
	if (!cr_kernels_fast || n <= 0 || n > LONGEST || n % BAND_BLOCK) {
		stock_Filt_6k_7k(signal, n, mem);
		return;
	}
	filt_6k_7k_avx2(signal, n, mem);
}
