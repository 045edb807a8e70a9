/* SPDX-License-Identifier: Apache-2.0 */
/*
 * code_10i40_35bits: the codebook of 12.2 kbit/s (TS 26.090, 5.7.1). Ten
 * pulses, two on each of five tracks.
 *
 * pairs.h has the search: four pairs, in four tries. b is a lane, a one of 8
 * vectors.
 *
 * Index: for each track a sign and a place, and the other pulse's place, Gray
 * coded. The order of the two tells the other's sign.
 */
#include "codecs/kernels/amrnb.h"
#include "codecs/kernels/amrnb/pairs.h"
#include "codecs/kernels/amrnb/tracks.h"

enum {
	PULSES = 10,
	TRIES = 4,
	PAIRS = 4, /* besides the first two pulses */
};

/* The sums of rr of the places of @track with all pulses so far. */
AVX2_INLINE __m256i code_10i40_35bits_with_chosen(const struct tracks *tracks,
						  const struct attempt *t,
						  int pair, int track)
{
	__m256i sum = _mm256_setzero_si256();

	for (int q = 0; q < 2 * pair; q++)
		sum = _mm256_add_epi32(
			sum, load256(tracks->rr[t->position[q]][track]));
	return sum;
}

/* All 8 x 8 candidates for @pair. */
AVX2_INLINE void make_candidates(const struct tracks *tracks,
				 const struct attempt *t, struct pair pair,
				 struct candidates all[PLACES], __m256i *wrong)
{
	const __m256i next_a = _mm256_set1_epi32(pair_order(1, 0) << 16);
	__m256i order = _mm256_slli_epi32(
		_mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7), 16);
	__m256i last = pair_last(
		pair.number, load256(tracks->energy[pair.tb]),
		code_10i40_35bits_with_chosen(tracks, t, pair.number, pair.tb));
	__m256i sum = _mm256_add_epi32(_mm256_set1_epi32(t->sum),
				       load256(tracks->dn[pair.tb]));
	int32_t first[PLACES];

	store256(first,
		 pair_first(pair.number, load256(tracks->energy[pair.ta]),
			    code_10i40_35bits_with_chosen(tracks, t,
							  pair.number, pair.ta),
			    _mm256_set1_epi32(t->energy)));
	for (int a = 0; a < PLACES; a++) {
		__m256i rr = load256(tracks->rr[pair.ta + TRACKS * a][pair.tb]);
		__m256i dn = _mm256_set1_epi32(tracks->dn[pair.ta][a]);

		rr = pair_energy(pair.number, _mm256_set1_epi32(first[a]), last,
				 rr);
		all[a] = pair_candidates(_mm256_add_epi32(sum, dn), rr, order,
					 wrong);
		order = _mm256_add_epi32(order, next_a);
	}
}

/* Add the best candidate for @pair to try @t. */
AVX2_INLINE void code_10i40_35bits_add_pair(const struct tracks *tracks,
					    struct attempt *t, struct pair pair,
					    __m256i *wrong)
{
	struct candidates all[PLACES];
	int best, a, b;

	make_candidates(tracks, t, pair, all, wrong);
	for (int step = 1; step < PLACES; step *= 2)
		for (a = 0; a < PLACES; a += 2 * step)
			all[a] = pairs_better(all[a], all[a + step]);
	best = _mm_extract_epi16(_mm_minpos_epu16(orders_of_best(
					 all[0], pairs_best_of_lanes(all[0]))),
				 0);
	take_candidate(t, all[0], best);
	a = best / pair_order(1, 0);
	b = best % pair_order(1, 0);
	t->sum += tracks->dn[pair.ta][a] + tracks->dn[pair.tb][b];
	t->position[2 * pair.number] = (int16_t)(pair.ta + TRACKS * a);
	t->position[2 * pair.number + 1] = (int16_t)(pair.tb + TRACKS * b);
}

/* The first two pulses: the largest peak of all, and that of @track. */
static void start_10i40(const struct tracks *tracks, struct attempt *t,
			int first, int second)
{
	int ta = first % TRACKS, a = first / TRACKS;
	int tb = second % TRACKS, b = second / TRACKS;

	t->position[0] = (int16_t)first;
	t->position[1] = (int16_t)second;
	t->sum = tracks->dn[ta][a] + tracks->dn[tb][b];
	t->energy = tracks->energy[ta][a] * (1 << 12) +
		    tracks->energy[tb][b] * (1 << 12) +
		    tracks->rr[first][tb][b] * (1 << 13) + 0x8000;
}

/* False if it was outside of its valid range. The tries take turns pair by
 * pair, so that while one waits for its winner others go on. */
AVX2 static bool search_10i40(const struct tracks *tracks,
			      const int16_t peak[TRACKS],
			      const int16_t turn[PULSES],
			      int16_t position[PULSES])
{
	__m256i wrong = _mm256_setzero_si256();
	struct attempt try[TRIES];

	for (int i = 0; i < TRIES; i++)
		start_10i40(tracks, &try[i], peak[turn[0]],
			    peak[track_in_turn(turn, PULSES, i, 1)]);
#pragma GCC unroll 4
	for (int number = 1; number <= PAIRS; number++)
		for (int i = 0; i < TRIES; i++)
			code_10i40_35bits_add_pair(
				tracks, &try[i],
				pair_in_turn(turn, PULSES, i, number), &wrong);
	memcpy(position, best_try(try, TRIES)->position,
	       PULSES * sizeof(*position));
	return pairs_exact(wrong);
}

enum {
	NEGATIVE = 8, /* in an index: sign, and place */
	PLACE = 7,
};

/* The result of the search. */
struct found {
	int16_t sign[SUBFRAME]; /* of each position   */
	int16_t position[PULSES];
	int16_t plus[PULSES]; /* 1 or -1, of a pulse */
};

/* Put the second pulse of a track behind its first: the signs are told by the
 * first and by the order of the places. */
static void join_10i40(int16_t index[PULSES], int track, int16_t mine)
{
	int16_t *first = &index[track], *second = &index[track + TRACKS];
	bool same_sign = !((mine ^ *first) & NEGATIVE);
	bool first_is_behind = (*first & PLACE) > (mine & PLACE);

	if (same_sign == first_is_behind) {
		*second = *first;
		*first = mine;
	} else {
		*second = mine;
	}
}

/* The code vector, Q12, and the indices, not yet Gray coded. */
static void build_10i40(struct found *pulses, int16_t code[SUBFRAME],
			int16_t index[PULSES])
{
	memset(code, 0, SUBFRAME * sizeof(*code));
	for (int t = 0; t < TRACKS; t++)
		index[t] = -1;
	for (int k = 0; k < PULSES; k++) {
		int p = pulses->position[k], track = p % TRACKS;
		int16_t mine = (int16_t)(p / TRACKS);

		pulses->plus[k] = pulses->sign[p] > 0 ? 1 : -1;
		code[p] = (int16_t)(code[p] + 4096 * pulses->plus[k]);
		if (pulses->plus[k] < 0)
			mine += NEGATIVE;
		if (index[track] < 0)
			index[track] = mine;
		else
			join_10i40(index, track, mine);
	}
}

/* y[i] = round(sum over the pulses of +-h[i - position] / 4): the library's
 * products with 2^13, shifted down by 7 each and by 8 together, leave nothing
 * out in between. */
AVX2 static void filter_10i40(const struct found *pulses, const int16_t h[],
			      int16_t y[SUBFRAME])
{
	for (int i = 0; i < SUBFRAME; i += 8) {
		__m256i sum = _mm256_set1_epi32(2);

		for (int k = 0; k < PULSES; k++) {
			__m256i v = _mm256_cvtepi16_epi32(
				load128(h - pulses->position[k] + i));

			sum = _mm256_add_epi32(
				sum,
				_mm256_sign_epi32(
					v, _mm256_set1_epi32(pulses->plus[k])));
		}
		sum = low_words(_mm256_srai_epi32(sum, 2));
		store128(y + i, pack_lanes(sum));
	}
}

/* False, with nothing changed that counts, if the library has to do it. */
AVX2 static bool find_pulses_10i40(int16_t x[], int16_t cn[], int16_t h[],
				   struct found *pulses, int32_t *overflow)
{
	static const uint8_t wanted[TRACKS] = { 0x1f, 0x1f, 0x1f, 0x1f, 0x1f };
	int16_t dn[SUBFRAME], peak[TRACKS], turn[PULSES];
	struct tracks tracks;

	cor_h_x(h, x, dn, 2, overflow);
	set_sign12k2(dn, cn, pulses->sign, peak, TRACKS, turn, TRACKS,
		     overflow);
	if (!tracks_set_signed(&tracks, dn))
		return false;
	tracks_correlate(&tracks, h, pulses->sign, wanted, overflow);
	return search_10i40(&tracks, peak, turn, pulses->position);
}

void code_10i40_35bits(int16_t x[], int16_t cn[], int16_t h[], int16_t code[],
		       int16_t y[], int16_t index[], const int16_t gray[],
		       int32_t *overflow)
{
	struct found pulses;

	if (!cr_kernels_fast ||
	    !find_pulses_10i40(x, cn, h, &pulses, overflow)) {
		stock_code_10i40_35bits(x, cn, h, code, y, index, gray,
					overflow);
		return;
	}
	build_10i40(&pulses, code, index);
	filter_10i40(&pulses, h, y);
	for (int k = 0; k < PULSES; k++) {
		int16_t place = gray[index[k] & PLACE];
		int16_t sign = k < TRACKS ? index[k] & NEGATIVE : 0;

		index[k] = sign | place;
	}
}
