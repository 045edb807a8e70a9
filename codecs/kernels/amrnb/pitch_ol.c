/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pitch_ol: the open-loop pitch search of half a frame, or a frame.
 *
 * The signal s is scaled up or down by 3 bits if its energy is small or does
 * not fit. Of three ranges of lags (four to two times the lowest, and so on,
 *the longest first) each has a best one, the lowest of equals:
 *
 *	c(lag) = 2 sum of s(n) s(n - lag)		comp_corr
 *	m = c(lag) / sqrt(2 sum of s(n - lag)^2)
 *
 * A range with shorter lags wins if its m is more than 0.85 of that before. m
 * is a product of halves (arith.h) with Inv_sqrt, which is not negative and
 * below 2^30: it cannot overflow. Sums are modulo 2^32.
 *
 * With DTX, the voice activity detector is told of tones, and once a frame of
 * the correlation of the signal with high frequencies raised, hp_max.
 *
 * Valid: 80 and 160 samples, lags from 18 to 143. Else stock_Pitch_ol.
 */
#include "codecs/kernels/amrnb.h"
#include "codecs/kernels/amrnb/arith.h"
#include "codecs/kernels/amrnb/inv_sqrt.h"

enum {
	N_MAX = 160,
	LAG_MAX = 143,
	LAG_MIN = 18,
	SHIFT = 3,
	SMALL = 0xfffff,   /* energy up to which the signal is scaled up */
	THRESHOLD = 27853, /* 0.85 in Q15 */
	MODE_12_2 = 7,
	LANES16 = 16,
	LANES = 8,
};

/* A search: of n samples, the past before them; their correlations. */
struct search {
	int16_t past[LAG_MAX + N_MAX];
	int16_t *signal;
	int n;
	int scale; /* bits that it was shifted right */
	int32_t corr[LAG_MAX + 1 + LANES];
	int32_t *corr_at; /* of lag 0 */
};

/* Half the energy of @n numbers, exact. */
AVX2_INLINE uint64_t half_energy(const int16_t *p, int n)
{
	const __m256i low = _mm256_set1_epi64x(0xffffffff);
	__m256i sums = _mm256_setzero_si256();
	uint64_t part[4], rest = 0;
	int i = 0;

	for (; i + LANES16 <= n; i += LANES16) {
		__m256i v = load256(p + i);
		__m256i square = _mm256_madd_epi16(v, v);

		sums = _mm256_add_epi64(sums, _mm256_and_si256(square, low));
		sums = _mm256_add_epi64(sums, _mm256_srli_epi64(square, 32));
	}
	for (; i < n; i++)
		rest += (uint64_t)(p[i] * p[i]);
	store256(part, sums);
	return part[0] + part[1] + part[2] + part[3] + rest;
}

/* Copies the signal, with @lag_max samples of its past, and scales it. */
AVX2 static void load_signal(struct search *s, const int16_t *signal,
			     int lag_max)
{
	int all = lag_max + s->n;
	uint64_t half = half_energy(signal - lag_max, all);

	s->signal = s->past + lag_max;
	memcpy(s->past, signal - lag_max, (size_t)all * sizeof(*signal));
	if (half >= UINT64_C(1) << 30) {
		s->scale = SHIFT;
		for (int i = 0; i < all; i++)
			s->past[i] = (int16_t)(s->past[i] >> SHIFT);
	} else if (2 * half <= SMALL) {
		s->scale = -SHIFT;
		for (int i = 0; i < all; i++)
			s->past[i] = (int16_t)(s->past[i] * (1 << SHIFT));
	}
}

/* The lowest lag of the highest correlation of lags @last to @first, eight at
 * least; the highest to @max. */
AVX2 static int find_peak(const struct search *s, int first, int last,
			  int32_t *max)
{
	const int32_t *begin = s->corr_at - first;
	const int32_t *end = s->corr_at - last + 1;
	__m256i peak = load256(end - LANES);
	int32_t lanes[LANES];
	const int32_t *p;

	for (p = begin; p + LANES < end; p += LANES)
		peak = _mm256_max_epi32(peak, load256(p));
	store256(lanes, peak);
	*max = lanes[0];
	for (int i = 1; i < LANES; i++)
		*max = lanes[i] > *max ? lanes[i] : *max;
	for (p = end - 1; *p != *max; p--)
		;
	return (int)(s->corr_at - p);
}

/* t >> 1, or << if negative, in 16 bits, limited. */
static inline int16_t limit_half(int32_t t)
{
	if (t > 0xffff)
		return INT16_MAX;
	return t < -0x10000 ? INT16_MIN : (int16_t)(t >> 1);
}

/* What 12.2 kbit/s makes of a maximum: in the signal's own scale. */
static inline int16_t rescale(int32_t t, int scale)
{
	int32_t up;

	if (scale >= 0)
		return limit_half(t >> scale);
	up = (int32_t)((uint32_t)t << -scale);
	if (up >> -scale != t)
		return t < 0 ? INT16_MIN : INT16_MAX;
	return limit_half(up);
}

struct peak {
	int lag;
	int16_t value;
};

/* What only the voice activity detector wants to know. */
struct detector {
	void *state; /* NULL without DTX */
	int32_t *overflow;
};

AVX2 static struct peak search_range(const struct search *s, int first,
				     int last, bool own_scale,
				     const struct detector *vad)
{
	struct peak p;
	int32_t max, root, product;
	uint32_t energy;

	p.lag = find_peak(s, first, last, &max);
	energy = 2 * (uint32_t)half_energy(s->signal - p.lag, s->n);
	if (vad->state)
		vad_tone_detection(vad->state, max, (int32_t)energy,
				   vad->overflow);
	root = inverse_root((int32_t)energy);
	if (own_scale)
		root *= 2;
	product = upper(max) * upper(root);
	product += upper(max) * lower(root) >> 15;
	product += lower(max) * upper(root) >> 15;
	product *= 2;
	p.value = own_scale ? rescale(product, s->scale) : (int16_t)product;
	return p;
}

/* The best lag, from four times @lag_min up, then down to that in halves. */
AVX2 static int find_lag(const struct search *s, int lag_min, int lag_max,
			 bool own_scale, const struct detector *vad)
{
	struct peak best, other;

	best = search_range(s, lag_max, 4 * lag_min, own_scale, vad);
	for (int i = 2; i > 0; i--) {
		other = search_range(s, 2 * i * lag_min - 1, i * lag_min,
				     own_scale, vad);
		if (other.value > (int16_t)(best.value * THRESHOLD >> 15))
			best = other;
	}
	return best.lag;
}

int16_t Pitch_ol(void *vad_state, int mode, int16_t signal[], int16_t lag_min,
		 int16_t lag_max, int16_t n, int16_t half, int dtx,
		 int32_t *overflow)
{
	const struct detector vad = { dtx ? vad_state : NULL, overflow };
	struct search s = { .n = n };
	int16_t high;
	int lag;

	if (!cr_kernels_fast || (n != N_MAX && n != N_MAX / 2) ||
	    lag_min < LAG_MIN || lag_max > LAG_MAX ||
	    lag_max - 4 * lag_min < LANES)
		return stock_Pitch_ol(vad_state, mode, signal, lag_min, lag_max,
				      n, half, dtx, overflow);
	if (dtx)
		vad_tone_detection_update(vad_state, mode <= 1, overflow);
	load_signal(&s, signal, lag_max);
	s.corr_at = s.corr + lag_max;
	comp_corr(s.signal, n, lag_max, lag_min, s.corr_at);
	lag = find_lag(&s, lag_min, lag_max, mode == MODE_12_2, &vad);
	if (dtx && half == 1) {
		hp_max(s.corr_at, s.signal, n, lag_max, lag_min, &high,
		       overflow);
		vad_complex_detection_update(vad_state, high);
	}
	return (int16_t)lag;
}
