/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Filters with one output per sample, 16 outputs at a time:
 *
 *     sum[i] = sum over k of c[k] * x[i + k], wrapped at 32 bits.
 *
 * madd multiplies neighbours, so the pair (c[2m], c[2m + 1]) against x from
 * 2m on gives the terms of the even outputs, against x from 2m + 1 on those of
 * the odd ones. Nothing has to be shuffled but the 16 results.
 */
#ifndef CODECS_KERNELS_FIR_H
#define CODECS_KERNELS_FIR_H

#include "codecs/kernels/kernel.h"

/** sum[0], sum[2], ... sum[14] and sum[1], sum[3], ... sum[15]. */
struct fir_sums {
	__m256i even, odd;
};

AVX2_INLINE struct fir_sums fir_begin(void)
{
	return (struct fir_sums){ _mm256_setzero_si256(),
				  _mm256_setzero_si256() };
}

/** Add two coefficients' terms; @pair has them in every lane. Reads 17 of
 * @x. */
AVX2_INLINE void fir_add(struct fir_sums *s, __m256i pair, const int16_t *x)
{
	s->even =
		_mm256_add_epi32(s->even, _mm256_madd_epi16(load256(x), pair));
	s->odd = _mm256_add_epi32(s->odd,
				  _mm256_madd_epi16(load256(x + 1), pair));
}

/** Add one coefficient's terms. Reads 16 of @x only. */
AVX2_INLINE void fir_add_one(struct fir_sums *s, int16_t c, const int16_t *x)
{
	__m256i v = load256(x);
	__m256i low = _mm256_set1_epi32(pack_pair(c, 0));
	__m256i high = _mm256_set1_epi32(pack_pair(0, c));

	s->even = _mm256_add_epi32(s->even, _mm256_madd_epi16(v, low));
	s->odd = _mm256_add_epi32(s->odd, _mm256_madd_epi16(v, high));
}

/** The low 16 bits of every (sum + half) >> shift, in order. */
AVX2_INLINE __m256i fir_round(struct fir_sums s, int shift)
{
	__m256i half = _mm256_set1_epi32(1 << (shift - 1));
	__m256i even = _mm256_srli_epi32(_mm256_add_epi32(s.even, half), shift);
	__m256i odd =
		_mm256_slli_epi32(_mm256_add_epi32(s.odd, half), 16 - shift);

	return _mm256_blend_epi16(even, odd, 0xaa);
}

/**
 * The sums limited to what (sum + half) >> shift brings into 16 bits: the
 * library's L_shl by 16 - shift and round, both saturating.
 */
AVX2_INLINE struct fir_sums fir_limit(struct fir_sums s, int shift)
{
	int32_t most = (int32_t)((INT64_C(1) << (15 + shift)) - 1);
	__m256i low = _mm256_set1_epi32(-most - 1);
	__m256i high = _mm256_set1_epi32(most - (1 << (shift - 1)));

	s.even = _mm256_min_epi32(_mm256_max_epi32(s.even, low), high);
	s.odd = _mm256_min_epi32(_mm256_max_epi32(s.odd, low), high);
	return s;
}

#endif
