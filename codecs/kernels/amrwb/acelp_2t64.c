/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ACELP_2t64_fx: the algebraic codebook of 6.60 kbit/s, one pulse x at an even
 * position and one pulse y at an odd one. With phi(p, q) as in acelp_tables.c,
 *
 *     energy(p)   = (0x10000 + 2 * phi(p, p)) >> 17
 *     cross(x, y) = ((0x8000 + 2 * phi(x, y)) >> 16) * s(x, y) >> 15
 *     c(x, y)     = dn(x) + dn(y)
 *     e(x, y)     = energy(x) + energy(y) + cross(x, y)
 *
 * in words that wrap, and the pair taken is the first with the greatest q / e,
 * q = c * c >> 15. The y are tried 16 at a time (acelp_candidates.h); where
 * that is not exact the library has to do it, with nothing written yet.
 */
#include "codecs/kernels/amrwb.h"
#include "codecs/kernels/amrwb/acelp.h"
#include "codecs/kernels/amrwb/acelp_candidates.h"
#include "codecs/kernels/amrwb/basic_ops.h"

enum {
	TRACKS = 2,
	NUMBERS = ACELP_POSITIONS / TRACKS,
	LANES = 8,
	VECTORS = NUMBERS / LANES, /* of 32-bit lanes a track */
	WEIGHT = 8192,
	ONE = 512, /* a pulse, Q9 */
};

/* By track and number: position p is number p / 2 of track p % 2. */
struct tables {
	int16_t dn[TRACKS][NUMBERS];
	int16_t sign[TRACKS][NUMBERS]; /* 32767 or -32768 */
	int16_t energy[TRACKS][NUMBERS];
	int16_t cross[NUMBERS][NUMBERS];
};

static int sign_at(const struct tables *t, int position)
{
	return t->sign[position % TRACKS][position / TRACKS] < 0 ? -1 : 1;
}

/* Signs, and with them @dn. */
static void set_signs_2t64(struct tables *t, int16_t dn[], const int16_t dn2[])
{
	for (int p = 0; p < ACELP_POSITIONS; p++) {
		bool negative = dn2[p] < 0;

		dn[p] = (int16_t)(negative ? -dn[p] : dn[p]);
		t->dn[p % TRACKS][p / TRACKS] = dn[p];
		t->sign[p % TRACKS][p / TRACKS] =
			negative ? INT16_MIN : INT16_MAX;
	}
}

static void set_energies_2t64(struct tables *t, const int16_t h[])
{
	int32_t sum = 0x10000;

	for (int n = 0; n < ACELP_POSITIONS; n++) {
		int p = ACELP_POSITIONS - 1 - n;

		sum = add_wrapped(sum, (int32_t)(2u * (uint32_t)(h[n] * h[n])));
		t->energy[p % TRACKS][p / TRACKS] = (int16_t)(sum >> 17);
	}
}

/* phi of a row p, over the positions q of the other track. */
struct row {
	__m256i v[VECTORS];
};

/* h[63 - q] for the q of a track, a number a lane. */
AVX2_INLINE struct row acelp_2t64_backward(const int16_t h[], int track)
{
	int16_t reversed[NUMBERS];
	struct row b;

	for (int i = 0; i < NUMBERS; i++)
		reversed[i] = h[ACELP_POSITIONS - 1 - TRACKS * i - track];
	for (int i = 0; i < VECTORS; i++)
		b.v[i] = _mm256_cvtepu16_epi32(load128(reversed + LANES * i));
	return b;
}

/* All lanes down by one; 0x4000 comes in. */
AVX2_INLINE void acelp_2t64_move_down(struct row *r)
{
	const __m256i lanes = _mm256_setr_epi32(1, 2, 3, 4, 5, 6, 7, 0);

	for (int i = 0; i < VECTORS; i++) {
		__m256i next = i + 1 < VECTORS ? r->v[i + 1]
					       : _mm256_set1_epi32(0x4000);

		r->v[i] = _mm256_permutevar8x32_epi32(
			_mm256_blend_epi32(r->v[i], next, 1), lanes);
	}
}

/* 16 words of a row: (0x8000 + 2 * phi) >> 16 with the sign; 0x4000 is in. */
AVX2_INLINE __m256i cross16(__m256i low, __m256i high, __m256i sign)
{
	low = _mm256_srai_epi32(_mm256_slli_epi32(low, 1), 16);
	high = _mm256_srai_epi32(_mm256_slli_epi32(high, 1), 16);
	return multiply_q15(pack_lanes16(low, high), sign);
}

/* @x: number of the pulse in the first track. */
AVX2_INLINE void acelp_2t64_store_row(struct tables *t, int x,
				      const struct row *r)
{
	__m256i flip = _mm256_set1_epi16(t->sign[0][x] < 0 ? -1 : 0);

	for (int i = 0; i < NUMBERS; i += 16) {
		__m256i sign = _mm256_xor_si256(load256(t->sign[1] + i), flip);

		store256(t->cross[x] + i,
			 cross16(r->v[i / LANES], r->v[i / LANES + 1], sign));
	}
}

/* Rows from the last to the first, as in acelp_tables.c. */
AVX2 static void set_crosses_2t64(struct tables *t, const int16_t h[])
{
	const struct row other[TRACKS] = { acelp_2t64_backward(h, 1),
					   acelp_2t64_backward(h, 0) };
	struct row r;

	for (int i = 0; i < VECTORS; i++)
		r.v[i] = _mm256_set1_epi32(0x4000);
	for (int p = ACELP_POSITIONS - 1; p >= 0; p--) {
		int32_t lane = pack_pair(h[ACELP_POSITIONS - 1 - p], 0);
		__m256i v = _mm256_set1_epi32(lane);

		if (p % TRACKS == 0)
			acelp_2t64_move_down(&r);
		for (int i = 0; i < VECTORS; i++)
			r.v[i] = _mm256_add_epi32(
				r.v[i],
				_mm256_madd_epi16(other[p % TRACKS].v[i], v));
		if (p % TRACKS == 0)
			acelp_2t64_store_row(t, p / TRACKS, &r);
	}
}

/* 16 y, from @y on, with the x of number @x. */
AVX2_INLINE void try_pairs(struct contest *s, const struct tables *t, int x,
			   int y)
{
	const __m256i zero = _mm256_setzero_si256();
	__m256i name = _mm256_add_epi16(
		lane_numbers(), _mm256_set1_epi16((short)(x * NUMBERS + y)));
	__m256i c = _mm256_add_epi16(load256(t->dn[1] + y),
				     _mm256_set1_epi16(t->dn[0][x]));
	__m256i e = _mm256_add_epi16(load256(t->energy[1] + y),
				     _mm256_set1_epi16(t->energy[0][x]));
	__m256i halves[2];

	e = _mm256_add_epi16(e, load256(t->cross[x] + y));
	halves[0] = _mm256_unpacklo_epi16(e, zero);
	halves[1] = _mm256_unpackhi_epi16(e, zero);
	contest_try(s, c, name, halves);
}

/* The name of the best pair, 32 * number of x + number of y; -1: not ours. */
AVX2 static int search_2t64(const struct tables *t)
{
	struct contest s = contest_begin();

	for (int x = 0; x < NUMBERS; x++)
		for (int y = 0; y < NUMBERS; y += 16)
			try_pairs(&s, t, x, y);
	return contest_is_valid(&s) ? contest_winner(&s) : -1;
}

/* Two pulses of @sign at @position, and what they give through @h. */
static void write_pulses(const int16_t h[], const int position[2],
			 const int sign[2], int16_t code[], int16_t y[])
{
	memset(code, 0, ACELP_POSITIONS * sizeof(*code));
	for (int i = 0; i < 2; i++)
		code[position[i]] = (int16_t)(sign[i] * ONE);
	for (int n = 0; n < ACELP_POSITIONS; n++) {
		int32_t sum = 4;

		for (int i = 0; i < 2; i++)
			if (n >= position[i])
				sum += (int16_t)(sign[i] * h[n - position[i]]);
		y[n] = (int16_t)(sum >> 3);
	}
}

/* The caller's input and output. */
struct codebook {
	int16_t *dn, *cn, *h;
	int16_t *code, *y, *index;
};

/* False, and nothing written, when the library has to do it. */
AVX2 static bool acelp_2t64_avx2(const struct codebook *c)
{
	int16_t dn[ACELP_POSITIONS], dn2[ACELP_POSITIONS];
	int position[2], sign[2], name;
	struct tables t;

	memcpy(dn, c->dn, sizeof(dn));
	acelp_reference(c->cn, dn, WEIGHT, INT16_MIN, dn2);
	set_signs_2t64(&t, dn, dn2);
	set_energies_2t64(&t, c->h);
	set_crosses_2t64(&t, c->h);
	name = search_2t64(&t);
	if (name < 0)
		return false;
	position[0] = name / NUMBERS * TRACKS;
	position[1] = name % NUMBERS * TRACKS + 1;
	for (int i = 0; i < 2; i++)
		sign[i] = sign_at(&t, position[i]);
	memcpy(c->dn, dn, sizeof(dn));
	write_pulses(c->h, position, sign, c->code, c->y);
	/* 5 bits and a sign each */
	*c->index =
		(int16_t)((name / NUMBERS + (sign[0] < 0 ? NUMBERS : 0)) * 64 +
			  name % NUMBERS + (sign[1] < 0 ? NUMBERS : 0));
	return true;
}

void ACELP_2t64_fx(int16_t dn[], int16_t cn[], int16_t h[], int16_t code[],
		   int16_t y[], int16_t *index)
{
	const struct codebook c = { dn, cn, h, code, y, index };

	if (!cr_kernels_fast || !acelp_2t64_avx2(&c))
		stock_ACELP_2t64_fx(dn, cn, h, code, y, index);
}
