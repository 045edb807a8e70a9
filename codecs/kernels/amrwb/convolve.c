/* SPDX-License-Identifier: Apache-2.0 */
/*
 * voAWB_Convolve: a subframe of 64 samples through an impulse response,
 *
 *     y[i] = (0x8000 + 2 * sum over j = 0..i of x[j] * h[i - j]) >> 16,
 *
 * all wrapped at 32 bits: (sum + 0x4000) >> 15 and its low 16 bits. The sums
 * are those of a filter whose coefficients are x backwards, over h with zeros
 * before it. They wrap, so that the order of their terms does not matter:
 * exact for all inputs. The library's loop is 64 long whatever @n says.
 */
#include "codecs/kernels/amrwb.h"
#include "codecs/kernels/fir.h"

enum {
	SUBFRAME = 64,
	BLOCK = 16,
	SHIFT = 15,
};

AVX2 static void wb_convolve_avx2(const int16_t x[], const int16_t h[],
				  int16_t y[])
{
	int16_t padded[BLOCK + SUBFRAME];
	const int16_t *from = padded + BLOCK;

	memset(padded, 0, BLOCK * sizeof(*padded));
	memcpy(padded + BLOCK, h, SUBFRAME * sizeof(*h));
	for (int i = 0; i < SUBFRAME; i += BLOCK) {
		struct fir_sums s = fir_begin();

		for (int j = 0; j < i + BLOCK; j += 2) {
			int32_t pair = pack_pair(x[j + 1], x[j]);

			fir_add(&s, _mm256_set1_epi32(pair), from + i - j - 1);
		}
		store256(y + i, fir_round(s, SHIFT));
	}
}

void voAWB_Convolve(int16_t x[], int16_t h[], int16_t y[], int16_t n)
{
	if (!cr_kernels_fast || overlaps(x, SUBFRAME, y, SUBFRAME) ||
	    overlaps(h, SUBFRAME, y, SUBFRAME)) {
		stock_voAWB_Convolve(x, h, y, n);
		return;
	}
	wb_convolve_avx2(x, h, y);
}
