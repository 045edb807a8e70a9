/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cor_h_x, cor_h_x2: the target correlated with the impulse response,
 *
 *     y[i]  = 2 sum over k = 0..39 - i of x[i + k] h[k],
 *     total = 5 + sum over the tracks of max |y| / 2,
 *     dn[i] = round(y[i] * 2^(norm(total) - sf) / 2^16):
 *
 * the largest pulses of all tracks, together, keep sf bits of head room. The
 * sums wrap at 32 bits, so madd may take two products at a time.
 *
 * The two differ at the edges only: in cor_h_x the magnitude of INT32_MIN is
 * itself, in cor_h_x2 INT32_MAX; where a shift saturates, cor_h_x makes -32768
 * of either sign; and only cor_h_x2 takes other than 5 tracks, and sets the
 * overflow flag when it rounds up to more than fits. Exact for all inputs with
 * 5 tracks (cor_h_x) and 4 of 10 positions (cor_h_x2); others are the
 * library's.
 */
#include "codecs/kernels/amrnb.h"
#include "codecs/kernels/amrnb/basic_ops.h"
#include "codecs/kernels/amrnb/tracks.h"

enum { VECTORS = SUBFRAME / 8 };

/* y, with x paired up for madd: pair[i] holds x[i] and x[i + 1]. */
AVX2_INLINE void cor_h_x_correlate(const int16_t h[SUBFRAME],
				   const int16_t x[SUBFRAME],
				   __m256i y[VECTORS])
{
	int16_t padded[SUBFRAME + 16] = { 0 };
	int32_t pair[SUBFRAME + 8];

	memcpy(padded, x, SUBFRAME * sizeof(*x));
	for (int i = 0; i < SUBFRAME + 8; i += 8) {
		__m128i v = load128(padded + i);
		__m128i next = load128(padded + i + 1);

		store128(pair + i, _mm_unpacklo_epi16(v, next));
		store128(pair + i + 4, _mm_unpackhi_epi16(v, next));
	}
	for (int j = 0; j < VECTORS; j++)
		y[j] = _mm256_setzero_si256();
#pragma GCC unroll 20
	for (int k = 0; k < SUBFRAME; k += 2) {
		__m256i taps = _mm256_set1_epi32(load_pair(h + k));

#pragma GCC unroll 5
		for (int j = 0; 8 * j + k < SUBFRAME; j++)
			y[j] = _mm256_add_epi32(
				y[j], _mm256_madd_epi16(
					      taps, load256(pair + 8 * j + k)));
	}
	for (int j = 0; j < VECTORS; j++)
		y[j] = _mm256_slli_epi32(y[j], 1);
}

/* |v|, INT32_MAX for INT32_MIN. */
AVX2_INLINE __m256i magnitude_saturated(__m256i v)
{
	const __m256i largest = _mm256_set1_epi32(INT32_MAX);

	return _mm256_min_epu32(_mm256_abs_epi32(v), largest);
}

/* y * 2^shift, saturated. @shift may be below 0. */
AVX2_INLINE __m256i nb_scale(__m256i y, int shift)
{
	if (shift < 0)
		return _mm256_sra_epi32(y, _mm_cvtsi32_si128(-shift));
	return shift_saturated(y, shift);
}

AVX2 static void nb_cor_h_x_avx2(const int16_t h[], const int16_t x[],
				 int16_t dn[], int sf)
{
	int32_t value[SUBFRAME + 8] = { 0 }, largest[PLACES];
	__m256i y[VECTORS], most = _mm256_setzero_si256();
	int32_t total = 5;
	int shift;

	cor_h_x_correlate(h, x, y);
	for (int j = 0; j < VECTORS; j++)
		store256(value + 8 * j, y[j]);
	/* lanes 0 to 4: the tracks */
	for (int k = 0; k < PLACES; k++)
		most = _mm256_max_epi32(
			most, _mm256_abs_epi32(load256(value + TRACKS * k)));
	store256(largest, _mm256_srai_epi32(most, 1));
	for (int t = 0; t < TRACKS; t++)
		total = add_wrapped(total, largest[t]);
	shift = leading_shifts(total) - sf;
	for (int j = 0; j < VECTORS; j++)
		store128(dn + 8 * j,
			 pack_lanes(nb_round_wrapped(nb_scale(y[j], shift))));
}

AVX2 static void cor_h_x2_avx2(const int16_t h[], const int16_t x[],
			       int16_t dn[], int sf, int32_t *overflow)
{
	__m256i y[VECTORS], most = _mm256_setzero_si256();
	__m256i clipped = _mm256_setzero_si256();
	__m128i folded;
	int32_t total;
	int shift;

	cor_h_x_correlate(h, x, y);
	/* lanes 0 to 3 and 4 to 7: the tracks */
	for (int j = 0; j < VECTORS; j++)
		most = _mm256_max_epi32(most, magnitude_saturated(y[j]));
	folded = _mm_max_epi32(_mm256_castsi256_si128(most),
			       _mm256_extracti128_si256(most, 1));
	total = add_wrapped(5, sum_lanes128(_mm_srai_epi32(folded, 1)));
	shift = leading_shifts(total) - sf;
	for (int j = 0; j < VECTORS; j++) {
		__m256i v = nb_scale(y[j], shift);

		store128(dn + 8 * j, pack_lanes(round_saturated(v, &clipped)));
	}
	raise_overflow(clipped, overflow);
}

/* Head room the encoder asks for, and around it. */
static bool usual_room(int16_t sf)
{
	return sf >= 0 && sf <= 8;
}

void cor_h_x(int16_t h[], int16_t x[], int16_t dn[], int16_t sf,
	     int32_t *overflow)
{
	if (!cr_kernels_fast || !usual_room(sf)) {
		stock_cor_h_x(h, x, dn, sf, overflow);
		return;
	}
	nb_cor_h_x_avx2(h, x, dn, sf);
}

void cor_h_x2(int16_t h[], int16_t x[], int16_t dn[], int16_t sf,
	      int16_t tracks, int16_t step, int32_t *overflow)
{
	if (!cr_kernels_fast || !usual_room(sf) || tracks != 4 || step != 4) {
		stock_cor_h_x2(h, x, dn, sf, tracks, step, overflow);
		return;
	}
	cor_h_x2_avx2(h, x, dn, sf, overflow);
}
