/* SPDX-License-Identifier: Apache-2.0 */
/*
 * voAWB_Syn_filt: LPC synthesis,
 *
 *     sum  = x[i] * (a[0] >> 1) - sum over j = 1..16 of a[j] * y[i - j],
 *     y[i] = (sum + 0x800) >> 12, clipped,
 *
 * the sum wrapped at 32 bits: the library shifts it left by 4 and rounds to
 * the upper 16, both saturating, which clips the same. Exact for all inputs.
 *
 * Each output needs the one before it, so only part of the work can be done
 * for several at once: for a block of 8 the terms of x and of the outputs
 * before the block (madd, two terms at a time), then the triangle that is left,
 * one output after the other. A product, a difference and a shift is the way
 * from output to output; the last two before the block would come late through
 * madd, so for the block's first half they are terms of the triangle, too.
 *
 * The block's x is read before its y is written, so y may be x. The library's
 * own history holds 80 samples; lengths beyond, or not a multiple of 8, are the
 * library's.
 */
#include "codecs/kernels/amrwb.h"
#include "codecs/kernels/kernel.h"

enum {
	ORDER = 16,
	LONGEST = 80,
	BLOCK = 8,
	PAIRS = ORDER / 2,
};

/* Weights of the 16 outputs before a block in it: pair p of lane n has the
 * coefficients of y[-2p - 2] and y[-2p - 1] for output n. */
struct history {
	__m256i pair[PAIRS];
	__m256i input; /* a[0] >> 1 */
};

/* Coefficients beyond a[16] are zero: output n misses the n oldest samples. */
AVX2_INLINE struct history syn_filt_load_filter(const int16_t a[])
{
	int16_t padded[ORDER + 1 + BLOCK] = { 0 };
	struct history f;

	memcpy(padded, a, (ORDER + 1) * sizeof(*a));
	for (int p = 0; p < PAIRS; p++) {
		__m128i older = load128(padded + 2 * p + 2);
		__m128i newer = load128(padded + 2 * p + 1);

		f.pair[p] = interleave(older, newer);
	}
	f.input = _mm256_set1_epi32(pack_pair((int16_t)(a[0] >> 1), 0));
	return f;
}

/* Sum two outputs before a block into it. */
AVX2_INLINE __m256i wb_weigh(const struct history *f, int p, const int16_t *y)
{
	int32_t pair = load_pair(y - 2 * p - 2);

	return _mm256_madd_epi16(f->pair[p], _mm256_set1_epi32(pair));
}

/* The block's sums, 0x800 included, without the last two outputs before it and
 * the triangle. */
AVX2_INLINE __m256i wb_sum_early(const struct history *f, const int16_t *x,
				 const int16_t *y)
{
	__m256i in = _mm256_cvtepu16_epi32(load128(x));
	__m256i s = _mm256_setzero_si256(), t = wb_weigh(f, PAIRS - 1, y);

	for (int p = PAIRS - 2; p > 0; p -= 2) {
		s = _mm256_add_epi32(s, wb_weigh(f, p, y));
		t = _mm256_add_epi32(t, wb_weigh(f, p - 1, y));
	}
	in = _mm256_add_epi32(_mm256_madd_epi16(in, f->input),
			      _mm256_set1_epi32(0x800));
	return _mm256_sub_epi32(in, _mm256_add_epi32(s, t));
}

/* Clips seldom: the branch is shorter than two conditional moves. @sum has
 * 0x800 in it, and may have wrapped by that. */
static inline int32_t round_sum(int32_t sum)
{
	if (__builtin_expect((uint32_t)sum + (1u << 27) < 1u << 28, 1))
		return sum >> 12;
	return sub_wrapped(sum, 0x800) > 0 ? INT16_MAX : INT16_MIN;
}

/* The triangle: every output from those before it; y[-2] and y[-1] are there,
 * and for the second half in @late. */
AVX2_INLINE void syn_filt_finish_block(const int16_t a[],
				       const int32_t early[BLOCK],
				       const int32_t late[BLOCK], int32_t *y)
{
#pragma GCC unroll 8
	for (int n = 0; n < BLOCK; n++) {
		bool half = n >= BLOCK / 2;
		int32_t sum = half ? sub_wrapped(early[n], late[n]) : early[n];

#pragma GCC unroll 10
		for (int k = half ? 0 : -2; k < n; k++)
			sum = sub_wrapped(sum, a[n - k] * y[k]);
		y[n] = round_sum(sum);
	}
}

/* Two outputs at a time, as they will be loaded: a load that needs more than
 * one store waits for them. */
AVX2_INLINE void wb_store_block(const int32_t from[BLOCK], int16_t *history,
				int16_t *y)
{
#pragma GCC unroll 4
	for (int n = 0; n < BLOCK; n += 2) {
		int32_t pair =
			pack_pair((int16_t)from[n], (int16_t)from[n + 1]);

		memcpy(history + n, &pair, sizeof(pair));
		memcpy(y + n, &pair, sizeof(pair));
	}
}

AVX2 static void wb_syn_filt_avx2(const int16_t a[], const int16_t x[],
				  int16_t y[], int n, int16_t history[])
{
	int16_t buffer[ORDER + LONGEST];
	int32_t early[BLOCK], late[BLOCK];
	int32_t block[2 + BLOCK] = { [BLOCK] = history[ORDER - 2],
				     history[ORDER - 1] };
	struct history f = syn_filt_load_filter(a);

	memcpy(buffer, history, ORDER * sizeof(*history));
	for (int i = 0; i < n; i += BLOCK) {
		int16_t *out = buffer + ORDER + i;

		block[0] = block[BLOCK];
		block[1] = block[BLOCK + 1];
		store256(early, wb_sum_early(&f, x + i, out));
		store256(late, wb_weigh(&f, 0, out));
		syn_filt_finish_block(a, early, late, block + 2);
		wb_store_block(block + 2, out, y + i);
	}
	memcpy(history, buffer + n, ORDER * sizeof(*history));
}

void voAWB_Syn_filt(int16_t a[], int16_t x[], int16_t y[], int16_t n,
		    int16_t mem[], int16_t update)
{
	int16_t copy[ORDER];

	if (!cr_kernels_fast || n <= 0 || n > LONGEST || n % BLOCK) {
		stock_voAWB_Syn_filt(a, x, y, n, mem, update);
		return;
	}
	memcpy(copy, mem, sizeof(copy));
	wb_syn_filt_avx2(a, x, y, n, copy);
	if (update)
		memcpy(mem, copy, sizeof(copy));
}
