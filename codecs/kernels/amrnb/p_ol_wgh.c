/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pitch_ol_wgh: the open-loop pitch search of 10.2 kbit/s, of half a frame.
 *
 * The signal s is scaled as for Pitch_ol. The best lag is that with the largest
 * correlation c (comp_corr) once that is weighted, the lowest lag of equals. A
 * first weight prefers short lags; a second one, as long as it counts, those
 * near an earlier lag. Each w gives, with c / 2 in 31 bits,
 *
 *	c'(lag) = 2 (c(lag) / 2 w(lag) >> 15)
 *
 * and the products fit, as weights are positive. The best lag is of a voice if
 *
 *	t0 = 2 sum of s(n) s(n - lag),	t1 = 2 sum of s(n - lag)^2,
 *	t0 - 0.4 t1 > 0, as far as 16 bits can tell.
 *
 * Then the earlier lag becomes the median of the last five, and the second
 * weight counts in full. Else it becomes this lag, and the weight fades until
 * it no longer counts.
 *
 * Valid: 80 samples, lags from 20 to 143, energies that fit once the signal is
 * scaled. If they did not fit before, the library must see that, too: its sum
 * of squares misses some overflows (mac() in basic_ops.h). Else
 * stock_Pitch_ol_wgh.
 */
#include "codecs/kernels/amrnb.h"
#include "codecs/kernels/amrnb/arith.h"
#include "codecs/kernels/amrnb/basic_ops.h"
#include "codecs/kernels/amrnb/open_loop.h"

enum {
	N = 80,
	LAG_MIN = 20,
	LAG_MAX = OPEN_LOOP_LAG_MAX,
	NLAGS = LAG_MAX - LAG_MIN + 1,
	LANES = 8,
	NOLD = 5,	/* lags that are remembered */
	NEAR = 123,	/* place of the weight of the lag before */
	SHORTEST = 250, /* of the weight of LAG_MAX; shorter lags before it */
	VOICED = 13107, /* 0.4 in Q15 */
	FADE = 29491,	/* 0.9 */
	FADED = 9830,	/* 0.3 */
};

/* The library's weights. */
extern const int16_t corrweight[SHORTEST + 1];

/* The library's state. */
struct memory {
	int16_t lag;	  /* what is near */
	int16_t nearness; /* how much that counts */
	int16_t weigh;	  /* whether it still does */
};

/* Eight weights, downwards from @last. */
AVX2_INLINE __m256i load_down(const int16_t *last)
{
	const __m128i down = _mm_setr_epi8(14, 15, 12, 13, 10, 11, 8, 9, 6, 7,
					   4, 5, 2, 3, 0, 1);

	return _mm256_cvtepi16_epi32(
		_mm_shuffle_epi8(load128(last - LANES + 1), down));
}

/* 2 (c / 2 w >> 15), by halves. */
AVX2_INLINE __m256i p_ol_wgh_weigh(__m256i c, __m256i w)
{
	__m256i high = _mm256_srai_epi32(c, 16);
	__m256i low = _mm256_and_si256(_mm256_srli_epi32(c, 1),
				       _mm256_set1_epi32(0x7fff));
	__m256i product = _mm256_add_epi32(
		_mm256_mullo_epi32(high, w),
		_mm256_srai_epi32(_mm256_mullo_epi32(low, w), 15));

	return _mm256_slli_epi32(product, 1);
}

/* Weighs all correlations, where they are read again: the last eight overlap
 * those before. */
AVX2 static void weigh_all(const struct open_loop *s, const struct memory *m,
			   struct open_loop *weighted)
{
	const int16_t *near = corrweight + NEAR + LAG_MAX - m->lag;
	const int16_t *shorter = corrweight + SHORTEST;
	const int32_t *from = s->corr_at - LAG_MAX;
	int32_t *to = weighted->corr;

	weighted->corr_at = to + LAG_MAX;
	for (int k = 0; k < NLAGS; k += LANES) {
		int i = k < NLAGS - LANES ? k : NLAGS - LANES;
		__m256i c = p_ol_wgh_weigh(load256(from + i),
					   load_down(shorter - i));

		if (m->weigh > 0)
			c = p_ol_wgh_weigh(c, load_down(near - i));
		store256(to + i, c);
	}
}

AVX2 static int32_t correlate_p_ol_wgh(const int16_t a[], const int16_t b[])
{
	__m256i sum = _mm256_setzero_si256();

	for (int i = 0; i < N; i += 16)
		sum = _mm256_add_epi32(
			sum, _mm256_madd_epi16(load256(a + i), load256(b + i)));
	return (int32_t)(2 * (uint32_t)sum_lanes256(sum));
}

/* Within 32 bits, or limited, which is noted. */
static int32_t limit_p_ol_wgh(int64_t v, int32_t *overflow)
{
	if (v >= INT32_MIN && v <= INT32_MAX)
		return (int32_t)v;
	*overflow = 1;
	return v < 0 ? INT32_MIN : INT32_MAX;
}

static int16_t voicing(int32_t t0, int32_t t1, int32_t *overflow)
{
	int64_t part = 2 * (int64_t)round_upper(t1, overflow) * VOICED;

	return round_upper(limit_p_ol_wgh(t0 - part, overflow), overflow);
}

static int16_t median(const int16_t v[NOLD])
{
	int16_t sorted[NOLD];

	for (int i = 0; i < NOLD; i++) {
		int at = i;

		for (; at > 0 && sorted[at - 1] > v[i]; at--)
			sorted[at] = sorted[at - 1];
		sorted[at] = v[i];
	}
	return sorted[NOLD / 2];
}

static void remember_p_ol_wgh(struct memory *m, int16_t lag, bool voiced,
			      int16_t old_lags[NOLD], int32_t *overflow)
{
	if (voiced) {
		memmove(old_lags + 1, old_lags, (NOLD - 1) * sizeof(*old_lags));
		old_lags[0] = lag;
		m->lag = median(old_lags);
		m->nearness = INT16_MAX;
	} else {
		m->lag = lag;
		m->nearness = (int16_t)(m->nearness * FADE >> 15);
	}
	if (m->nearness < INT16_MIN + FADED)
		*overflow = 1;
	m->weigh = m->nearness >= FADED;
}

static bool is_valid_p_ol_wgh(const struct memory *m, int lag_min, int lag_max,
			      int n)
{
	return cr_kernels_fast && n == N && lag_min == LAG_MIN &&
	       lag_max == LAG_MAX && m->lag >= LAG_MIN && m->lag <= LAG_MAX;
}

/* Does the library miss that the energy overflows, and scale up? */
static bool misses_overflow(const int16_t *signal)
{
	int32_t clipped = 0;

	return mac_squares(0, signal - LAG_MAX, LAG_MAX + N, &clipped) !=
	       INT32_MAX;
}

/* Finds the lag; false if it is the library's. */
AVX2 static bool find_lag_p_ol_wgh(struct open_loop *s, const struct memory *m,
				   const int16_t *signal, int *lag)
{
	const uint64_t fits = UINT64_C(1) << 30;
	struct open_loop weighted;
	int32_t max;

	open_loop_load_signal(s, signal, LAG_MAX);
	if (s->scale > 0 && misses_overflow(signal))
		return false;
	s->corr_at = s->corr + LAG_MAX;
	comp_corr(s->signal, N, LAG_MAX, LAG_MIN, s->corr_at);
	weigh_all(s, m, &weighted);
	*lag = find_peak(&weighted, LAG_MAX, LAG_MIN, &max);
	return half_energy(s->signal, N) < fits &&
	       half_energy(s->signal - *lag, N) < fits;
}

int16_t Pitch_ol_wgh(void *state, void *vad, int16_t signal[], int16_t lag_min,
		     int16_t lag_max, int16_t n, int16_t old_lags[],
		     int16_t voiced[], int16_t half, int dtx, int32_t *overflow)
{
	struct open_loop s = { .n = N };
	struct memory *m = state;
	int32_t t0, t1;
	int16_t high;
	int lag;

	if (!is_valid_p_ol_wgh(m, lag_min, lag_max, n) ||
	    !find_lag_p_ol_wgh(&s, m, signal, &lag))
		return stock_Pitch_ol_wgh(state, vad, signal, lag_min, lag_max,
					  n, old_lags, voiced, half, dtx,
					  overflow);
	if (s.scale > 0)
		*overflow = 1;
	t0 = correlate_p_ol_wgh(s.signal, s.signal - lag);
	t1 = correlate_p_ol_wgh(s.signal - lag, s.signal - lag);
	if (dtx) {
		vad_tone_detection_update(vad, 0, overflow);
		vad_tone_detection(vad, t0, t1, overflow);
	}
	voiced[half] = voicing(t0, t1, overflow);
	remember_p_ol_wgh(m, (int16_t)lag, voiced[half] > 0, old_lags,
			  overflow);
	if (dtx && half == 1) {
		hp_max(s.corr_at, s.signal, n, lag_max, lag_min, &high,
		       overflow);
		vad_complex_detection_update(vad, high);
	}
	return (int16_t)lag;
}
