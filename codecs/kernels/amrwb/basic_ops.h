/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Arithmetic as the AMR-WB encoder's binary does it.
 */
#ifndef CODECS_KERNELS_AMRWB_BASIC_OPS_H
#define CODECS_KERNELS_AMRWB_BASIC_OPS_H

#include "codecs/kernels/kernel.h"

/** Left shifts that bring @v to [2^30, 2^31) or [-2^31, -2^30): 0 for 0, 31
 * for -1. Of a negative number the complement counts, unlike in AMR-NB. */
static inline int wb_norm_l(int32_t v)
{
	uint32_t bits = (uint32_t)(v < 0 ? ~v : v);

	if (!v)
		return 0;
	return bits ? __builtin_clz(bits) - 1 : 31;
}

/** v * 2^n, wrapped; 0 <= @n <= 31. */
static inline int32_t shift_left(int32_t v, int n)
{
	return (int32_t)((uint32_t)v << n);
}

/** Upper 16 bits, rounded; INT16_MIN where that overflows. */
static inline int32_t wb_round_wrapped(int32_t v)
{
	return add_wrapped(v, 0x8000) >> 16;
}

/** Upper 16 bits, rounded; @most where that overflows. */
static inline int32_t round_limited(int32_t v, int16_t most)
{
	return v > INT32_MAX - 0x8000 ? most : wb_round_wrapped(v);
}

/** Shifted left by 2 and upper 16 bits, rounded, both saturating. */
static inline int16_t round_q14(int32_t v)
{
	if (v > (1 << 29) - 1 - (1 << 13))
		return INT16_MAX;
	return v < -(1 << 29) ? INT16_MIN : (int16_t)((v + (1 << 13)) >> 14);
}

/** 16 lanes in 16 bits, clipped and in order. */
AVX2_INLINE __m256i pack_lanes16(__m256i low, __m256i high)
{
	return _mm256_permute4x64_epi64(_mm256_packs_epi32(low, high), 0xd8);
}

/** 0, 1, .. 15 in 16-bit lanes. */
AVX2_INLINE __m256i lane_numbers(void)
{
	return _mm256_setr_epi16(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13,
				 14, 15);
}

/** The sum of a[i] * b[i], wrapped; @n is a multiple of 16. */
AVX2_INLINE int32_t dot_product(const int16_t a[], const int16_t b[], int n)
{
	__m256i s = _mm256_setzero_si256();

	for (int i = 0; i < n; i += 16)
		s = _mm256_add_epi32(
			s, _mm256_madd_epi16(load256(a + i), load256(b + i)));
	return sum_lanes256(s);
}

/** Writing @to[0], @to[1] .. overwrites some of @from[@n], n > 0, before they
 * are read in the same order: not so where @to is @from, or begins before. */
static inline bool overtakes(const int16_t *to, const int16_t *from, int n)
{
	return overlaps(to, 1, from + 1, n - 1);
}

#endif
