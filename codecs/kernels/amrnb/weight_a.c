/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Weight_Ai: a filter with its bandwidth expanded, A(z / gamma).
 *
 *	w(0) = a(0),	w(i) = (a(i) g(i - 1) + 2^14) >> 15,	i = 1..10
 *
 * where g(i - 1) is gamma^i in Q15. mulhrs is that very operation, modulo 2^16
 * as the library's. Two products of eight overlap: 1 to 8 and 3 to 10.
 *
 * Valid: everything.
 */
#include "codecs/kernels/amrnb.h"
#include "codecs/kernels/kernel.h"

AVX2 static void weigh_weight_a(const int16_t a[], const int16_t g[],
				int16_t w[])
{
	__m128i low = _mm_mulhrs_epi16(load128(a + 1), load128(g));
	__m128i high = _mm_mulhrs_epi16(load128(a + 3), load128(g + 2));

	w[0] = a[0];
	store128(w + 1, low);
	store128(w + 3, high);
}

void Weight_Ai(int16_t a[], const int16_t gamma[], int16_t weighted[])
{
	if (!cr_kernels_fast) {
		stock_Weight_Ai(a, gamma, weighted);
		return;
	}
	weigh_weight_a(a, gamma, weighted);
}
