/* SPDX-License-Identifier: Apache-2.0 */
/*
 * code_2i40_9bits: the codebook of 4.75 and 5.15 kbit/s (TS 26.090, 5.7.1).
 * Two pulses, on one of two pairs of tracks, which depend on the subframe:
 *
 *     subframe      0       1       2       3
 *     first pair   0, 2    0, 3    0, 2    0, 3
 *     second       1, 3    2, 4    1, 4    1, 4
 *
 * Index: 3 bits a place, the first pulse's in the low ones, and one that tells
 * the pair. Signs: a bit each. chain.h has the search and its valid range;
 * outside of it the library's own function runs.
 */
#include "codecs/kernels/amrnb.h"
#include "codecs/kernels/amrnb/algebraic.h"

enum { PULSES = 2, PAIRS = 2, SUBFRAMES = 4, SECOND_PAIR = 64 };

static const uint8_t pairs[SUBFRAMES][PAIRS][PULSES] = {
	{ { 0, 2 }, { 1, 3 } },
	{ { 0, 3 }, { 2, 4 } },
	{ { 0, 2 }, { 1, 4 } },
	{ { 0, 3 }, { 1, 4 } },
};

AVX2 static bool search_2i40_9(struct algebraic *a, int16_t h[],
			       const uint8_t pair[PAIRS][PULSES],
			       int32_t *overflow)
{
	uint8_t wanted[TRACKS] = { 0 };

	for (int i = 0; i < PAIRS; i++)
		wanted[pair[i][1]] |= (uint8_t)(1 << pair[i][0]);
	tracks_correlate(&a->tracks, h, a->sign, wanted, overflow);
	for (int i = 0; i < PAIRS; i++)
		chain_search(&a->best, &a->tracks, pair[i], PULSES, ALL_PLACES);
	return algebraic_found(a, h);
}

static int16_t index_of_2i40_9(const int16_t position[PULSES],
			       int second_pair_first)
{
	int index = position[0] / TRACKS + PLACES * (position[1] / TRACKS);

	if (position[0] % TRACKS == second_pair_first)
		index += SECOND_PAIR;
	return (int16_t)index;
}

int16_t code_2i40_9bits(int16_t subframe, int16_t x[], int16_t h[], int16_t lag,
			int16_t gain, int16_t code[], int16_t y[],
			int16_t *signs, const int16_t start[],
			int32_t *overflow)
{
	struct algebraic a;

	a.pulses = PULSES;
	a.lag = lag;
	a.gain = (int16_t)(2 * gain);
	if (!cr_kernels_fast || subframe < 0 || subframe >= SUBFRAMES ||
	    a.gain != 2 * gain || !algebraic_start(&a, x, h, overflow) ||
	    !search_2i40_9(&a, h, pairs[subframe], overflow))
		return stock_code_2i40_9bits(subframe, x, h, lag, gain, code, y,
					     signs, start, overflow);
	*signs = (int16_t)algebraic_build(&a, h, code, y, overflow);
	return index_of_2i40_9(a.best.position, pairs[subframe][1][0]);
}
