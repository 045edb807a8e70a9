/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The correlations of the impulse response h with itself, which the library's
 * cor_h makes. With h2 = h scaled to an energy of 0.99, or halved if its energy
 * does not fit 31 bits,
 *
 *     S(a, b) = sum over n < 40 - max(a, b) of h2[n] h2[n + |a - b|]
 *             = S(a + 1, b + 1) + h2[39 - a] h2[39 - b],
 *     rr(a, b) = round(S(a, b) / 2^15) * (sign[a] sign[b] >> 15) >> 15,
 *     rr(a, a) = round(S(a, a) / 2^15).
 *
 * Exact for all h: the sums wrap at 32 bits and the roundings at 16 as the
 * library's do, whatever the order. Signs are 32767 or -32767.
 */
#ifndef CODECS_KERNELS_AMRNB_RESPONSE_H
#define CODECS_KERNELS_AMRNB_RESPONSE_H

#include "codecs/kernels/amrnb.h"
#include "codecs/kernels/amrnb/basic_ops.h"

enum { SUBFRAME = 40 }; /* samples, and positions */

/** Scale factor from an impulse response of this energy (2^24 is 1) to one of
 * 0.99, in Q6. */
static inline int16_t scale_of(int32_t energy, int32_t *overflow)
{
	int32_t root = Inv_sqrt(energy, overflow);

	if (root >= 0x00ffffff)
		return 32440;
	return (int16_t)(((root >> 9) * 32440) >> 15);
}

/** mirrored[p] = h2[39 - p] */
AVX2_INLINE void scale_response(const int16_t h[SUBFRAME],
				int16_t mirrored[SUBFRAME], int32_t *overflow)
{
	const __m128i backwards = _mm_setr_epi8(14, 15, 12, 13, 10, 11, 8, 9, 6,
						7, 4, 5, 2, 3, 0, 1);
	__m128i energies = _mm_setzero_si128();
	__m256i scale, half;
	int32_t energy;

	for (int n = 0; n < SUBFRAME; n += 8) {
		__m128i v = load128(h + n);

		energies = _mm_add_epi32(energies, _mm_madd_epi16(v, v));
	}
	energy = add_wrapped(sum_lanes128(energies), 1);
	if (energy & 0x40000000) { /* too much: h / 2, not rounded */
		scale = _mm256_set1_epi32(32);
		half = _mm256_setzero_si256();
	} else {
		energy &= 0x3fffffff;
		scale = _mm256_set1_epi32(scale_of(energy, overflow));
		half = _mm256_set1_epi32(0x20);
	}
	for (int n = 0; n < SUBFRAME; n += 8) {
		__m256i v = _mm256_cvtepu16_epi32(load128(h + n));

		v = _mm256_add_epi32(_mm256_madd_epi16(v, scale), half);
		v = low_words(_mm256_srai_epi32(v, 6));
		store128(mirrored + SUBFRAME - 8 - n,
			 _mm_shuffle_epi8(pack_lanes(v), backwards));
	}
}

/** rr(a, a). @sum: S(a + 1, a + 1), becomes S(a, a). @own: h2[39 - a]. */
static inline int16_t own_correlation(int32_t *sum, int16_t own)
{
	*sum = add_wrapped(*sum, own * own);
	return (int16_t)(add_wrapped(*sum, 0x4000) >> 15);
}

/** Lanes moved down by one: the last becomes the first of @after. */
AVX2_INLINE __m256i next_lane(__m256i v, __m256i after)
{
	return _mm256_alignr_epi8(_mm256_permute2x128_si256(v, after, 0x21), v,
				  4);
}

/** sign[a] sign[b] >> 15 for 8 positions a and a positive or @negative sign[b],
 * for put_sign(): 32766 if they are the same, else -32767, which is 32766 with
 * its 16 bits flipped. */
AVX2_INLINE __m256i product_signs(__m128i sign, bool negative)
{
	__m128i same = _mm_set1_epi16(negative ? -32767 : 32766);

	return _mm256_cvtepu16_epi32(
		_mm_xor_si128(same, _mm_srai_epi16(sign, 15)));
}

/** rr(a, b) from the sum. The high half of a lane of @sign is 0, so madd takes
 * the low 16 bits of the rounded sum. */
AVX2_INLINE __m256i put_sign(__m256i sum, __m256i sign)
{
	const __m256i half = _mm256_set1_epi32(0x4000);

	sum = _mm256_srai_epi32(_mm256_add_epi32(sum, half), 15);
	return _mm256_srai_epi32(_mm256_madd_epi16(sum, sign), 15);
}

#endif
