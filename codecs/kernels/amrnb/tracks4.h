/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What tracks.h is for 4 tracks of 10 places, as 10.2 kbit/s has them: position
 * p is place p / 4 of track p % 4. The first 8 places of a track are the lanes
 * of a vector, and the last two of all tracks share a fifth one.
 */
#ifndef CODECS_KERNELS_AMRNB_TRACKS4_H
#define CODECS_KERNELS_AMRNB_TRACKS4_H

#include "codecs/kernels/amrnb/response.h"

enum {
	TRACKS4 = 4,
	FIRST_PLACES = 8,
	PARTS4 = 5,	/* vectors: each track's first places, */
	REST = TRACKS4, /* and positions 32 to 39              */
	REST_POSITION = 32,
};

/** A number for each position. */
struct by_track4 {
	int32_t part[PARTS4][8];
};

struct tracks4 {
	struct by_track4 rr[SUBFRAME];
	struct by_track4 energy; /* rr(p, p) */
	struct by_track4 dn;
};

/** Where position @p is. */
static inline int32_t *at_position(struct by_track4 *v, int p)
{
	if (p >= REST_POSITION)
		return &v->part[REST][p - REST_POSITION];
	return &v->part[p % TRACKS4][p / TRACKS4];
}

/** The value of position @p. */
static inline int32_t of_position(const struct by_track4 *v, int p)
{
	if (p >= REST_POSITION)
		return v->part[REST][p - REST_POSITION];
	return v->part[p % TRACKS4][p / TRACKS4];
}

/** The first 8 places of @track. */
AVX2_INLINE __m256i first_places(const struct by_track4 *v, int track)
{
	return load256(v->part[track]);
}

/** Its places 8 and 9, four times. */
AVX2_INLINE __m256i rest_places(const struct by_track4 *v, int track)
{
	__m256i lane = _mm256_setr_epi32(0, 4, 0, 4, 0, 4, 0, 4);

	lane = _mm256_add_epi32(lane, _mm256_set1_epi32(track));
	return _mm256_permutevar8x32_epi32(load256(v->part[REST]), lane);
}

/** Set dn. False if the sum of two pulses of each track may leave 16 bits. */
AVX2 bool tracks4_set_target(struct tracks4 *tracks,
			     const int16_t dn[SUBFRAME]);

/** Set rr and energy. @h: Q12. @sign: 32767 or -32767. */
AVX2 void tracks4_correlate(struct tracks4 *tracks, const int16_t h[SUBFRAME],
			    const int16_t sign[SUBFRAME], int32_t *overflow);

#endif
