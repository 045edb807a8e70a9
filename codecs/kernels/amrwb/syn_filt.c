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
 * for several at once: for a block of 8 the terms of x and of the 16 outputs
 * before the block (madd, two terms at a time), then the triangle that is
 * left, one output after the other. The block's x is read before its y is
 * written, so y may be x. The library's own history holds 80 samples; lengths
 * beyond, or not a multiple of 8, are the library's.
 */
#include "codecs/kernels/amrwb.h"
#include "codecs/kernels/kernel.h"

enum {
	ORDER = 16,
	LONGEST = 80,
	BLOCK = 8,
	PAIRS = ORDER / 2,
};

/* What the 16 outputs before a block add to it: pair p of lane n has the
 * coefficients of y[2p - 16] and y[2p - 15] for output n. */
struct history {
	__m256i pair[PAIRS];
	__m256i input; /* a[0] >> 1 */
};

/* Coefficients beyond a[16] are zero: output n misses the n oldest samples. */
AVX2_INLINE struct history load_filter(const int16_t a[])
{
	int16_t padded[ORDER + 1 + BLOCK] = { 0 };
	struct history f;

	memcpy(padded, a, (ORDER + 1) * sizeof(*a));
	for (int p = 0; p < PAIRS; p++) {
		__m128i first = load128(padded + ORDER - 2 * p);
		__m128i second = load128(padded + ORDER - 2 * p - 1);

		f.pair[p] = _mm256_set_m128i(_mm_unpackhi_epi16(first, second),
					     _mm_unpacklo_epi16(first, second));
	}
	f.input = _mm256_set1_epi32(pack_pair((int16_t)(a[0] >> 1), 0));
	return f;
}

/* The block's sums, 0x800 included, without the triangle. */
AVX2_INLINE void start_block(const struct history *f, const int16_t *x,
			     const int16_t *y, int32_t sum[BLOCK])
{
	__m256i in = _mm256_cvtepu16_epi32(load128(x));
	__m256i s = _mm256_setzero_si256(), t = s;

	for (int p = 0; p < PAIRS; p += 2) {
		int32_t one = load_pair(y - ORDER + 2 * p);
		int32_t two = load_pair(y - ORDER + 2 * p + 2);

		s = _mm256_add_epi32(
			s,
			_mm256_madd_epi16(f->pair[p], _mm256_set1_epi32(one)));
		t = _mm256_add_epi32(t,
				     _mm256_madd_epi16(f->pair[p + 1],
						       _mm256_set1_epi32(two)));
	}
	in = _mm256_add_epi32(_mm256_madd_epi16(in, f->input),
			      _mm256_set1_epi32(0x800));
	store256(sum, _mm256_sub_epi32(_mm256_sub_epi32(in, s), t));
}

/* Clips seldom: the branch is shorter than two conditional moves. @sum has
 * 0x800 in it, and may have wrapped by that. */
static inline int32_t round_sum(int32_t sum)
{
	if (__builtin_expect((uint32_t)sum + (1u << 27) < 1u << 28, 1))
		return sum >> 12;
	return sub_wrapped(sum, 0x800) > 0 ? INT16_MAX : INT16_MIN;
}

/* The triangle: every output in all those after it. */
AVX2_INLINE void finish_block(const int16_t a[], int32_t sum[BLOCK], int16_t *y)
{
	for (int n = 0; n < BLOCK; n++) {
		int32_t out = round_sum(sum[n]);

		y[n] = (int16_t)out;
		for (int k = n + 1; k < BLOCK; k++)
			sum[k] = sub_wrapped(sum[k], a[k - n] * out);
	}
}

AVX2 static void syn_filt_avx2(const int16_t a[], const int16_t x[],
			       int16_t y[], int n, int16_t history[])
{
	int16_t buffer[ORDER + LONGEST];
	struct history f = load_filter(a);

	memcpy(buffer, history, ORDER * sizeof(*history));
	for (int i = 0; i < n; i += BLOCK) {
		int16_t *out = buffer + ORDER + i;
		int32_t sum[BLOCK];

		start_block(&f, x + i, out, sum);
		finish_block(a, sum, out);
		memcpy(y + i, out, BLOCK * sizeof(*out));
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
	syn_filt_avx2(a, x, y, n, copy);
	if (update)
		memcpy(mem, copy, sizeof(copy));
}
