/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Levinson: the filter of an autocorrelation, order by order (the recursion of
 * Levinson and Durbin). The error e is r(0) at first; for i = 1 to 10
 *
 *	s = r(i) + sum over j = 1..i - 1 of r(j) a(i - j)
 *	k = -s / e
 *	a'(j) = a(j) + k a(i - j),	j = 1..i - 1;	a'(i) = k
 *	e' = e (1 - k k)
 *
 * All are 31-bit numbers in halves (arith.h) and their product is
 *
 *	x y = 2 (xh yh + (xh yl >> 15) + (xl yh >> 15))	modulo 2^32.
 *
 * r is Q31, k Q31, a Q27; a'(10) are rounded to Q12. e is kept normalised, with
 * an exponent; s / e is the product of s and 1 / e, that a division of 15 bits
 * and one step of Newton's. From the second order on, a k that is almost 1
 * means an unstable filter: then the last stable one is returned.
 *
 * a(1) to a(8) are lanes of a vector, in which a(i - j) is a rotation: lanes
 * beyond the order are 0. Only the last order has more than 8 of them. The next
 * quotient's 1 / e does not wait for the sum s, nor s for it.
 *
 * Of the saturations of the library's sums and products only one is reached
 * with r(0) normalised, as Autocorr gives it: that of k = -1 squared.
 *
 * Valid: r(0) from 2^30 on, of halves that are not negative. Else the library's
 * own.
 */
#include "codecs/kernels/amrnb.h"
#include "codecs/kernels/amrnb/arith.h"

enum {
	ORDER = 10,
	LANES = 8,
	RC = 4,		    /* reflection coefficients that are returned */
	K_UNSTABLE = 32750, /* Q15; larger ones are */
	ONE = 4096,	    /* Q12 */
};

/* The library's state. */
struct memory {
	int16_t a[ORDER + 1];
};

/* value / 2^exponent; normalised, or 0 */
struct error {
	int32_t value;
	int exponent;
};

struct filter {
	__m256i a; /* 1 to 8 */
	int32_t a9, a10;
};

/* x y */
static inline int32_t multiply_levinson(int32_t x, int32_t y)
{
	int32_t half = upper(x) * lower(y) >> 15;

	half += lower(x) * upper(y) >> 15;
	return (int32_t)(2 * (uint32_t)add_wrapped(half, upper(x) * upper(y)));
}

/* Each lane's two halves as 16-bit numbers, the lower one first. */
AVX2_INLINE __m256i levinson_split(__m256i x)
{
	return _mm256_blend_epi16(_mm256_srli_epi16(x, 1), x, 0xaa);
}

/* x y of 8 lanes, which are split. */
AVX2_INLINE __m256i multiply_split(__m256i x, __m256i y)
{
	const __m256i zero = _mm256_setzero_si256();
	__m256i high = _mm256_madd_epi16(x, _mm256_blend_epi16(y, zero, 0x55));
	__m256i low = _mm256_srai_epi32(
		_mm256_madd_epi16(x, _mm256_srli_epi32(y, 16)), 15);

	low = _mm256_add_epi32(
		low,
		_mm256_srai_epi32(
			_mm256_madd_epi16(x, _mm256_slli_epi32(y, 16)), 15));
	return _mm256_slli_epi32(_mm256_add_epi32(high, low), 1);
}

/* |v|, INT32_MAX of the lowest. */
static inline int32_t magnitude(int32_t v)
{
	if (v == INT32_MIN)
		return INT32_MAX;
	return v < 0 ? -v : v;
}

/* num / den, of a normalised den or 0, which gives 0: Div_32. */
static inline int32_t divide_levinson(int32_t num, int32_t den)
{
	int32_t guess = join(quotient(0x3fff, upper(den)), 0);
	int32_t inverse = multiply_levinson(
		INT32_MAX - multiply_levinson(den, guess), guess);

	return shift_limited(multiply_levinson(num, inverse), 2);
}

/* The library shifts modulo 32, too. */
static inline int32_t reflection(int32_t sum, const struct error *e)
{
	int32_t k = divide_levinson(magnitude(sum), e->value);

	return shift_limited(sum > 0 ? -k : k, e->exponent & 31);
}

static inline bool is_unstable(int32_t k)
{
	return upper(k) > K_UNSTABLE || upper(k) < -K_UNSTABLE;
}

/* The error that the next order leaves. */
AVX2_INLINE void reduce(struct error *e, int32_t k)
{
	int32_t square = multiply_levinson(k, k);
	int shift;

	if (upper(k) == INT16_MIN)
		square = sub_wrapped(square, 1); /* 2^31 does not fit */
	e->value = multiply_levinson(e->value, INT32_MAX - magnitude(square));
	shift = leading_shifts(e->value);
	e->value = (int32_t)((uint32_t)e->value << shift);
	e->exponent += shift;
}

/* k as a coefficient, Q27; its lowest bit is in no half. */
static inline int32_t coefficient(int32_t k)
{
	return k >> 4;
}

/* a(i - 1), a(i - 2) ... in lanes, split. */
AVX2_INLINE __m256i levinson_backward(const struct filter *f, int i)
{
	const __m256i lane = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
	__m256i from = _mm256_sub_epi32(_mm256_set1_epi32(i - 2), lane);
	__m256i a = _mm256_permutevar8x32_epi32(f->a, from);

	if (i == ORDER)
		a = _mm256_blend_epi32(a, _mm256_set1_epi32(f->a9), 1);
	return levinson_split(a);
}

/* r(i) and the sum of @products; those of Q31 and Q27 are Q27. */
AVX2_INLINE int32_t add_products(int32_t r, __m256i products)
{
	return add_wrapped(r, (int32_t)((uint32_t)sum_lanes256(products) << 4));
}

/* a + k a(i - j), a(i) = k */
AVX2_INLINE void extend(struct filter *f, __m256i behind, int i, int32_t k)
{
	const __m256i lane = _mm256_setr_epi32(1, 2, 3, 4, 5, 6, 7, 8);
	__m256i last = _mm256_cmpeq_epi32(lane, _mm256_set1_epi32(i));
	__m256i change =
		multiply_split(behind, levinson_split(_mm256_set1_epi32(k)));

	f->a = _mm256_add_epi32(f->a, change);
	f->a = _mm256_blendv_epi8(f->a, _mm256_set1_epi32(coefficient(k)),
				  last);
}

/* The last order; false if the filter is not stable. @r: r(1) to r(8), split.
 */
AVX2_INLINE bool finish(struct filter *f, __m256i r, int32_t r9, int32_t r10,
			const struct error *e)
{
	const __m256i ninth = _mm256_zextsi128_si256(_mm_cvtsi32_si128(r9));
	__m256i behind = levinson_backward(f, ORDER);
	__m256i products =
		_mm256_add_epi32(multiply_split(r, behind),
				 multiply_split(ninth, levinson_split(f->a)));
	int32_t k = reflection(add_products(r10, products), e);
	int32_t a1 = _mm_cvtsi128_si32(_mm256_castsi256_si128(f->a));

	extend(f, behind, ORDER, k);
	f->a9 = add_wrapped(f->a9, multiply_levinson(a1, k));
	f->a10 = coefficient(k);
	return !is_unstable(k);
}

/* All orders. */
AVX2 static bool recurse(const int16_t high[], const int16_t low[],
			 struct filter *f, int16_t rc[], int32_t *overflow)
{
	const __m256i r = interleave(load128(low + 1), load128(high + 1));
	struct error e = { .value = join(high[0], low[0]) };
	int32_t k = reflection(join(high[1], low[1]), &e);

	rc[0] = round_upper(k, overflow);
	f->a = _mm256_setr_epi32(coefficient(k), 0, 0, 0, 0, 0, 0, 0);
	for (int i = 2; i < ORDER; i++) {
		__m256i behind = levinson_backward(f, i);
		__m256i products = multiply_split(r, behind);

		reduce(&e, k);
		k = reflection(add_products(join(high[i], low[i]), products),
			       &e);
		if (i <= RC)
			rc[i - 1] = upper(add_wrapped(k, 0x8000));
		if (is_unstable(k))
			return false;
		extend(f, behind, i, k);
	}
	reduce(&e, k);
	f->a9 = coefficient(k);
	return finish(f, r, pack_pair(low[9], high[9]), join(high[10], low[10]),
		      &e);
}

/* Q27 to Q12; what does not fit loses its upper bits. */
static inline int16_t round_coefficient(int32_t a)
{
	return (int16_t)(add_wrapped(a, 0x4000) >> 15);
}

AVX2 static void round_filter(const struct filter *f, int16_t a[])
{
	int32_t unrounded[LANES];

	store256(unrounded, f->a);
	for (int i = 0; i < LANES; i++)
		a[1 + i] = round_coefficient(unrounded[i]);
	a[9] = round_coefficient(f->a9);
	a[10] = round_coefficient(f->a10);
}

AVX2 static void levinson_avx2(struct memory *m, const int16_t high[],
			       const int16_t low[], int16_t a[], int16_t rc[],
			       int32_t *overflow)
{
	struct filter f;

	if (!recurse(high, low, &f, rc, overflow)) {
		memcpy(a, m->a, sizeof(m->a));
		memset(rc, 0, RC * sizeof(*rc));
		return;
	}
	round_filter(&f, m->a);
	memcpy(a + 1, m->a + 1, ORDER * sizeof(*a));
	a[0] = ONE;
}

int16_t Levinson(void *state, int16_t high[], int16_t low[], int16_t a[],
		 int16_t rc[], int32_t *overflow)
{
	if (!cr_kernels_fast || high[0] < 0x4000 || low[0] < 0)
		return stock_Levinson(state, high, low, a, rc, overflow);
	levinson_avx2(state, high, low, a, rc, overflow);
	return 0;
}
