/* SPDX-License-Identifier: Apache-2.0 */
/*
 * code_3i40_14bits: the codebook of 6.70 kbit/s (TS 26.090, 5.7.1). Three
 * pulses: on track 0, on 1 or 3, and on 2 or 4. Each of the three tracks has
 * its turn to be where the search starts, from the six places with the largest
 * dn in it, which set_sign leaves.
 *
 * Index: 3 bits for the place of the first, 4 for each of the others, the
 * highest of which tells the track. Signs: a bit each. chain.h has the search
 * and its valid range; outside of it the library's own function runs.
 */
#include "codecs/kernels/amrnb.h"
#include "codecs/kernels/amrnb/algebraic.h"

enum { PULSES = 3, STARTS = 6 };

AVX2_INLINE void code_3i40_14bits_search_tracks(struct algebraic *a,
						uint8_t second, uint8_t third)
{
	const uint8_t turns[PULSES][PULSES] = {
		{ 0, second, third },
		{ third, 0, second },
		{ second, third, 0 },
	};

	for (int i = 0; i < PULSES; i++)
		chain_search(&a->best, &a->tracks, turns[i], PULSES,
			     tracks_largest(&a->tracks, turns[i][0], STARTS));
}

AVX2 static bool search_3i40(struct algebraic *a, int16_t h[],
			     int32_t *overflow)
{
	/* of each track with those it may meet */
	static const uint8_t wanted[TRACKS] = { 0x1e, 0x15, 0x0b, 0x15, 0x0b };

	tracks_correlate(&a->tracks, h, a->sign, wanted, overflow);
	code_3i40_14bits_search_tracks(a, 1, 2);
	code_3i40_14bits_search_tracks(a, 1, 4);
	code_3i40_14bits_search_tracks(a, 3, 2);
	code_3i40_14bits_search_tracks(a, 3, 4);
	if (a->best.saturated)
		*overflow = 1;
	return algebraic_found(a, h);
}

/* Part of a pulse on each track in the index: a constant, and the place
 * shifted; and the bit of its sign. */
static const struct {
	uint8_t constant, shift, sign;
} of_track[TRACKS] = {
	{ 0, 0, 0 }, { 0, 4, 1 }, { 0, 8, 2 }, { 8, 4, 1 }, { 128, 8, 2 },
};

int16_t code_3i40_14bits(int16_t x[], int16_t h[], int16_t lag, int16_t gain,
			 int16_t code[], int16_t y[], int16_t *signs,
			 int32_t *overflow)
{
	struct algebraic a;
	unsigned positive, bits = 0;
	int index = 0;

	a.pulses = PULSES;
	a.lag = lag;
	a.gain = (int16_t)(2 * gain);
	if (!cr_kernels_fast || !algebraic_start(&a, x, h, overflow) ||
	    !search_3i40(&a, h, overflow))
		return stock_code_3i40_14bits(x, h, lag, gain, code, y, signs,
					      overflow);
	positive = algebraic_build(&a, h, code, y, overflow);
	for (int k = 0; k < PULSES; k++) {
		int place = a.best.position[k] / TRACKS;
		int track = a.best.position[k] % TRACKS;

		index += (place << of_track[track].shift) +
			 of_track[track].constant;
		bits |= (positive >> k & 1) << of_track[track].sign;
	}
	*signs = (int16_t)bits;
	return (int16_t)index;
}
