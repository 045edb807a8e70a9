/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pitch_ol: the open-loop pitch search of half a frame, or a frame.
 *
 * The signal s is scaled up by 3 bits if its energy is small, down by 3 if it
 * does not fit. There are three ranges of lags: from four times the lowest lag
 * up, from twice, and from the lowest, searched in this order. The best lag of
 * a range is that with the largest correlation, the lowest of equals,
 *
 *	c(lag) = 2 sum of s(n) s(n - lag)			(comp_corr)
 *
 * and these lags are compared by
 *
 *	m = c(lag) / sqrt(2 sum of s(n - lag)^2).
 *
 * One with shorter lags wins if its m is more than 0.85 of the best so far. m
 * is a product of halves (arith.h) with Inv_sqrt, which is not negative and
 * below 2^30: it cannot overflow. Sums are modulo 2^32.
 *
 * With DTX, the voice activity detector is notified of tones; and, once a
 *frame, of the largest correlation after high frequencies were raised (hp_max).
 *
 * Valid: 80 and 160 samples, lags from 18 to 143. Else stock_Pitch_ol.
 */
#include "codecs/kernels/amrnb.h"
#include "codecs/kernels/amrnb/arith.h"
#include "codecs/kernels/amrnb/inv_sqrt.h"
#include "codecs/kernels/amrnb/open_loop.h"

enum {
	LAG_MIN = 18,
	RANGE_MIN = 8,	   /* lags of the range that is the smallest */
	THRESHOLD = 27853, /* 0.85 in Q15 */
	MODE_12_2 = 7,
};

/* t >> 1, or << if negative, in 16 bits, limited. */
static inline int16_t limit_half(int32_t t)
{
	if (t > 0xffff)
		return INT16_MAX;
	return t < -0x10000 ? INT16_MIN : (int16_t)(t >> 1);
}

/* Rescale a maximum to the signal's own scale (12.2 kbit/s). */
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

/* Figures that only the voice activity detector needs. */
struct detector {
	void *state; /* NULL without DTX */
	int32_t *overflow;
};

AVX2 static struct peak search_range(const struct open_loop *s, int first,
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
AVX2 static int find_lag_pitch_ol(const struct open_loop *s, int lag_min,
				  int lag_max, bool own_scale,
				  const struct detector *vad)
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
	struct open_loop s = { .n = n };
	int16_t high;
	int lag;

	if (!cr_kernels_fast ||
	    (n != OPEN_LOOP_MAX && n != OPEN_LOOP_MAX / 2) ||
	    lag_min < LAG_MIN || lag_max > OPEN_LOOP_LAG_MAX ||
	    lag_max - 4 * lag_min < RANGE_MIN)
		return stock_Pitch_ol(vad_state, mode, signal, lag_min, lag_max,
				      n, half, dtx, overflow);
	if (dtx)
		vad_tone_detection_update(vad_state, mode <= 1, overflow);
	open_loop_load_signal(&s, signal, lag_max);
	s.corr_at = s.corr + lag_max;
	comp_corr(s.signal, n, lag_max, lag_min, s.corr_at);
	lag = find_lag_pitch_ol(&s, lag_min, lag_max, mode == MODE_12_2, &vad);
	if (dtx && half == 1) {
		hp_max(s.corr_at, s.signal, n, lag_max, lag_min, &high,
		       overflow);
		vad_complex_detection_update(vad_state, high);
	}
	return (int16_t)lag;
}
