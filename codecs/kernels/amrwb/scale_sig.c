/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Scale_sig: a signal times 2^exp, in place.
 *
 *     exp > 0:  x[i] = x[i] << exp, clipped
 *     exp < 0:  x[i] = (x[i] + 2^(-exp - 1)) >> -exp
 *
 * Exponents from -15 to 15 fit in 32 bits without loss; beyond, and the last
 * n mod 16 samples, are the library's.
 */
#include "codecs/kernels/amrwb.h"
#include "codecs/kernels/kernel.h"

enum { BLOCK = 16 };

/* unpack puts every number into the upper half of a lane. */
AVX2 static void scale_up(int16_t x[], int n, int exp)
{
	__m128i right = _mm_cvtsi32_si128(16 - exp);

	for (int i = 0; i < n; i += BLOCK) {
		__m256i v = load256(x + i), zero = _mm256_setzero_si256();
		__m256i low = _mm256_unpacklo_epi16(zero, v);
		__m256i high = _mm256_unpackhi_epi16(zero, v);

		low = _mm256_sra_epi32(low, right);
		high = _mm256_sra_epi32(high, right);
		store256(x + i, _mm256_packs_epi32(low, high));
	}
}

/* mulhrs(v, 2^(15 - n)) is (v + 2^(n - 1)) >> n. */
AVX2 static void scale_down_scale_sig(int16_t x[], int n, int exp)
{
	__m256i factor = _mm256_set1_epi16((int16_t)(1 << (15 + exp)));

	for (int i = 0; i < n; i += BLOCK)
		store256(x + i, _mm256_mulhrs_epi16(load256(x + i), factor));
}

void Scale_sig(int16_t x[], int16_t n, int16_t exp)
{
	int16_t whole = (int16_t)(n & -BLOCK);

	if (!cr_kernels_fast || n < 0 || exp < -15 || exp > 15) {
		stock_Scale_sig(x, n, exp);
		return;
	}
	if (exp > 0)
		scale_up(x, whole, exp);
	else if (exp < 0)
		scale_down_scale_sig(x, whole, exp);
	if (whole < n)
		stock_Scale_sig(x + whole, (int16_t)(n - whole), exp);
}
