/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The common part of the codebooks of 2, 3 and 4 pulses: the steps before and
 * after the search.
 */
#ifndef CODECS_KERNELS_AMRNB_ALGEBRAIC_H
#define CODECS_KERNELS_AMRNB_ALGEBRAIC_H

#include "codecs/kernels/amrnb/chain.h"
#include "codecs/kernels/amrnb/pulses.h"

/** A search under way. Given are pulses, lag, and the pitch gain in Q15. */
struct algebraic {
	int pulses;
	int lag;
	int16_t gain;
	int16_t given[SUBFRAME]; /* the impulse response as it was */
	int16_t sign[SUBFRAME];	 /* of each position               */
	struct tracks tracks;
	struct chain_winner best;
};

/**
 * Sharpen the impulse response @h in place, set dn and the signs. False if the
 * search is outside of its valid range; @h is as it was.
 * @x: the target.
 */
AVX2 bool algebraic_start(struct algebraic *a, int16_t x[], int16_t h[],
			  int32_t *overflow);

/** Is there a winner? There is none when all is 0; @h is then as it was. */
AVX2 bool algebraic_found(const struct algebraic *a, int16_t h[]);

/**
 * Make the code vector of the winner's pulses, +-1 in Q13, and @y, its output
 * of @h. Bit k of the result: pulse k is positive.
 */
AVX2 unsigned algebraic_build(const struct algebraic *a, const int16_t h[],
			      int16_t code[], int16_t y[], int32_t *overflow);

#endif
