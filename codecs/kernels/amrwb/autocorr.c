/* SPDX-License-Identifier: Apache-2.0 */
/*
 * voAWB_Autocorr: the autocorrelation of a windowed frame, normalised, as two
 * halves of 16 and 15 bits.
 *
 *     y[i] = (x[i] * window[i] + 0x4000) >> 15        i = 0..383
 *     e    = 2^20 + sum of (2 * y[i]^2 >> 8)
 *     s    = 4 - norm(e) / 2;  if s > 0, y[i] = (y[i] + 2^(s - 1)) >> s
 *     r[0] = 1 + 2 * sum of y[i]^2
 *     r[k] = 2 * sum over i of y[i] * y[i + k]        k = 1..16
 *
 * and all r shifted left by norm(r[0]), wrapped at 32 bits. mulhrs is the
 * rounded product, with 2^(15 - s) the rounded shift. Sums that wrap do not
 * depend on their order: exact for all inputs. |y| is at most 32767, so no
 * square overflows. The library computes 16 lags whatever @m says.
 */
#include "codecs/kernels/amrwb.h"
#include "codecs/kernels/amrwb/basic_ops.h"

enum {
	WINDOW = 384,
	LAGS = 16,
	BLOCK = 16,
	AT_ONCE = 8, /* lags, whose sums stay in registers */
};

/* y, and e. A square is one product of madd when the other number is zero. */
AVX2 static int32_t window_frame(const int16_t x[], int16_t y[])
{
	const __m256i first = _mm256_set1_epi32(0xffff);
	__m256i sum = _mm256_setzero_si256();

	for (int i = 0; i < WINDOW; i += BLOCK) {
		__m256i v = _mm256_mulhrs_epi16(load256(x + i),
						load256(vo_window + i));
		__m256i even = _mm256_madd_epi16(_mm256_and_si256(v, first), v);
		__m256i odd =
			_mm256_madd_epi16(_mm256_andnot_si256(first, v), v);

		store256(y + i, v);
		sum = _mm256_add_epi32(sum, _mm256_srli_epi32(even, 7));
		sum = _mm256_add_epi32(sum, _mm256_srli_epi32(odd, 7));
	}
	return add_wrapped(sum_lanes256(sum), 1 << 20);
}

AVX2 static void scale_down_wb_autocorr(int16_t y[], int shift)
{
	__m256i factor = _mm256_set1_epi16((int16_t)(1 << (15 - shift)));

	for (int i = 0; i < WINDOW; i += BLOCK)
		store256(y + i, _mm256_mulhrs_epi16(load256(y + i), factor));
}

/* The sum of y[i] * y[i + k] for k = @from.. @from + 7; zeros follow y. */
AVX2 static void correlate_wb_autocorr(const int16_t y[], int from,
				       int32_t sum[AT_ONCE])
{
	__m256i s[AT_ONCE];

	for (int k = 0; k < AT_ONCE; k++)
		s[k] = _mm256_setzero_si256();
	for (int i = 0; i < WINDOW; i += BLOCK) {
		__m256i v = load256(y + i);

		for (int k = 0; k < AT_ONCE; k++) {
			__m256i later = load256(y + i + from + k);

			s[k] = _mm256_add_epi32(s[k],
						_mm256_madd_epi16(v, later));
		}
	}
	for (int k = 0; k < AT_ONCE; k++)
		sum[k] = sum_lanes256(s[k]);
}

AVX2 static void wb_autocorr_avx2(const int16_t x[], int16_t high[],
				  int16_t low[])
{
	int16_t y[WINDOW + LAGS + BLOCK];
	int32_t sum[1 + LAGS];
	int shift = 4 - (wb_norm_l(window_frame(x, y)) >> 1);
	int norm;

	memset(y + WINDOW, 0, (LAGS + BLOCK) * sizeof(*y));
	if (shift > 0)
		scale_down_wb_autocorr(y, shift);
	sum[0] = add_wrapped(shift_left(dot_product(y, y, WINDOW), 1), 1);
	correlate_wb_autocorr(y, 1, sum + 1);
	correlate_wb_autocorr(y, 1 + AT_ONCE, sum + 1 + AT_ONCE);
	norm = wb_norm_l(sum[0]);
	sum[0] = shift_left(sum[0], norm);
	for (int k = 1; k <= LAGS; k++)
		sum[k] = shift_left(shift_left(sum[k], norm), 1);
	for (int k = 0; k <= LAGS; k++) {
		high[k] = (int16_t)(sum[k] >> 16);
		low[k] = (int16_t)((sum[k] & 0xffff) >> 1);
	}
}

void voAWB_Autocorr(int16_t x[], int16_t m, int16_t high[], int16_t low[])
{
	if (!cr_kernels_fast) {
		stock_voAWB_Autocorr(x, m, high, low);
		return;
	}
	wb_autocorr_avx2(x, high, low);
}
