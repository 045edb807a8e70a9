/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Syn_filt: the synthesis filter 1/A(z) of order 10.
 *
 *	s(n) = 2048 + a(0) x(n) - sum over i = 1..10 of a(i) y(n - i)
 *	y(n) = s(n) >> 12, limited to 16 bits
 *
 * Sums are modulo 2^32, so their order does not matter. The limiter is the
 * stock one: s = 0x07ffffff, the largest sum that would fit, gives -32768.
 *
 * A block is 8 samples. What the input and the samples before the block give
 * to all 8 is known at its beginning: six vector products. What they give to
 * each other has to wait for the limiter, sample by sample.
 *
 * Valid: n a multiple of 8 up to 160, any values, y == x. Else stock_Syn_filt.
 */
#include <string.h>

#include "codecs/kernels/amrnb.h"
#include "codecs/kernels/kernel.h"

enum {
	ORDER = 10,
	BLOCK = 8,
	N_MAX = 160,
	PAIRS = ORDER / 2,
};

static inline int16_t limit(int32_t s)
{
	if (s >= -0x08000000 && s < 0x07ffffff)
		return (int16_t)(s >> 12);
	return s > 0x07ffffff ? INT16_MAX : INT16_MIN;
}

/* What two neighbouring samples before a block weigh in each of its 8: lane k
 * of weights[q] is the pair a(k + 2q + 2), a(k + 2q + 1). */
AVX2 static void load_weights(const int16_t a[], __m256i weights[PAIRS])
{
	int16_t padded[ORDER + 1 + BLOCK] = { 0 };

	memcpy(padded, a, (ORDER + 1) * sizeof(*a));
	for (int q = 0; q < PAIRS; q++)
		weights[q] = interleave(load128(padded + 2 * q + 2),
					load128(padded + 2 * q + 1));
}

/* The part of a block's sums that is known when it begins; @past is where its
 * first sample will be. */
AVX2_INLINE void sum_known(const __m256i weights[PAIRS], const int16_t x[],
			   int16_t a0, const int16_t past[],
			   int32_t sums[BLOCK])
{
	__m256i s = _mm256_mullo_epi32(_mm256_cvtepi16_epi32(load128(x)),
				       _mm256_set1_epi32(a0));

	s = _mm256_add_epi32(s, _mm256_set1_epi32(0x800));
	for (int q = PAIRS - 1; q >= 0; q--)
		s = _mm256_sub_epi32(
			s, _mm256_madd_epi16(weights[q],
					     _mm256_set1_epi32(load_pair(
						     past - 2 * q - 2))));
	store256(sums, s);
}

AVX2 static void syn_filt_avx2(const int16_t a[], const int16_t x[],
			       int16_t y[], int n, int16_t mem[], bool update)
{
	int16_t buf[ORDER + N_MAX];
	int16_t *out = buf + ORDER;
	__m256i weights[PAIRS];
	int32_t sums[BLOCK];

	memcpy(buf, mem, ORDER * sizeof(*mem));
	load_weights(a, weights);
	for (int begin = 0; begin < n; begin += BLOCK, out += BLOCK) {
		sum_known(weights, x + begin, a[0], out, sums);
#pragma GCC unroll 8
		for (int k = 0; k < BLOCK; k++) {
			uint32_t s = (uint32_t)sums[k];

#pragma GCC unroll 8
			for (int j = 0; j < k; j++)
				s -= (uint32_t)(a[k - j] * out[j]);
			out[k] = limit((int32_t)s);
		}
		memcpy(y + begin, out, BLOCK * sizeof(*y));
	}
	if (update)
		memcpy(mem, out - ORDER, ORDER * sizeof(*mem));
}

void Syn_filt(int16_t a[], int16_t x[], int16_t y[], int16_t lg, int16_t mem[],
	      int16_t update)
{
	if (!cr_kernels_fast || lg <= 0 || lg > N_MAX || lg % BLOCK) {
		stock_Syn_filt(a, x, y, lg, mem, update);
		return;
	}
	syn_filt_avx2(a, x, y, lg, mem, update);
}
