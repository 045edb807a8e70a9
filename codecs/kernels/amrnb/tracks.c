/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the library's cor_h and set_sign compute, by track. Row a of the sums in
 * response.h is row a + 1 moved by one position, plus one product: from track
 * to track, as it is, and from the last to the first by one place.
 */
#include "codecs/kernels/amrnb/tracks.h"

#include "codecs/kernels/amrnb/response.h"

/* Words a, b, ... of v taken from the vector each is in: the position t + 5k
 * is word (t + 5k) % 8 of vector (t + 5k) / 8. */
#define IN_VECTOR(t, k, v)                                                     \
	(((t) + 5 * (k)) / 8 == (v) ? 1 << ((t) + 5 * (k)) % 8 : 0)
#define WORDS_OF(t, v)                                                         \
	(IN_VECTOR(t, 0, v) | IN_VECTOR(t, 1, v) | IN_VECTOR(t, 2, v) |        \
	 IN_VECTOR(t, 3, v) | IN_VECTOR(t, 4, v) | IN_VECTOR(t, 5, v) |        \
	 IN_VECTOR(t, 6, v) | IN_VECTOR(t, 7, v))
#define BYTES_OF(word) 2 * ((word) % 8), 2 * ((word) % 8) + 1
#define PLACES_OF(t)                                                           \
	_mm_setr_epi8(BYTES_OF(t), BYTES_OF((t) + 5), BYTES_OF((t) + 10),      \
		      BYTES_OF((t) + 15), BYTES_OF((t) + 20),                  \
		      BYTES_OF((t) + 25), BYTES_OF((t) + 30),                  \
		      BYTES_OF((t) + 35))

/* The 8 words of a track are at 8 different places in their vectors: so they
 * can be blended into one, and then be put in order. */
#define TRACK(part, t)                                                         \
	_mm_shuffle_epi8(                                                      \
		_mm_blend_epi16(                                               \
			_mm_blend_epi16(_mm_blend_epi16(part[0], part[1],      \
							WORDS_OF(t, 1)),       \
					part[2], WORDS_OF(t, 2)),              \
			_mm_blend_epi16(part[3], part[4], WORDS_OF(t, 4)),     \
			WORDS_OF(t, 3) | WORDS_OF(t, 4)),                      \
		PLACES_OF(t))

AVX2 void tracks_split(const int16_t v[SUBFRAME], __m128i track[TRACKS])
{
	__m128i part[TRACKS];

	for (int i = 0; i < TRACKS; i++)
		part[i] = load128(v + 8 * i);
	track[0] = TRACK(part, 0);
	track[1] = TRACK(part, 1);
	track[2] = TRACK(part, 2);
	track[3] = TRACK(part, 3);
	track[4] = TRACK(part, 4);
}

/* The largest of 8 numbers that are not below 0. */
AVX2_INLINE int largest(__m128i v)
{
	__m128i flipped = _mm_xor_si128(v, _mm_set1_epi16(INT16_MAX));

	return INT16_MAX - _mm_extract_epi16(_mm_minpos_epu16(flipped), 0);
}

AVX2 bool tracks_set_target(struct tracks *tracks, const int16_t dn[SUBFRAME],
			    int16_t sign[SUBFRAME])
{
	int16_t magnitude[SUBFRAME];
	__m128i track[TRACKS];
	int sum = 0;

	for (int p = 0; p < SUBFRAME; p += 8) {
		__m128i v = load128(dn + p);
		__m128i minus = _mm_subs_epi16(_mm_setzero_si128(), v);
		__m128i negative = _mm_srai_epi16(v, 15);

		store128(magnitude + p, _mm_max_epi16(v, minus));
		/* 32767 with all but the lowest bit flipped is -32767 */
		store128(sign + p,
			 _mm_or_si128(_mm_xor_si128(negative,
						    _mm_set1_epi16(INT16_MAX)),
				      _mm_set1_epi16(1)));
	}
	tracks_split(magnitude, track);
	for (int t = 0; t < TRACKS; t++) {
		store256(tracks->dn[t], _mm256_cvtepi16_epi32(track[t]));
		sum += largest(track[t]);
	}
	return sum < INT16_MAX;
}

AVX2 bool tracks_set_signed(struct tracks *tracks, const int16_t dn[SUBFRAME])
{
	__m128i track[TRACKS];
	int sum = 0;

	tracks_split(dn, track);
	for (int t = 0; t < TRACKS; t++) {
		__m128i minus = _mm_subs_epi16(_mm_setzero_si128(), track[t]);

		store256(tracks->dn[t], _mm256_cvtepi16_epi32(track[t]));
		sum += largest(_mm_max_epi16(track[t], minus));
	}
	return 2 * sum < INT16_MAX;
}

AVX2 unsigned tracks_largest(const struct tracks *tracks, int track, int n)
{
	const __m128i places = _mm_setr_epi16(0, 1, 2, 3, 4, 5, 6, 7);
	const __m128i second = _mm_set1_epi16(0x0302); /* its bytes */
	__m128i left = pack_lanes(load256(tracks->dn[track]));

	for (int i = n; i < PLACES; i++) { /* its second word is the place */
		__m128i smallest = _mm_minpos_epu16(left);
		__m128i place = _mm_shuffle_epi8(smallest, second);

		left = _mm_or_si128(left, _mm_cmpeq_epi16(place, places));
	}
	return ~(unsigned)_mm_movemask_epi8(_mm_packs_epi16(left, left)) & 0xff;
}

/* Row p of the sums from row p + 1, in place. @own: h2[39 - p]. */
AVX2_INLINE void tracks_next_row(__m256i sum[TRACKS], const __m256i tap[TRACKS],
				 int16_t own)
{
	const __m256i factor = _mm256_set1_epi16(own);
	__m256i first = next_lane(sum[0], _mm256_setzero_si256());

	for (int t = 0; t < TRACKS - 1; t++)
		sum[t] = _mm256_add_epi32(sum[t + 1],
					  _mm256_madd_epi16(tap[t], factor));
	sum[TRACKS - 1] = _mm256_add_epi32(
		first, _mm256_madd_epi16(tap[TRACKS - 1], factor));
}

AVX2 void tracks_correlate(struct tracks *tracks, const int16_t h[SUBFRAME],
			   const int16_t sign[SUBFRAME],
			   const uint8_t wanted[TRACKS], int32_t *overflow)
{
	__m256i tap[TRACKS], sum[TRACKS], product[2][TRACKS];
	__m128i taps[TRACKS], signs[TRACKS];
	int16_t mirrored[SUBFRAME];
	int32_t energy = 0;

	scale_response(h, mirrored, overflow);
	tracks_split(mirrored, taps);
	tracks_split(sign, signs);
	for (int t = 0; t < TRACKS; t++) {
		tap[t] = _mm256_cvtepu16_epi32(taps[t]);
		sum[t] = _mm256_setzero_si256();
		product[0][t] = product_signs(signs[t], false);
		product[1][t] = product_signs(signs[t], true);
	}
	for (int p = SUBFRAME - 1; p >= 0; p--) {
		const __m256i *with = product[sign[p] < 0];
		int track = p % TRACKS, place = p / TRACKS;
		int16_t own;

		tracks_next_row(sum, tap, mirrored[p]);
		for (int t = 0; t < TRACKS; t++)
			if (wanted[track] >> t & 1)
				store256(tracks->rr[p][t],
					 put_sign(sum[t], with[t]));
		own = own_correlation(&energy, mirrored[p]);
		tracks->energy[track][place] = own;
		tracks->rr[p][track][place] = own;
	}
}
