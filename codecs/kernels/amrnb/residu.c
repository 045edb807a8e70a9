/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Residu: the LPC residual,
 *
 *     y[i] = (0x800 + sum over j = 0..10 of a[j] * x[i - j]) >> 12,
 *
 * its sum and the low 16 bits of the result wrapped as in the library. A
 * 32-bit sum that wraps does not depend on the order of its terms, so madd may
 * take two at a time: exact for all inputs.
 *
 * The library's loop goes from the last sample to the first, in fours, and
 * leaves the first n % 4 untouched; y may be x. We go the same way in blocks
 * of 16 and 8, each read before it is written. Other lengths, which the
 * encoder does not use, are the library's.
 */
#include "codecs/kernels/amrnb.h"
#include "codecs/kernels/kernel.h"

enum {
	TAPS = 11,
	PAIRS = 6, /* of taps; the last has one tap and a zero */
};

/* The low 16 bits of v >> 12, as numbers that packs does not clip. */
AVX2_INLINE __m256i residu_scale(__m256i v)
{
	return _mm256_srai_epi32(_mm256_slli_epi32(v, 4), 16);
}

/* y[0..15]. unpack interleaves x[i - 2j] with x[i - 2j - 1] for madd and has
 * the samples out of order; packs puts them back. */
AVX2_INLINE void residu_filter16(const __m256i tap[PAIRS], const int16_t *x,
				 int16_t *y)
{
	const __m256i half = _mm256_set1_epi32(0x800);
	__m256i low = half, high = half;

	for (int j = 0; j < PAIRS; j++) {
		__m256i even = load256(x - 2 * j);
		__m256i odd = j < PAIRS - 1 ? load256(x - 2 * j - 1)
					    : _mm256_setzero_si256();
		__m256i first = _mm256_unpacklo_epi16(even, odd);
		__m256i second = _mm256_unpackhi_epi16(even, odd);

		low = _mm256_add_epi32(low, _mm256_madd_epi16(first, tap[j]));
		high = _mm256_add_epi32(high,
					_mm256_madd_epi16(second, tap[j]));
	}
	store256(y, _mm256_packs_epi32(residu_scale(low), residu_scale(high)));
}

/* y[0..7]: one half of the same. */
AVX2_INLINE void residu_filter8(const __m256i tap[PAIRS], const int16_t *x,
				int16_t *y)
{
	__m256i sum = _mm256_set1_epi32(0x800);

	for (int j = 0; j < PAIRS; j++) {
		__m128i even = load128(x - 2 * j);
		__m128i odd = j < PAIRS - 1 ? load128(x - 2 * j - 1)
					    : _mm_setzero_si128();
		__m256i both = interleave(even, odd);

		sum = _mm256_add_epi32(sum, _mm256_madd_epi16(both, tap[j]));
	}
	store128(y, pack_lanes(residu_scale(sum)));
}

/* @n: a positive multiple of 8. */
AVX2 static void nb_residu_avx2(const int16_t a[], const int16_t x[],
				int16_t y[], int n)
{
	__m256i tap[PAIRS];

	for (int j = 0; j < PAIRS - 1; j++)
		tap[j] = _mm256_set1_epi32(load_pair(a + 2 * j));
	tap[PAIRS - 1] = _mm256_set1_epi32(pack_pair(a[TAPS - 1], 0));
	for (; n >= 16; n -= 16)
		residu_filter16(tap, x + n - 16, y + n - 16);
	if (n)
		residu_filter8(tap, x, y);
}

void Residu(int16_t a[], int16_t x[], int16_t y[], int16_t n)
{
	if (!cr_kernels_fast || n <= 0 || n % 8) {
		stock_Residu(a, x, y, n);
		return;
	}
	nb_residu_avx2(a, x, y, n);
}
