/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pred_lt_3or6: the excitation of a pitch lag with a fraction, by a low-pass
 * filter of 20 taps around the past sample.
 *
 *	y(n) = (2^14 + sum over i = 0..9 of
 *	        x(n - i) c(f + 6i) + x(n + 1 + i) c(6 - f + 6i)) >> 15
 *
 * where x(n) = exc(n - lag), f the fraction in sixths, and y(n) is written to
 * exc(n). The sum is modulo 2^32, the upper bits are dropped.
 *
 * A lag shorter than the subframe reads samples that were written just before:
 * a block of 16 is right from lag 26 on, as it reads 10 samples ahead of its
 * own, one of 8 from lag 18. The codec's shortest lag is 17 3/6, whose sample
 * is 18 back.
 *
 * Valid: lags from 18, n a multiple of 8. Else stock_Pred_lt_3or6.
 */
#include "codecs/kernels/amrnb.h"
#include "codecs/kernels/kernel.h"

enum {
	SIXTHS = 6,
	SIDE = 10, /* taps before and after */
	PAIRS = SIDE,
	LAG_MIN = 18,
	LAG_MIN_16 = 26,
};

/* The library's: c(0) to c(60). */
extern const int16_t inter_6_pred_lt[SIDE * SIXTHS + 1];

/* The taps for x(n - 9) to x(n + 10), in pairs. */
AVX2_INLINE void pred_lt_load_taps(int fraction, __m256i taps[PAIRS])
{
	int16_t c[2 * SIDE];

	for (int i = 0; i < SIDE; i++) {
		c[SIDE - 1 - i] = inter_6_pred_lt[fraction + SIXTHS * i];
		c[SIDE + i] = inter_6_pred_lt[SIXTHS - fraction + SIXTHS * i];
	}
	for (int i = 0; i < PAIRS; i++)
		taps[i] = _mm256_set1_epi32(load_pair(c + 2 * i));
}

/* Bits 15 to 30 as signed numbers, which packs does not clip. */
AVX2_INLINE __m256i pred_lt_scale(__m256i v)
{
	return _mm256_srai_epi32(_mm256_slli_epi32(v, 1), 16);
}

/* y[0..15]; unpack leaves the sums out of order, packs restores it. */
AVX2_INLINE void pred_lt_filter16(const __m256i taps[PAIRS], const int16_t *x,
				  int16_t *y)
{
	__m256i low = _mm256_set1_epi32(0x4000);
	__m256i high = low;

	for (int i = 0; i < PAIRS; i++) {
		__m256i even = load256(x - (SIDE - 1) + 2 * i);
		__m256i odd = load256(x - (SIDE - 1) + 2 * i + 1);
		__m256i first = _mm256_unpacklo_epi16(even, odd);
		__m256i second = _mm256_unpackhi_epi16(even, odd);

		low = _mm256_add_epi32(low, _mm256_madd_epi16(first, taps[i]));
		high = _mm256_add_epi32(high,
					_mm256_madd_epi16(second, taps[i]));
	}
	store256(y,
		 _mm256_packs_epi32(pred_lt_scale(low), pred_lt_scale(high)));
}

/* y[0..7] */
AVX2_INLINE void pred_lt_filter8(const __m256i taps[PAIRS], const int16_t *x,
				 int16_t *y)
{
	__m256i sum = _mm256_set1_epi32(0x4000);

	for (int i = 0; i < PAIRS; i++) {
		__m128i even = load128(x - (SIDE - 1) + 2 * i);
		__m128i odd = load128(x - (SIDE - 1) + 2 * i + 1);
		__m256i both = interleave(even, odd);

		sum = _mm256_add_epi32(sum, _mm256_madd_epi16(both, taps[i]));
	}
	store128(y, pack_lanes(pred_lt_scale(sum)));
}

AVX2 static void predict_pred_lt(int16_t exc[], int lag, int fraction, int n)
{
	__m256i taps[PAIRS];
	int i = 0;

	pred_lt_load_taps(fraction, taps);
	if (lag >= LAG_MIN_16)
		for (; i + 16 <= n; i += 16)
			pred_lt_filter16(taps, exc + i - lag, exc + i);
	for (; i < n; i += 8)
		pred_lt_filter8(taps, exc + i - lag, exc + i);
}

void Pred_lt_3or6(int16_t exc[], int16_t lag, int16_t frac, int16_t n,
		  int16_t thirds, int32_t *overflow)
{
	int fraction = thirds ? -2 * frac : -frac;
	int whole = lag;

	if (fraction < 0) {
		fraction += SIXTHS;
		whole++;
	}
	if (!cr_kernels_fast || n < 0 || n % 8 || whole < LAG_MIN ||
	    fraction < 0 || fraction > SIXTHS) {
		stock_Pred_lt_3or6(exc, lag, frac, n, thirds, overflow);
		return;
	}
	predict_pred_lt(exc, whole, fraction, n);
}
