/* SPDX-License-Identifier: Apache-2.0 */
/*
 * voAWB_Residu: the LPC residual,
 *
 *     y[i] = round(sum over j = 0..16 of a[j] * x[i - j]),
 *
 * the sum wrapped at 32 bits, then shifted left by 5 and rounded to its upper
 * 16, both saturating: (sum + 0x400) >> 11, clipped. A sum that wraps does not
 * depend on the order of its terms: exact for all inputs.
 *
 * The library goes from the first sample to the last. Where y overlaps the
 * samples still to be read (no call does that) a block of 16 would give
 * something else, and so would lengths that are no multiple of 16: both are
 * the library's.
 */
#include "codecs/kernels/amrwb.h"
#include "codecs/kernels/fir.h"

enum {
	ORDER = 16,
	BLOCK = 16,
	SHIFT = 11,
};

AVX2 static void wb_residu_avx2(const int16_t a[], const int16_t x[],
				int16_t y[], int n)
{
	__m256i pair[ORDER / 2]; /* of a[j + 1], a[j]: x goes up, j down */

	for (int j = 0; j < ORDER; j += 2)
		pair[j / 2] = _mm256_set1_epi32(pack_pair(a[j + 2], a[j + 1]));
	for (int i = 0; i < n; i += BLOCK) {
		struct fir_sums s = fir_begin();

		fir_add_one(&s, a[0], x + i);
		for (int j = 0; j < ORDER; j += 2)
			fir_add(&s, pair[j / 2], x + i - j - 2);
		store256(y + i, fir_round(fir_limit(s, SHIFT), SHIFT));
	}
}

void voAWB_Residu(int16_t a[], int16_t x[], int16_t y[], int16_t n)
{
	if (!cr_kernels_fast || n <= 0 || n % BLOCK ||
	    overlaps(x - ORDER, ORDER + n, y, n)) {
		stock_voAWB_Residu(a, x, y, n);
		return;
	}
	wb_residu_avx2(a, x, y, n);
}
