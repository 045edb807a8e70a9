/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The search of AMR-WB's algebraic codebook in parts: the reference for signs
 * and order (acelp_reference.c), tables of a subframe (acelp_tables.c), the
 * search for two pulses (acelp_search.c), and what sets them going and makes
 * the code of the result (acelp_4t64.c). acelp_2t64.c, of two pulses in two
 * tracks, shares the first only.
 *
 * A subframe has 64 positions in 4 interleaved tracks of 16; position p is
 * number p / 4 of track p % 4. Data are kept by track: [track][number].
 */
#ifndef CODECS_KERNELS_AMRWB_ACELP_H
#define CODECS_KERNELS_AMRWB_ACELP_H

#include "codecs/kernels/kernel.h"

enum {
	ACELP_POSITIONS = 64,
	ACELP_TRACKS = 4,
	ACELP_NUMBERS = 16, /**< positions of a track */
	ACELP_MOST_PULSES = 24,
};

/** Tables that each candidate is measured with. */
struct acelp_tables {
	/** Target through the impulse response, times the sign; and the order
	 * of a track's positions by their reference, 0 is the greatest. */
	int16_t dn[ACELP_TRACKS][ACELP_NUMBERS];
	int16_t rank[ACELP_TRACKS][ACELP_NUMBERS];
	/** 32767 or -32768, and the opposite. */
	int16_t sign[ACELP_TRACKS][ACELP_NUMBERS];
	int16_t opposite[ACELP_TRACKS][ACELP_NUMBERS];
	/** Energy of a pulse; of two, in this track and the next. */
	int16_t energy[ACELP_TRACKS][ACELP_NUMBERS];
	int16_t cross[ACELP_TRACKS][ACELP_NUMBERS][ACELP_NUMBERS];
	/** Impulse response behind 64 zeros, and its negative: response +
	 * 64 - p is that of a pulse at p. */
	int16_t response[2 * ACELP_POSITIONS];
	int16_t negative[2 * ACELP_POSITIONS];
} __attribute__((aligned(32)));

/** One choice of pulses, while it grows. */
struct acelp_path {
	int16_t pulse[ACELP_MOST_PULSES]; /**< positions, in order of choice */
	int16_t correlation;
	int16_t energy;
	/** Sum of the pulses' responses, and a zero behind it. */
	int16_t sum[ACELP_POSITIONS + ACELP_NUMBERS];
} __attribute__((aligned(32)));

/** Two pulses to find: the first in @track, the second in the next one. */
struct acelp_pair {
	unsigned track;
	int width;   /**< so many positions of @track, by rank, are tried */
	unsigned at; /**< their place in pulse[] */
};

/** The reference @dn2 of @cn and @dn, @weight being that of dn; @overflow is
 * what the factor of cn rounds to where it is too great. */
void acelp_reference(int16_t cn[], int16_t dn[], int16_t weight,
		     int16_t overflow, int16_t dn2[]);

/** Signs of reference @dn2, with which @dn and @dn2 become dn2 >= 0, and all
 * that depends on them. False when a reference is -32768: not ours. */
bool acelp_set_signs(struct acelp_tables *t, int16_t dn[], int16_t dn2[]);

/** Energies of the impulse response @h >> @shift. After the signs. */
void acelp_set_response(struct acelp_tables *t, const int16_t h[], int shift);

/** Add a pulse at @position to @p's responses. */
void acelp_add_response(const struct acelp_tables *t, struct acelp_path *p,
			int position);

/** Find the two best pulses after those in @p and add them. False when a
 * candidate's energy is not positive or its correlation -32768: not ours. */
bool acelp_search(const struct acelp_tables *t, struct acelp_path *p,
		  struct acelp_pair pair);

#endif
