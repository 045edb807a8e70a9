/* SPDX-License-Identifier: Apache-2.0 */
/*
 * set_sign12k2: the signs of the codebooks with 10 and 8 pulses. With cn, the
 * prediction residual, and dn scaled to the same energy,
 *
 *     cor[p] = round(2^10 (2 kc cn[p] + 2 kd dn[p]) / 2^16),
 *
 * saturated, a position's sign is that of cor; where it is negative, dn changes
 * its sign too. peak[t] is the position of track t with the largest |cor|, the
 * first of equals; the tracks are put in turn from that with the largest peak
 * on, twice round.
 *
 * Exact as long as no sum of two products overflows, which the library would
 * saturate. As both are scaled, only wrong energies do that: those, and other
 * than 5 or 4 tracks, are the library's.
 */
#include "codecs/kernels/amrnb.h"
#include "codecs/kernels/amrnb/basic_ops.h"
#include "codecs/kernels/amrnb/tracks.h"

enum {
	VECTORS = SUBFRAME / 8,
	BIAS = 256, /* of the energies */
};

/* BIAS + 2 * the sum of squares, wrapped. False if it may not fit: as told by
 * the high halves of the 20 partial sums, each of which leaves out less than
 * one, so that 2^14 - 21 together are below 2^30 - BIAS / 2. */
AVX2_INLINE bool energy_wrapped(const int16_t v[SUBFRAME], int32_t *energy)
{
	__m128i sum = _mm_setzero_si128(), high = _mm_setzero_si128();
	int32_t total;

	for (int p = 0; p < SUBFRAME; p += 8) {
		__m128i x = load128(v + p);
		__m128i squares = _mm_madd_epi16(x, x);

		sum = _mm_add_epi32(sum, squares);
		high = _mm_add_epi32(high, _mm_srli_epi32(squares, 16));
	}
	total = sum_lanes128(sum);
	*energy = add_wrapped(BIAS, add_wrapped(total, total));
	return sum_lanes128(high) < (1 << 14) - 21;
}

/* @v * 2^5 >> 16, saturated. */
static int16_t residual_factor(int32_t v)
{
	if (v >= 1 << 26)
		return INT16_MAX;
	return (int16_t)(v >> 11);
}

/* cor of 8 positions, from kc cn and kd dn. *@wrong collects where it is not
 * the library's, which saturates this sum. */
AVX2_INLINE __m256i set_sign_correlate(__m256i cn, __m256i dn, __m256i *wrong,
				       __m256i *clipped)
{
	__m256i a = _mm256_slli_epi32(cn, 1), b = _mm256_slli_epi32(dn, 1);
	__m256i sum = _mm256_add_epi32(a, b);
	__m256i over = _mm256_and_si256(_mm256_xor_si256(a, sum),
					_mm256_xor_si256(b, sum));
	__m256i one = _mm256_cmpeq_epi32(dn, _mm256_set1_epi32(1 << 30));

	over = _mm256_or_si256(_mm256_srai_epi32(over, 31), one);
	*wrong = _mm256_or_si256(*wrong, over);
	return round_saturated(shift_saturated(sum, 10), clipped);
}

/* cor of all positions; false if one is not the library's. */
AVX2_INLINE bool correlate_all(const int16_t cn[SUBFRAME],
			       const int16_t dn[SUBFRAME], __m256i cor[VECTORS],
			       int32_t *overflow)
{
	__m256i wrong = _mm256_setzero_si256(), clipped = wrong;
	int32_t cn_energy, dn_energy;
	__m256i kc, kd;

	if (!energy_wrapped(cn, &cn_energy))
		cn_energy = mac_squares(BIAS, cn, SUBFRAME, overflow);
	(void)energy_wrapped(dn, &dn_energy);
	kc = _mm256_set1_epi32(
		(uint16_t)residual_factor(Inv_sqrt(cn_energy, overflow)));
	kd = _mm256_set1_epi32((uint16_t)(Inv_sqrt(dn_energy, overflow) >> 11));
	for (int i = 0; i < VECTORS; i++) {
		__m256i c = _mm256_cvtepi16_epi32(load128(cn + 8 * i));
		__m256i d = _mm256_cvtepi16_epi32(load128(dn + 8 * i));

		cor[i] = set_sign_correlate(_mm256_madd_epi16(c, kc),
					    _mm256_madd_epi16(d, kd), &wrong,
					    &clipped);
	}
	if (!_mm256_testz_si256(wrong, wrong))
		return false;
	raise_overflow(clipped, overflow);
	return true;
}

/* A position's |cor|, and behind it the position, counted down so that of equal
 * |cor| the first has the largest key. */
enum { POSITION_BITS = 6, LAST_POSITION = 63 };

/* Apply the signs, and make the keys. */
AVX2_INLINE void set_signs(const __m256i cor[VECTORS], int16_t dn[SUBFRAME],
			   int16_t sign[SUBFRAME], int32_t key[SUBFRAME])
{
	const __m128i plus = _mm_set1_epi16(INT16_MAX);
	__m256i down = _mm256_setr_epi32(63, 62, 61, 60, 59, 58, 57, 56);

	for (int i = 0; i < VECTORS; i++) {
		__m256i magnitude = _mm256_min_epi32(
			_mm256_abs_epi32(cor[i]), _mm256_set1_epi32(INT16_MAX));
		__m128i negative = pack_lanes(_mm256_srai_epi32(cor[i], 31));
		__m128i v = load128(dn + 8 * i);
		__m128i minus = _mm_subs_epi16(_mm_setzero_si128(), v);

		store128(dn + 8 * i, _mm_blendv_epi8(v, minus, negative));
		/* 32767 or -32767 */
		store128(sign + 8 * i,
			 _mm_or_si128(_mm_xor_si128(plus, negative),
				      _mm_set1_epi16(1)));
		store256(key + 8 * i,
			 _mm256_or_si256(
				 _mm256_slli_epi32(magnitude, POSITION_BITS),
				 down));
		down = _mm256_sub_epi32(down, _mm256_set1_epi32(8));
	}
}

/* The largest key of each of @tracks tracks, position p being on p % tracks. */
static void find_peaks(const int32_t key[SUBFRAME], int tracks,
		       int32_t largest[TRACKS])
{
	for (int t = 0; t < tracks; t++)
		largest[t] = 0;
	for (int p = 0; p < SUBFRAME; p += tracks)
		for (int t = 0; t < tracks; t++)
			if (key[p + t] > largest[t])
				largest[t] = key[p + t];
}

/* The positions of the peaks, and the tracks in turn. */
static void put_in_turn(const int32_t largest[TRACKS], int tracks,
			int16_t peak[], int16_t turn[])
{
	int first = 0;

	for (int t = 0; t < tracks; t++) {
		int32_t before = largest[first] >> POSITION_BITS;

		peak[t] =
			(int16_t)(LAST_POSITION - (largest[t] & LAST_POSITION));
		if (largest[t] >> POSITION_BITS > before)
			first = t;
	}
	for (int i = 0; i < 2 * tracks; i++)
		turn[i] = (int16_t)((first + i) % tracks);
}

AVX2 static bool set_signs_avx2(int16_t dn[], const int16_t cn[],
				int16_t sign[], int32_t key[],
				int32_t *overflow)
{
	__m256i cor[VECTORS];

	if (!correlate_all(cn, dn, cor, overflow))
		return false;
	set_signs(cor, dn, sign, key);
	return true;
}

void set_sign12k2(int16_t dn[], int16_t cn[], int16_t sign[], int16_t peak[],
		  int16_t tracks, int16_t turn[], int16_t step,
		  int32_t *overflow)
{
	int32_t key[SUBFRAME], largest[TRACKS];

	if (!cr_kernels_fast || (tracks != 5 && tracks != 4) ||
	    step != tracks || !set_signs_avx2(dn, cn, sign, key, overflow)) {
		stock_set_sign12k2(dn, cn, sign, peak, tracks, turn, step,
				   overflow);
		return;
	}
	find_peaks(key, tracks, largest);
	put_in_turn(largest, tracks, peak, turn);
}
