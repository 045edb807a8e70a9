/* SPDX-License-Identifier: Apache-2.0 */
/*
 * subframePreProc: what the encoder needs of a subframe before it searches.
 *
 *	W(z) = A(z / g1) / A(z / g2)	the weighting filter, Weight_Ai
 *	h1   = the impulse response of W(z) / Aq(z): A(z / g1) 1/Aq 1/A(z / g2)
 *	res2 = Aq(z) speech, also the first excitation, exc
 *	error = res2 / Aq(z), with the memory of what was coded before
 *	xn   = W(z) error, the target of the searches
 *
 * Aq is the quantised filter. It is one Residu after another Syn_filt, but the
 * response and the target go through the same two filters 1/Aq(z) and
 * 1/A(z / g2): so both are filtered at once, one in each lane. A sample takes
 * five products of pairs, of which one has to wait for the sample before.
 *
 * The limiter is packs. That differs from the stock one (syn_filt.c) where a
 * sum is 0x07ffffff; then stock_subframePreProc does it all again. It reads
 * nothing that we have written.
 *
 * Valid: the modes of speech; else stock_subframePreProc.
 */
#include "codecs/kernels/amrnb.h"
#include "codecs/kernels/kernel.h"

enum {
	ORDER = 10,
	N = 40,
	PAIRS = ORDER / 2,
	NFILTERS = 2,
	MODE_10_2 = 6,
	MODE_12_2 = 7,
};

/* The arguments of subframePreProc that are buffers. */
struct subframe {
	int16_t *aq, *speech, *mem_err, *mem_w0, *zero;
	int16_t *ai_zero, *exc, *h1, *xn, *res2, *error;
};

/* y = x / A(z), after mem, which is the past of y. */
struct filter {
	const int16_t *a;
	const int16_t *x;
	int16_t *y;
	const int16_t *mem;
};

/* 2048 + a(0) x(n) of eight samples. */
AVX2_INLINE __m256i scale_input(const struct filter *f, int at)
{
	__m256i x = _mm256_cvtepi16_epi32(load128(f->x + at));

	return _mm256_add_epi32(
		_mm256_mullo_epi32(x, _mm256_set1_epi32(f->a[0])),
		_mm256_set1_epi32(0x800));
}

/* The same of all, with the filters by turns. */
AVX2_INLINE void load_inputs(const struct filter f[NFILTERS],
			     int32_t inputs[N * NFILTERS])
{
	for (int n = 0; n < N; n += 8, inputs += 8 * NFILTERS) {
		__m256i first = scale_input(&f[0], n);
		__m256i second = scale_input(&f[1], n);
		__m256i low = _mm256_unpacklo_epi32(first, second);
		__m256i high = _mm256_unpackhi_epi32(first, second);

		store256(inputs, _mm256_permute2x128_si256(low, high, 0x20));
		store256(inputs + 8,
			 _mm256_permute2x128_si256(low, high, 0x31));
	}
}

/* A pair of numbers of both filters, in the lanes 0 and 1. */
AVX2_INLINE __m128i both(int32_t first, int32_t second)
{
	return _mm_unpacklo_epi32(_mm_cvtsi32_si128(first),
				  _mm_cvtsi32_si128(second));
}

/* taps[q]: a(2q + 2), a(2q + 1), which weigh y(n - 2q - 2), y(n - 2q - 1). */
AVX2_INLINE void spreproc_load_taps(const struct filter f[NFILTERS],
				    __m128i taps[PAIRS])
{
	for (int q = 0; q < PAIRS; q++) {
		int i = 2 * q + 1;

		taps[q] = both(pack_pair(f[0].a[i + 1], f[0].a[i]),
			       pack_pair(f[1].a[i + 1], f[1].a[i]));
	}
}

/* pairs[ORDER + n] will hold y(n - 1), y(n); those before 0 come from mem. */
AVX2_INLINE void load_past(const struct filter f[NFILTERS],
			   __m128i pairs[ORDER])
{
	for (int i = 1; i < ORDER; i++)
		pairs[i] = both(load_pair(f[0].mem + i - 1),
				load_pair(f[1].mem + i - 1));
}

/* False if a sum was one of those that the stock limiter takes differently. */
AVX2_INLINE bool filter_both(const struct filter f[NFILTERS])
{
	const __m128i odd_sum = _mm_set1_epi32(0x07ffffff);
	__m128i pairs[ORDER + N], taps[PAIRS];
	__m128i odd = _mm_setzero_si128();
	int32_t inputs[N * NFILTERS];
	__m128i newest, last;

	load_inputs(f, inputs);
	spreproc_load_taps(f, taps);
	load_past(f, pairs);
	newest = pairs[ORDER - 1];
	last = _mm_packs_epi32(_mm_srai_epi32(newest, 16), newest);
	for (int n = 0; n < N; n++) {
		__m128i s = _mm_loadu_si64(inputs + n * NFILTERS);

#pragma GCC unroll 4
		for (int q = PAIRS - 1; q > 0; q--)
			s = _mm_sub_epi32(
				s,
				_mm_madd_epi16(taps[q],
					       pairs[ORDER + n - 1 - 2 * q]));
		s = _mm_sub_epi32(s, _mm_madd_epi16(taps[0], newest));
		odd = _mm_or_si128(odd, _mm_cmpeq_epi32(s, odd_sum));
		s = _mm_srai_epi32(s, 12);
		s = _mm_packs_epi32(s, s);
		newest = _mm_unpacklo_epi16(last, s);
		last = s;
		pairs[ORDER + n] = newest;
	}
	for (int n = 1; n < N; n += 2) {
		_mm_storeu_si32(f[0].y + n - 1, pairs[ORDER + n]);
		_mm_storeu_si32(f[1].y + n - 1,
				_mm_srli_epi64(pairs[ORDER + n], 32));
	}
	return _mm_testz_si128(odd, odd);
}

AVX2 static bool prepare(const struct subframe *s, int16_t w1[], int16_t w2[])
{
	struct filter quantised[NFILTERS] = {
		{ s->aq, s->ai_zero, s->h1, s->zero },
		{ s->aq, s->exc, s->error, s->mem_err },
	};
	struct filter weighting[NFILTERS] = {
		{ w2, s->h1, s->h1, s->zero },
		{ w2, s->xn, s->xn, s->mem_w0 },
	};

	memcpy(s->ai_zero, w1, (ORDER + 1) * sizeof(*w1));
	Residu(s->aq, s->speech, s->res2, N);
	memcpy(s->exc, s->res2, N * sizeof(*s->exc));
	if (!filter_both(quantised))
		return false;
	Residu(w1, s->error, s->xn, N);
	return filter_both(weighting);
}

void subframePreProc(int mode, const int16_t gamma1[],
		     const int16_t gamma1_high[], const int16_t gamma2[],
		     int16_t a[], int16_t aq[], int16_t speech[],
		     int16_t mem_err[], int16_t mem_w0[], int16_t zero[],
		     int16_t ai_zero[], int16_t exc[], int16_t h1[],
		     int16_t xn[], int16_t res2[], int16_t error[])
{
	const struct subframe s = {
		.aq = aq,
		.speech = speech,
		.mem_err = mem_err,
		.mem_w0 = mem_w0,
		.zero = zero,
		.ai_zero = ai_zero,
		.exc = exc,
		.h1 = h1,
		.xn = xn,
		.res2 = res2,
		.error = error,
	};
	int16_t w1[ORDER + 1], w2[ORDER + 1];
	bool done = false;

	if (cr_kernels_fast && mode >= 0 && mode <= MODE_12_2) {
		Weight_Ai(a, mode >= MODE_10_2 ? gamma1_high : gamma1, w1);
		Weight_Ai(a, gamma2, w2);
		done = prepare(&s, w1, w2);
	}
	if (!done)
		stock_subframePreProc(mode, gamma1, gamma1_high, gamma2, a, aq,
				      speech, mem_err, mem_w0, zero, ai_zero,
				      exc, h1, xn, res2, error);
}
