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
 * That is a chain of dependent steps, and of branches that are hard to foresee.
 * So both polynomials are first evaluated on all of the grid, eight points at a
 * time, and every interval where one changes its sign is refined, also eight at
 * a time. The walk then takes what it passes. Only the interval next to a root
 * is not what was refined, as its upper end is the root: if it has the next
 * root, that is refined on its own.
 *
 * Valid: everything. There is no fall-back.
 */
#include <string.h>

#include "codecs/kernels/amrnb.h"
#include "codecs/kernels/amrnb/arith.h"
#include "codecs/kernels/amrnb/basic_ops.h"
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

static inline int32_t limit_az_lsp(int32_t t)
{
	t >>= 10;
	t = t > INT16_MAX ? INT16_MAX : t;
	return t < INT16_MIN ? INT16_MIN : t;
}

/* (h x + (l x >> 15)), modulo 2^32 */
static inline uint32_t product_az_lsp(int32_t h, int32_t l, int32_t x)
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
		t = 4 * product_az_lsp(h, l, x) - before +
		    (uint32_t)f[i] * 16384;
		before = (uint32_t)h * 65536 + 2 * (uint32_t)l;
		h = (int32_t)t >> 16;
		l = t >> 1 & 0x7fff;
	}
	t = 2 * product_az_lsp(h, l, x) - before +
	    (uint32_t)f[TERMS - 1] * 8192;
	return limit_az_lsp((int32_t)t);
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

/* A polynomial, its values on the grid, and where it changes its sign: bit k
 * for the interval from point k - 1 down to point k. Past the grid, values are
 * of no use. */
struct polynomial {
	int16_t f[TERMS];
	int32_t values[PADDED + 1];
	uint64_t changes;
	/* of the first eight of them: the root, and the other's value there */
	int32_t roots[LANES], others[LANES];
};

AVX2 static void evaluate_grid_az_lsp(struct polynomial *p)
{
	int16_t points[PADDED] = { 0 };

	memcpy(points, grid, sizeof(grid));
	p->values[PADDED] = 0;
	for (int k = 0; k < PADDED; k += LANES)
		store256(p->values + k,
			 chebyshev8(_mm256_cvtepi16_epi32(load128(points + k)),
				    p->f));
}

AVX2 static void find_changes(struct polynomial *p)
{
	const __m256i zero = _mm256_setzero_si256();
	uint64_t same = 0;

	for (int k = 1; k < POINTS; k += LANES) {
		__m256i product = _mm256_mullo_epi32(
			load256(p->values + k), load256(p->values + k - 1));
		__m256i positive = _mm256_cmpgt_epi32(product, zero);

		same |= (uint64_t)(unsigned)_mm256_movemask_ps(
				_mm256_castsi256_ps(positive))
			<< k;
	}
	p->changes = ~same & ((UINT64_C(1) << POINTS) - 2);
}

/* F1 and F2 with their roots at x = -1 and x = 1 divided out. */
static void split_polynomial(const int16_t a[], struct polynomial p[2])
{
	int16_t *sum = p[0].f, *difference = p[1].f;

	sum[0] = difference[0] = 1024;
	for (int i = 0; i < TERMS - 1; i++) {
		int32_t first = a[i + 1];
		int32_t last = a[ORDER - i];

		sum[i + 1] = (int16_t)(((first + last) >> 2) - sum[i]);
		difference[i + 1] =
			(int16_t)(((first - last) >> 2) + difference[i]);
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
static inline int16_t interpolate_az_lsp(const struct interval *in)
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

/* Eight intervals. */
struct interval8 {
	__m256i xlow, ylow;
	__m256i xhigh, yhigh;
};

AVX2_INLINE void halve8(struct interval8 *in, const int16_t f[TERMS])
{
	__m256i x =
		low_words(_mm256_add_epi32(_mm256_srai_epi32(in->xlow, 1),
					   _mm256_srai_epi32(in->xhigh, 1)));
	__m256i y = chebyshev8(x, f);
	__m256i upper = _mm256_cmpgt_epi32(_mm256_mullo_epi32(y, in->ylow),
					   _mm256_setzero_si256());

	in->yhigh = _mm256_blendv_epi8(y, in->yhigh, upper);
	in->xhigh = _mm256_blendv_epi8(x, in->xhigh, upper);
	in->ylow = _mm256_blendv_epi8(in->ylow, y, upper);
	in->xlow = _mm256_blendv_epi8(in->xlow, x, upper);
}

/* 16383 2^15 / v, for v from 2^14 to 2^15 - 1. A quotient in floating point is
 * not less, in any rounding mode, as integers are exact there; and one more
 * where it was rounded up. */
AVX2_INLINE __m256i reciprocal8(__m256i v)
{
	const __m256i dividend = _mm256_set1_epi32(16383 << 15);
	__m256i q = _mm256_cvttps_epi32(_mm256_div_ps(
		_mm256_cvtepi32_ps(dividend), _mm256_cvtepi32_ps(v)));

	return _mm256_add_epi32(
		q, _mm256_cmpgt_epi32(_mm256_mullo_epi32(q, v), dividend));
}

/* interpolate_az_lsp(). Where dy is 0, as in unused lanes, so is slope: sign
 * makes it; 1 is divided by there. */
AVX2_INLINE __m256i interpolate8(const struct interval8 *in)
{
	__m256i dx = low_words(_mm256_sub_epi32(in->xhigh, in->xlow));
	__m256i dy = low_words(_mm256_sub_epi32(in->yhigh, in->ylow));
	__m256i size = _mm256_min_epi32(
		_mm256_max_epi32(_mm256_abs_epi32(dy), _mm256_set1_epi32(1)),
		_mm256_set1_epi32(INT16_MAX));
	/* the exponent of a float is how many bits there are */
	__m256i exponent = _mm256_srli_epi32(
		_mm256_castps_si256(_mm256_cvtepi32_ps(size)), 23);
	__m256i norm = _mm256_sub_epi32(_mm256_set1_epi32(127 + 14), exponent);
	__m256i slope = reciprocal8(_mm256_sllv_epi32(size, norm));

	slope = low_words(_mm256_srav_epi32(
		_mm256_mullo_epi32(dx, slope),
		_mm256_sub_epi32(_mm256_set1_epi32(19), norm)));
	slope = low_words(_mm256_sign_epi32(slope, dy));
	slope = _mm256_srai_epi32(_mm256_mullo_epi32(in->ylow, slope), 10);
	return low_words(_mm256_sub_epi32(in->xlow, slope));
}

/* Refines the first eight intervals of @p. */
AVX2 static void foresee(struct polynomial *p, const struct polynomial *other)
{
	int32_t ends[4][LANES] = { { 0 } };
	uint64_t left = p->changes;
	struct interval8 in;
	__m256i root;

	for (int i = 0; i < LANES && left; i++, left &= left - 1) {
		int k = __builtin_ctzll(left);

		ends[0][i] = grid[k];
		ends[1][i] = p->values[k];
		ends[2][i] = grid[k - 1];
		ends[3][i] = p->values[k - 1];
	}
	in.xlow = load256(ends[0]);
	in.ylow = load256(ends[1]);
	in.xhigh = load256(ends[2]);
	in.yhigh = load256(ends[3]);
	for (int i = 0; i < HALVINGS; i++)
		halve8(&in, p->f);
	root = interpolate8(&in);
	store256(p->roots, root);
	store256(p->others, chebyshev8(root, other->f));
}

/* Where the walk is: below the last root, if any. */
struct walk {
	int k; /* the interval of that root, or none before 0 */
	int32_t x, other;
};

/* The root of @p in @in, and the other's value there. */
static void refine_az_lsp(struct walk *w, struct interval *in,
			  const struct polynomial *p,
			  const struct polynomial *other)
{
	for (int i = 0; i < HALVINGS; i++)
		halve(in, p->f);
	w->x = interpolate_az_lsp(in);
	w->other = chebyshev(w->x, other->f);
}

/* The interval right below the last root, if it has the next one. */
static bool step_from_root(struct walk *w, const struct polynomial *p,
			   const struct polynomial *other)
{
	struct interval in = { .xhigh = w->x, .yhigh = w->other };

	if (++w->k >= POINTS)
		return false;
	in.xlow = grid[w->k];
	in.ylow = p->values[w->k];
	if (in.ylow * in.yhigh > 0)
		return false;
	refine_az_lsp(w, &in, p, other);
	return true;
}

/* The next interval of the grid that has a root of @p. */
AVX2_INLINE bool step_on_grid(struct walk *w, const struct polynomial *p,
			      const struct polynomial *other)
{
	uint64_t below, done;
	int lane;

	if (w->k >= POINTS)
		return false;
	done = (UINT64_C(2) << w->k) - 1;
	below = p->changes & ~done;
	if (!below)
		return false;
	w->k = __builtin_ctzll(below);
	lane = __builtin_popcountll(p->changes & done);
	if (lane < LANES) {
		w->x = p->roots[lane];
		w->other = p->others[lane];
	} else {
		struct interval in = { grid[w->k], p->values[w->k],
				       grid[w->k - 1], p->values[w->k - 1] };

		refine_az_lsp(w, &in, p, other);
	}
	return true;
}

AVX2 static int find_roots_az_lsp(struct polynomial p[2], int16_t lsp[ORDER])
{
	struct walk w = { 0 };
	int found = 0;

	for (int i = 0; i < 2; i++) {
		evaluate_grid_az_lsp(&p[i]);
		find_changes(&p[i]);
	}
	for (int i = 0; i < 2; i++)
		foresee(&p[i], &p[!i]);
	while (found < ORDER) {
		int turn = found % 2;

		if (!(found && step_from_root(&w, &p[turn], &p[!turn])) &&
		    !step_on_grid(&w, &p[turn], &p[!turn]))
			break;
		lsp[found++] = (int16_t)w.x;
	}
	return found;
}

void Az_lsp(int16_t a[], int16_t lsp[], int16_t old_lsp[], int32_t *overflow)
{
	struct polynomial p[2];

	if (!cr_kernels_fast) {
		stock_Az_lsp(a, lsp, old_lsp, overflow);
		return;
	}
	split_polynomial(a, p);
	if (find_roots_az_lsp(p, lsp) < ORDER)
		memcpy(lsp, old_lsp, ORDER * sizeof(*lsp));
}
