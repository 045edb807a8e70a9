/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The entry of a codebook with the least error, eight entries at a time. Each
 * lane keeps its own least; in the end the least of all wins, of equals that
 * with the lowest index: as in a loop over all entries that takes what is less.
 */
#ifndef CODECS_KERNELS_AMRNB_LEAST_H
#define CODECS_KERNELS_AMRNB_LEAST_H

#include "codecs/kernels/kernel.h"

enum { LEAST_LANES = 8 };

/** Each lane's least error so far, and whose it is. */
struct least {
	__m256i error, index;
};

/** Nothing yet: INT32_MAX, which no error is less than, of entry 0. */
AVX2_INLINE struct least least_nothing(void)
{
	return (struct least){
		.error = _mm256_set1_epi32(INT32_MAX),
		.index = _mm256_setzero_si256(),
	};
}

/** Take @index where its @error is less. */
AVX2_INLINE void least_take(struct least *l, __m256i error, __m256i index)
{
	__m256i less = _mm256_cmpgt_epi32(l->error, error);

	l->error = _mm256_min_epi32(l->error, error);
	l->index = _mm256_blendv_epi8(l->index, index, less);
}

/** The same where @allowed, a mask. */
AVX2_INLINE void least_take_allowed(struct least *l, __m256i error,
				    __m256i index, __m256i allowed)
{
	const __m256i most = _mm256_set1_epi32(INT32_MAX);

	least_take(l, _mm256_blendv_epi8(most, error, allowed), index);
}

/** The entry; 0 if no error was below INT32_MAX. */
AVX2_INLINE int least_index(const struct least *l)
{
	int32_t error[LEAST_LANES], index[LEAST_LANES];
	int best = 0;

	store256(error, l->error);
	store256(index, l->index);
	for (int i = 1; i < LEAST_LANES; i++)
		if (error[i] < error[best] ||
		    (error[i] == error[best] && index[i] < index[best]))
			best = i;
	return index[best];
}

#endif
