/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The correlations and the target by 4 tracks; see response.h and tracks.c.
 */
#include "codecs/kernels/amrnb/tracks4.h"

#include <stdlib.h>

/* @v by track. */
static void by_track_tracks4(const int16_t v[SUBFRAME], struct by_track4 *out)
{
	for (int k = 0; k < FIRST_PLACES; k++)
		for (int t = 0; t < TRACKS4; t++)
			out->part[t][k] = v[t + TRACKS4 * k];
	for (int p = REST_POSITION; p < SUBFRAME; p++)
		out->part[REST][p - REST_POSITION] = v[p];
}

AVX2 bool tracks4_set_target(struct tracks4 *tracks, const int16_t dn[SUBFRAME])
{
	int sum = 0;

	by_track_tracks4(dn, &tracks->dn);
	for (int t = 0; t < TRACKS4; t++) {
		int most = 0;

		for (int p = t; p < SUBFRAME; p += TRACKS4)
			if (abs(dn[p]) > most)
				most = abs(dn[p]);
		sum += most;
	}
	return 2 * sum < INT16_MAX;
}

/* Row p of the sums from row p + 1, in place. @own: h2[39 - p]. */
AVX2_INLINE void tracks4_next_row(__m256i sum[PARTS4],
				  const __m256i tap[PARTS4], int16_t own)
{
	const __m256i factor = _mm256_set1_epi16(own);
	__m256i first = next_lane(sum[0], sum[REST]);

	sum[REST] = next_lane(sum[REST], _mm256_setzero_si256());
	for (int t = 0; t < TRACKS4 - 1; t++)
		sum[t] = sum[t + 1];
	sum[TRACKS4 - 1] = first;
	for (int i = 0; i < PARTS4; i++)
		sum[i] = _mm256_add_epi32(sum[i],
					  _mm256_madd_epi16(tap[i], factor));
}

AVX2 void tracks4_correlate(struct tracks4 *tracks, const int16_t h[SUBFRAME],
			    const int16_t sign[SUBFRAME], int32_t *overflow)
{
	__m256i tap[PARTS4], sum[PARTS4], product[2][PARTS4];
	struct by_track4 taps, signs;
	int16_t mirrored[SUBFRAME];
	int32_t energy = 0;

	scale_response(h, mirrored, overflow);
	by_track_tracks4(mirrored, &taps);
	by_track_tracks4(sign, &signs);
	for (int i = 0; i < PARTS4; i++) {
		__m128i words = pack_lanes(load256(signs.part[i]));

		tap[i] = _mm256_and_si256(load256(taps.part[i]),
					  _mm256_set1_epi32(0xffff));
		sum[i] = _mm256_setzero_si256();
		product[0][i] = product_signs(words, false);
		product[1][i] = product_signs(words, true);
	}
	for (int p = SUBFRAME - 1; p >= 0; p--) {
		const __m256i *with = product[sign[p] < 0];
		int32_t own;

		tracks4_next_row(sum, tap, mirrored[p]);
		for (int i = 0; i < PARTS4; i++)
			store256(tracks->rr[p].part[i],
				 put_sign(sum[i], with[i]));
		own = own_correlation(&energy, mirrored[p]);
		*at_position(&tracks->energy, p) = own;
		*at_position(&tracks->rr[p], p) = own;
	}
}
