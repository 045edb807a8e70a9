/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Convolve: a subframe of excitation through an impulse response.
 *
 *	y(n) = (sum over i = 0..n of x(i) h(n - i)) >> 12,	n = 0..39
 *
 * The sum is modulo 2^32 and its upper bits are dropped, no limiter: the order
 * of the terms does not matter. A product of pairs takes x(i) and x(i + 1) at
 * once, with h(n - i) and h(n - i - 1); h is 0 before its beginning.
 *
 * Valid: 40 samples, any values, y == x too. Else stock_Convolve.
 */
#include "codecs/kernels/amrnb.h"
#include "codecs/kernels/kernel.h"

enum {
	N = 40,
	LANES = 8,
	BLOCKS = N / LANES,
};

/* pairs[LANES + n] = h(n), h(n - 1) */
AVX2 static void load_response(const int16_t h[], int32_t pairs[LANES + N])
{
	int16_t delayed[1 + N] = { 0 };

	memcpy(delayed + 1, h, N * sizeof(*h));
	store256(pairs, _mm256_setzero_si256());
	for (int n = 0; n < N; n += LANES)
		store256(pairs + LANES + n, interleave(load128(delayed + n + 1),
						       load128(delayed + n)));
}

/* (s << 4) >> 16: bits 12 to 27 as a signed number, in 32 bits. */
AVX2_INLINE __m128i narrow(__m256i s)
{
	return pack_lanes(_mm256_srai_epi32(_mm256_slli_epi32(s, 4), 16));
}

AVX2 static void nb_convolve_avx2(const int16_t x[], const int16_t h[],
				  int16_t y[])
{
	__m256i sums[BLOCKS] = { 0 };
	int32_t pairs[LANES + N];

	load_response(h, pairs);
#pragma GCC unroll 20
	for (int i = 0; i < N; i += 2) {
		__m256i xi = _mm256_set1_epi32(load_pair(x + i));

#pragma GCC unroll 5
		for (int b = i / LANES; b < BLOCKS; b++) {
			const int32_t *hi = pairs + LANES + b * LANES - i;

			sums[b] = _mm256_add_epi32(
				sums[b], _mm256_madd_epi16(xi, load256(hi)));
		}
	}
	for (int b = 0; b < BLOCKS; b++)
		store128(y + b * LANES, narrow(sums[b]));
}

void Convolve(int16_t x[], int16_t h[], int16_t y[], int16_t n)
{
	if (!cr_kernels_fast || n != N) {
		stock_Convolve(x, h, y, n);
		return;
	}
	nb_convolve_avx2(x, h, y);
}
