/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Az_isp: immittance spectral pairs of a predictor of order 16. They are the
 * roots x = cos(w), by turns, of a sum polynomial of order 8 and a difference
 * polynomial of order 7, as series of Chebyshev polynomials C(x):
 *
 *     b[0] = f[0],  b[1] = 2 x b[0] + f[1],
 *     b[i] = 2 x b[i-1] - b[i-2] + f[i],
 *     C(x) = x b[n-1] - b[n-2] + f[n] / 2
 *
 * with b in two halves of 16 and 15 bits. The library evaluates one polynomial
 * at a time, on a grid of 101 points until its sign changes, then at two
 * midpoints, and interpolates. All its arithmetic wraps, and depends on x and
 * the polynomial only, so that we may evaluate both on the whole grid in
 * vectors, and the three points that may be midpoints at once: exact for all
 * inputs.
 */
#include <stdlib.h>

#include "codecs/kernels/amrwb.h"
#include "codecs/kernels/kernel.h"

enum {
	ORDER = 16,
	GRID = 101,
	LANES = 8,
	ROOM = (GRID + LANES - 1) / LANES * LANES,
	MOST = INT16_MAX, /* of a value, and least by its negative */
};

struct polynomial {
	int16_t f[ORDER / 2 + 1];
	int n;
	int32_t on_grid[ROOM];
};

struct point {
	int32_t x, y;
};

/* A number in halves: upper 16 bits, and 15 more. */
struct halves {
	__m256i high, low;
};

AVX2_INLINE struct halves az_isp_split(__m256i v)
{
	return (struct halves){
		.high = _mm256_srai_epi32(v, 16),
		.low = _mm256_srli_epi32(_mm256_slli_epi32(v, 16), 17),
	};
}

/* x * b, for x in words with zeros above. */
AVX2_INLINE __m256i az_isp_multiply(struct halves b, __m256i x)
{
	__m256i low = _mm256_srai_epi32(_mm256_madd_epi16(b.low, x), 15);

	return _mm256_add_epi32(_mm256_madd_epi16(b.high, x), low);
}

/* v * 2^n. */
AVX2_INLINE __m256i scaled(int16_t v, int n)
{
	return _mm256_set1_epi32((int32_t)((uint32_t)v << n));
}

/* C at 8 points x, as 16-bit numbers. */
AVX2_INLINE __m256i evaluate8(const struct polynomial *p, __m256i x)
{
	const __m256i most = _mm256_set1_epi32(MOST);
	const __m256i least = _mm256_set1_epi32(-MOST);
	struct halves before = az_isp_split(scaled(p->f[0], 13)), b;
	__m256i c;

	x = _mm256_and_si256(x, _mm256_set1_epi32(0xffff));
	c = _mm256_slli_epi32(az_isp_multiply(before, x), 2);
	b = az_isp_split(_mm256_add_epi32(c, scaled(p->f[1], 13)));
	for (int i = 2; i <= p->n; i++) {
		__m256i minus = _mm256_add_epi32(
			_mm256_slli_epi32(before.high, 15), before.low);

		before = b;
		c = _mm256_sub_epi32(
			_mm256_slli_epi32(az_isp_multiply(b, x), 1), minus);
		if (i == p->n) /* all but b[n-2] is halved */
			c = _mm256_sub_epi32(c, minus);
		c = _mm256_add_epi32(c, scaled(p->f[i], 12));
		b = az_isp_split(_mm256_slli_epi32(c, 1));
	}
	c = _mm256_srai_epi32(c, 10);
	return _mm256_max_epi32(_mm256_min_epi32(c, most), least);
}

AVX2 static void evaluate_grid_az_isp(struct polynomial *p)
{
	int16_t x[ROOM] = { 0 };

	memcpy(x, vogrid, sizeof(vogrid));
	for (int i = 0; i < ROOM; i += LANES)
		store256(p->on_grid + i,
			 evaluate8(p, _mm256_cvtepi16_epi32(load128(x + i))));
}

AVX2 static int32_t evaluate(const struct polynomial *p, int32_t x)
{
	__m256i y = evaluate8(p, _mm256_set1_epi32(x));

	return _mm_cvtsi128_si32(_mm256_castsi256_si128(y));
}

/* Sum and difference of the predictor and its reverse. */
static void set_polynomials(const int16_t a[], struct polynomial p[2])
{
	enum { HALF = ORDER / 2 };

	p[0].n = HALF;
	p[1].n = HALF - 1;
	for (int i = 0; i < HALF; i++) {
		p[0].f[i] = (int16_t)((a[i] + a[ORDER - i] + 1) >> 1);
		p[1].f[i] = (int16_t)((a[i] - a[ORDER - i] + 1) >> 1);
	}
	p[0].f[HALF] = a[HALF];
	for (int i = 2; i < HALF; i++)
		p[1].f[i] = (int16_t)(p[1].f[i] + p[1].f[i - 2]);
}

static bool signs_differ(struct point a, struct point b)
{
	return a.y * b.y <= 0;
}

static int32_t middle(int32_t a, int32_t b)
{
	return (a >> 1) + (b >> 1);
}

/* Halve the interval twice. Whichever half it is, its middle is known. */
AVX2 static void bisect(const struct polynomial *p, struct point *low,
			struct point *high)
{
	int32_t x = middle(low->x, high->x), y[LANES];
	int32_t lower = middle(low->x, x), upper = middle(x, high->x);
	struct point mid, next;

	store256(y, evaluate8(p, _mm256_setr_epi32(x, lower, upper, x, x, x, x,
						   x)));
	mid = (struct point){ x, y[0] };
	if (signs_differ(*low, mid)) {
		*high = mid;
		next = (struct point){ lower, y[1] };
	} else {
		*low = mid;
		next = (struct point){ upper, y[2] };
	}
	if (signs_differ(*low, next))
		*high = next;
	else
		*low = next;
}

/* Where the line through both points is zero, as the library divides. */
static int16_t interpolate_az_isp(struct point low, struct point high)
{
	int32_t dx = (int16_t)(high.x - low.x), dy = (int16_t)(high.y - low.y);
	int32_t size = dy == INT16_MIN ? INT16_MAX : abs(dy), step;
	int norm;

	if (!dy)
		return (int16_t)low.x;
	norm = __builtin_clz((unsigned)size) - 17;
	step = dx * ((16383 << 15) / (size << norm)) >> (19 - norm);
	step = (int16_t)(dy < 0 ? -step : step);
	return (int16_t)(low.x - (low.y * step >> 10));
}

/* The roots, from the greatest. Returns how many were found, up to 15. */
AVX2 static int find_roots_az_isp(const struct polynomial p[2], int16_t roots[])
{
	struct point low = { vogrid[0], p[0].on_grid[0] };
	int n = 0;

	for (int j = 1; j < GRID && n < ORDER - 1; j++) {
		const struct polynomial *q = &p[n % 2];
		struct point high = low;

		low = (struct point){ vogrid[j], q->on_grid[j] };
		if (!signs_differ(low, high))
			continue;
		bisect(q, &low, &high);
		low.x = interpolate_az_isp(low, high);
		roots[n++] = (int16_t)low.x;
		low.y = evaluate(&p[n % 2], low.x);
	}
	return n;
}

AVX2 static void az_isp_avx2(const int16_t a[], int16_t isp[],
			     const int16_t old[])
{
	struct polynomial p[2];

	set_polynomials(a, p);
	evaluate_grid_az_isp(&p[0]);
	evaluate_grid_az_isp(&p[1]);
	if (find_roots_az_isp(p, isp) < ORDER - 1)
		memcpy(isp, old, ORDER * sizeof(*isp));
	else
		isp[ORDER - 1] = (int16_t)(a[ORDER] * 8);
}

void Az_isp(int16_t a[], int16_t isp[], int16_t old[])
{
	if (!cr_kernels_fast) {
		stock_Az_isp(a, isp, old);
		return;
	}
	az_isp_avx2(a, isp, old);
}
