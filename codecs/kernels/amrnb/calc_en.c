/* SPDX-License-Identifier: Apache-2.0 */
/*
 * calc_filt_energies: the coefficients with which the gain quantisers compute
 * the error of a pair of gains (gains.h), as fractions with exponents. With y1
 * and Y2, what pitch and code vector give when filtered, y2 = Y2 >> 3, x the
 * target and x2 the target without the pitch's part,
 *
 *     c0 = <y1, y1>,  c1 = -2 <x, y1>   (both from the pitch gain, G_pitch)
 *     c2 = <y2, y2>,  c3 = -2 <x, y2>,  c4 = 2 <y1, y2>,
 *
 * and for 4.75 and 7.95 kbit/s the code gain <x2, y2> / <y2, y2>. The sums of
 * the other modes begin with 1.
 *
 * The library saturates the sums of c2, c3 and c4 after each product. Exact as
 * long as none can: the sum of the products' magnitudes is below 2^30. Others
 * are the library's.
 */
#include "codecs/kernels/amrnb.h"
#include "codecs/kernels/amrnb/arith.h"
#include "codecs/kernels/amrnb/basic_ops.h"

enum {
	SUBFRAME = 40,
	MODE_475 = 0,
	MODE_795 = 5,
};

/* <y2, y2>, <x, y2>, <y1, y2>, <x2, y2>. */
enum { ENERGY, TARGET, PITCH, REST, SUMS };

AVX2_INLINE __m128i magnitudes(__m128i v)
{
	return _mm_max_epi16(v, _mm_subs_epi16(_mm_setzero_si128(), v));
}

/* The sums of 20 pairs of products, of magnitudes, in 2^8: so they fit. */
AVX2_INLINE __m128i add_magnitudes(__m128i sum, __m128i a, __m128i b)
{
	__m128i pairs = _mm_madd_epi16(magnitudes(a), magnitudes(b));

	return _mm_add_epi32(sum, _mm_srli_epi32(pairs, 8));
}

/* Are they below 2^30? Each of the 20 leaves out less than 1; and where a
 * magnitude is 32767 that should be 32768, a product, with y2 of at most 4096,
 * leaves out 16. */
AVX2_INLINE bool cannot_clip(__m128i sum)
{
	return sum_lanes128(sum) < (1 << 22) - 20 - 40 * 16;
}

/* The sums, doubled. False if one might clip on the way; that of y2 cannot, and
 * that of x2 wraps. */
AVX2 static bool sum_up_calc_en(const int16_t x[], const int16_t x2[],
				const int16_t y1[], const int16_t Y2[],
				int32_t value[SUMS])
{
	const int16_t *with[SUMS] = { [TARGET] = x, [PITCH] = y1, [REST] = x2 };
	__m128i most[SUMS], sum[SUMS];

	memset(most, 0, sizeof(most));
	memset(sum, 0, sizeof(sum));
	for (int i = 0; i < SUBFRAME; i += 8) {
		__m128i y2 = _mm_srai_epi16(load128(Y2 + i), 3);

		sum[ENERGY] =
			_mm_add_epi32(sum[ENERGY], _mm_madd_epi16(y2, y2));
		for (int k = TARGET; k < SUMS; k++) {
			__m128i v = load128(with[k] + i);

			sum[k] = _mm_add_epi32(sum[k], _mm_madd_epi16(v, y2));
			most[k] = add_magnitudes(most[k], v, y2);
		}
	}
	for (int k = 0; k < SUMS; k++) {
		int32_t one = sum_lanes128(sum[k]);

		value[k] = add_wrapped(one, one);
	}
	return cannot_clip(most[TARGET]) && cannot_clip(most[PITCH]);
}

/* The upper half of the normalised @v. */
static int16_t fraction_calc_en(int32_t v, int *shifts)
{
	*shifts = leading_shifts(v);
	return upper((int32_t)((uint32_t)v << *shifts));
}

static int16_t negated(int16_t v)
{
	return v == INT16_MIN ? INT16_MAX : (int16_t)-v;
}

/* c0 to c4. */
static void set_coefficients(const int16_t pitch[4], const int32_t value[SUMS],
			     int32_t first, int16_t frac[], int16_t exp[])
{
	int shifts;

	frac[0] = pitch[0];
	exp[0] = pitch[1];
	frac[1] = negated(pitch[2]);
	exp[1] = (int16_t)(pitch[3] + 1);
	frac[2] = fraction_calc_en(value[ENERGY] + first, &shifts);
	exp[2] = (int16_t)(-3 - shifts);
	frac[3] = negated(fraction_calc_en(value[TARGET] + first, &shifts));
	exp[3] = (int16_t)(7 - shifts);
	frac[4] = fraction_calc_en(value[PITCH] + first, &shifts);
	exp[4] = (int16_t)(7 - shifts);
}

/* The code gain, from <x2, y2> and the fraction and exponent of <y2, y2>. */
static void set_gain(int32_t rest, int16_t energy_frac, int16_t energy_exp,
		     int16_t *frac, int16_t *exp)
{
	int shifts;
	int16_t v = fraction_calc_en(rest, &shifts);

	*frac = 0;
	*exp = 0;
	if (v <= 0)
		return;
	*frac = quotient(v >> 1, energy_frac);
	*exp = (int16_t)(-8 - energy_exp - shifts);
}

void calc_filt_energies(int mode, int16_t x[], int16_t x2[], int16_t y1[],
			int16_t Y2[], int16_t pitch[], int16_t frac[],
			int16_t exp[], int16_t *gain_frac, int16_t *gain_exp,
			int32_t *overflow)
{
	bool with_gain = mode == MODE_475 || mode == MODE_795;
	int32_t value[SUMS];

	if (!cr_kernels_fast || !sum_up_calc_en(x, x2, y1, Y2, value)) {
		stock_calc_filt_energies(mode, x, x2, y1, Y2, pitch, frac, exp,
					 gain_frac, gain_exp, overflow);
		return;
	}
	set_coefficients(pitch, value, with_gain ? 0 : 1, frac, exp);
	if (with_gain)
		set_gain(value[REST], frac[2], exp[2], gain_frac, gain_exp);
}
