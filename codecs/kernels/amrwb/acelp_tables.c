/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tables of the algebraic codebook's search.
 *
 * With h the impulse response and phi(p, q) the sum over n = 0..63-max(p, q)
 * of h[n] * h[n + |p - q|],
 *
 *     energy(p)   = (0x8000 + 2 * phi(p, p)) >> 16
 *     cross(p, q) = ((0x8000 + 2 * phi(p, q)) >> 16) * s(p, q) >> 15
 *
 * for p and q in neighbouring tracks, where s(p, q) is the sign of q when that
 * of p is positive, else its opposite. The library sums up along diagonals;
 * so do we, phi(p, q) = phi(p + 1, q + 1) + h[63 - p] * h[63 - q], one row
 * p after the other with its 16 q in 16 lanes. Going from a row to the one
 * above, q keeps its number in its track, except when its track was 0 and
 * becomes 3: then lanes move down by one. Sums wrap at 32 bits.
 */
#include "codecs/kernels/amrwb/acelp.h"
#include "codecs/kernels/amrwb/basic_ops.h"

enum { BLOCK = 16 };

/* Numbers 4v.. 4v + 3 of each track, as four 64-bit lanes in the order of
 * tracks 0, 1, 2, 3. */
AVX2_INLINE __m256i sort_four(const int16_t in[])
{
	const __m256i words = _mm256_broadcastsi128_si256(_mm_setr_epi8(
		0, 1, 8, 9, 2, 3, 10, 11, 4, 5, 12, 13, 6, 7, 14, 15));
	const __m256i lanes = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
	__m256i v = _mm256_shuffle_epi8(load256(in), words);

	return _mm256_permutevar8x32_epi32(v, lanes);
}

/* From the order of positions to that of tracks. */
AVX2_INLINE void by_track(const int16_t in[],
			  int16_t out[ACELP_TRACKS][ACELP_NUMBERS])
{
	__m256i a = sort_four(in), b = sort_four(in + BLOCK);
	__m256i c = sort_four(in + 2 * BLOCK), d = sort_four(in + 3 * BLOCK);
	__m256i ab02 = _mm256_unpacklo_epi64(a, b);
	__m256i ab13 = _mm256_unpackhi_epi64(a, b);
	__m256i cd02 = _mm256_unpacklo_epi64(c, d);
	__m256i cd13 = _mm256_unpackhi_epi64(c, d);

	store256(out[0], _mm256_permute2x128_si256(ab02, cd02, 0x20));
	store256(out[1], _mm256_permute2x128_si256(ab13, cd13, 0x20));
	store256(out[2], _mm256_permute2x128_si256(ab02, cd02, 0x31));
	store256(out[3], _mm256_permute2x128_si256(ab13, cd13, 0x31));
}

/* The order of a track's 16 references, from the greatest; of equal ones the
 * first comes first. A rank is the number of those that come before. */
AVX2_INLINE __m256i rank_track(const int16_t reference[ACELP_NUMBERS])
{
	const __m256i number = lane_numbers();
	__m256i v = load256(reference), rank = _mm256_setzero_si256();

	for (int i = 0; i < ACELP_NUMBERS; i++) {
		__m256i other = _mm256_set1_epi16(reference[i]);
		__m256i later =
			_mm256_cmpgt_epi16(number, _mm256_set1_epi16((short)i));
		__m256i before =
			_mm256_cmpgt_epi16(other, _mm256_add_epi16(v, later));

		rank = _mm256_sub_epi16(rank, before);
	}
	return rank;
}

AVX2 bool acelp_set_signs(struct acelp_tables *t, int16_t dn[], int16_t dn2[])
{
	int16_t sign[ACELP_POSITIONS];
	int16_t reference[ACELP_TRACKS][ACELP_NUMBERS];
	__m256i least = _mm256_setzero_si256();

	for (int i = 0; i < ACELP_POSITIONS; i += BLOCK) {
		__m256i v = load256(dn2 + i), d = load256(dn + i);
		__m256i negative = _mm256_srai_epi16(v, 15);

		v = _mm256_abs_epi16(v);
		d = _mm256_sub_epi16(_mm256_xor_si256(d, negative), negative);
		least = _mm256_min_epi16(least, v);
		store256(dn2 + i, v);
		store256(dn + i, d);
		store256(sign + i,
			 _mm256_xor_si256(_mm256_set1_epi16(INT16_MAX),
					  negative));
	}
	if (!_mm256_testz_si256(least, least))
		return false;
	by_track(dn, t->dn);
	by_track(dn2, reference);
	by_track(sign, t->sign);
	for (int i = 0; i < ACELP_TRACKS; i++) {
		store256(t->rank[i], rank_track(reference[i]));
		store256(t->opposite[i],
			 _mm256_xor_si256(load256(t->sign[i]),
					  _mm256_set1_epi16(-1)));
	}
	return true;
}

/* energy(p), from the last position to the first. */
static void set_energies_acelp_tables(struct acelp_tables *t, const int16_t h[])
{
	int32_t sum = 0x8000;

	for (int n = 0; n < ACELP_POSITIONS; n++) {
		int p = ACELP_POSITIONS - 1 - n;

		sum = add_wrapped(sum, (int32_t)(2u * (uint32_t)(h[n] * h[n])));
		t->energy[p % ACELP_TRACKS][p / ACELP_TRACKS] =
			(int16_t)(sum >> 16);
	}
}

/* h[63 - q] for the q of a track, a number a lane. */
struct backward {
	__m256i low, high;
};

AVX2_INLINE void set_backward(const int16_t h[],
			      struct backward b[ACELP_TRACKS])
{
	int16_t reversed[ACELP_POSITIONS];
	int16_t sorted[ACELP_TRACKS][ACELP_NUMBERS];

	for (int i = 0; i < ACELP_POSITIONS; i++)
		reversed[i] = h[ACELP_POSITIONS - 1 - i];
	by_track(reversed, sorted);
	for (int i = 0; i < ACELP_TRACKS; i++) {
		b[i].low = _mm256_cvtepu16_epi32(load128(sorted[i]));
		b[i].high = _mm256_cvtepu16_epi32(load128(sorted[i] + 8));
	}
}

/* Lanes down by one; @last moves into the highest. */
AVX2_INLINE __m256i acelp_tables_move_down(__m256i v, __m256i last)
{
	const __m256i lanes = _mm256_setr_epi32(1, 2, 3, 4, 5, 6, 7, 0);

	return _mm256_permutevar8x32_epi32(_mm256_blend_epi32(v, last, 1),
					   lanes);
}

/* A row's cross energies: sums (0x4000 included) to 16 bits, then the signs. */
AVX2_INLINE void acelp_tables_store_row(struct acelp_tables *t, int p,
					__m256i low, __m256i high)
{
	int track = p % ACELP_TRACKS, number = p / ACELP_TRACKS;
	int other = (track + 1) % ACELP_TRACKS;
	const int16_t *sign = t->sign[track][number] >= 0 ? t->sign[other]
							  : t->opposite[other];

	low = _mm256_srai_epi32(_mm256_slli_epi32(low, 1), 16);
	high = _mm256_srai_epi32(_mm256_slli_epi32(high, 1), 16);
	store256(t->cross[track][number],
		 multiply_q15(pack_lanes16(low, high), load256(sign)));
}

AVX2_INLINE void set_crosses(struct acelp_tables *t, const int16_t h[])
{
	const __m256i half = _mm256_set1_epi32(0x4000);
	struct backward b[ACELP_TRACKS];
	__m256i low = half, high = half;

	set_backward(h, b);
	for (int p = ACELP_POSITIONS - 1; p >= 0; p--) {
		const struct backward *q = &b[(p + 1) % ACELP_TRACKS];
		int32_t lane = pack_pair(h[ACELP_POSITIONS - 1 - p], 0);
		__m256i v = _mm256_set1_epi32(lane);

		if (p % ACELP_TRACKS == 2) {
			low = acelp_tables_move_down(low, high);
			high = acelp_tables_move_down(high, half);
		}
		low = _mm256_add_epi32(low, _mm256_madd_epi16(q->low, v));
		high = _mm256_add_epi32(high, _mm256_madd_epi16(q->high, v));
		acelp_tables_store_row(t, p, low, high);
	}
}

AVX2 void acelp_set_response(struct acelp_tables *t, const int16_t h[],
			     int shift)
{
	int16_t *scaled = t->response + ACELP_POSITIONS;

	memset(t->response, 0, sizeof(t->response));
	memset(t->negative, 0, sizeof(t->negative));
	for (int i = 0; i < ACELP_POSITIONS; i++) {
		scaled[i] = (int16_t)(h[i] >> shift);
		t->negative[ACELP_POSITIONS + i] = (int16_t)-scaled[i];
	}
	set_energies_acelp_tables(t, scaled);
	set_crosses(t, scaled);
}
