/* SPDX-License-Identifier: Apache-2.0 */
/*
 * code_2i40_11bits: the codebook of 5.90 kbit/s (TS 26.090, 5.7.1). Two pulses,
 * the first on track 1 or 3, the second on track 0, 1, 2 or 4.
 *
 * Index: a bit for the track of the first, 3 for its place, two for the track
 * of the second, 3 for its place. Signs: bit 0 the first's, bit 1 the second's.
 * chain.h has the search and its valid range; outside of it the library's own
 * function runs.
 */
#include "codecs/kernels/amrnb.h"
#include "codecs/kernels/amrnb/algebraic.h"

enum { PULSES = 2 };

static const uint8_t first_tracks[] = { 1, 3 };
static const uint8_t second_tracks[] = { 0, 1, 2, 4 };

/* Both pulses may be on track 1, and at one position. */
AVX2_INLINE bool sums_fit(const struct tracks *tracks)
{
	__m256i twice = _mm256_slli_epi32(load256(tracks->dn[1]), 1);
	__m256i fits =
		_mm256_cmpgt_epi32(_mm256_set1_epi32(INT16_MAX + 1), twice);

	return _mm256_movemask_epi8(fits) == -1;
}

AVX2 static bool search_2i40_11(struct algebraic *a, int16_t h[],
				int32_t *overflow)
{
	/* of all second tracks with both first ones */
	static const uint8_t wanted[TRACKS] = { 0x0a, 0x0a, 0x0a, 0, 0x0a };

	if (!sums_fit(&a->tracks))
		return algebraic_found(a, h);
	tracks_correlate(&a->tracks, h, a->sign, wanted, overflow);
	for (unsigned i = 0; i < sizeof(first_tracks); i++)
		for (unsigned j = 0; j < sizeof(second_tracks); j++) {
			const uint8_t track[PULSES] = { first_tracks[i],
							second_tracks[j] };

			chain_search(&a->best, &a->tracks, track, PULSES,
				     ALL_PLACES);
		}
	return algebraic_found(a, h);
}

static int first_index(int position)
{
	return position % TRACKS / 3 + 2 * (position / TRACKS);
}

static int second_index(int position)
{
	static const uint8_t of_track[TRACKS] = { 0, 1, 2, 0, 3 };

	return 16 * of_track[position % TRACKS] + 64 * (position / TRACKS);
}

int16_t code_2i40_11bits(int16_t x[], int16_t h[], int16_t lag, int16_t gain,
			 int16_t code[], int16_t y[], int16_t *signs,
			 int32_t *overflow)
{
	struct algebraic a;

	a.pulses = PULSES;
	a.lag = lag;
	a.gain = (int16_t)(2 * gain);
	if (!cr_kernels_fast || !algebraic_start(&a, x, h, overflow) ||
	    !search_2i40_11(&a, h, overflow))
		return stock_code_2i40_11bits(x, h, lag, gain, code, y, signs,
					      overflow);
	*signs = (int16_t)algebraic_build(&a, h, code, y, overflow);
	return (int16_t)(first_index(a.best.position[0]) +
			 second_index(a.best.position[1]));
}
