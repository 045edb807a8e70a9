/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Basic operators of the standard (TS 26.073, basicop), on lanes of vectors,
 * as they are in the binary of the library, and what goes with them. Where one
 * saturates it says so in @clipped, a vector that is 0 as long as none has; one
 * of single numbers, in the library's flag.
 */
#ifndef CODECS_KERNELS_AMRNB_BASIC_OPS_H
#define CODECS_KERNELS_AMRNB_BASIC_OPS_H

#include "codecs/kernels/kernel.h"

/** Set the library's flag if something was clipped. */
AVX2_INLINE void raise_overflow(__m256i clipped, int32_t *overflow)
{
	if (!_mm256_testz_si256(clipped, clipped))
		*overflow = 1;
}

/** The low half of each lane as a number. */
AVX2_INLINE __m256i low_words(__m256i v)
{
	return _mm256_srai_epi32(_mm256_slli_epi32(v, 16), 16);
}

/** INT32_MAX, or INT32_MIN where @v is negative. */
AVX2_INLINE __m256i limit_of(__m256i v)
{
	return _mm256_xor_si256(_mm256_srai_epi32(v, 31),
				_mm256_set1_epi32(INT32_MAX));
}

/**
 * L_mac: sum + 2 * product, saturated. It misses an overflow where sum and
 * product are equal; and a product of 2^30, -1 * -1, gives INT32_MAX whatever
 * the sum was.
 */
AVX2_INLINE __m256i mac_saturated(__m256i sum, __m256i product,
				  __m256i *clipped)
{
	const __m256i zero = _mm256_setzero_si256();
	__m256i next = _mm256_add_epi32(sum, _mm256_slli_epi32(product, 1));
	__m256i same_sign =
		_mm256_cmpgt_epi32(_mm256_xor_si256(sum, product), zero);
	__m256i changed = _mm256_cmpgt_epi32(zero, _mm256_xor_si256(sum, next));
	__m256i over = _mm256_and_si256(same_sign, changed);
	__m256i one = _mm256_cmpeq_epi32(product, _mm256_set1_epi32(1 << 30));

	*clipped = _mm256_or_si256(*clipped, _mm256_or_si256(over, one));
	next = _mm256_blendv_epi8(next, limit_of(sum), over);
	return _mm256_blendv_epi8(next, _mm256_set1_epi32(INT32_MAX), one);
}

/** mac_saturated() of one. */
static inline int32_t mac(int32_t sum, int32_t product, int32_t *overflow)
{
	int32_t next;

	if (product == 1 << 30) {
		*overflow = 1;
		return INT32_MAX;
	}
	next = add_wrapped(sum, 2 * product);
	if ((sum ^ product) > 0 && (sum ^ next) < 0) {
		*overflow = 1;
		return sum < 0 ? INT32_MIN : INT32_MAX;
	}
	return next;
}

/** @sum, even, and 2 x^2 for each of @n numbers, by mac(). What does not fit is
 * INT32_MAX, and stays so, unless the overflow is one that mac() misses: 2^31
 * or more of it then count as negative. */
static inline int32_t mac_squares(int32_t sum, const int16_t x[], int n,
				  int32_t *overflow)
{
	for (int i = 0; i < n && sum != INT32_MAX; i++)
		sum = mac(sum, x[i] * x[i], overflow);
	return sum;
}

/** L_add: a + b, saturated. */
AVX2_INLINE __m256i add_saturated(__m256i a, __m256i b, __m256i *clipped)
{
	__m256i sum = _mm256_add_epi32(a, b);
	__m256i over = _mm256_andnot_si256(_mm256_xor_si256(a, b),
					   _mm256_xor_si256(a, sum));

	over = _mm256_srai_epi32(over, 31);
	*clipped = _mm256_or_si256(*clipped, over);
	return _mm256_blendv_epi8(sum, limit_of(a), over);
}

/** L_shl: v * 2^shift, saturated. @shift: from 0 to 31. */
AVX2_INLINE __m256i shift_saturated(__m256i v, int shift)
{
	const __m128i count = _mm_cvtsi32_si128(shift);
	__m256i shifted = _mm256_sll_epi32(v, count);
	__m256i fits = _mm256_cmpeq_epi32(_mm256_sra_epi32(shifted, count), v);

	return _mm256_blendv_epi8(limit_of(v), shifted, fits);
}

/** The high halves, rounded; what is more than fits becomes negative. */
AVX2_INLINE __m256i nb_round_wrapped(__m256i v)
{
	return _mm256_srai_epi32(_mm256_add_epi32(v, _mm256_set1_epi32(0x8000)),
				 16);
}

/** pv_round: the high halves, rounded, saturated. */
AVX2_INLINE __m256i round_saturated(__m256i v, __m256i *clipped)
{
	__m256i sum = _mm256_add_epi32(v, _mm256_set1_epi32(0x8000));
	__m256i over = _mm256_cmpgt_epi32(v, sum);

	*clipped = _mm256_or_si256(*clipped, over);
	sum = _mm256_blendv_epi8(sum, _mm256_set1_epi32(INT32_MAX), over);
	return _mm256_srai_epi32(sum, 16);
}

#endif
