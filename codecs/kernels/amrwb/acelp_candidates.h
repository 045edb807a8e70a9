/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pairs of pulses compared in vectors. A pair has a squared correlation q and
 * an energy e; wanted is the first one with the greatest q / e. The library
 * goes through them and takes a pair when q' * e - q * e' > 0, primes for the
 * pair at hand.
 *
 * While all q are in 0..32767 and all e in 1..32767 the products are exact and
 * this compares fractions, which is an order: each lane may keep its own first
 * maximum, and the first of the greatest among the lanes is the library's. One
 * out of range is remembered, and the comparison does not count then.
 */
#ifndef CODECS_KERNELS_AMRWB_ACELP_CANDIDATES_H
#define CODECS_KERNELS_AMRWB_ACELP_CANDIDATES_H

#include "codecs/kernels/amrwb/basic_ops.h"

/** The best so far, a pair a lane: q and above it the pair's name, and e. There
 * are zeros above e, so that names vanish from products. */
struct candidates {
	__m256i q, e;
};

/** 16 lanes, as unpack leaves them: words 0-3 and 8-11, and the others. */
struct contest {
	struct candidates low, high;
	__m256i bad; /**< some word's sign bit is set: one was out of range */
};

/** Nobody: worse than any, -1 / 1, as the library begins. */
AVX2_INLINE struct contest contest_begin(void)
{
	struct candidates nobody = {
		.q = _mm256_set1_epi32(pack_pair(-1, 0)),
		.e = _mm256_set1_epi32(1),
	};

	return (struct contest){ nobody, nobody, _mm256_setzero_si256() };
}

/** Where a.q / a.e > b.q / b.e. */
AVX2_INLINE __m256i is_better(struct candidates a, struct candidates b)
{
	return _mm256_cmpgt_epi32(_mm256_madd_epi16(a.q, b.e),
				  _mm256_madd_epi16(b.q, a.e));
}

/** @b where it is better, else @a. */
AVX2_INLINE struct candidates acelp_candidates_better(struct candidates a,
						      struct candidates b)
{
	__m256i second = is_better(b, a);

	return (struct candidates){
		.q = _mm256_blendv_epi8(a.q, b.q, second),
		.e = _mm256_blendv_epi8(a.e, b.e, second),
	};
}

/**
 * Try 16 pairs of correlations @c and names @name, greater than those that
 * these lanes had before; and energies, in 32-bit lanes without sign, as unpack
 * would leave them.
 */
AVX2_INLINE void contest_try(struct contest *s, __m256i c, __m256i name,
			     const __m256i e[2])
{
	__m256i q = multiply_q15(c, c);
	struct candidates low = { _mm256_unpacklo_epi16(q, name), e[0] };
	struct candidates high = { _mm256_unpackhi_epi16(q, name), e[1] };
	/* outside 1..32767 e or e - 1 is negative as a word */
	__m256i words = _mm256_packus_epi32(e[0], e[1]);
	__m256i less = _mm256_add_epi16(words, _mm256_set1_epi16(-1));

	s->bad = _mm256_or_si256(s->bad, _mm256_or_si256(q, words));
	s->bad = _mm256_or_si256(s->bad, less);
	s->low = acelp_candidates_better(s->low, low);
	s->high = acelp_candidates_better(s->high, high);
}

AVX2_INLINE bool contest_is_valid(const struct contest *s)
{
	return !(_mm256_movemask_epi8(s->bad) & (int)0xaaaaaaaa);
}

/** Lanes exchanged in three ways, after which every lane has the best. */
AVX2_INLINE struct candidates acelp_candidates_best_of_lanes(
	struct candidates a)
{
	struct candidates b = { _mm256_permute2x128_si256(a.q, a.q, 1),
				_mm256_permute2x128_si256(a.e, a.e, 1) };

	a = acelp_candidates_better(a, b);
	b.q = _mm256_shuffle_epi32(a.q, 0x4e);
	b.e = _mm256_shuffle_epi32(a.e, 0x4e);
	a = acelp_candidates_better(a, b);
	b.q = _mm256_shuffle_epi32(a.q, 0xb1);
	b.e = _mm256_shuffle_epi32(a.e, 0xb1);
	return acelp_candidates_better(a, b);
}

/** The names of those that are as good as the best; 0xffff for the others. */
AVX2_INLINE __m256i names_of_best(struct candidates a, struct candidates best)
{
	__m256i same = _mm256_cmpeq_epi32(_mm256_madd_epi16(a.q, best.e),
					  _mm256_madd_epi16(best.q, a.e));

	return _mm256_or_si256(
		_mm256_srli_epi32(a.q, 16),
		_mm256_andnot_si256(same, _mm256_set1_epi32(0xffff)));
}

/** The name of the first of the best. */
AVX2_INLINE int contest_winner(const struct contest *s)
{
	struct candidates best = acelp_candidates_best_of_lanes(
		acelp_candidates_better(s->low, s->high));
	__m256i names = _mm256_packus_epi32(names_of_best(s->low, best),
					    names_of_best(s->high, best));
	__m128i least = _mm_min_epu16(_mm256_castsi256_si128(names),
				      _mm256_extracti128_si256(names, 1));

	return _mm_cvtsi128_si32(_mm_minpos_epu16(least)) & 0xffff;
}

#endif
