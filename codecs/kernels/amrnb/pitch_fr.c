/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pitch_fr: the closed-loop pitch search of a subframe of 40 samples.
 *
 * For every lag k of a short range, the excitation k samples ago is filtered by
 * the impulse response h, and compared with the target x:
 *
 *	e(k)   = 40 samples, all >> 2 if the first would be too large
 *	c(k)   = (sum of e(k, n) x(n)) / sqrt(sum of e(k, n)^2)
 *
 * The next lag's e is this one's, moved by a sample, with the response to the
 * one new sample added: e(k + 1, n) = e(k, n - 1) + (exc(-k - 1) h(n) >> 12),
 * kept in three registers. The best lag is then refined to fractions, by a
 * filter on c.
 *
 * The sums are modulo 2^32, e is modulo 2^16. The quotient is a product of
 * halves (arith.h) with Inv_sqrt, which is below 2^30: it cannot overflow, and
 * its lower 16 bits are c, as stock.
 *
 * Valid: 40 samples, the 8 modes. Else stock_Pitch_fr.
 */
#include "codecs/kernels/amrnb.h"
#include "codecs/kernels/amrnb/arith.h"
#include "codecs/kernels/amrnb/inv_sqrt.h"

enum {
	N = 40,
	LANES = 16,
	PARTS = 3, /* vectors of N samples and 8 zeros */
	LAG_MAX = 143,
	LAGS_MAX = 40, /* of a range, with its margins; 28 are used */
	MARGIN = 4,    /* lags beside the range that the fractions look at */
	SIDE = 4,      /* taps of their filter, before and after */
	TOO_LARGE = 1 << 25,
	NMODES = 8,
};

/* How a mode searches. A range begins so many lags below the lag expected and
 * is so many wide. */
static const struct rules {
	int16_t max_frac_lag; /* no fractions above it, if sent whole */
	int16_t thirds;	      /* fractions of 1/3, else 1/6 */
	int16_t frac_first, frac_last;
	int16_t whole_below, whole_width; /* around the open-loop lag */
	int16_t delta_below, delta_width; /* around the last lag */
	int16_t lag_min;
} mode_rules[NMODES] = {
	{ 84, 1, -2, 2, 5, 10, 5, 9, 20 }, { 84, 1, -2, 2, 5, 10, 5, 9, 20 },
	{ 84, 1, -2, 2, 3, 6, 5, 9, 20 },  { 84, 1, -2, 2, 3, 6, 5, 9, 20 },
	{ 84, 1, -2, 2, 3, 6, 5, 9, 20 },  { 84, 1, -2, 2, 3, 6, 10, 19, 20 },
	{ 84, 1, -2, 2, 3, 6, 5, 9, 20 },  { 94, 0, -3, 3, 3, 6, 5, 9, 18 },
};

/* The library's interpolation filter: taps at i/6. */
extern const int16_t inter_6[];

struct range {
	int first, last;
};

/* 40 samples and 8 zeros. */
AVX2_INLINE void load_subframe(const int16_t x[N], __m256i v[PARTS])
{
	v[0] = load256(x);
	v[1] = load256(x + LANES);
	v[2] = _mm256_zextsi128_si256(load128(x + 2 * LANES));
}

/* @v moved up by a sample; the top one of @below comes in. */
AVX2_INLINE __m256i move_up(__m256i v, __m256i below)
{
	__m256i middle = _mm256_permute2x128_si256(below, v, 0x21);

	return _mm256_alignr_epi8(v, middle, 14);
}

/* The next lag's e. */
AVX2_INLINE void pitch_fr_next_lag(__m256i e[PARTS], const __m256i h[PARTS],
				   int16_t sample, int scale)
{
	const __m256i zero = _mm256_setzero_si256();
	__m256i factor = _mm256_set1_epi16(sample);

	for (int i = PARTS - 1; i >= 0; i--)
		e[i] = _mm256_add_epi16(
			move_up(e[i], i ? e[i - 1] : zero),
			multiply_shift256(h[i], factor, 12 + scale));
	e[0] = _mm256_insert_epi16(e[0], (int16_t)(sample >> scale), 0);
	e[2] = _mm256_blend_epi32(e[2], zero, 0xf0);
}

AVX2_INLINE __m256i pitch_fr_multiply(const __m256i a[PARTS],
				      const __m256i b[PARTS])
{
	__m256i sum = _mm256_madd_epi16(a[0], b[0]);

	sum = _mm256_add_epi32(sum, _mm256_madd_epi16(a[1], b[1]));
	return _mm256_add_epi32(sum, _mm256_madd_epi16(a[2], b[2]));
}

/* c / sqrt(energy / 2), of which @root is Inv_sqrt. */
static inline int16_t normalize(int32_t c, int32_t root)
{
	int16_t c_upper = (int16_t)(c >> 15);
	int16_t c_lower = c & 0x7fff;
	int32_t product = upper(root) * c_upper;

	product += lower(root) * c_upper >> 15;
	product += upper(root) * c_lower >> 15;
	return (int16_t)(2 * (uint32_t)product);
}

/* c(k) of @range, which begins at corr[0]. */
AVX2 static void correlate_pitch_fr(const int16_t exc[], const int16_t target[],
				    int16_t response[],
				    const struct range *range,
				    int16_t corr[LAGS_MAX])
{
	int16_t first[N];
	__m256i e[PARTS], x[PARTS], h[PARTS];
	int scale = 0;

	Convolve((int16_t *)exc - range->first, response, first, N);
	load_subframe(first, e);
	load_subframe(target, x);
	load_subframe(response, h);
	if (sum_lanes256(pitch_fr_multiply(e, e)) > TOO_LARGE) {
		scale = 2;
		for (int i = 0; i < PARTS; i++)
			e[i] = _mm256_srai_epi16(e[i], scale);
	}
	for (int lag = range->first;; lag++) {
		int32_t c = sum_lanes256(pitch_fr_multiply(e, x));
		int32_t energy = sum_lanes256(pitch_fr_multiply(e, e));
		int32_t root = inverse_root((int32_t)(2 * (uint32_t)energy));

		*corr++ = normalize(c, root);
		if (lag == range->last)
			break;
		pitch_fr_next_lag(e, h, exc[-lag - 1], scale);
	}
}

/* c between lags, at @corr[0] plus @sixths / 6: Interpol_3or6. */
static inline int16_t interpolate_pitch_fr(const int16_t *corr, int sixths)
{
	int32_t sum = 0x4000;

	if (sixths < 0) {
		sixths += 6;
		corr--;
	}
	for (int i = 0; i < SIDE; i++) {
		sum += corr[-i] * inter_6[sixths + 6 * i];
		sum += corr[1 + i] * inter_6[6 - sixths + 6 * i];
	}
	return (int16_t)(sum >> 15);
}

/* A lag, and its fraction of a third or a sixth. */
struct pitch {
	int16_t lag, frac;
};

/* The best fraction from p->frac to @last, as a fraction that can be sent. */
static void refine_pitch_fr(struct pitch *p, int last, const int16_t *corr,
			    const struct rules *rules)
{
	int unit = rules->thirds ? 2 : 1;
	int best = p->frac;
	int16_t max = interpolate_pitch_fr(corr, unit * best);

	for (int frac = p->frac + 1; frac <= last; frac++) {
		int16_t c = interpolate_pitch_fr(corr, unit * frac);

		if (c > max) {
			max = c;
			best = frac;
		}
	}
	if (rules->thirds && best == 2) {
		best = -1;
		p->lag++;
	} else if (best == rules->frac_first) {
		best = rules->thirds ? 1 : 3;
		p->lag--;
	}
	p->frac = (int16_t)best;
}

/* The lags to search: around lag @expected, within the bounds. */
static struct range range_of_pitch_fr(const struct rules *rules, int expected,
				      bool delta)
{
	int below = delta ? rules->delta_below : rules->whole_below;
	int width = delta ? rules->delta_width : rules->whole_width;
	struct range r = { .first = expected - below };

	if (r.first < rules->lag_min)
		r.first = rules->lag_min;
	r.last = r.first + width;
	if (r.last > LAG_MAX) {
		r.last = LAG_MAX;
		r.first = LAG_MAX - width;
	}
	return r;
}

/* The last of the best whole lags. */
static int best_lag_pitch_fr(const struct range *r, const int16_t *corr)
{
	int best = r->first;

	for (int lag = r->first + 1; lag <= r->last; lag++)
		if (corr[lag - r->first] >= corr[best - r->first])
			best = lag;
	return best;
}

/* The fractions of the four lowest modes, where a lag is sent as a step from
 * the last one, @before: only near that lag there are any, and not beyond it
 * on both sides. */
static void refine_near(struct pitch *p, int before, const struct range *r,
			const int16_t *corr, const struct rules *rules)
{
	if (before - r->first > 5)
		before = r->first + 5;
	if (r->last - before > 4)
		before = r->last - 4;
	if (p->lag == before || p->lag == before - 1) {
		refine_pitch_fr(p, rules->frac_last, corr, rules);
	} else if (p->lag == before - 2) {
		p->frac = 0;
		refine_pitch_fr(p, rules->frac_last, corr, rules);
	} else if (p->lag == before + 1) {
		refine_pitch_fr(p, 0, corr, rules);
	} else {
		p->frac = 0;
	}
}

/* The library's memory of a search. */
struct search {
	int16_t lag_before;
};

int16_t Pitch_fr(void *state, int mode, int16_t open_loop[], int16_t exc[],
		 int16_t target[], int16_t h[], int16_t n, int16_t at,
		 int16_t *frac, int16_t *thirds, int16_t *index,
		 int32_t *overflow)
{
	struct search *s = state;
	const struct rules *rules;
	bool four_bits, delta;
	struct range r, wide;
	int16_t corr[LAGS_MAX];
	struct pitch p;

	if (!cr_kernels_fast || n != N || mode < 0 || mode >= NMODES)
		return stock_Pitch_fr(state, mode, open_loop, exc, target, h, n,
				      at, frac, thirds, index, overflow);
	rules = &mode_rules[mode];
	four_bits = mode <= 3;
	delta = (at != 0 && at != 2 * N) || (mode <= 1 && at == 2 * N);
	r = range_of_pitch_fr(rules, delta ? s->lag_before : open_loop[at != 0],
			      delta);
	wide.first = r.first - MARGIN;
	wide.last = r.last + MARGIN;
	correlate_pitch_fr(exc, target, h, &wide, corr);
	p.lag = (int16_t)best_lag_pitch_fr(&r, corr + MARGIN);
	p.frac = rules->frac_first;
	if (!delta && p.lag > rules->max_frac_lag)
		p.frac = 0;
	else if (delta && four_bits)
		refine_near(&p, s->lag_before, &r, corr + (p.lag - wide.first),
			    rules);
	else
		refine_pitch_fr(&p, rules->frac_last,
				corr + (p.lag - wide.first), rules);
	*index = rules->thirds ? Enc_lag3(p.lag, p.frac, s->lag_before,
					  (int16_t)r.first, (int16_t)r.last,
					  delta, four_bits, overflow)
			       : Enc_lag6(p.lag, p.frac, (int16_t)r.first,
					  delta, overflow);
	s->lag_before = p.lag;
	*frac = p.frac;
	*thirds = rules->thirds;
	return p.lag;
}
