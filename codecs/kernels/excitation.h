/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The adaptive codebook's excitation, as AMR-WB's encoder and decoder both
 * predict it: past excitation at a lag in whole samples and quarters,
 *
 *     sum[i] = sum over k = 0..31 of w[k] * exc[i - lag - 15 + k]
 *     exc[i] = (sum[i] + 0x2000) >> 14
 *
 * w being a row of the library's filter. The sum wraps at 32 bits; whether the
 * result is clipped or wraps is the library's choice.
 *
 * Outputs are inputs of later ones where the lag is short: an output needs
 * samples up to 16 - lag before it. 16 outputs can be computed at once where
 * all their inputs lie before them, as from a lag of 32 on.
 */
#ifndef CODECS_KERNELS_EXCITATION_H
#define CODECS_KERNELS_EXCITATION_H

#include "codecs/kernels/fir.h"

enum {
	EXC_TAPS = 32,
	EXC_BEHIND = 15, /**< taps before the sample at the lag */
	EXC_BLOCK = 16,
	EXC_SHIFT = 14,
	EXC_STEPS = 4, /**< of a sample */
	/** Least lag that blocks can have. */
	EXC_SHORTEST = EXC_TAPS - EXC_BEHIND + EXC_BLOCK - 1,
};

/** A lag as the filter has it: from so many samples back, by row. */
struct exc_lag {
	int back, row;
};

/** @lag + @fraction / 4 samples; rows go backwards in time. */
static inline struct exc_lag exc_lag(int lag, int fraction)
{
	if (fraction > 0)
		return (struct exc_lag){ lag + 1, fraction - 1 };
	return (struct exc_lag){ lag, fraction + EXC_STEPS - 1 };
}

static inline bool exc_is_fraction(int fraction)
{
	return fraction > -EXC_STEPS && fraction < EXC_STEPS;
}

/** The sums of 16 outputs from the first one's inputs, @from, on. */
AVX2_INLINE struct fir_sums exc_sum_block(const int16_t w[EXC_TAPS],
					  const int16_t *from)
{
	struct fir_sums s = fir_begin();

	for (int k = 0; k < EXC_TAPS; k += 2)
		fir_add(&s, _mm256_set1_epi32(load_pair(w + k)), from + k);
	return s;
}

/** The sum of one. */
AVX2_INLINE int32_t exc_sum_one(const int16_t w[EXC_TAPS], const int16_t *from)
{
	__m256i s = _mm256_madd_epi16(load256(w), load256(from));
	__m256i t = _mm256_madd_epi16(load256(w + 16), load256(from + 16));

	return sum_lanes256(_mm256_add_epi32(s, t));
}

#endif
