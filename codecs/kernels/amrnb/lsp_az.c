/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lsp_Az: the filter of a set of line spectral pairs.
 *
 * Five of the ten are roots of the sum polynomial F1, five of the difference
 * F2. Each is multiplied out, a root q at a time, in Q24:
 *
 *	f(j) = f(j) + f(j - 2) - 4 (f(j - 1) / 2 q >> 15),	j = i..2
 *	f(1) = f(1) - 2^10 q
 *
 * with all f(j) on the right before the step, f(i) = f(i - 2), and the product
 * of 31 bits by 16 exact, all modulo 2^32. F1 and F2 are in the two halves of a
 * vector. Then
 *
 *	a(i) = (F1(i) + F1(i - 1) + F2(i) - F2(i - 1) + 2^12) >> 13
 *	a(11 - i) = (F1(i) + F1(i - 1) - F2(i) + F2(i - 1) + 2^12) >> 13
 *
 * Valid: everything.
 */
#include "codecs/kernels/amrnb.h"
#include "codecs/kernels/kernel.h"

enum {
	ORDER = 10,
	HALF = ORDER / 2,
};

/* The lower 32 bits of 4 (f / 2 q >> 15) of both, which lie in 64 bits. */
AVX2_INLINE __m128i lsp_az_multiply(__m128i f, __m128i q)
{
	__m128i product = _mm_mul_epi32(_mm_srai_epi32(f, 1), q);

	return _mm_slli_epi64(_mm_srli_epi64(product, 15), 2);
}

/* Both polynomials, f[i] of F1 in the lower half. */
AVX2_INLINE void multiply_out(const int16_t lsp[ORDER], __m128i f[HALF + 1])
{
	f[0] = _mm_set1_epi64x(0x01000000);
	f[1] = _mm_setzero_si128();
#pragma GCC unroll 5
	for (int i = 1; i <= HALF; i++) {
		__m128i q = _mm_set_epi64x(lsp[2 * i - 1], lsp[2 * i - 2]);

		if (i > 1)
			f[i] = f[i - 2];
#pragma GCC unroll 4
		for (int j = i; j > 1; j--)
			f[j] = _mm_sub_epi32(_mm_add_epi32(f[j], f[j - 2]),
					     lsp_az_multiply(f[j - 1], q));
		f[1] = _mm_sub_epi32(f[1], _mm_slli_epi32(q, 10));
	}
}

AVX2 static void find_filter(const int16_t lsp[ORDER], int16_t a[ORDER + 1])
{
	__m128i f[HALF + 1];

	multiply_out(lsp, f);
	a[0] = 4096;
	for (int i = 1; i <= HALF; i++) {
		__m128i sum = _mm_add_epi32(f[i], f[i - 1]);
		__m128i difference = _mm_sub_epi32(f[i], f[i - 1]);
		int32_t f1 = _mm_cvtsi128_si32(sum);
		int32_t f2 = _mm_extract_epi32(difference, 2);

		f1 = add_wrapped(f1, 0x1000);
		a[i] = (int16_t)(add_wrapped(f1, f2) >> 13);
		a[ORDER + 1 - i] = (int16_t)(sub_wrapped(f1, f2) >> 13);
	}
}

void Lsp_Az(int16_t lsp[], int16_t a[], int32_t *overflow)
{
	if (!cr_kernels_fast) {
		stock_Lsp_Az(lsp, a, overflow);
		return;
	}
	find_filter(lsp, a);
}
