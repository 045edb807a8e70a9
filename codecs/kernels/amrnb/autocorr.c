/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Autocorr: the autocorrelation of a windowed frame of 240 samples.
 *
 *	y(n) = (x(n) w(n) + 2^14) >> 15
 *	r(i) = 2 sum over n = i..239 of y(n) y(n - i),	i = 0..m;  r(0) += 1
 *
 * If r(0) does not fit in 31 bits, y is scaled down by 2 bits (r by 4) until
 * the sum modulo 2^32 is positive: the stock code looks at nothing else. All
 * r(i) are then shifted left as far as r(0) can be and are returned in halves,
 * rh = r >> 16 and rl = (r >> 1) - (rh << 15).
 *
 * Sums of r(i) are modulo 2^32; of r(0) the first time in 64 bits, because the
 * stock code stops at the first sum that is too large.
 *
 * Valid: m up to 10, any values. Else stock_Autocorr.
 */
#include "codecs/kernels/amrnb.h"
#include "codecs/kernels/kernel.h"

enum {
	N = 240,
	LANES = 16,
	LAGS_MAX = 10,
};

/* Applies the window and returns half the energy, exact: a product of pairs
 * is below 2^31 + 1 and taken as unsigned. */
AVX2 static uint64_t apply_window(const int16_t x[], const int16_t w[],
				  int16_t y[])
{
	const __m256i low = _mm256_set1_epi64x(0xffffffff);
	__m256i sums = _mm256_setzero_si256();
	uint64_t part[4];

	for (int n = 0; n < N; n += LANES) {
		__m256i v = _mm256_mulhrs_epi16(load256(x + n), load256(w + n));
		__m256i square = _mm256_madd_epi16(v, v);

		store256(y + n, v);
		sums = _mm256_add_epi64(sums, _mm256_and_si256(square, low));
		sums = _mm256_add_epi64(sums, _mm256_srli_epi64(square, 32));
	}
	store256(part, sums);
	return part[0] + part[1] + part[2] + part[3];
}

/* Divides y by 4 and returns its energy modulo 2^32. */
AVX2 static uint32_t scale_down_autocorr(int16_t y[])
{
	__m256i sums = _mm256_setzero_si256();

	for (int n = 0; n < N; n += LANES) {
		__m256i v = _mm256_srai_epi16(load256(y + n), 2);

		store256(y + n, v);
		sums = _mm256_add_epi32(sums, _mm256_madd_epi16(v, v));
	}
	return 2 * (uint32_t)sum_lanes256(sums);
}

/* y must be followed by zeros. */
AVX2 static uint32_t correlate_autocorr(const int16_t y[], int lag)
{
	__m256i sums = _mm256_setzero_si256();

	for (int n = 0; n < N; n += LANES)
		sums = _mm256_add_epi32(
			sums, _mm256_madd_epi16(load256(y + n),
						load256(y + n + lag)));
	return 2 * (uint32_t)sum_lanes256(sums);
}

static inline void split_autocorr(uint32_t r, int16_t *rh, int16_t *rl)
{
	*rh = (int16_t)(r >> 16);
	*rl = (int16_t)(r >> 1 & 0x7fff);
}

AVX2 static int16_t nb_autocorr_avx2(const int16_t x[], int m, int16_t rh[],
				     int16_t rl[], const int16_t w[])
{
	int16_t y[N + LAGS_MAX] = { 0 };
	uint64_t half = apply_window(x, w, y);
	uint32_t energy = 2 * (uint32_t)half;
	int scaled = 0;
	int norm;

	if (half >= UINT64_C(1) << 30) {
		do {
			energy = scale_down_autocorr(y);
			scaled += 4;
		} while ((int32_t)energy <= 0);
	}
	energy++;
	norm = leading_shifts((int32_t)energy);
	split_autocorr(energy << norm, &rh[0], &rl[0]);
	for (int i = 1; i <= m; i++)
		split_autocorr(correlate_autocorr(y, i) << norm, &rh[i],
			       &rl[i]);
	return (int16_t)(norm - scaled);
}

int16_t Autocorr(int16_t x[], int16_t m, int16_t rh[], int16_t rl[],
		 const int16_t w[], int32_t *overflow)
{
	if (!cr_kernels_fast || m < 0 || m > LAGS_MAX)
		return stock_Autocorr(x, m, rh, rl, w, overflow);
	return nb_autocorr_avx2(x, m, rh, rl, w);
}
