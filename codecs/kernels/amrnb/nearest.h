/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The nearest word of a codebook, as the quantisers of the line spectrum look
 * for it: eight distances at a time, the first of equals wins.
 */
#ifndef CODECS_KERNELS_AMRNB_NEAREST_H
#define CODECS_KERNELS_AMRNB_NEAREST_H

#include "codecs/kernels/kernel.h"

enum { NEAREST_LANES = 8 };

/** Each lane's least distance so far, and its codeword. */
struct nearest {
	__m256i distance, index;
};

/** The codewords of a group of eight, as hadd leaves them in the lanes. */
AVX2_INLINE __m256i nearest_order(void)
{
	return _mm256_setr_epi32(0, 1, 4, 5, 2, 3, 6, 7);
}

AVX2_INLINE void nearest_begin(struct nearest *n)
{
	n->distance = _mm256_set1_epi32(INT32_MAX);
	n->index = _mm256_setzero_si256();
}

/** Take @index where its @distance is less. */
AVX2_INLINE void nearest_take(struct nearest *n, __m256i distance,
			      __m256i index)
{
	__m256i less = _mm256_cmpgt_epi32(n->distance, distance);

	n->distance = _mm256_min_epi32(n->distance, distance);
	n->index = _mm256_blendv_epi8(n->index, index, less);
}

/** The codeword of the least distance; 0 if none was below INT32_MAX. */
AVX2_INLINE int nearest_of(const struct nearest *n)
{
	int32_t distance[NEAREST_LANES], index[NEAREST_LANES];
	int best = 0;

	store256(distance, n->distance);
	store256(index, n->index);
	for (int i = 1; i < NEAREST_LANES; i++)
		if (distance[i] < distance[best] ||
		    (distance[i] == distance[best] && index[i] < index[best]))
			best = i;
	return index[best];
}

/** The four numbers of a word, again and again. */
AVX2_INLINE __m256i repeat_four(const int16_t v[4])
{
	int64_t all;

	memcpy(&all, v, sizeof(all));
	return _mm256_set1_epi64x(all);
}

#endif
