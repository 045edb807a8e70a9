/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Qua_gain: the gains of pitch and code together, of 5.15 and 5.90 kbit/s (64
 * pairs) and 6.70, 7.40 and 10.2 kbit/s (128). gains.h has the error of a pair;
 * pairs with a pitch gain above the limit are left out. The five terms are
 * added one after the other with saturation, as the library's L_add.
 *
 * The tables are the library's: for each pair its gains, Q14 and Q12, and two
 * numbers for the prediction of later gains.
 */
#include "codecs/kernels/amrnb.h"
#include "codecs/kernels/amrnb/basic_ops.h"
#include "codecs/kernels/amrnb/gains.h"
#include "codecs/kernels/amrnb/least.h"

enum {
	ENTRY = 4, /* numbers */
	LOW_RATES = 64,
	HIGH_RATES = 128,
	LANES = 8,
};

extern const int16_t table_gain_lowrates[LOW_RATES * ENTRY];
extern const int16_t table_gain_highrates[HIGH_RATES * ENTRY];

/* error of 8 pairs; *@clipped is where a sum was. */
AVX2_INLINE __m256i qua_gain_error_of(const struct coefficient c[GAIN_TERMS],
				      __m256i pitch, __m256i code,
				      __m256i *clipped)
{
	__m256i product[GAIN_TERMS], error;

	*clipped = _mm256_setzero_si256();
	gains_products(pitch, code, product);
	error = gains_term(&c[0], product[0]);
	for (int i = 1; i < GAIN_TERMS; i++)
		error = add_saturated(error, gains_term(&c[i], product[i]),
				      clipped);
	return error;
}

/* The pairs of gains of a mode. */
struct codebook {
	const int16_t *table;
	int pairs;
};

static struct codebook codebook_of(int mode)
{
	/* 6.70, 7.40 and 10.2 kbit/s */
	if (mode == 3 || mode == 4 || mode == 6)
		return (struct codebook){ table_gain_highrates, HIGH_RATES };
	return (struct codebook){ table_gain_lowrates, LOW_RATES };
}

/* The best pair with a pitch gain up to @limit. @predicted: the code gain, not
 * negative. */
AVX2 static int search_qua_gain(struct codebook book,
				const struct coefficient c[GAIN_TERMS],
				int16_t limit, int16_t predicted,
				int32_t *overflow)
{
	const __m256i factor = _mm256_set1_epi32(pack_pair(0, predicted));
	const __m256i above = _mm256_set1_epi32(limit + 1);
	__m256i index = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
	__m256i any_clipped = _mm256_setzero_si256();
	struct least best = least_nothing();

	for (int i = 0; i < book.pairs; i += LANES) {
		__m256i pair = gains_pairs(book.table + ENTRY * i, false);
		__m256i pitch =
			_mm256_and_si256(pair, _mm256_set1_epi32(0xffff));
		__m256i code =
			_mm256_srai_epi32(_mm256_madd_epi16(pair, factor), 15);
		__m256i allowed = _mm256_cmpgt_epi32(above, pitch);
		__m256i clipped,
			error = qua_gain_error_of(c, pitch, code, &clipped);

		least_take_allowed(&best, error, index, allowed);
		clipped = _mm256_and_si256(clipped, allowed);
		any_clipped = _mm256_or_si256(any_clipped, clipped);
		index = _mm256_add_epi32(index, _mm256_set1_epi32(LANES));
	}
	raise_overflow(any_clipped, overflow);
	return least_index(&best);
}

/* False if it is outside of the valid range. */
static bool align_qua_gain(const int16_t frac[], const int16_t exp[],
			   int16_t code_exp, struct coefficient c[GAIN_TERMS])
{
	int exponent[GAIN_TERMS];

	gains_exponents(exp, code_exp, exponent);
	return code_exp >= -GAINS_EXPONENT && code_exp <= GAINS_EXPONENT &&
	       gains_align(frac, exponent, GAIN_TERMS, c);
}

int16_t Qua_gain(int mode, int16_t code_exp, int16_t code_frac, int16_t frac[],
		 int16_t exp[], int16_t limit, int16_t *pitch_gain,
		 int16_t *code_gain, int16_t *energy_122, int16_t *energy,
		 const void *tables, int32_t *overflow)
{
	struct codebook book = codebook_of(mode);
	int16_t predicted = -1; /* the library's */
	struct coefficient c[GAIN_TERMS];
	const int16_t *chosen;
	int index;

	if (cr_kernels_fast)
		predicted = (int16_t)Pow2(14, code_frac, overflow);
	if (predicted < 0 || !align_qua_gain(frac, exp, code_exp, c))
		return stock_Qua_gain(mode, code_exp, code_frac, frac, exp,
				      limit, pitch_gain, code_gain, energy_122,
				      energy, tables, overflow);
	index = search_qua_gain(book, c, limit, predicted, overflow);
	chosen = book.table + ENTRY * index;
	*pitch_gain = chosen[0];
	*code_gain = gains_code(chosen[1], predicted, code_exp);
	*energy_122 = chosen[2];
	*energy = chosen[3];
	return (int16_t)index;
}
