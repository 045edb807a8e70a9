/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The search of the codebooks with 10 and 8 pulses, of 12.2 and 10.2 kbit/s.
 *
 * The first pulse is the largest peak of all (set_sign12k2), the second, in
 * one try after the other, that of another track. Then come pairs of pulses,
 * each the best of all places a of one track and b of another: that with the
 * largest sq / energy, the first of equals,
 *
 *     sq     = (ps + dn[a] + dn[b])^2 >> 15,
 *     T(b)   = round(rr(b, b) / 2 + sum over the chosen q of rr(b, q)),
 *     energy = what was before + rr(a, a) / 2 + the sum of rr(a, q) + rr(a, b)
 *              + T(b),
 *
 * with rounding and scale of their own at each pair (the functions below). The
 * tries differ in which track comes in which pair; the best of them wins.
 *
 * Here all candidates for a pair are lanes, and a tournament finds the best.
 * Cross products, best.energy * sq > best.sq * energy, tell the larger ratio
 * whatever the order as long as all energies are in 1..32767 and all sq in
 * 0..32767; the library compares one after the other. sq is, because sums of
 * dn fit 16 bits (checked; cor_h_x scales them so). Energies are looked at,
 * and if one is not, the library's own function runs.
 */
#ifndef CODECS_KERNELS_AMRNB_PAIRS_H
#define CODECS_KERNELS_AMRNB_PAIRS_H

#include "codecs/kernels/amrnb/basic_ops.h"

enum { PAIRS_PULSES = 10 }; /* at most */

/** A try: the pulses so far, the sum of their dn, and its ratio. Before the
 * first pair, energy has its own scale. */
struct attempt {
	int16_t position[PAIRS_PULSES];
	int32_t sum, square, energy;
};

/** A pair to be chosen: its number, from 1, and its two tracks. */
struct pair {
	int number, ta, tb;
};

/** Candidates: sq, in the low half, under a number that tells their order; and
 * energy. */
struct candidates {
	__m256i score, energy;
};

/** The order of the pair of places @a and @b: first by a, then by b. */
static inline int pair_order(int a, int b)
{
	return 16 * a + b;
}

/** T(b) of a track's places, which the library keeps in 16 bits. @own: their
 * energies. @with: their sums of rr with the pulses so far. */
AVX2_INLINE __m256i pair_last(int pair, __m256i own, __m256i with)
{
	int shift = pair < 3 ? 2 : 3;
	__m256i half = _mm256_set1_epi32(1 << (shift - 1));
	__m256i sum = _mm256_add_epi32(_mm256_srai_epi32(own, 1), with);

	sum = _mm256_srai_epi32(_mm256_add_epi32(sum, half), shift);
	return low_words(sum);
}

/** Energy without T(b) and rr(a, b), for a track's places a. @before: the
 * energy so far. */
AVX2_INLINE __m256i pair_first(int pair, __m256i own, __m256i with,
			       __m256i before)
{
	if (pair == 1) {
		own = _mm256_add_epi32(_mm256_srai_epi32(before, 12), own);
		return _mm256_add_epi32(_mm256_srai_epi32(own, 1), with);
	}
	before = _mm256_add_epi32(_mm256_slli_epi32(before, 15),
				  _mm256_set1_epi32(0x8000));
	own = _mm256_slli_epi32(own, 13 - pair);
	with = _mm256_slli_epi32(with, 14 - pair);
	return _mm256_add_epi32(_mm256_add_epi32(before, own), with);
}

/** energy, from pair_first() of a, pair_last() of b, and rr(a, b). */
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

/** Candidates with @sum of dn and @energy; @order is pair_order() * 2^16.
 * *@wrong collects energies that are not in 1..32767. */
AVX2_INLINE struct candidates pair_candidates(__m256i sum, __m256i energy,
					      __m256i order, __m256i *wrong)
{
	const __m256i one = _mm256_set1_epi32(1);
	/* madd must not see the sign in the high half */
	__m256i ps = _mm256_and_si256(sum, _mm256_set1_epi32(0xffff));
	__m256i sq = _mm256_srai_epi32(_mm256_madd_epi16(ps, ps), 15);

	*wrong = _mm256_or_si256(*wrong, energy);
	*wrong = _mm256_or_si256(*wrong, _mm256_sub_epi32(energy, one));
	return (struct candidates){
		.score = _mm256_or_si256(sq, order),
		.energy = energy,
	};
}

/** Were all energies in their range? */
AVX2_INLINE bool pairs_exact(__m256i wrong)
{
	return _mm256_testz_si256(wrong, _mm256_set1_epi32(~INT16_MAX));
}

/** Lane by lane the better one, @first if they are equal. */
AVX2_INLINE struct candidates pairs_better(struct candidates first,
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

/** One with the largest ratio of all lanes, in all lanes. */
AVX2_INLINE struct candidates pairs_best_of_lanes(struct candidates best)
{
	struct candidates other;

	other.score = _mm256_permute2x128_si256(best.score, best.score, 1);
	other.energy = _mm256_permute2x128_si256(best.energy, best.energy, 1);
	best = pairs_better(best, other);
	other.score = _mm256_shuffle_epi32(best.score, 0x4e);
	other.energy = _mm256_shuffle_epi32(best.energy, 0x4e);
	best = pairs_better(best, other);
	other.score = _mm256_shuffle_epi32(best.score, 0xb1);
	other.energy = _mm256_shuffle_epi32(best.energy, 0xb1);
	return pairs_better(best, other);
}

/** The order numbers of those of @all that are as good as @best; 65535 for the
 * others. */
AVX2_INLINE __m128i orders_of_best(struct candidates all,
				   struct candidates best)
{
	__m256i equal =
		_mm256_cmpeq_epi32(_mm256_madd_epi16(all.score, best.energy),
				   _mm256_madd_epi16(best.score, all.energy));
	__m256i order = _mm256_or_si256(
		_mm256_srli_epi32(all.score, 16),
		_mm256_andnot_si256(equal, _mm256_set1_epi32(0xffff)));

	return _mm_packus_epi32(_mm256_castsi256_si128(order),
				_mm256_extracti128_si256(order, 1));
}

/** Give @t the ratio of that candidate whose number is @order. */
AVX2_INLINE void take_candidate(struct attempt *t, struct candidates all,
				int order)
{
	__m256i is_it = _mm256_cmpeq_epi32(_mm256_srli_epi32(all.score, 16),
					   _mm256_set1_epi32(order));
	int lane = __builtin_ctz(
		(unsigned)_mm256_movemask_ps(_mm256_castsi256_ps(is_it)));
	int32_t score[8], energy[8];

	store256(score, all.score);
	store256(energy, all.energy);
	t->square = (uint16_t)score[lane];
	t->energy = energy[lane];
}

/** The track of pulse @q, from 1, in try @i: @turn has the tracks of all @n
 * pulses, and with each try those behind the first move on by one. */
static inline int track_in_turn(const int16_t turn[], int n, int i, int q)
{
	return turn[1 + (q - 1 + i) % (n - 1)];
}

/** Pair @number of try @i. */
static inline struct pair pair_in_turn(const int16_t turn[], int n, int i,
				       int number)
{
	return (struct pair){
		.number = number,
		.ta = track_in_turn(turn, n, i, 2 * number),
		.tb = track_in_turn(turn, n, i, 2 * number + 1),
	};
}

/** The best of @n tries, the first of equals. */
static inline const struct attempt *best_try(const struct attempt try[], int n)
{
	int best = 0;

	for (int i = 1; i < n; i++)
		if (try[best].energy * try[i].square >
		    try[best].square * try[i].energy)
			best = i;
	return &try[best];
}

#endif
