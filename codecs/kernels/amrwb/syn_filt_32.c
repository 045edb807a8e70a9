/* SPDX-License-Identifier: Apache-2.0 */
/*
 * voAWB_Syn_filt_32: LPC synthesis in two words a sample, as the library has
 * it: its coefficients are off by one against the standard's, and the sign of
 * one sum is the other way (only the 23.85 kbit/s mode listens to it).
 *
 *     s     = (-(sum over j = 0..15 of a[j] * low[i - 1 - j]) >> 11)
 *             + 2 * exc[i] * (a[0] >> (4 + q))
 *             + 2 * sum over j = 0..15 of a[j] * high[i - 1 - j]
 *     high[i] = s >> 19
 *     low[i]  = (s >> 7) - (high[i] << 13)
 *
 * in 32 bits that wrap, low and high their lower 16. As in syn_filt.c a block
 * of 8 begins with what the 16 samples before it give to all of it, and the
 * triangle follows. Exact for all inputs; lengths that are no multiple of 8 are
 * the library's.
 */
#include "codecs/kernels/amrwb.h"
#include "codecs/kernels/kernel.h"

enum {
	ORDER = 16,
	BLOCK = 8,
	PAIRS = ORDER / 2,
};

/* Pair p of lane n has the coefficients of samples -2p - 2 and -2p - 1 for
 * sample n. */
struct history {
	__m256i pair[PAIRS];
};

AVX2_INLINE struct history syn_filt_32_load_filter(const int16_t a[])
{
	int16_t padded[ORDER + BLOCK] = { 0 };
	struct history f;

	memcpy(padded, a, ORDER * sizeof(*a));
	for (int p = 0; p < PAIRS; p++) {
		__m128i older = load128(padded + 2 * p + 1);
		__m128i newer = load128(padded + 2 * p);

		f.pair[p] = interleave(older, newer);
	}
	return f;
}

/* Sum the samples before @past into the block there. */
AVX2_INLINE void start_block(const struct history *f, const int16_t *past,
			     int32_t sum[BLOCK])
{
	__m256i s = _mm256_setzero_si256();

	for (int p = PAIRS - 1; p >= 0; p--) {
		__m256i y = _mm256_set1_epi32(load_pair(past - 2 * p - 2));

		s = _mm256_add_epi32(s, _mm256_madd_epi16(f->pair[p], y));
	}
	store256(sum, s);
}

/* The block's samples, from the sums over those before it. */
AVX2_INLINE void syn_filt_32_finish_block(const int16_t a[],
					  const int32_t input[BLOCK],
					  const int32_t sum[2][BLOCK],
					  int16_t *const y[2])
{
	int32_t low[BLOCK], high[BLOCK];

#pragma GCC unroll 8
	for (int n = 0; n < BLOCK; n++) {
		uint32_t l = (uint32_t)sum[0][n], h = (uint32_t)sum[1][n];
		int32_t s;

#pragma GCC unroll 8
		for (int k = 0; k < n; k++) {
			l += (uint32_t)(a[n - 1 - k] * low[k]);
			h += (uint32_t)(a[n - 1 - k] * high[k]);
		}
		s = add_wrapped((int32_t)(0u - l) >> 11, input[n]);
		s = add_wrapped(s, (int32_t)(2u * h));
		high[n] = s >> 19;
		low[n] = (int16_t)sub_wrapped(s >> 7, high[n] * (1 << 13));
	}
#pragma GCC unroll 4
	for (int n = 0; n < BLOCK; n += 2) { /* as they will be loaded */
		/* analyzer: the loop above has filled all of them */
		int32_t l = pack_pair((int16_t)low[n], (int16_t)low[n + 1]);
		int32_t h = pack_pair((int16_t)high[n], (int16_t)high[n + 1]);

		memcpy(y[0] + n, &l, sizeof(l));
		memcpy(y[1] + n, &h, sizeof(h));
	}
}

AVX2 static void syn_filt_32_avx2(const int16_t a[], const int16_t exc[],
				  int16_t a0, int16_t *const y[2], int n)
{
	struct history f = syn_filt_32_load_filter(a);

	for (int i = 0; i < n; i += BLOCK) {
		int16_t *const at[] = { y[0] + i, y[1] + i };
		int32_t input[BLOCK], sum[2][BLOCK];

		for (int k = 0; k < BLOCK; k++)
			input[k] = (int32_t)(2u * (uint32_t)(exc[i + k] * a0));
		start_block(&f, at[0], sum[0]);
		start_block(&f, at[1], sum[1]);
		syn_filt_32_finish_block(a, input, sum, at);
	}
}

void voAWB_Syn_filt_32(int16_t a[], int16_t m, int16_t exc[], int16_t q,
		       int16_t high[], int16_t low[], int16_t n)
{
	int16_t *const y[] = { low, high };

	if (!cr_kernels_fast || n <= 0 || n % BLOCK) {
		stock_voAWB_Syn_filt_32(a, m, exc, q, high, low, n);
		return;
	}
	syn_filt_32_avx2(a, exc, (int16_t)(a[0] >> ((4 + q) & 31)), y, n);
}
