/* SPDX-License-Identifier: Apache-2.0 */
/*
 * code_4i40_17bits: the codebook of 7.40 and 7.95 kbit/s (TS 26.090, 5.7.1).
 * Four pulses: on tracks 0, 1, 2, and on 3 or 4. Each of the four tracks has
 * its turn to be where the search starts, from the four places with the
 * largest dn in it, which set_sign leaves.
 *
 * Index: 3 bits for the place of each, Gray coded; the last has one more, which
 * tells the track. Signs: a bit each. chain.h has the search and its valid
 * range; outside of it the library's own function runs.
 */
#include "codecs/kernels/amrnb.h"
#include "codecs/kernels/amrnb/algebraic.h"

enum { PULSES = 4, STARTS = 4 };

AVX2_INLINE void code_4i40_17bits_search_tracks(struct algebraic *a,
						const unsigned starts[],
						uint8_t last)
{
	const uint8_t turns[PULSES][PULSES] = {
		{ 0, 1, 2, last },
		{ last, 0, 1, 2 },
		{ 2, last, 0, 1 },
		{ 1, 2, last, 0 },
	};

	for (int i = 0; i < PULSES; i++)
		chain_search(&a->best, &a->tracks, turns[i], PULSES,
			     starts[turns[i][0]]);
}

AVX2 static bool search_4i40(struct algebraic *a, int16_t h[],
			     int32_t *overflow)
{
	/* of each track with those it may meet: all but 3 with 4 */
	static const uint8_t wanted[TRACKS] = { 0x1e, 0x1d, 0x1b, 0x07, 0x07 };
	unsigned starts[TRACKS];

	tracks_correlate(&a->tracks, h, a->sign, wanted, overflow);
	for (int t = 0; t < TRACKS; t++)
		starts[t] = tracks_largest(&a->tracks, t, STARTS);
	code_4i40_17bits_search_tracks(a, starts, 3);
	code_4i40_17bits_search_tracks(a, starts, 4);
	return algebraic_found(a, h);
}

/* Part of a pulse on each track in the index: a constant, and its place
 * shifted; and the bit of its sign. */
static const struct {
	uint16_t constant;
	uint8_t shift, sign;
} of_track[TRACKS] = {
	{ 0, 0, 0 }, { 0, 3, 1 }, { 0, 6, 2 }, { 0, 10, 3 }, { 512, 10, 3 },
};

int16_t code_4i40_17bits(int16_t x[], int16_t h[], int16_t lag, int16_t gain,
			 int16_t code[], int16_t y[], int16_t *signs,
			 const int16_t gray[], int32_t *overflow)
{
	struct algebraic a;
	unsigned positive, bits = 0;
	int index = 0;

	a.pulses = PULSES;
	a.lag = lag;
	a.gain = (int16_t)(2 * gain);
	if (!cr_kernels_fast || !algebraic_start(&a, x, h, overflow) ||
	    !search_4i40(&a, h, overflow))
		return stock_code_4i40_17bits(x, h, lag, gain, code, y, signs,
					      gray, overflow);
	positive = algebraic_build(&a, h, code, y, overflow);
	for (int k = 0; k < PULSES; k++) {
		int place = a.best.position[k] / TRACKS;
		int track = a.best.position[k] % TRACKS;

		index += (gray[place] << of_track[track].shift) +
			 of_track[track].constant;
		bits |= (positive >> k & 1) << of_track[track].sign;
	}
	*signs = (int16_t)bits;
	return (int16_t)index;
}
