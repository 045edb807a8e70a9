/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the quantisers of the line spectrum share when they look for the nearest
 * word of a codebook (least.h): words are loaded four at a time.
 */
#ifndef CODECS_KERNELS_AMRNB_NEAREST_H
#define CODECS_KERNELS_AMRNB_NEAREST_H

#include "codecs/kernels/kernel.h"

/** The codewords of a group of eight, as hadd leaves them in the lanes. */
AVX2_INLINE __m256i nearest_order(void)
{
	return _mm256_setr_epi32(0, 1, 4, 5, 2, 3, 6, 7);
}

/** The four numbers of a word, again and again. */
AVX2_INLINE __m256i repeat_four(const int16_t v[4])
{
	int64_t all;

	memcpy(&all, v, sizeof(all));
	return _mm256_set1_epi64x(all);
}

#endif
