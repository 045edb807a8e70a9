/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pitch_fr4: the lag of the adaptive codebook, to a quarter of a sample.
 *
 * For every lag t around the range, with e the past excitation at that lag
 * through the impulse response h, and x the target,
 *
 *     c(t) = <x, e> / sqrt(<e, e>),
 *
 * the first e by voAWB_Convolve, each further one from the one before:
 *
 *     e[i] = e[i - 1] + (exc[-t] * h[i] >> 15),      e[-1] = 0
 *
 * in words that wrap. Then the whole lag with the greatest c, and the fraction
 * with the greatest interpolated one. Sums wrap at 32 bits; nothing else is
 * reordered: exact for all inputs. Ranges that would overflow the library's
 * buffer are left to it.
 */
#include "codecs/kernels/amrwb.h"
#include "codecs/kernels/amrwb/basic_ops.h"

enum {
	SUBFRAME = 64,
	BLOCK = 16,
	BLOCKS = SUBFRAME / BLOCK,
	MARGIN = 4,	/* lags before and after the range, to interpolate */
	MOST_LAGS = 40, /* the library's buffer */
	SHORTEST = 34,	/* lag; where a range that begins there is coarse */
	STEPS = 4,	/* of a sample */
	TAPS = 8,
};

/* 64 samples. */
struct signal {
	__m256i v[BLOCKS];
};

AVX2_INLINE struct signal pitch_fr4_load_signal(const int16_t x[])
{
	struct signal s;

	for (int i = 0; i < BLOCKS; i++)
		s.v[i] = load256(x + BLOCK * i);
	return s;
}

/* <a, b> in 8 parts. */
AVX2_INLINE __m256i pitch_fr4_multiply(const struct signal *a,
				       const struct signal *b)
{
	__m256i s = _mm256_setzero_si256();

	for (int i = 0; i < BLOCKS; i++)
		s = _mm256_add_epi32(s, _mm256_madd_epi16(a->v[i], b->v[i]));
	return s;
}

/* All samples one further, the last one of @before first. */
AVX2_INLINE __m256i delay(__m256i v, __m256i before)
{
	__m256i across = _mm256_permute2x128_si256(before, v, 0x21);

	return _mm256_alignr_epi8(v, across, 14);
}

/* The next lag's e; @sample is what comes in at its head. */
AVX2_INLINE void pitch_fr4_next_lag(struct signal *e, const struct signal *h,
				    int16_t sample)
{
	__m256i in = _mm256_set1_epi16(sample);
	__m256i before = _mm256_setzero_si256();

	for (int i = 0; i < BLOCKS; i++) {
		__m256i product = multiply_q15(in, h->v[i]);
		__m256i delayed = delay(e->v[i], before);

		before = e->v[i];
		e->v[i] = _mm256_add_epi16(delayed, product);
	}
}

/* <x, e> / sqrt(<e, e>), scaled by 2^@scale. The library's floating point: a
 * fraction and an exponent each; its shifts take the count modulo 32. */
AVX2_INLINE int16_t pitch_fr4_correlation(__m256i with_target,
					  __m256i with_itself, int scale)
{
	__m256i both = _mm256_hadd_epi32(with_target, with_itself);
	__m128i sums = _mm_add_epi32(_mm256_castsi256_si128(both),
				     _mm256_extracti128_si256(both, 1));
	int32_t product, inverse, c;
	int16_t exponent;
	int shift;

	sums = _mm_hadd_epi32(sums, sums);
	product = add_wrapped(shift_left(_mm_cvtsi128_si32(sums), 1), 1);
	inverse = add_wrapped(shift_left(_mm_extract_epi32(sums, 1), 1), 1);
	shift = wb_norm_l(product);
	product = shift_left(product, shift) >> 16;
	exponent = (int16_t)(30 - wb_norm_l(inverse));
	inverse = shift_left(inverse, wb_norm_l(inverse));
	Isqrt_n(&inverse, &exponent);
	shift = 30 - shift + exponent + scale;
	c = shift_left(product * (inverse >> 16), 1);
	c = shift < 0 ? c >> (-shift & 31) : shift_left(c, shift & 31);
	return (int16_t)wb_round_wrapped(c);
}

/* c(t) for t = @first.. @last into @c. */
AVX2 static void correlate_pitch_fr4(int16_t exc[], int16_t x[], int16_t h[],
				     const int range[2], int16_t c[])
{
	int16_t filtered[SUBFRAME];
	struct signal target = pitch_fr4_load_signal(x),
		      response = pitch_fr4_load_signal(h), e;
	int32_t energy = sum_lanes256(pitch_fr4_multiply(&target, &target));
	int scale;

	energy = add_wrapped(shift_left(energy, 1), 1);
	scale = -((32 - wb_norm_l(energy)) >> 1);
	voAWB_Convolve(exc - range[0], h, filtered, SUBFRAME);
	e = pitch_fr4_load_signal(filtered);
	for (int t = range[0]; t <= range[1]; t++) {
		c[t - range[0]] = pitch_fr4_correlation(
			pitch_fr4_multiply(&target, &e),
			pitch_fr4_multiply(&e, &e), scale);
		if (t < range[1])
			pitch_fr4_next_lag(&e, &response, exc[-t - 1]);
	}
}

/* c at @at + fraction / 4, -4 < fraction < 4; clipped. */
static int16_t interpolate_pitch_fr4(const int16_t *at, int fraction)
{
	uint32_t sum = 0;

	if (fraction < 0) {
		fraction += STEPS;
		at--;
	}
	for (int i = 0; i < TAPS; i++)
		sum += (uint32_t)(at[i - 3] * stock_inter4_1[3 - fraction][i]);
	return round_q14((int32_t)sum);
}

/* The best fraction around the lag of @c, from @fraction on. */
static int best_fraction(const int16_t *c, int fraction, int step)
{
	int16_t most = interpolate_pitch_fr4(c, fraction);

	for (int i = fraction + step; i < STEPS; i += step) {
		int16_t it = interpolate_pitch_fr4(c, i);

		if (it > most) {
			most = it;
			fraction = i;
		}
	}
	return fraction;
}

/* Where fractions are coded: below @half in quarters, below @whole in halves.
 * In the other subframes all are in the first's way. */
struct resolution {
	bool first;
	int16_t half, whole;
};

/* The lag in @first.. @last, c[0] belonging to @first; and its fraction. */
static int16_t choose_lag(const int16_t *c, int16_t first, int16_t last,
			  struct resolution r, int16_t *fraction)
{
	int16_t lag = first;
	int step = 1, from;

	for (int16_t t = (int16_t)(first + 1); t <= last; t++)
		if (c[t - first] >= c[lag - first])
			lag = t;
	if (r.first && lag >= r.whole) {
		*fraction = 0;
		return lag;
	}
	if (r.half == SHORTEST || (r.first && lag >= r.half))
		step = 2;
	from = lag == first ? 0 : step - STEPS;
	from = best_fraction(c + (lag - first), from, step);
	if (from < 0) {
		from += STEPS;
		lag--;
	}
	*fraction = (int16_t)from;
	return lag;
}

int16_t Pitch_fr4(int16_t exc[], int16_t x[], int16_t h[], int16_t first,
		  int16_t last, int16_t *fraction, int16_t subframe,
		  int16_t half, int16_t whole, int16_t n)
{
	const struct resolution r = { subframe == 0, half, whole };
	const int range[] = { first - MARGIN, last + MARGIN };
	int16_t c[MOST_LAGS];

	if (!cr_kernels_fast || first > last ||
	    range[1] - range[0] >= MOST_LAGS)
		return stock_Pitch_fr4(exc, x, h, first, last, fraction,
				       subframe, half, whole, n);
	correlate_pitch_fr4(exc, x, h, range, c);
	return choose_lag(c + MARGIN, first, last, r, fraction);
}
