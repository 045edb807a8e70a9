/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A subframe's pulse positions by track: position p is place p / 5 of track
 * p % 5, so that the 8 places of a track are the lanes of one vector. The
 * codebook searches of all modes but 10.2 work on this.
 *
 * What they look for are the pulses p with the largest
 *
 *     (sum over p of dn[p])^2 / (sum over p, q of rr(p, q)),
 *
 * dn being the target correlated with the impulse response h (cor_h_x), its
 * signs taken out (set_sign), and rr the correlations of h with itself
 * (cor_h), the same signs put in. The library's cor_h makes a 40 x 40 matrix;
 * ours has its columns by track, and makes only what a search asks for.
 */
#ifndef CODECS_KERNELS_AMRNB_TRACKS_H
#define CODECS_KERNELS_AMRNB_TRACKS_H

#include "codecs/kernels/amrnb/response.h"

enum {
	TRACKS = 5,
	PLACES = 8,
};

/** Entry [t][k] belongs to position t + 5k. */
struct tracks {
	int32_t rr[SUBFRAME][TRACKS][PLACES]; /* rr[p]: of p with all    */
	int32_t energy[TRACKS][PLACES];	      /* rr(p, p)                */
	int32_t dn[TRACKS][PLACES];
};

/** @v by track, 16 bits a place. */
AVX2 void tracks_split(const int16_t v[SUBFRAME], __m128i track[TRACKS]);

/**
 * Set dn to |dn|, and @sign to 32767 or, for dn < 0, -32767 (set_sign does).
 * False if the sum of a pulse of each track may leave 16 bits, where the
 * library's sums wrap or saturate and ours would not. cor_h_x scales dn to
 * make that next to impossible.
 */
AVX2 bool tracks_set_target(struct tracks *tracks, const int16_t dn[SUBFRAME],
			    int16_t sign[SUBFRAME]);

/** Set dn as it is, for searches with two pulses of each track. False if their
 * sum may leave 16 bits. */
AVX2 bool tracks_set_signed(struct tracks *tracks, const int16_t dn[SUBFRAME]);

/** The @n places (bits) of @track that have the largest dn: those that set_sign
 * leaves, which takes out the smallest one after the other, the first of equals
 * first. */
AVX2 unsigned tracks_largest(const struct tracks *tracks, int track, int n);

/**
 * Set energy and, of rr, the correlations of the positions of track t with
 * those of track u where wanted[t] has bit u.
 * @h: the impulse response, Q12. @sign: 32767 or -32767 for each position.
 */
AVX2 void tracks_correlate(struct tracks *tracks, const int16_t h[SUBFRAME],
			   const int16_t sign[SUBFRAME],
			   const uint8_t wanted[TRACKS], int32_t *overflow);

#endif
