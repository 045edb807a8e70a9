/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pre_Process and Post_Process: the high-pass filters before the encoder (of
 * 80 Hz, it halves the signal) and after the decoder (of 60 Hz, it doubles it).
 *
 *	s(n) = b0 x(n) + b1 x(n - 1) + b0 x(n - 2)
 *	     + (a1 y(n - 1) >> 16) + (a2 y(n - 2) >> 16)	modulo 2^32
 *
 * The library keeps y, which is even, in halves (arith.h) and multiplies them
 * one by one; that is the same as one product of 64 bits. The encoder takes 28
 * bits of the sum,
 *
 *	y(n) = s(n) << 4, modulo 2^32
 *	out(n) = (s(n) + 2^11) >> 12, the lower 16 bits,
 *
 * the decoder limits it at each shift:
 *
 *	y(n) = s(n) << 3,	out(n) = ((y(n) << 1) + 2^15) >> 16
 *
 * and says so in *overflow if the last sum does not fit. What x gives is known
 * before the first sample and done in vectors; the rest is a product, two
 * shifts and a sum from a sample to the next. The library drops the lowest bit
 * of a limited y, 2^31 - 1; its products are the same with it.
 *
 * Valid: a multiple of 8 samples up to 160. Else the library's own.
 */
#include "codecs/kernels/amrnb.h"
#include "codecs/kernels/amrnb/arith.h"

enum {
	N_MAX = 160,
	LANES = 8,
};

/* The library's state: y in halves, and x. */
struct memory {
	int16_t y2_upper, y2_lower;
	int16_t y1_upper, y1_lower;
	int16_t x1, x2;
};

struct coefficients {
	int16_t b0, b1;
	int16_t a1, a2;
};

static const struct coefficients before_encoder = { 1899, -3798, 7807, -3733 };
static const struct coefficients after_decoder = { 7699, -15398, 15836, -7667 };

/* Sum the input into s, and update that part of the memory. */
AVX2 static void weigh_input(const struct coefficients *c, struct memory *m,
			     const int16_t x[], int n, int32_t sums[])
{
	__m256i newer = _mm256_set1_epi32(pack_pair(c->b1, c->b0));
	__m256i oldest = _mm256_set1_epi32(pack_pair(c->b0, 0));
	const __m128i zero = _mm_setzero_si128();
	int16_t longer[2 + N_MAX];

	longer[0] = m->x2;
	longer[1] = m->x1;
	memcpy(longer + 2, x, (size_t)n * sizeof(*x));
	for (int i = 0; i < n; i += LANES) {
		__m256i two = interleave(load128(longer + i + 1),
					 load128(longer + i + 2));
		__m256i one = interleave(load128(longer + i), zero);

		store256(sums + i,
			 _mm256_add_epi32(_mm256_madd_epi16(two, newer),
					  _mm256_madd_epi16(one, oldest)));
	}
	m->x2 = longer[n];
	m->x1 = longer[n + 1];
}

/* The part of the output so far in s. */
static inline int32_t weigh_output(const struct coefficients *c, int32_t y1,
				   int32_t y2)
{
	return add_wrapped((int32_t)((int64_t)c->a1 * y1 >> 16),
			   (int32_t)((int64_t)c->a2 * y2 >> 16));
}

static inline void keep_output(struct memory *m, int32_t y1, int32_t y2)
{
	m->y1_upper = upper(y1);
	m->y1_lower = lower(y1);
	m->y2_upper = upper(y2);
	m->y2_lower = lower(y2);
}

static void filter_encoder(struct memory *m, const int32_t input[], int n,
			   int16_t out[])
{
	int32_t y1 = join(m->y1_upper, m->y1_lower);
	int32_t y2 = join(m->y2_upper, m->y2_lower);

	for (int i = 0; i < n; i++) {
		int32_t s = add_wrapped(input[i],
					weigh_output(&before_encoder, y1, y2));

		y2 = y1;
		y1 = (int32_t)((uint32_t)s << 4);
		out[i] = (int16_t)(((int64_t)s + 0x800) >> 12);
	}
	keep_output(m, y1, y2);
}

static void filter_decoder(struct memory *m, const int32_t input[], int n,
			   int16_t out[], int32_t *overflow)
{
	int32_t y1 = join(m->y1_upper, m->y1_lower);
	int32_t y2 = join(m->y2_upper, m->y2_lower);

	for (int i = 0; i < n; i++) {
		int32_t s = add_wrapped(input[i],
					weigh_output(&after_decoder, y1, y2));
		int32_t doubled;

		y2 = y1;
		y1 = shift_limited(s, 3);
		doubled = shift_limited(y1, 1);
		if (doubled > INT32_MAX - 0x8000) {
			*overflow = 1;
			out[i] = INT16_MAX;
		} else {
			out[i] = (int16_t)((doubled + 0x8000) >> 16);
		}
	}
	keep_output(m, y1, y2);
}

static bool is_valid_high_pass(int n)
{
	return cr_kernels_fast && n > 0 && n <= N_MAX && n % LANES == 0;
}

void Pre_Process(void *state, int16_t signal[], int16_t n)
{
	int32_t input[N_MAX];
	struct memory *m = state;

	if (!is_valid_high_pass(n)) {
		stock_Pre_Process(state, signal, n);
		return;
	}
	weigh_input(&before_encoder, m, signal, n, input);
	filter_encoder(m, input, n, signal);
}

void Post_Process(void *state, int16_t signal[], int16_t n, int32_t *overflow)
{
	int32_t input[N_MAX];
	struct memory *m = state;

	if (!is_valid_high_pass(n)) {
		stock_Post_Process(state, signal, n, overflow);
		return;
	}
	weigh_input(&after_decoder, m, signal, n, input);
	filter_decoder(m, input, n, signal, overflow);
}
