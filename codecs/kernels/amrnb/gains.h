/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The common part of the gain quantisers: for each pair of gains of a
 * codebook, the energy of what is left of the target,
 *
 *     error = c0 gp^2 + c1 gp + c2 gc^2 + c3 gc + c4 gp gc,
 *
 * gp and gc being the gains of pitch and code, the latter with the predicted
 * gain in it. The five coefficients (calc_filt_energies) have 31 bits, in
 * halves, and are brought to one exponent; the products (mult) have 15 bits.
 *
 * A term is Mpy_32_16, 2 (high n) + 2 (low n >> 15). It does not saturate here:
 * aligned coefficients are below 2^30 and gains below 2^15. What sums do is
 * each quantiser's matter.
 */
#ifndef CODECS_KERNELS_AMRNB_GAINS_H
#define CODECS_KERNELS_AMRNB_GAINS_H

#include "codecs/kernels/kernel.h"

enum {
	GAIN_TERMS = 5,
	GAINS_EXPONENT = 1000, /* larger ones are the library's */
};

/** A coefficient's halves, as lanes for madd: the high 16 bits 0. */
struct coefficient {
	int32_t high, low;
};

/** The exponents the products are given, of 5 coefficients with the exponents
 * @exp, for a code gain with the exponent @code. */
static inline void gains_exponents(const int16_t exp[GAIN_TERMS], int code,
				   int out[GAIN_TERMS])
{
	out[0] = exp[0] - 13;
	out[1] = exp[1] - 14;
	out[2] = exp[2] + 2 * (code - 11) + 15;
	out[3] = exp[3] + code - 11;
	out[4] = exp[4] + code - 10;
}

/**
 * Align @n coefficients, fractions @frac with exponents @exp, one bit below the
 * largest exponent. False if one is so far off that the library's 16-bit
 * arithmetic might wrap; the encoder's are not beyond 100.
 */
bool gains_align(const int16_t frac[], const int exp[], int n,
		 struct coefficient c[]);

/** The five products of 8 pairs of gains. */
AVX2_INLINE void gains_products(__m256i pitch, __m256i code,
				__m256i product[GAIN_TERMS])
{
	product[0] = _mm256_srai_epi32(_mm256_madd_epi16(pitch, pitch), 15);
	product[1] = pitch;
	product[2] = _mm256_srai_epi32(_mm256_madd_epi16(code, code), 15);
	product[3] = code;
	product[4] = _mm256_srai_epi32(_mm256_madd_epi16(code, pitch), 15);
}

/** Mpy_32_16. */
AVX2_INLINE __m256i gains_term(const struct coefficient *c, __m256i n)
{
	__m256i high = _mm256_madd_epi16(n, _mm256_set1_epi32(c->high));
	__m256i low = _mm256_madd_epi16(n, _mm256_set1_epi32(c->low));

	low = _mm256_srai_epi32(low, 15);
	return _mm256_slli_epi32(_mm256_add_epi32(high, low), 1);
}

/** Codebook entries 8 at a time, each of two pairs of 16-bit numbers: the pairs
 * 0 of entries @p[0..7], or 1, a lane each. */
AVX2_INLINE __m256i gains_pairs(const int16_t *p, bool second)
{
	__m256 low = _mm256_castsi256_ps(load256(p));
	__m256 high = _mm256_castsi256_ps(load256(p + 16));
	__m256 both = second ? _mm256_shuffle_ps(low, high, 0xdd)
			     : _mm256_shuffle_ps(low, high, 0x88);

	return _mm256_permute4x64_epi64(_mm256_castps_si256(both), 0xd8);
}

/** The code gain to be sent: entry's part times predicted gain, 2 * @gain *
 * @predicted * 2^(exp - 10) / 2^16, with the library's shifts. */
int16_t gains_code(int16_t gain, int16_t predicted, int16_t exp);

#endif
