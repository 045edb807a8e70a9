/* SPDX-License-Identifier: Apache-2.0 */
/*
 * voAWB_cor_h_x: the target x backwards through the impulse response h,
 *
 *     sum[i] = 1 + 2 * sum over j = 0..63-i of x[i + j] * h[j],
 *     dn[i]  = (sum[i] * 2^n + 0x8000) >> 16,
 *
 * wrapped at 32 bits, where n makes room for four pulses: with m the sum of
 * the greatest |sum[i]| of each track (i mod 4), n = norm(1 + m/4 + m/8) - 4.
 *
 * In the library an m that overflows may loop for ever, so that is left to it.
 * Else |sum[i]| <= m, and the shift does not overflow; |INT32_MIN|, which
 * the library takes as negative, is left to it as well.
 */
#include "codecs/kernels/amrwb.h"
#include "codecs/kernels/fir.h"

enum {
	SUBFRAME = 64,
	BLOCK = 16,
};

/* 1 + 2 * v. */
AVX2_INLINE __m256i twice_and_one(__m256i v)
{
	return _mm256_add_epi32(_mm256_slli_epi32(v, 1), _mm256_set1_epi32(1));
}

/* The sums, of every 16 the even ones first. Returns the greatest magnitudes
 * at even and odd samples; lanes are tracks: 0, 2, 0, 2, ... 1, 3, 1, 3, ... */
AVX2_INLINE struct fir_sums cor_h_x_backward(
	const int16_t h[], const int16_t x[],
	struct fir_sums sums[SUBFRAME / BLOCK])
{
	int16_t padded[SUBFRAME + 2 * BLOCK];
	struct fir_sums most = fir_begin();

	memcpy(padded, x, SUBFRAME * sizeof(*x));
	memset(padded + SUBFRAME, 0, 2 * BLOCK * sizeof(*padded));
	for (int i = 0; i < SUBFRAME; i += BLOCK) {
		struct fir_sums s = fir_begin();

		for (int j = 0; j < SUBFRAME - i; j += 2)
			fir_add(&s, _mm256_set1_epi32(load_pair(h + j)),
				padded + i + j);
		s.even = twice_and_one(s.even);
		s.odd = twice_and_one(s.odd);
		most.even =
			_mm256_max_epu32(most.even, _mm256_abs_epi32(s.even));
		most.odd = _mm256_max_epu32(most.odd, _mm256_abs_epi32(s.odd));
		sums[i / BLOCK] = s;
	}
	return most;
}

/* The greatest of the even lanes plus the greatest of the odd ones. */
AVX2_INLINE uint64_t two_tracks(__m256i v)
{
	__m128i m = _mm_max_epu32(_mm256_castsi256_si128(v),
				  _mm256_extracti128_si256(v, 1));

	m = _mm_max_epu32(m, _mm_shuffle_epi32(m, 0x4e));
	return (uint64_t)(uint32_t)_mm_cvtsi128_si32(m) +
	       (uint32_t)_mm_extract_epi32(m, 1);
}

/* (v * 2^n + 0x8000) >> 16; @left and @right shift by n and -n, or by 0. */
AVX2_INLINE __m256i wb_scale(__m256i v, __m128i left, __m128i right)
{
	v = _mm256_sra_epi32(_mm256_sll_epi32(v, left), right);
	v = _mm256_add_epi32(v, _mm256_set1_epi32(0x8000));
	return v;
}

/* False, and nothing written, when the library has to do it. */
AVX2 static bool wb_cor_h_x_avx2(const int16_t h[], const int16_t x[],
				 int16_t dn[])
{
	struct fir_sums sums[SUBFRAME / BLOCK];
	struct fir_sums most = cor_h_x_backward(h, x, sums);
	uint64_t m = two_tracks(most.even) + two_tracks(most.odd);
	__m128i left, right;
	int n;

	if (m > INT32_MAX)
		return false;
	n = __builtin_clz(1 + (uint32_t)(m >> 2) + (uint32_t)(m >> 3)) - 1 - 4;
	left = _mm_cvtsi32_si128(n > 0 ? n : 0);
	right = _mm_cvtsi32_si128(n > 0 ? 0 : -n);
	for (int i = 0; i < SUBFRAME / BLOCK; i++) {
		__m256i even = wb_scale(sums[i].even, left, right);
		__m256i odd = wb_scale(sums[i].odd, left, right);

		store256(dn + BLOCK * i,
			 _mm256_blend_epi16(_mm256_srli_epi32(even, 16), odd,
					    0xaa));
	}
	return true;
}

void voAWB_cor_h_x(int16_t h[], int16_t x[], int16_t dn[])
{
	if (!cr_kernels_fast || !wb_cor_h_x_avx2(h, x, dn))
		stock_voAWB_cor_h_x(h, x, dn);
}
