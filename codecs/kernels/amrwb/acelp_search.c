/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The algebraic codebook's search for two pulses x and y, in neighbouring
 * tracks, given those found before with their correlation C, energy E and sum
 * of responses v:
 *
 *     cor(p)  = energy(p) + (((0x8000 + 4 * sum over i of h[i] * v[p + i])
 *                             >> 16) * sign(p) >> 15)
 *     c(x, y) = C + dn(x) + dn(y)
 *     e(x, y) = ((E << 16) + 0x8000 + (cor(x) << 13) + (cor(y) << 13)
 *                + (cross(x, y) << 14)) >> 16
 *
 * and the pair taken is the first with the greatest q / e, q = c * c >> 15,
 * among the x of the least ranks, in order of position, and all 16 y. The y are
 * in 16 lanes (acelp_candidates.h); where these give up so do we.
 */
#include "codecs/kernels/amrwb/acelp.h"
#include "codecs/kernels/amrwb/acelp_candidates.h"
#include "codecs/kernels/amrwb/basic_ops.h"

enum {
	PAIRS = ACELP_POSITIONS / 2,
	PHASE_LENGTH = ACELP_NUMBERS + 8, /* and zeros */
};

/* v from any position on in steps of 4, as madd wants it: lane n of phase r
 * has v[4n + r] and v[4n + r + 1]. */
struct phases {
	int32_t phase[ACELP_TRACKS][PHASE_LENGTH];
};

/* Pairs 0, 2, 4 .. of 16 go to @even, the others to @odd. */
AVX2_INLINE void split_pairs(const int16_t *v, int32_t *even, int32_t *odd)
{
	__m256 a = _mm256_castsi256_ps(load256(v));
	__m256 b = _mm256_castsi256_ps(load256(v + 16));
	__m256i e = _mm256_castps_si256(_mm256_shuffle_ps(a, b, 0x88));
	__m256i o = _mm256_castps_si256(_mm256_shuffle_ps(a, b, 0xdd));

	store256(even, _mm256_permute4x64_epi64(e, 0xd8));
	store256(odd, _mm256_permute4x64_epi64(o, 0xd8));
}

AVX2_INLINE void split_phases(struct phases *s, const int16_t v[])
{
	for (int n = 0; n < ACELP_NUMBERS; n += 8) {
		split_pairs(v + 4 * n, s->phase[0] + n, s->phase[2] + n);
		split_pairs(v + 4 * n + 1, s->phase[1] + n, s->phase[3] + n);
	}
	for (int r = 0; r < ACELP_TRACKS; r++)
		store256(s->phase[r] + ACELP_NUMBERS, _mm256_setzero_si256());
}

/* The sum over i of h[i] * v[p + i] for 8 positions p of a track, from number
 * @from on; v ends after 64 - 4 * @from samples. */
AVX2_INLINE __m256i correlate8(const struct phases *s, const int16_t h[],
			       unsigned track, int from)
{
	const int32_t *even = s->phase[track] + from;
	const int32_t *odd = s->phase[(track + 2) % 4] + track / 2 + from;
	__m256i one = _mm256_setzero_si256(), two = one;

	for (int i = 0; i < ACELP_NUMBERS - from; i++) {
		__m256i first = _mm256_set1_epi32(load_pair(h + 4 * i));
		__m256i second = _mm256_set1_epi32(load_pair(h + 4 * i + 2));

		one = _mm256_add_epi32(
			one, _mm256_madd_epi16(first, load256(even + i)));
		two = _mm256_add_epi32(
			two, _mm256_madd_epi16(second, load256(odd + i)));
	}
	return _mm256_add_epi32(one, two);
}

/* (0x8000 + 4 * v) >> 16 */
AVX2_INLINE __m256i acelp_search_round_sums(__m256i v)
{
	v = _mm256_add_epi32(_mm256_slli_epi32(v, 2),
			     _mm256_set1_epi32(0x8000));
	return _mm256_srai_epi32(v, 16);
}

/* cor of a track. */
AVX2_INLINE __m256i acelp_search_correlate(const struct acelp_tables *t,
					   const struct phases *s,
					   unsigned track)
{
	const int16_t *h = t->response + ACELP_POSITIONS;
	__m256i low = acelp_search_round_sums(correlate8(s, h, track, 0));
	__m256i high = acelp_search_round_sums(correlate8(s, h, track, 8));
	__m256i times =
		multiply_q15(pack_lanes16(low, high), load256(t->sign[track]));

	return _mm256_add_epi16(times, load256(t->energy[track]));
}

/* A search under way. A pair's name is 16 * number of x + number of y. */
struct search {
	int16_t cor_x[ACELP_NUMBERS], cor_y[ACELP_NUMBERS];
	__m256i lanes_dn_y, lanes_cor_y, lanes_y;
	struct contest contest;
};

/* e from cor(y) and cross, in pairs, and the rest of it. */
AVX2_INLINE __m256i energies(__m256i cor_and_cross, int32_t base)
{
	const __m256i weights = _mm256_set1_epi32(pack_pair(1 << 13, 1 << 14));
	__m256i e = _mm256_madd_epi16(cor_and_cross, weights);

	e = _mm256_add_epi32(e, _mm256_set1_epi32(base));
	return _mm256_srli_epi32(e, 16);
}

/* All y with the x of correlation @c, energy @base and number @x. */
AVX2_INLINE void try_x(struct search *s, const int16_t cross[], int16_t c,
		       int32_t base, int x)
{
	__m256i sum = _mm256_add_epi16(s->lanes_dn_y, _mm256_set1_epi16(c));
	__m256i first = _mm256_set1_epi16((short)(x * ACELP_NUMBERS));
	__m256i with = load256(cross);
	const __m256i e[] = {
		energies(_mm256_unpacklo_epi16(s->lanes_cor_y, with), base),
		energies(_mm256_unpackhi_epi16(s->lanes_cor_y, with), base),
	};

	contest_try(&s->contest, sum, _mm256_add_epi16(s->lanes_y, first), e);
}

/* Bit n: number n has a rank below @width. */
AVX2_INLINE unsigned of_rank(const int16_t rank[ACELP_NUMBERS], int width)
{
	__m256i m = _mm256_cmpgt_epi16(_mm256_set1_epi16((short)width),
				       load256(rank));
	__m128i bytes = _mm_packs_epi16(_mm256_castsi256_si128(m),
					_mm256_extracti128_si256(m, 1));

	return (unsigned)_mm_movemask_epi8(bytes);
}

AVX2 void acelp_add_response(const struct acelp_tables *t, struct acelp_path *p,
			     int position)
{
	int16_t sign =
		t->sign[position % ACELP_TRACKS][position / ACELP_TRACKS];
	const int16_t *response = (sign < 0 ? t->negative : t->response) +
				  ACELP_POSITIONS - position;

	for (int i = 0; i < ACELP_POSITIONS; i += 16)
		store256(p->sum + i, _mm256_add_epi16(load256(p->sum + i),
						      load256(response + i)));
}

/* The path with x and y, by their numbers. */
AVX2_INLINE void acelp_search_add_pair(const struct acelp_tables *t,
				       struct acelp_path *p,
				       struct acelp_pair pair, int x, int y)
{
	unsigned next = (pair.track + 1) % ACELP_TRACKS;
	int16_t at_x = (int16_t)(ACELP_TRACKS * x + (int)pair.track);
	int16_t at_y = (int16_t)(ACELP_TRACKS * y + (int)next);

	p->pulse[pair.at] = at_x;
	p->pulse[pair.at + 1] = at_y;
	p->correlation = (int16_t)(p->correlation + t->dn[pair.track][x] +
				   t->dn[next][y]);
	acelp_add_response(t, p, at_x);
	acelp_add_response(t, p, at_y);
}

/* cor of both tracks, and the lanes before the first x. */
AVX2_INLINE void start(struct search *s, const struct acelp_tables *t,
		       const struct acelp_path *p, unsigned track)
{
	unsigned next = (track + 1) % ACELP_TRACKS;
	struct phases phases;

	split_phases(&phases, p->sum);
	store256(s->cor_x, acelp_search_correlate(t, &phases, track));
	s->lanes_cor_y = acelp_search_correlate(t, &phases, next);
	store256(s->cor_y, s->lanes_cor_y);
	s->lanes_dn_y = load256(t->dn[next]);
	s->lanes_y = lane_numbers();
	s->contest = contest_begin();
}

/* e(x, y) before it is shifted, without what comes of y. */
static inline int32_t energy_of_x(const struct search *s,
				  const struct acelp_path *p, int x)
{
	return add_wrapped(p->energy * (1 << 16) + 0x8000,
			   s->cor_x[x] * (1 << 13));
}

AVX2 bool acelp_search(const struct acelp_tables *t, struct acelp_path *p,
		       struct acelp_pair pair)
{
	unsigned left = of_rank(t->rank[pair.track], pair.width);
	struct search s;
	int32_t energy;
	int name, x, y;

	start(&s, t, p, pair.track);
	for (; left; left &= left - 1) {
		x = __builtin_ctz(left);
		try_x(&s, t->cross[pair.track][x],
		      (int16_t)(p->correlation + t->dn[pair.track][x]),
		      energy_of_x(&s, p, x), x);
	}
	if (!contest_is_valid(&s.contest))
		return false;
	name = contest_winner(&s.contest);
	x = name / ACELP_NUMBERS;
	y = name % ACELP_NUMBERS;
	energy = add_wrapped(energy_of_x(&s, p, x), s.cor_y[y] * (1 << 13));
	energy = add_wrapped(energy, t->cross[pair.track][x][y] * (1 << 14));
	p->energy = (int16_t)(energy >> 16);
	acelp_search_add_pair(t, p, pair, x, y);
	return true;
}
