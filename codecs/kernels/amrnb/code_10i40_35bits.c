/* SPDX-License-Identifier: Apache-2.0 */
/*
 * code_10i40_35bits: the codebook of 12.2 kbit/s (TS 26.090, 5.7.1). Ten
 * pulses, two on each of five tracks.
 *
 * The search: the first pulse is the largest peak of all (set_sign12k2), the
 * second, in four tries, that of another track. Then come four pairs, each the
 * best of the 8 x 8 places of its two tracks: the largest sq / energy, the
 * first of equals,
 *
 *     sq     = (ps + dn[a] + dn[b])^2 >> 15,
 *     T(b)   = round(rr(b, b) / 2 + sum over the chosen q of rr(b, q)),
 *     energy = what was before + rr(a, a) / 2 + the sum of rr(a, q) + rr(a, b)
 *              + T(b),
 *
 * with rounding and scale of their own at each pair (the functions below). The
 * tries differ in which tracks come in which pair.
 *
 * b is a lane, a one of 8 vectors, and a tournament finds the best. A ratio
 * compared by cross products, best.energy * sq > best.sq * energy, says who is
 * larger whatever the order as long as all energies are in 1..32767 and all sq
 * in 0..32767; the library compares one after the other. sq is, because sums
 * of dn fit 16 bits (checked; cor_h_x scales them so). Energies are looked at,
 * and if one was not, the library's own function runs.
 */
#include "codecs/kernels/amrnb.h"
#include "codecs/kernels/amrnb/basic_ops.h"
#include "codecs/kernels/amrnb/tracks.h"

enum {
	PULSES = 10,
	TRIES = 4,
	PAIRS = 4, /* besides the first two pulses */
};

/* A try: the pulses so far, the sum of their dn, and the best ratio. */
struct attempt {
	int16_t position[PULSES];
	int32_t sum, square, energy;
};

/* Candidates: square (low half) with a number that tells their order (high
 * half), and energy. */
struct candidates {
	__m256i score, energy;
};

/* Lane by lane the better, @first if equal. */
AVX2_INLINE struct candidates better(struct candidates first,
				     struct candidates second)
{
	__m256i wins = _mm256_cmpgt_epi32(
		_mm256_madd_epi16(second.score, first.energy),
		_mm256_madd_epi16(first.score, second.energy));

	return (struct candidates){
		.score = _mm256_blendv_epi8(first.score, second.score, wins),
		.energy = _mm256_blendv_epi8(first.energy, second.energy, wins),
	};
}

/* The order number of the best of 8, the lowest among equals. */
AVX2_INLINE int best_order(struct candidates all)
{
	struct candidates best = all, other;
	__m256i equal, order;

	other.score = _mm256_permute2x128_si256(best.score, best.score, 1);
	other.energy = _mm256_permute2x128_si256(best.energy, best.energy, 1);
	best = better(best, other);
	other.score = _mm256_shuffle_epi32(best.score, 0x4e);
	other.energy = _mm256_shuffle_epi32(best.energy, 0x4e);
	best = better(best, other);
	other.score = _mm256_shuffle_epi32(best.score, 0xb1);
	other.energy = _mm256_shuffle_epi32(best.energy, 0xb1);
	best = better(best, other);
	equal = _mm256_cmpeq_epi32(_mm256_madd_epi16(all.score, best.energy),
				   _mm256_madd_epi16(best.score, all.energy));
	order = _mm256_or_si256(
		_mm256_srli_epi32(all.score, 16),
		_mm256_andnot_si256(equal, _mm256_set1_epi32(0xffff)));
	return _mm_extract_epi16(_mm_minpos_epu16(_mm_packus_epi32(
					 _mm256_castsi256_si128(order),
					 _mm256_extracti128_si256(order, 1))),
				 0);
}

/* The sum of rr of the places of @track with all pulses so far. */
AVX2_INLINE __m256i with_chosen(const struct tracks *tracks,
				const struct attempt *t, int chosen, int track)
{
	__m256i sum = _mm256_setzero_si256();

	for (int q = 0; q < chosen; q++)
		sum = _mm256_add_epi32(
			sum, load256(tracks->rr[t->position[q]][track]));
	return sum;
}

/* T(b), which the library keeps in 16 bits. */
AVX2_INLINE __m256i last_part(const struct tracks *tracks,
			      const struct attempt *t, int pair, int track)
{
	int shift = pair < 3 ? 2 : 3;
	__m256i half = _mm256_set1_epi32(1 << (shift - 1));
	__m256i sum = _mm256_srai_epi32(load256(tracks->energy[track]), 1);

	sum = _mm256_add_epi32(sum, with_chosen(tracks, t, 2 * pair, track));
	sum = _mm256_srai_epi32(_mm256_add_epi32(sum, half), shift);
	return low_words(sum);
}

/* energy without T(b) and rr(a, b), for all places of the first track. */
AVX2_INLINE __m256i first_part(const struct tracks *tracks,
			       const struct attempt *t, int pair, int track)
{
	__m256i own = load256(tracks->energy[track]);
	__m256i with = with_chosen(tracks, t, 2 * pair, track);
	__m256i before = _mm256_set1_epi32(t->energy);

	if (pair == 1) {
		before = _mm256_srai_epi32(before, 12);
		return _mm256_add_epi32(
			_mm256_srai_epi32(_mm256_add_epi32(before, own), 1),
			with);
	}
	before = _mm256_add_epi32(_mm256_slli_epi32(before, 15),
				  _mm256_set1_epi32(0x8000));
	return _mm256_add_epi32(
		_mm256_add_epi32(before, _mm256_slli_epi32(own, 13 - pair)),
		_mm256_slli_epi32(with, 14 - pair));
}

/* energy of one a with all b. @last: T(b). */
AVX2_INLINE __m256i pair_energy(int pair, __m256i first, __m256i last,
				__m256i rr)
{
	if (pair == 1) {
		rr = _mm256_srai_epi32(_mm256_add_epi32(first, rr), 2);
		return _mm256_srai_epi32(_mm256_add_epi32(rr, last), 1);
	}
	last = _mm256_slli_epi32(last, pair < 4 ? 14 : 13);
	rr = _mm256_slli_epi32(rr, 14 - pair);
	return _mm256_srai_epi32(
		_mm256_add_epi32(_mm256_add_epi32(first, last), rr), 16);
}

/* All 8 x 8 candidates for pair number @pair, 1 to 4. *@wrong collects energies
 * that are not in 1..32767. */
AVX2_INLINE void make_candidates(const struct tracks *tracks,
				 const struct attempt *t, int pair, int ta,
				 int tb, struct candidates all[PLACES],
				 __m256i *wrong)
{
	const __m256i low_half = _mm256_set1_epi32(0xffff);
	const __m256i one = _mm256_set1_epi32(1);
	__m256i order = _mm256_slli_epi32(
		_mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7), 16);
	__m256i last = last_part(tracks, t, pair, tb);
	__m256i sum = _mm256_add_epi32(_mm256_set1_epi32(t->sum),
				       load256(tracks->dn[tb]));
	int32_t first[PLACES];

	store256(first, first_part(tracks, t, pair, ta));
	for (int a = 0; a < PLACES; a++) {
		__m256i e =
			pair_energy(pair, _mm256_set1_epi32(first[a]), last,
				    load256(tracks->rr[ta + TRACKS * a][tb]));
		__m256i ps = _mm256_add_epi32(
			sum, _mm256_set1_epi32(tracks->dn[ta][a]));
		__m256i sq;

		ps = _mm256_and_si256(ps, low_half);
		sq = _mm256_srai_epi32(_mm256_madd_epi16(ps, ps), 15);
		all[a].score = _mm256_or_si256(sq, order);
		all[a].energy = e;
		order = _mm256_add_epi32(order,
					 _mm256_set1_epi32(PLACES << 16));
		*wrong = _mm256_or_si256(
			*wrong, _mm256_or_si256(e, _mm256_sub_epi32(e, one)));
	}
}

/* Add the best candidate for @pair on the tracks @ta and @tb to try @t. */
AVX2_INLINE void add_pair(const struct tracks *tracks, struct attempt *t,
			  int pair, int ta, int tb, __m256i *wrong)
{
	int32_t square[PLACES], energy[PLACES];
	struct candidates all[PLACES];
	int best, a, b;

	make_candidates(tracks, t, pair, ta, tb, all, wrong);
	for (int step = 1; step < PLACES; step *= 2)
		for (a = 0; a < PLACES; a += 2 * step)
			all[a] = better(all[a], all[a + step]);
	best = best_order(all[0]);
	a = best / PLACES;
	b = best % PLACES;
	store256(square, all[0].score);
	store256(energy, all[0].energy);
	t->sum += tracks->dn[ta][a] + tracks->dn[tb][b];
	t->square = (uint16_t)square[b];
	t->energy = energy[b];
	t->position[2 * pair] = (int16_t)(ta + TRACKS * a);
	t->position[2 * pair + 1] = (int16_t)(tb + TRACKS * b);
}

/* The first two pulses: the largest peak of all, and that of @track. */
static void start(const struct tracks *tracks, struct attempt *t, int first,
		  int second)
{
	int ta = first % TRACKS, a = first / TRACKS;
	int tb = second % TRACKS, b = second / TRACKS;

	t->position[0] = (int16_t)first;
	t->position[1] = (int16_t)second;
	t->sum = tracks->dn[ta][a] + tracks->dn[tb][b];
	t->energy = (tracks->energy[ta][a] << 12) +
		    (tracks->energy[tb][b] << 12) +
		    (tracks->rr[first][tb][b] << 13) + 0x8000;
}

/* The track of pulse @q, from 1, of try @i: after each try the nine entries
 * behind the first move by one. */
static int track_of(const int16_t turn[PULSES], int i, int q)
{
	return turn[1 + (q - 1 + i) % (PULSES - 1)];
}

/* False if an energy was outside of its range. The tries take turns pair by
 * pair, so that what one waits for the others can fill. */
AVX2 static bool search(const struct tracks *tracks, const int16_t peak[TRACKS],
			const int16_t turn[PULSES], int16_t position[PULSES])
{
	__m256i wrong = _mm256_setzero_si256();
	struct attempt try[TRIES], best = { .square = -1, .energy = 1 };

	for (int i = 0; i < TRIES; i++)
		start(tracks, &try[i], peak[turn[0]],
		      peak[track_of(turn, i, 1)]);
#pragma GCC unroll 4
	for (int pair = 1; pair <= PAIRS; pair++)
		for (int i = 0; i < TRIES; i++)
			add_pair(tracks, &try[i], pair,
				 track_of(turn, i, 2 * pair),
				 track_of(turn, i, 2 * pair + 1), &wrong);
	for (int i = 0; i < TRIES; i++)
		if (best.energy * try[i].square > best.square * try[i].energy)
			best = try[i];
	memcpy(position, best.position, sizeof(best.position));
	return _mm256_testz_si256(wrong, _mm256_set1_epi32(~INT16_MAX));
}

enum {
	NEGATIVE = 8, /* in an index: sign, and place */
	PLACE = 7,
};

/* What was found. */
struct pulses {
	int16_t sign[SUBFRAME]; /* of each position   */
	int16_t position[PULSES];
	int16_t plus[PULSES]; /* 1 or -1, of a pulse */
};

/* Put the second pulse of a track behind its first: the signs are told by the
 * first and by the order of the places. */
static void join(int16_t index[PULSES], int track, int16_t mine)
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
static void build(struct pulses *pulses, int16_t code[SUBFRAME],
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
			join(index, track, mine);
	}
}

/* y[i] = round(sum over the pulses of +-h[i - position] / 4): the library's
 * products with 2^13, shifted down by 7 each and by 8 together, leave nothing
 * out in between. */
AVX2 static void filter(const struct pulses *pulses, const int16_t h[],
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
		store128(y + i, pack_words(sum));
	}
}

/* False, with nothing changed that counts, if the library has to do it. */
AVX2 static bool find_pulses(int16_t x[], int16_t cn[], int16_t h[],
			     struct pulses *pulses, int32_t *overflow)
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
	return search(&tracks, peak, turn, pulses->position);
}

void code_10i40_35bits(int16_t x[], int16_t cn[], int16_t h[], int16_t code[],
		       int16_t y[], int16_t index[], const int16_t gray[],
		       int32_t *overflow)
{
	struct pulses pulses;

	if (!cr_kernels_fast || !find_pulses(x, cn, h, &pulses, overflow)) {
		stock_code_10i40_35bits(x, cn, h, code, y, index, gray,
					overflow);
		return;
	}
	build(&pulses, code, index);
	filter(&pulses, h, y);
	for (int k = 0; k < PULSES; k++) {
		int16_t place = gray[index[k] & PLACE];
		int16_t sign = k < TRACKS ? index[k] & NEGATIVE : 0;

		index[k] = sign | place;
	}
}
