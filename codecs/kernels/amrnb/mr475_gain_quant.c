/* SPDX-License-Identifier: Apache-2.0 */
/*
 * MR475_gain_quant: the gains of 4.75 kbit/s, two subframes at a time: of 256
 * entries, each with a pair of gains for either, that with the smallest sum of
 * errors (gains.h). Entries with a pitch gain above the limit are left out. The
 * sums wrap, as the library's: so the order of the terms does not matter.
 *
 * The two targets are given the same weight unless one is so much stronger
 * that its error counts half or double.
 *
 * Once chosen, the gains go into the predictor, the first subframe's before
 * the second's is predicted with them; so there is no way back to the library's
 * function then, and what could wrap is looked at before.
 */
#include "codecs/kernels/amrnb.h"
#include "codecs/kernels/amrnb/basic_ops.h"
#include "codecs/kernels/amrnb/gains.h"
#include "codecs/kernels/amrnb/least.h"

enum {
	ENTRY = 4, /* numbers: pitch and code gain, Q14 and Q12, twice */
	ENTRIES = 256,
	LANES = 8,
	BOTH = 2 * GAIN_TERMS,
	MODE_475 = 0,
};

extern const int16_t table_gain_MR475[ENTRIES * ENTRY];

/* Of one subframe: the predicted code gain, the coefficients of the error, the
 * energy of the target; fractions and exponents. */
struct subframe {
	int16_t code_exp, code_frac;
	const int16_t *exp, *frac;
	int16_t target_exp, target_frac;
};

/* By how much to raise the exponents of the first subframe's coefficients: 1 if
 * its target is less than half of the second's, -1 if it is more than four
 * times, else 0. */
static int weight_mr475(const struct subframe s[2])
{
	int16_t first = s[0].target_frac, second = s[1].target_frac;
	int shift = (int16_t)(s[0].target_exp - s[1].target_exp);

	if (shift > 0)
		second = (int16_t)(second >> (shift & 31));
	else
		first = (int16_t)(first >> (-shift & 31));
	if ((second + 1) >> 1 > first)
		return 1;
	if ((first + 3) >> 2 > second)
		return -1;
	return 0;
}

/* False if it is outside of the valid range. */
static bool align_mr475(const struct subframe s[2], struct coefficient c[BOTH])
{
	int exponent[BOTH], raise = weight_mr475(s);
	int16_t frac[BOTH];

	for (int i = 0; i < 2; i++) {
		if (s[i].code_exp < -GAINS_EXPONENT ||
		    s[i].code_exp > GAINS_EXPONENT)
			return false;
		gains_exponents(s[i].exp, s[i].code_exp,
				exponent + i * GAIN_TERMS);
		memcpy(frac + i * GAIN_TERMS, s[i].frac,
		       GAIN_TERMS * sizeof(*frac));
	}
	for (int i = 0; i < GAIN_TERMS; i++)
		exponent[i] += raise;
	return gains_align(frac, exponent, BOTH, c);
}

/* The error of a subframe with 8 pairs of gains. @predicted: the code gain. */
AVX2_INLINE __m256i
mr475_gain_quant_error_of(const struct coefficient c[GAIN_TERMS], __m256i pair,
			  __m256i pitch, int16_t predicted)
{
	__m256i factor = _mm256_set1_epi32(pack_pair(0, predicted));
	__m256i code = _mm256_srai_epi32(_mm256_madd_epi16(pair, factor), 15);
	__m256i product[GAIN_TERMS], error = _mm256_setzero_si256();

	gains_products(pitch, code, product);
	for (int i = 0; i < GAIN_TERMS; i++)
		error = _mm256_add_epi32(error, gains_term(&c[i], product[i]));
	return error;
}

AVX2 static int search_mr475(const struct coefficient c[BOTH], int16_t limit,
			     const int16_t predicted[2])
{
	const __m256i low_half = _mm256_set1_epi32(0xffff);
	const __m256i above = _mm256_set1_epi32(limit + 1);
	__m256i index = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
	struct least best = least_nothing();

	for (int i = 0; i < ENTRIES; i += LANES) {
		const int16_t *entries = table_gain_MR475 + ENTRY * i;
		__m256i first = gains_pairs(entries, false);
		__m256i second = gains_pairs(entries, true);
		__m256i first_pitch = _mm256_and_si256(first, low_half);
		__m256i second_pitch = _mm256_and_si256(second, low_half);
		__m256i largest = _mm256_max_epi32(first_pitch, second_pitch);
		__m256i error = _mm256_add_epi32(
			mr475_gain_quant_error_of(c, first, first_pitch,
						  predicted[0]),
			mr475_gain_quant_error_of(c + GAIN_TERMS, second,
						  second_pitch, predicted[1]));

		least_take_allowed(&best, error, index,
				   _mm256_cmpgt_epi32(above, largest));
		index = _mm256_add_epi32(index, _mm256_set1_epi32(LANES));
	}
	return least_index(&best);
}

/* Give the code gain's @factor to the predictor: its logarithm, as 12.2 and as
 * the others want it. */
static void update(void *predictor, int16_t factor, int32_t *overflow)
{
	int16_t exp, frac, energy_122;
	int32_t energy;

	Log2(factor, &exp, &frac, overflow);
	exp = (int16_t)(exp - 12);
	energy_122 = (int16_t)(((frac + 16) >> 5) + exp * 1024);
	energy = 2 * (exp * 24660 + (frac * 24660 >> 15));
	energy = (int32_t)((uint32_t)energy << 13);
	gc_pred_update(predictor, energy_122,
		       (int16_t)(add_wrapped(energy, 0x8000) >> 16));
}

/* The entry, or -1 if it is outside of the valid range. */
static int choose_mr475(const struct subframe s[2], int16_t limit,
			int16_t predicted[2], int32_t *overflow)
{
	struct coefficient c[BOTH];

	for (int i = 0; i < 2; i++)
		predicted[i] = (int16_t)Pow2(14, s[i].code_frac, overflow);
	if (predicted[0] < 0 || predicted[1] < 0 || !align_mr475(s, c))
		return -1;
	return search_mr475(c, limit, predicted);
}

int16_t MR475_gain_quant(void *predictor, int16_t exp0, int16_t frac0,
			 int16_t exps0[], int16_t fracs0[], int16_t target_exp0,
			 int16_t target_frac0, int16_t code1[], int16_t exp1,
			 int16_t frac1, int16_t exps1[], int16_t fracs1[],
			 int16_t target_exp1, int16_t target_frac1,
			 int16_t limit, int16_t *pitch_gain0,
			 int16_t *code_gain0, int16_t *pitch_gain1,
			 int16_t *code_gain1, int32_t *overflow)
{
	const struct subframe s[2] = {
		{ exp0, frac0, exps0, fracs0, target_exp0, target_frac0 },
		{ exp1, frac1, exps1, fracs1, target_exp1, target_frac1 },
	};
	int16_t predicted[2], energy[2];
	const int16_t *chosen;
	int index = -1;

	if (cr_kernels_fast)
		index = choose_mr475(s, limit, predicted, overflow);
	if (index < 0)
		return stock_MR475_gain_quant(
			predictor, exp0, frac0, exps0, fracs0, target_exp0,
			target_frac0, code1, exp1, frac1, exps1, fracs1,
			target_exp1, target_frac1, limit, pitch_gain0,
			code_gain0, pitch_gain1, code_gain1, overflow);
	chosen = table_gain_MR475 + ENTRY * index;
	*pitch_gain0 = chosen[0];
	*code_gain0 = gains_code(chosen[1], predicted[0], exp0);
	update(predictor, chosen[1], overflow);
	gc_pred(predictor, MODE_475, code1, &exp1, &frac1, &energy[0],
		&energy[1], overflow);
	predicted[1] = (int16_t)Pow2(14, frac1, overflow);
	*pitch_gain1 = chosen[2];
	*code_gain1 = gains_code(chosen[3], predicted[1], exp1);
	update(predictor, chosen[3], overflow);
	return (int16_t)index;
}
