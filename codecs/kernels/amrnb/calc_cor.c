/* SPDX-License-Identifier: Apache-2.0 */
/*
 * comp_corr: the correlation of a signal with its past, for the open-loop
 * pitch search.
 *
 *	corr(-lag) = 2 sum over n = 0..N-1 of s(n) s(n - lag)	modulo 2^32
 *
 * for lag = lag_max downwards, in fours, until lag_min is reached or passed.
 * Eight lags at a time share the loads of s(n), and their sums are added up
 * across the lanes together.
 *
 * Valid: N a multiple of 16 (the codec has 80 and 160). Else stock_comp_corr.
 */
#include "codecs/kernels/amrnb.h"
#include "codecs/kernels/kernel.h"

enum {
	LANES = 16,
	GROUP = 8, /* lags at a time */
};

/* The sums across each of eight vectors, doubled. */
AVX2_INLINE __m256i add_up(const __m256i v[GROUP])
{
	__m256i first = _mm256_hadd_epi32(_mm256_hadd_epi32(v[0], v[1]),
					  _mm256_hadd_epi32(v[2], v[3]));
	__m256i second = _mm256_hadd_epi32(_mm256_hadd_epi32(v[4], v[5]),
					   _mm256_hadd_epi32(v[6], v[7]));
	__m256i low = _mm256_permute2x128_si256(first, second, 0x20);
	__m256i high = _mm256_permute2x128_si256(first, second, 0x31);

	return _mm256_slli_epi32(_mm256_add_epi32(low, high), 1);
}

AVX2_INLINE void correlate_group(const int16_t s[], const int16_t past[], int n,
				 int32_t corr[GROUP])
{
	__m256i sums[GROUP];

	for (int k = 0; k < GROUP; k++)
		sums[k] = _mm256_setzero_si256();
	for (int i = 0; i < n; i += LANES) {
		__m256i now = load256(s + i);

#pragma GCC unroll 8
		for (int k = 0; k < GROUP; k++)
			sums[k] = _mm256_add_epi32(
				sums[k],
				_mm256_madd_epi16(now, load256(past + k + i)));
	}
	store256(corr, add_up(sums));
}

AVX2_INLINE int32_t calc_cor_correlate(const int16_t s[], const int16_t past[],
				       int n)
{
	__m256i sum = _mm256_setzero_si256();

	for (int i = 0; i < n; i += LANES)
		sum = _mm256_add_epi32(
			sum,
			_mm256_madd_epi16(load256(s + i), load256(past + i)));
	return (int32_t)(2 * (uint32_t)sum_lanes256(sum));
}

AVX2 static void correlate_all_calc_cor(const int16_t s[], int n, int lag_max,
					int lags, int32_t corr[])
{
	const int16_t *past = s - lag_max;
	int k = 0;

	for (; k + GROUP <= lags; k += GROUP)
		correlate_group(s, past + k, n, corr + k);
	for (; k < lags; k++)
		corr[k] = calc_cor_correlate(s, past + k, n);
}

void comp_corr(int16_t s[], int16_t n, int16_t lag_max, int16_t lag_min,
	       int32_t corr[])
{
	int lags = ((lag_max - lag_min) / 4 + 1) * 4;

	if (!cr_kernels_fast || n < 0 || n % LANES || lag_max < lag_min) {
		stock_comp_corr(s, n, lag_max, lag_min, corr);
		return;
	}
	correlate_all_calc_cor(s, n, lag_max, lags, corr - lag_max);
}
