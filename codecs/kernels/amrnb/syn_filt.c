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
 * to all 8 is known at its beginning: vector products of pairs of samples. What
 * they give to each other has to wait for the limiter, sample by sample, in
 * 32-bit numbers. A product, a difference and a shift is the time from a
 * sample to the next; all else must not lie in between. So the last two
 * samples before the block, for its first half, are handled like its own: the
 * vector product comes too late.
 *
 * The encoder and the decoder filter 40 samples, the post filter 22.
 *
 * Valid: n even, 10 to 160, any values, y == x. Else stock_Syn_filt.
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

static inline int32_t limit_syn_filt(uint32_t sum)
{
	int32_t s = (int32_t)sum;

	if (__builtin_expect(s >= -0x08000000 && s < 0x07ffffff, 1))
		return s >> 12;
	return s > 0x07ffffff ? INT16_MAX : INT16_MIN;
}

/* Weights of two neighbouring samples before a block in each of its 8: lane k
 * of weights[q] is the pair a(k + 2q + 2), a(k + 2q + 1). */
AVX2 static void load_weights(const int16_t a[], __m256i weights[PAIRS])
{
	int16_t padded[ORDER + 1 + BLOCK] = { 0 };

	memcpy(padded, a, (ORDER + 1) * sizeof(*a));
	for (int q = 0; q < PAIRS; q++)
		weights[q] = interleave(load128(padded + 2 * q + 2),
					load128(padded + 2 * q + 1));
}

AVX2_INLINE __m256i nb_weigh(__m256i weight, const int16_t samples[2])
{
	return _mm256_madd_epi16(weight, _mm256_set1_epi32(load_pair(samples)));
}

/* A block's sums without the last two samples: @past is where the block will
 * be. */
AVX2_INLINE __m256i nb_sum_early(const __m256i weights[PAIRS],
				 const int16_t x[], int16_t a0,
				 const int16_t past[])
{
	__m256i s = _mm256_mullo_epi32(_mm256_cvtepi16_epi32(load128(x)),
				       _mm256_set1_epi32(a0));

	s = _mm256_add_epi32(s, _mm256_set1_epi32(0x800));
	for (int q = PAIRS - 1; q > 0; q--)
		s = _mm256_sub_epi32(s, nb_weigh(weights[q], past - 2 * q - 2));
	return s;
}

/* The samples of a block from its sums: @early, less the products of the last
 * two samples (@late), less its own. y[-2] and y[-1] are the last two. */
AVX2_INLINE void filter_block(const int16_t a[], const int32_t early[BLOCK],
			      const int32_t late[BLOCK], int32_t y[])
{
#pragma GCC unroll 8
	for (int k = 0; k < BLOCK; k++) {
		uint32_t s = (uint32_t)early[k];
		int first = -2;

		if (k >= BLOCK / 2) {
			s -= (uint32_t)late[k];
			first = 0;
		}
#pragma GCC unroll 10
		for (int j = first; j < k; j++)
			s -= (uint32_t)(a[k - j] * y[j]);
		y[k] = limit_syn_filt(s);
	}
}

/* Two samples at a time, as the next block loads them: a load waits for more
 * than one store, but not for one of its own size. */
AVX2_INLINE void nb_store_block(const int32_t block[BLOCK], int16_t past[],
				int16_t y[])
{
#pragma GCC unroll 4
	for (int k = 0; k < BLOCK; k += 2) {
		int32_t lane =
			pack_pair((int16_t)block[k], (int16_t)block[k + 1]);

		memcpy(past + k, &lane, sizeof(lane));
		memcpy(y + k, &lane, sizeof(lane));
	}
}

AVX2 static void nb_syn_filt_avx2(const int16_t a[], const int16_t x[],
				  int16_t y[], int n, int16_t mem[],
				  bool update)
{
	int16_t buf[ORDER + N_MAX];
	int16_t *out = buf + ORDER;
	__m256i weights[PAIRS];
	int32_t early[BLOCK], late[BLOCK];
	int32_t block[2 + BLOCK] = { [BLOCK] = mem[ORDER - 2], mem[ORDER - 1] };

	memcpy(buf, mem, ORDER * sizeof(*mem));
	load_weights(a, weights);
	for (int begin = 0; begin < n; begin += BLOCK, out += BLOCK) {
		block[0] = block[BLOCK];
		block[1] = block[BLOCK + 1];
		store256(early, nb_sum_early(weights, x + begin, a[0], out));
		store256(late, nb_weigh(weights[0], out - 2));
		filter_block(a, early, late, block + 2);
		nb_store_block(block + 2, out, y + begin);
	}
	if (update)
		memcpy(mem, out - ORDER, ORDER * sizeof(*mem));
}

/* A length that is not of whole blocks: some more samples, not kept. */
AVX2 static void filter_part(const int16_t a[], const int16_t x[], int16_t y[],
			     int n, int16_t mem[], bool update)
{
	int16_t longer_x[N_MAX], longer_y[N_MAX];
	int longer = (n + BLOCK - 1) / BLOCK * BLOCK;

	memset(longer_x + longer - BLOCK, 0, BLOCK * sizeof(*x));
	memcpy(longer_x, x, (size_t)n * sizeof(*x));
	nb_syn_filt_avx2(a, longer_x, longer_y, longer, mem, false);
	/* analyzer: there is one block at least, for n >= ORDER */
	memcpy(y, longer_y, (size_t)n * sizeof(*y));
	if (update)
		memcpy(mem, y + n - ORDER, ORDER * sizeof(*mem));
}

void Syn_filt(int16_t a[], int16_t x[], int16_t y[], int16_t n, int16_t mem[],
	      int16_t update)
{
	if (!cr_kernels_fast || n < ORDER || n > N_MAX || n % 2)
		stock_Syn_filt(a, x, y, n, mem, update);
	else if (n % BLOCK)
		filter_part(a, x, y, n, mem, update);
	else
		nb_syn_filt_avx2(a, x, y, n, mem, update);
}
