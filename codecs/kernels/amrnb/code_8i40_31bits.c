/* SPDX-License-Identifier: Apache-2.0 */
/*
 * code_8i40_31bits: the codebook of 10.2 kbit/s (TS 26.090, 5.7.1). Eight
 * pulses, two on each of four tracks with ten places.
 *
 * pairs.h has the search: three pairs, in three tries, of 10 x 10 candidates.
 * Those with one of the first 8 places b are a vector for each a, as they are
 * for 12.2; those with the last two are lanes of three more:
 *
 *     lane      0      1      2      3      4      5      6      7
 *     first   0, 8   0, 9   1, 8   1, 9   4, 8   4, 9   5, 8   5, 9   (a, b)
 *     second  2, 8   2, 9   3, 8   3, 9   6, 8   6, 9   7, 8   7, 9
 *     third   8, 8   8, 9   9, 8   9, 9   and once more the same
 *
 * which is how unpack puts two rows of rr, which is symmetric, into one.
 *
 * Index: the four tracks' signs; places of three pulses together in base 5 and
 * 2, twice, and of the last two.
 */
#include "codecs/kernels/amrnb.h"
#include "codecs/kernels/amrnb/pairs.h"
#include "codecs/kernels/amrnb/pulses.h"
#include "codecs/kernels/amrnb/tracks4.h"

enum {
	PULSES = 8,
	TRIES = 3,
	PAIRS = 3, /* besides the first two pulses */
	PLACES4 = 10,
};

/* Numbers of the places of a track: the first 8; the last 2, four times. */
struct split {
	__m256i first, rest;
};

AVX2_INLINE struct split split_track(const struct by_track4 *v, int track)
{
	return (struct split){
		.first = first_places(v, track),
		.rest = rest_places(v, track),
	};
}

/* The sums of rr of the places of @track with all pulses so far. */
AVX2_INLINE struct split code_8i40_31bits_with_chosen(
	const struct tracks4 *tracks, const struct attempt *t, int pair,
	int track)
{
	__m256i first = _mm256_setzero_si256(), rest = first;

	for (int q = 0; q < 2 * pair; q++) {
		const struct by_track4 *rr = &tracks->rr[t->position[q]];

		first = _mm256_add_epi32(first, first_places(rr, track));
		rest = _mm256_add_epi32(rest, rest_places(rr, track));
	}
	return (struct split){ .first = first, .rest = rest };
}

/* Parts of a pair's candidates: of each place a, and of each b. */
struct parts {
	struct split energy_a, energy_b; /* pair_first(), pair_last() */
	struct split sum_a, sum_b; /* dn; that of b with that of the try */
};

AVX2_INLINE struct parts make_parts(const struct tracks4 *tracks,
				    const struct attempt *t, struct pair pair)
{
	const __m256i before = _mm256_set1_epi32(t->energy);
	const __m256i sum = _mm256_set1_epi32(t->sum);
	struct split own_a = split_track(&tracks->energy, pair.ta);
	struct split own_b = split_track(&tracks->energy, pair.tb);
	struct split with_a =
		code_8i40_31bits_with_chosen(tracks, t, pair.number, pair.ta);
	struct split with_b =
		code_8i40_31bits_with_chosen(tracks, t, pair.number, pair.tb);
	struct split dn_b = split_track(&tracks->dn, pair.tb);

	return (struct parts){
		.energy_a.first = pair_first(pair.number, own_a.first,
					     with_a.first, before),
		.energy_a.rest = pair_first(pair.number, own_a.rest,
					    with_a.rest, before),
		.energy_b.first =
			pair_last(pair.number, own_b.first, with_b.first),
		.energy_b.rest =
			pair_last(pair.number, own_b.rest, with_b.rest),
		.sum_a = split_track(&tracks->dn, pair.ta),
		.sum_b.first = _mm256_add_epi32(dn_b.first, sum),
		.sum_b.rest = _mm256_add_epi32(dn_b.rest, sum),
	};
}

/* The best candidates with the first 8 places b, a lane each. */
AVX2_INLINE struct candidates best_of_first(const struct tracks4 *tracks,
					    const struct parts *parts,
					    struct pair pair, __m256i *wrong)
{
	const __m256i next_a = _mm256_set1_epi32(pair_order(1, 0) << 16);
	__m256i order = _mm256_slli_epi32(
		_mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7), 16);
	int32_t energy[16], sum[16];
	struct candidates best;

	store256(energy, parts->energy_a.first);
	store256(energy + 8, parts->energy_a.rest);
	store256(sum, parts->sum_a.first);
	store256(sum + 8, parts->sum_a.rest);
	for (int a = 0; a < PLACES4; a++) {
		__m256i rr = first_places(&tracks->rr[pair.ta + TRACKS4 * a],
					  pair.tb);
		struct candidates next;

		rr = pair_energy(pair.number, _mm256_set1_epi32(energy[a]),
				 parts->energy_b.first, rr);
		next = pair_candidates(
			_mm256_add_epi32(parts->sum_b.first,
					 _mm256_set1_epi32(sum[a])),
			rr, order, wrong);
		best = a ? pairs_better(best, next) : next;
		order = _mm256_add_epi32(order, next_a);
	}
	return best;
}

/* The best candidates with the last two places b, as drawn above. */
AVX2_INLINE struct candidates best_of_rest(const struct tracks4 *tracks,
					   const struct parts *parts,
					   struct pair pair, __m256i *wrong)
{
	const struct split row[2] = {
		split_track(&tracks->rr[pair.tb + TRACKS4 * 8], pair.ta),
		split_track(&tracks->rr[pair.tb + TRACKS4 * 9], pair.ta),
	};
	const struct split *energy = &parts->energy_a, *sum = &parts->sum_a;
	__m256i order[3], rr[3], e[3], dn[3];
	struct candidates best, next;

	order[0] = _mm256_setr_epi32(8, 9, 24, 25, 72, 73, 88, 89);
	order[1] =
		_mm256_add_epi32(order[0], _mm256_set1_epi32(pair_order(2, 0)));
	order[2] = _mm256_setr_epi32(136, 137, 152, 153, 136, 137, 152, 153);
	rr[0] = _mm256_unpacklo_epi32(row[0].first, row[1].first);
	rr[1] = _mm256_unpackhi_epi32(row[0].first, row[1].first);
	rr[2] = _mm256_unpacklo_epi32(row[0].rest, row[1].rest);
	e[0] = _mm256_unpacklo_epi32(energy->first, energy->first);
	e[1] = _mm256_unpackhi_epi32(energy->first, energy->first);
	e[2] = _mm256_unpacklo_epi32(energy->rest, energy->rest);
	dn[0] = _mm256_unpacklo_epi32(sum->first, sum->first);
	dn[1] = _mm256_unpackhi_epi32(sum->first, sum->first);
	dn[2] = _mm256_unpacklo_epi32(sum->rest, sum->rest);
	for (int i = 0; i < 3; i++) {
		rr[i] = pair_energy(pair.number, e[i], parts->energy_b.rest,
				    rr[i]);
		next = pair_candidates(
			_mm256_add_epi32(dn[i], parts->sum_b.rest), rr[i],
			_mm256_slli_epi32(order[i], 16), wrong);
		best = i ? pairs_better(best, next) : next;
	}
	return best;
}

/* Add the best candidate for @pair to try @t. */
AVX2_INLINE void code_8i40_31bits_add_pair(const struct tracks4 *tracks,
					   struct attempt *t, struct pair pair,
					   __m256i *wrong)
{
	struct parts parts = make_parts(tracks, t, pair);
	struct candidates first, rest, all;
	__m128i orders;
	int best, a, b;

	first = best_of_first(tracks, &parts, pair, wrong);
	rest = best_of_rest(tracks, &parts, pair, wrong);
	all = pairs_best_of_lanes(pairs_better(first, rest));
	orders = _mm_min_epu16(orders_of_best(first, all),
			       orders_of_best(rest, all));
	best = _mm_extract_epi16(_mm_minpos_epu16(orders), 0);
	a = best / pair_order(1, 0);
	b = best % pair_order(1, 0);
	take_candidate(t, b < FIRST_PLACES ? first : rest, best);
	t->position[2 * pair.number] = (int16_t)(pair.ta + TRACKS4 * a);
	t->position[2 * pair.number + 1] = (int16_t)(pair.tb + TRACKS4 * b);
	t->sum += of_position(&tracks->dn, t->position[2 * pair.number]) +
		  of_position(&tracks->dn, t->position[2 * pair.number + 1]);
}

/* The first two pulses. */
static void start_8i40(const struct tracks4 *tracks, struct attempt *t,
		       int first, int second)
{
	t->position[0] = (int16_t)first;
	t->position[1] = (int16_t)second;
	t->sum = of_position(&tracks->dn, first) +
		 of_position(&tracks->dn, second);
	t->energy = of_position(&tracks->energy, first) * (1 << 12) +
		    of_position(&tracks->energy, second) * (1 << 12) +
		    of_position(&tracks->rr[first], second) * (1 << 13) +
		    0x8000;
}

/* False if it was outside of its valid range. */
AVX2 static bool search_8i40(const struct tracks4 *tracks, const int16_t peak[],
			     const int16_t turn[], int16_t position[PULSES])
{
	__m256i wrong = _mm256_setzero_si256();
	struct attempt try[TRIES];

	for (int i = 0; i < TRIES; i++)
		start_8i40(tracks, &try[i], peak[turn[0]],
			   peak[track_in_turn(turn, PULSES, i, 1)]);
#pragma GCC unroll 3
	for (int number = 1; number <= PAIRS; number++)
		for (int i = 0; i < TRIES; i++)
			code_8i40_31bits_add_pair(
				tracks, &try[i],
				pair_in_turn(turn, PULSES, i, number), &wrong);
	memcpy(position, best_try(try, TRIES)->position,
	       PULSES * sizeof(*position));
	return pairs_exact(wrong);
}

/* Result of the search: the positions, and the sign of each. */
struct found {
	int16_t sign[SUBFRAME], position[PULSES];
};

/* False, with nothing changed that counts, if the library has to do it. */
AVX2 static bool find_pulses_8i40(int16_t x[], int16_t cn[], int16_t h[],
				  struct found *found, int32_t *overflow)
{
	int16_t dn[SUBFRAME], peak[TRACKS4], turn[PULSES];
	struct tracks4 tracks;

	cor_h_x2(h, x, dn, 2, TRACKS4, TRACKS4, overflow);
	set_sign12k2(dn, cn, found->sign, peak, TRACKS4, turn, TRACKS4,
		     overflow);
	if (!tracks4_set_target(&tracks, dn))
		return false;
	tracks4_correlate(&tracks, h, found->sign, overflow);
	return search_8i40(&tracks, peak, turn, found->position);
}

/* The places of a track's two pulses and the sign of the first. */
struct both {
	int16_t place[2];
	bool negative;
};

/* Put a track's second pulse behind its first: that signs are equal or not is
 * told by which place is the larger. */
static void join_8i40(struct both *both, int16_t place, bool negative)
{
	bool same_sign = negative == both->negative;
	bool in_order = both->place[0] <= place;

	if (same_sign == in_order) {
		both->place[1] = place;
		return;
	}
	both->place[1] = both->place[0];
	both->place[0] = place;
	both->negative = negative;
}

/* The code vector, Q13, and for each track what is to be sent. */
static void build_8i40(const struct found *found, int16_t code[SUBFRAME],
		       struct pulses *pulses, struct both both[TRACKS4])
{
	pulses->n = PULSES;
	memset(code, 0, SUBFRAME * sizeof(*code));
	for (int t = 0; t < TRACKS4; t++)
		both[t] = (struct both){ .place = { -1, -1 } };
	for (int k = 0; k < PULSES; k++) {
		int p = found->position[k], track = p % TRACKS4;
		int16_t place = (int16_t)(p / TRACKS4);
		bool negative = found->sign[p] <= 0;

		code[p] = (int16_t)(code[p] + (negative ? -8191 : 8191));
		pulses->position[k] = (int16_t)p;
		pulses->sign[k] = negative ? INT16_MIN : INT16_MAX;
		if (both[track].place[0] < 0) {
			both[track].place[0] = place;
			both[track].negative = negative;
		} else {
			join_8i40(&both[track], place, negative);
		}
	}
}

/* Three places in 10 bits: halves in base 5, and the lowest bits. */
static int16_t three_places(int p, int q, int r)
{
	int halves = p / 2 + 5 * (q / 2) + 25 * (r / 2);

	return (int16_t)(8 * halves + p % 2 + 2 * (q % 2) + 4 * (r % 2));
}

/* Two places in 7 bits: halves in base 5, back and forth, scaled to 32, and
 * the lowest bits. */
static int16_t two_places(int p, int q)
{
	int half = q / 2 % 2 ? 4 - p / 2 : p / 2;
	int halves = (32 * (half + 5 * (q / 2)) + 12) * 1311 >> 15;

	return (int16_t)(4 * halves + p % 2 + 2 * (q % 2));
}

static void pack(const struct both both[TRACKS4], int16_t index[])
{
	for (int t = 0; t < TRACKS4; t++)
		index[t] = both[t].negative;
	index[4] = three_places(both[0].place[0], both[0].place[1],
				both[1].place[0]);
	index[5] = three_places(both[2].place[0], both[2].place[1],
				both[1].place[1]);
	index[6] = two_places(both[3].place[0], both[3].place[1]);
}

void code_8i40_31bits(int16_t x[], int16_t cn[], int16_t h[], int16_t code[],
		      int16_t y[], int16_t index[], int32_t *overflow)
{
	struct both both[TRACKS4];
	struct pulses pulses;
	struct found found;

	if (!cr_kernels_fast || !find_pulses_8i40(x, cn, h, &found, overflow)) {
		stock_code_8i40_31bits(x, cn, h, code, y, index, overflow);
		return;
	}
	build_8i40(&found, code, &pulses, both);
	pulses_filter(&pulses, h, y, overflow);
	pack(both, index);
}
