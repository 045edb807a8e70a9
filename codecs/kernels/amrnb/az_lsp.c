/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Az_lsp: the line spectral pairs of a prediction filter of order 10.
 *
 * They are the roots, in falling order and by turns, of the sum and difference
 * polynomials F1 and F2 in x = cos w. The search walks down a grid of 61
 * points; where the sign changes it halves the interval four times and
 * interpolates. It goes on below the root, with the other polynomial.
 *
 * A polynomial is five Chebyshev terms, by Clenshaw's recurrence in numbers of
 * 31 bits: h is the upper half and l 15 lower bits,
 *
 *	t(1) = 2^10 x + 2^14 f(1),		t(0) = 2^24
 *	t(i) = 4 (h x + (l x >> 15)) - t(i - 2) + 2^14 f(i),	i = 2..4
 *	C(x) = (2 (h x + (l x >> 15)) - t(3) + 2^13 f(5)) >> 10, limited
 *
 * where t(i - 2) has lost its lowest bit in the split and all is modulo 2^32.
 * The stock limiter takes 0x01ffffff, the largest sum that would fit, for the
 * lowest; but no sum is odd.
 *
 * Both polynomials are evaluated on all of the grid first, 8 points at a time:
 * that is less work than the walk, whose branches are hard to predict.
 *
 * Valid: everything. There is no fall-back.
 */
#include <string.h>

#include "codecs/kernels/amrnb.h"
#include "codecs/kernels/amrnb/arith.h"
#include "codecs/kernels/kernel.h"

enum {
	ORDER = 10,
	TERMS = 1 + ORDER / 2,
	POINTS = 61,
	LANES = 8,
	PADDED = 64, /* POINTS, in whole vectors */
	HALVINGS = 4,
};

/* The points of the library: cos(k pi / 60), and what the tables hold. */
extern const int16_t grid[POINTS];

static inline int32_t limit(int32_t t)
{
	t >>= 10;
	t = t > INT16_MAX ? INT16_MAX : t;
	return t < INT16_MIN ? INT16_MIN : t;
}

/* (h x + (l x >> 15)), modulo 2^32 */
static inline uint32_t product(int32_t h, int32_t l, int32_t x)
{
	return (uint32_t)(h * x) + (uint32_t)(l * x >> 15);
}

/* C(x) at one point. */
static inline int32_t chebyshev(int32_t x, const int16_t f[TERMS])
{
	uint32_t t = (uint32_t)x * 1024 + (uint32_t)f[1] * 16384;
	uint32_t before = 0x01000000;
	int32_t h = (int32_t)t >> 16;
	int32_t l = t >> 1 & 0x7fff;

	for (int i = 2; i < TERMS - 1; i++) {
		t = 4 * product(h, l, x) - before + (uint32_t)f[i] * 16384;
		before = (uint32_t)h * 65536 + 2 * (uint32_t)l;
		h = (int32_t)t >> 16;
		l = t >> 1 & 0x7fff;
	}
	t = 2 * product(h, l, x) - before + (uint32_t)f[TERMS - 1] * 8192;
	return limit((int32_t)t);
}

/* The same in eight lanes. A product of 16 bits is one of pairs whose second
 * number is 0. */
AVX2_INLINE __m256i product8(__m256i h, __m256i l, __m256i x)
{
	return _mm256_add_epi32(_mm256_madd_epi16(h, x),
				_mm256_srai_epi32(_mm256_madd_epi16(l, x), 15));
}

AVX2_INLINE __m256i limit8(__m256i t)
{
	t = _mm256_srai_epi32(t, 10);
	t = _mm256_min_epi32(t, _mm256_set1_epi32(INT16_MAX));
	return _mm256_max_epi32(t, _mm256_set1_epi32(INT16_MIN));
}

AVX2_INLINE __m256i chebyshev8(__m256i x, const int16_t f[TERMS])
{
	const __m256i bits15 = _mm256_set1_epi32(0x7fff);
	__m256i factor = _mm256_and_si256(x, _mm256_set1_epi32(0xffff));
	__m256i t = _mm256_add_epi32(_mm256_slli_epi32(x, 10),
				     _mm256_set1_epi32(f[1] * 16384));
	__m256i before = _mm256_set1_epi32(0x01000000);
	__m256i h = _mm256_srai_epi32(t, 16);
	__m256i l = _mm256_and_si256(_mm256_srli_epi32(t, 1), bits15);

	for (int i = 2; i < TERMS - 1; i++) {
		t = _mm256_slli_epi32(product8(h, l, factor), 2);
		t = _mm256_sub_epi32(t, before);
		t = _mm256_add_epi32(t, _mm256_set1_epi32(f[i] * 16384));
		before = _mm256_add_epi32(_mm256_slli_epi32(h, 16),
					  _mm256_slli_epi32(l, 1));
		h = _mm256_srai_epi32(t, 16);
		l = _mm256_and_si256(_mm256_srli_epi32(t, 1), bits15);
	}
	t = _mm256_slli_epi32(product8(h, l, factor), 1);
	t = _mm256_sub_epi32(t, before);
	t = _mm256_add_epi32(t, _mm256_set1_epi32(f[TERMS - 1] * 8192));
	return limit8(t);
}

AVX2 static void evaluate_grid(const int16_t f[TERMS], int32_t values[PADDED])
{
	int16_t points[PADDED] = { 0 };

	memcpy(points, grid, sizeof(grid));
	for (int k = 0; k < PADDED; k += LANES)
		store256(values + k,
			 chebyshev8(_mm256_cvtepi16_epi32(load128(points + k)),
				    f));
}

/* F1 and F2 with their roots at x = -1 and x = 1 divided out. */
static void split_polynomial(const int16_t a[], int16_t f[2][TERMS])
{
	f[0][0] = f[1][0] = 1024;
	for (int i = 0; i < TERMS - 1; i++) {
		int32_t p = a[i + 1];
		int32_t q = a[ORDER - i];

		f[0][i + 1] = (int16_t)(((p + q) >> 2) - f[0][i]);
		f[1][i + 1] = (int16_t)(((p - q) >> 2) + f[1][i]);
	}
}

/* An interval whose ends, low and high in x, differ in sign. */
struct interval {
	int32_t xlow, ylow;
	int32_t xhigh, yhigh;
};

/* Without branches: which half it is is as good as random. */
static inline void halve(struct interval *in, const int16_t f[TERMS])
{
	int32_t x = (int16_t)((in->xlow >> 1) + (in->xhigh >> 1));
	int32_t y = chebyshev(x, f);
	int32_t lower = -(y * in->ylow <= 0);

	in->yhigh = (y & lower) | (in->yhigh & ~lower);
	in->xhigh = (x & lower) | (in->xhigh & ~lower);
	in->ylow = (in->ylow & lower) | (y & ~lower);
	in->xlow = (in->xlow & lower) | (x & ~lower);
}

/* xlow - ylow (xhigh - xlow) / (yhigh - ylow), all in 16 bits. */
static inline int16_t interpolate(const struct interval *in)
{
	int16_t dx = (int16_t)(in->xhigh - in->xlow);
	int16_t dy = (int16_t)(in->yhigh - in->ylow);
	int16_t slope;
	int size, norm;

	if (dy == 0)
		return (int16_t)in->xlow;
	size = dy == INT16_MIN ? INT16_MAX : dy < 0 ? -dy : dy;
	norm = __builtin_clz((unsigned)size) - 17;
	slope = quotient(16383, (int16_t)(size << norm));
	slope = (int16_t)((dx * slope) >> (19 - norm));
	if (dy < 0)
		slope = (int16_t)-slope;
	return (int16_t)(in->xlow - ((in->ylow * slope) >> 10));
}

AVX2 static int find_roots(const int16_t f[2][TERMS], int16_t lsp[ORDER])
{
	int32_t values[2][PADDED];
	struct interval in = { 0 };
	int found = 0;

	evaluate_grid(f[0], values[0]);
	evaluate_grid(f[1], values[1]);
	in.xlow = grid[0];
	in.ylow = values[0][0];
	for (int k = 1; k < POINTS && found < ORDER; k++) {
		int turn = found % 2;

		in.xhigh = in.xlow;
		in.yhigh = in.ylow;
		in.xlow = grid[k];
		in.ylow = values[turn][k];
		if (in.ylow * in.yhigh > 0)
			continue;
		for (int i = 0; i < HALVINGS; i++)
			halve(&in, f[turn]);
		lsp[found] = interpolate(&in);
		in.xlow = lsp[found++];
		in.ylow = chebyshev(in.xlow, f[!turn]);
	}
	return found;
}

void Az_lsp(int16_t a[], int16_t lsp[], int16_t old_lsp[], int32_t *overflow)
{
	int16_t f[2][TERMS];

	if (!cr_kernels_fast) {
		stock_Az_lsp(a, lsp, old_lsp, overflow);
		return;
	}
	split_polynomial(a, f);
	if (find_roots((const int16_t(*)[TERMS])f, lsp) < ORDER)
		memcpy(lsp, old_lsp, ORDER * sizeof(*lsp));
}
