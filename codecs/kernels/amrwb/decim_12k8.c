/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decim_12k8: from 16 to 12.8 kHz, four samples for five,
 *
 *     y[4g + r] = round(sum over k = 0..29 of c[r][k] * x[5g + r + k - 29])
 *
 * with one of four phases of a filter; x goes back by the 30 samples of the
 * memory. The sum wraps at 32 bits, is shifted left by 2 and rounded to its
 * upper 16, both saturating: (sum + 0x2000) >> 14, clipped. Exact for all
 * inputs. Lengths that do not make groups of four, or are longer than the
 * library's buffer, are the library's.
 */
#include "codecs/kernels/amrwb.h"
#include "codecs/kernels/kernel.h"

enum {
	TAPS = 30,
	PHASES = 4,
	IN = 5, /* samples a group */
	LONGEST = 320,
	SHIFT = 14,
};

/* A phase's coefficients, and two zeros. */
struct phase {
	__m256i first, second;
};

AVX2_INLINE void load_phases(struct phase p[PHASES])
{
	for (int r = 0; r < PHASES; r++) {
		int16_t padded[32] = { 0 };

		memcpy(padded, stock_fir_down1[r], TAPS * sizeof(*padded));
		p[r].first = load256(padded);
		p[r].second = load256(padded + 16);
	}
}

/* An output in 8 parts. */
AVX2_INLINE __m256i filter(const struct phase *p, const int16_t *x)
{
	/* analyzer: the loop over PHASES has filled all of them */
	return _mm256_add_epi32(_mm256_madd_epi16(load256(x), p->first),
				_mm256_madd_epi16(load256(x + 16), p->second));
}

/* The four sums of a group. */
AVX2_INLINE __m128i filter_group(const struct phase p[PHASES], const int16_t *x)
{
	__m256i low = _mm256_hadd_epi32(filter(&p[0], x), filter(&p[1], x + 1));
	__m256i high =
		_mm256_hadd_epi32(filter(&p[2], x + 2), filter(&p[3], x + 3));
	__m256i all = _mm256_hadd_epi32(low, high);

	return _mm_add_epi32(_mm256_castsi256_si128(all),
			     _mm256_extracti128_si256(all, 1));
}

/* Rounds by what is too great to be rounded up as well. */
AVX2_INLINE __m128i decim_12k8_round_sums(__m128i s)
{
	const __m128i half = _mm_set1_epi32(1 << (SHIFT - 1));
	const __m128i most = _mm_set1_epi32(INT32_MAX - (1 << (SHIFT - 1)));

	s = _mm_srai_epi32(_mm_add_epi32(_mm_min_epi32(s, most), half), SHIFT);
	return _mm_packs_epi32(s, s);
}

AVX2 static void decim_12k8_avx2(const int16_t in[], int n, int16_t out[],
				 int16_t mem[])
{
	int16_t x[TAPS + LONGEST + 32];
	struct phase p[PHASES];

	load_phases(p);
	memcpy(x, mem, TAPS * sizeof(*x));
	memcpy(x + TAPS, in, (size_t)n * sizeof(*x));
	memset(x + TAPS + n, 0, 32 * sizeof(*x));
	for (int g = 0; g < n / IN; g++) {
		__m128i y =
			decim_12k8_round_sums(filter_group(p, x + IN * g + 1));

		_mm_storel_epi64((void *)(out + PHASES * g), y);
	}
	memcpy(mem, x + n, TAPS * sizeof(*x));
}

void Decim_12k8(int16_t in[], int16_t n, int16_t out[], int16_t mem[])
{
	if (!cr_kernels_fast || n < 0 || n > LONGEST || n % IN) {
		stock_Decim_12k8(in, n, out, mem);
		return;
	}
	decim_12k8_avx2(in, n, out, mem);
}
