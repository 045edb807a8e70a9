/* SPDX-License-Identifier: Apache-2.0 */
/*
 * G_pitch: the gain of the adaptive codebook of a subframe of 40 samples,
 *
 *	yy = 2 <y, y> + 1,	xy = 2 <x, y> + 1,
 *	gain = xy / yy in Q14, 0 if xy is negative, at most 1.2.
 *
 * A sum that is too large is done again with y / 4. Both are normalised and
 * rounded to 16 bits; the caller gets these and their exponents, too. In 12.2
 * kbit/s the gain's two lowest bits are cleared.
 *
 * Sums wrap at 32 bits: <y, y> is too large if it is 2^30 or more, modulo 2^32.
 * <x, y> is if on the way, sample by sample, a product brings the sum out of 32
 * bits; one that equals the sum so far is not looked at. No sum can leave them
 * if those of |x(n) y(n)| fit, which 16 bits of each product show; only where
 * they do not, the sums are done one by one.
 *
 * Valid: 40 samples, any values. Else the library's own.
 */
#include "codecs/kernels/amrnb.h"
#include "codecs/kernels/amrnb/arith.h"

enum {
	N = 40,
	LANES = 16,
	N_PADDED = 48,
	MR122 = 7,
	XY_MIN = 4,	  /* the gain of less is 0 */
	GAIN_MAX = 19661, /* 1.2 in Q14 */
};

/* A normalised number: value 2^-exponent. */
struct term {
	int16_t value;
	int16_t exponent;
};

/* Samples, the rest 0. */
struct samples {
	__m256i part[N_PADDED / LANES];
};

AVX2_INLINE struct samples load(const int16_t v[])
{
	return (struct samples){ {
		load256(v),
		load256(v + LANES),
		_mm256_zextsi128_si256(load128(v + 2 * LANES)),
	} };
}

AVX2_INLINE struct samples quarter(const struct samples *v)
{
	return (struct samples){ {
		_mm256_srai_epi16(v->part[0], 2),
		_mm256_srai_epi16(v->part[1], 2),
		_mm256_srai_epi16(v->part[2], 2),
	} };
}

/* <a, b>, modulo 2^32 */
AVX2_INLINE int32_t product(const struct samples *a, const struct samples *b)
{
	__m256i sum = _mm256_madd_epi16(a->part[0], b->part[0]);

	for (int i = 1; i < N_PADDED / LANES; i++)
		sum = _mm256_add_epi32(
			sum, _mm256_madd_epi16(a->part[i], b->part[i]));
	return sum_lanes256(sum);
}

/* The sum of |a(n) b(n)| is surely below 2^31: each is at most 2^16 times the
 * magnitude of its upper 16 bits, plus 1. */
AVX2_INLINE bool is_small(const struct samples *a, const struct samples *b)
{
	const __m256i ones = _mm256_set1_epi16(1);
	__m256i sum = _mm256_setzero_si256();

	for (int i = 0; i < N_PADDED / LANES; i++) {
		__m256i high = _mm256_mulhi_epi16(a->part[i], b->part[i]);

		high = _mm256_madd_epi16(_mm256_abs_epi16(high), ones);
		sum = _mm256_add_epi32(sum, high);
	}
	return sum_lanes256(sum) + N < 1 << 15;
}

/* The library's check; the sum is in *sum if it passes. */
static bool add_checked(const int16_t x[], const int16_t y[], int32_t *sum)
{
	int32_t s = 0;

	for (int i = 0; i < N; i++) {
		int32_t p = x[i] * y[i];
		int32_t next = add_wrapped(s, p);

		if ((p ^ s) > 0 && (s ^ next) < 0)
			return false;
		s = next;
	}
	*sum = s;
	return true;
}

/* 2 @sum + 1, which is @scale bits smaller than it should be. */
static inline struct term normalise(int32_t sum, int scale, int32_t *overflow)
{
	int32_t odd = (int32_t)(2 * (uint32_t)sum + 1);
	int shift = leading_shifts(odd);

	odd = (int32_t)((uint32_t)odd << shift);
	return (struct term){
		.value = round_upper(odd, overflow),
		.exponent = (int16_t)(shift - scale),
	};
}

AVX2_INLINE struct term energy(const struct samples *y, int32_t *overflow)
{
	int32_t sum = product(y, y);
	struct samples small;

	if ((uint32_t)sum < 1u << 30)
		return normalise(sum, 0, overflow);
	small = quarter(y);
	return normalise(product(&small, &small), 4, overflow);
}

AVX2_INLINE struct term g_pitch_correlation(const int16_t x[],
					    const int16_t y[],
					    const struct samples *samples_y,
					    int32_t *overflow)
{
	struct samples samples_x = load(x);
	struct samples small;
	int32_t sum;

	if (is_small(&samples_x, samples_y))
		return normalise(product(&samples_x, samples_y), 0, overflow);
	if (add_checked(x, y, &sum))
		return normalise(sum, 0, overflow);
	*overflow = 1;
	small = quarter(samples_y);
	return normalise(product(&samples_x, &small), 4, overflow);
}

/* v 2^-bits for v >= 0, limited: shr. */
static inline int16_t shift_right_g_pitch(int16_t v, int bits,
					  int32_t *overflow)
{
	int32_t shifted;

	if (bits >= 0)
		return (int16_t)(v >> (bits < 15 ? bits : 15));
	shifted = v << (bits > -15 ? -bits : 15);
	if (shifted <= INT16_MAX)
		return (int16_t)shifted;
	*overflow = 1;
	return INT16_MAX;
}

static inline int16_t divide_g_pitch(const struct term *xy,
				     const struct term *yy, int32_t *overflow)
{
	int16_t ratio;

	if (xy->value < 0)
		return 0;
	ratio = shift_right_g_pitch(quotient(xy->value >> 1, yy->value),
				    xy->exponent - yy->exponent, overflow);
	return ratio < GAIN_MAX ? ratio : GAIN_MAX;
}

AVX2 static int16_t g_pitch_avx2(int mode, const int16_t x[], const int16_t y[],
				 int16_t terms[], int32_t *overflow)
{
	struct samples samples_y = load(y);
	struct term yy = energy(&samples_y, overflow);
	struct term xy;
	int16_t gain;

	*overflow = 0;
	xy = g_pitch_correlation(x, y, &samples_y, overflow);
	terms[0] = yy.value;
	terms[1] = (int16_t)(15 - yy.exponent);
	terms[2] = xy.value;
	terms[3] = (int16_t)(15 - xy.exponent);
	gain = divide_g_pitch(&xy, &yy, overflow);
	return mode == MR122 ? (int16_t)(gain & ~3) : gain;
}

int16_t G_pitch(int mode, int16_t x[], int16_t y[], int16_t terms[], int16_t n,
		int32_t *overflow)
{
	if (!cr_kernels_fast || n != N)
		return stock_G_pitch(mode, x, y, terms, n, overflow);
	return g_pitch_avx2(mode, x, y, terms, overflow);
}
