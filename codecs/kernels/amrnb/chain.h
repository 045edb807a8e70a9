/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The search of the codebooks of 2, 3 and 4 pulses: from each place of a first
 * track, add the pulse of a second track that is best with it, then that of a
 * third, a fourth. Best is, of sq / energy, the largest, the first of equals:
 *
 *     sq     = (ps + dn[p])^2 >> 15,
 *     energy = (base + 2^s (rr(p, p) + 2 sum over q chosen of rr(p, q))
 *               + 0x8000) >> 16,
 *     p replaces the best before it if best.energy * sq > best.sq * energy,
 *
 * ps being the sum of dn so far and base the energy so far. A lane is a first
 * place; it sees the candidates p one after the other, as the library's loops
 * do, so what is compared with what does not change, nor what is chosen. rr is
 * symmetric: lane by lane, row p of rr has the correlations of p with all
 * places of a track, so also those with the place each lane has chosen there.
 *
 * Exact while sums of dn stay in 16 bits (tracks_set_target()): dn is not
 * negative, so sq is 0..32766, or -1 before anything was chosen; energy may be
 * any 16 bits, its sum wraps at 32 bits as the library's.
 */
#ifndef CODECS_KERNELS_AMRNB_CHAIN_H
#define CODECS_KERNELS_AMRNB_CHAIN_H

#include "codecs/kernels/amrnb/tracks.h"

enum {
	CHAIN_PULSES = 4,  /* at most */
	ALL_PLACES = 0xff, /* to start from */
};

/** 8 chains over the tracks track[0], [1], ...: lane k starts with place k of
 * the first. */
struct chain {
	const struct tracks *tracks;
	const uint8_t *track;
	__m256i place[CHAIN_PULSES]; /* by pulse, from 0                     */
	__m256i sum;		     /* of dn                                */
	__m256i score;		     /* low half: sq; high half: last place  */
	__m256i energy;		     /* low half; high half 0                */
};

/* score and energy before anything was chosen: sq = -1, energy = 1. */
AVX2_INLINE void chain_nothing(struct chain *chain)
{
	chain->score = _mm256_set1_epi32(0xffff);
	chain->energy = _mm256_set1_epi32(1);
}

/* Lane by lane: is @place, with @sum and @energy, better? madd takes only the
 * low halves of the scores, as the high halves of the energies are 0. */
AVX2_INLINE void chain_consider(struct chain *chain, int place, __m256i sum,
				__m256i energy)
{
	__m256i square = _mm256_srai_epi32(_mm256_madd_epi16(sum, sum), 15);
	__m256i score = _mm256_or_si256(square, _mm256_set1_epi32(place << 16));
	__m256i better =
		_mm256_cmpgt_epi32(_mm256_madd_epi16(score, chain->energy),
				   _mm256_madd_epi16(chain->score, energy));

	chain->score = _mm256_blendv_epi8(chain->score, score, better);
	chain->energy = _mm256_blendv_epi8(chain->energy, energy, better);
}

/* Lane k: element @place of the track, lane k of @place telling which. */
AVX2_INLINE __m256i chain_pick(const int32_t track[PLACES], __m256i place)
{
	return _mm256_permutevar8x32_epi32(load256(track), place);
}

/* 2 sum over q chosen of rr(p, q), + rr(p, p). */
AVX2_INLINE __m256i chain_added_energy(const struct chain *chain, int pulses,
				       int place)
{
	const uint8_t *track = chain->track;
	int last = track[pulses];
	const int32_t *own = chain->tracks->energy[last];
	const int32_t(*row)[PLACES] = chain->tracks->rr[last + TRACKS * place];
	__m256i sum = load256(row[track[0]]);

	for (int q = 1; q < pulses; q++)
		sum = _mm256_add_epi32(
			sum, chain_pick(row[track[q]], chain->place[q]));
	return _mm256_add_epi32(_mm256_add_epi32(sum, sum),
				_mm256_set1_epi32(own[place]));
}

/* Add pulse number @pulses, on track[pulses], to those before it. @base: the
 * energy so far, scaled. @shift: what scales what it adds. */
AVX2_INLINE void chain_add(struct chain *chain, int pulses, __m256i base,
			   int shift)
{
	const int32_t *dn = chain->tracks->dn[chain->track[pulses]];
	__m256i chosen;

	chain_nothing(chain);
	for (int place = 0; place < PLACES; place++) {
		__m256i sum = _mm256_add_epi32(chain->sum,
					       _mm256_set1_epi32(dn[place]));
		__m256i energy = chain_added_energy(chain, pulses, place);

		energy = _mm256_add_epi32(_mm256_slli_epi32(energy, shift),
					  base);
		chain_consider(chain, place, sum,
			       _mm256_srli_epi32(energy, 16));
	}
	chain->place[pulses] = _mm256_srli_epi32(chain->score, 16);
	/* A sum of 0 is what the library goes on with if all energies were so
	 * wrong that no place was chosen: sq is still -1. */
	chosen = _mm256_cmpgt_epi32(_mm256_slli_epi32(chain->score, 16),
				    _mm256_set1_epi32(-1));
	chain->sum = _mm256_and_si256(
		chosen, _mm256_add_epi32(chain->sum,
					 chain_pick(dn, chain->place[pulses])));
}

/** The best of all chains; chain_compete() decides. */
struct chain_winner {
	int32_t square, energy;
	int16_t position[CHAIN_PULSES];
	/* The library compares by saturated subtraction, and one did saturate;
	 * its outcome is the same. */
	bool saturated;
};

AVX2_INLINE struct chain_winner chain_no_winner(void)
{
	return (struct chain_winner){ .square = -1,
				      .energy = 1,
				      .position = { 0, 1, 2, 3 } };
}

/* Let the chains whose first place is in @starts (bit k: place k) try to beat
 * the winner, in the order of these places. */
AVX2_INLINE void chain_compete(struct chain_winner *winner,
			       const struct chain *chain, int pulses,
			       unsigned starts)
{
	const uint8_t *track = chain->track;
	int32_t place[CHAIN_PULSES][PLACES];
	int16_t square[2 * PLACES], energy[2 * PLACES]; /* low halves */

	store256(square, chain->score);
	store256(energy, chain->energy);
	for (int q = 1; q < pulses; q++)
		store256(place[q], chain->place[q]);
	for (; starts; starts &= starts - 1) {
		int k = __builtin_ctz(starts);
		int32_t mine = 2 * winner->energy * square[2 * k];
		int32_t its = 2 * winner->square * energy[2 * k];
		int32_t lead;

		winner->saturated |= __builtin_sub_overflow(mine, its, &lead);
		if (mine <= its)
			continue;
		winner->square = square[2 * k];
		winner->energy = energy[2 * k];
		winner->position[0] = (int16_t)(track[0] + TRACKS * k);
		for (int q = 1; q < pulses; q++)
			winner->position[q] =
				(int16_t)(track[q] + TRACKS * place[q][k]);
	}
}

/** Search the chains of @pulses pulses over @track[0], [1], ... that start in
 * @starts. */
AVX2_INLINE void chain_search(struct chain_winner *winner,
			      const struct tracks *tracks,
			      const uint8_t track[], int pulses,
			      unsigned starts)
{
	const __m256i half = _mm256_set1_epi32(0x8000);
	struct chain chain = {
		.tracks = tracks,
		.track = track,
		.sum = load256(tracks->dn[track[0]]),
	};
	__m256i base = _mm256_slli_epi32(load256(tracks->energy[track[0]]), 14);

	chain_add(&chain, 1, _mm256_add_epi32(base, half), 14);
	if (pulses > 2) {
		base = _mm256_slli_epi32(chain.energy, 16);
		base = _mm256_srai_epi32(base, 2);
		chain_add(&chain, 2, _mm256_add_epi32(base, half), 12);
	}
	if (pulses > 3) {
		base = _mm256_slli_epi32(chain.energy, 16);
		chain_add(&chain, 3, _mm256_add_epi32(base, half), 12);
	}
	chain_compete(winner, &chain, pulses, starts);
}

#endif
