/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pitch_med_ol: the open-loop lag of half a frame, or of all, of weighted
 * speech at half its rate.
 *
 *     r(t) = 2 * sum over j of s[j] * s[j - t],      t = 115..18,
 *
 * wrapped at 32 bits, times a weight that prefers short lags and, where the
 * speech is voiced, another that prefers those near the last ones' median.
 * The lag is the shortest with the greatest r. Then the gain at that lag, after
 * a high-pass filter (Hp_wsp of the library):
 *
 *     g = <x, y> / sqrt(<x, x> <y, y>),     y[j] = x[j - t].
 *
 * Sums that wrap do not depend on their order, and the weights are those of
 * the library: exact for all signals. Lengths that are no multiple of 16 or too
 * long for the library's buffer are left to it, and medians, of voiced speech,
 * whose weights are not all in the table; an encoder's are lags, 18 to 115.
 */
#include "codecs/kernels/amrwb.h"
#include "codecs/kernels/amrwb/basic_ops.h"

enum {
	LONGEST = 115,
	SHORTEST = 18,
	LAGS = LONGEST - SHORTEST + 1,
	GROUP = 8, /* lags at once */
	ROOM = (LAGS + GROUP - 1) / GROUP * GROUP,
	BLOCK = 16,
	MOST_SAMPLES = 128,
};

/* Weights, from the lag of 115 down, are read backwards from these on. */
enum {
	WEIGHT = 198,
	NEAR_WEIGHT = 213, /* less the median */
	/* that have all their weights in the table, 0 to WEIGHT */
	MEDIAN_MIN = NEAR_WEIGHT - WEIGHT,
	MEDIAN_MAX = NEAR_WEIGHT - (LAGS - 1),
};

/* Where the encoder's state has what this function uses. */
enum {
	MEDIAN_LAG = 0x4e6,
	GAIN = 0x4e8,
	VOICED = 0x4ec,
	HIGH_PASS = 0x4f8, /* memory of the filter */
	FILTERED = 0x50a,  /* 115 samples, then these */
};

static int16_t *field(void *state, size_t offset)
{
	return (void *)((char *)state + offset);
}

/* The sums of 8 vectors. */
AVX2_INLINE __m256i sum_each(const __m256i s[GROUP])
{
	__m256i a = _mm256_hadd_epi32(_mm256_hadd_epi32(s[0], s[1]),
				      _mm256_hadd_epi32(s[2], s[3]));
	__m256i b = _mm256_hadd_epi32(_mm256_hadd_epi32(s[4], s[5]),
				      _mm256_hadd_epi32(s[6], s[7]));

	return _mm256_add_epi32(_mm256_permute2x128_si256(a, b, 0x20),
				_mm256_permute2x128_si256(a, b, 0x31));
}

/* r, from the longest lag to the shortest and a few beyond. */
AVX2 static void correlate_pitch_med_ol(const int16_t s[], int n,
					int32_t r[ROOM])
{
	for (int k = 0; k < ROOM; k += GROUP) {
		__m256i sum[GROUP];

		for (int i = 0; i < GROUP; i++)
			sum[i] = _mm256_setzero_si256();
		for (int j = 0; j < n; j += BLOCK) {
			const int16_t *past = s + j - LONGEST + k;
			__m256i now = load256(s + j);

			for (int i = 0; i < GROUP; i++) {
				__m256i t = _mm256_madd_epi16(
					now, load256(past + i));

				sum[i] = _mm256_add_epi32(sum[i], t);
			}
		}
		store256(r + k, _mm256_slli_epi32(sum_each(sum), 1));
	}
}

/* r times the weights from @w down, as the library's Mpy_32_16: the upper 16
 * bits and 15 more, each product for itself. */
AVX2 static void weight_pitch_med_ol(int32_t r[ROOM], const int16_t *w)
{
	const __m256i upper = _mm256_set1_epi32((int32_t)0xffff0000);
	int16_t weights[ROOM] = { 0 };

	for (int k = 0; k < LAGS; k++)
		weights[k] = w[-k];
	for (int k = 0; k < ROOM; k += GROUP) {
		__m128i one = load128(weights + k);
		__m256i by = interleave(one, one);
		__m256i v = load256(r + k);
		__m256i high = _mm256_and_si256(v, upper);
		__m256i low = _mm256_srli_epi32(_mm256_slli_epi32(v, 16), 17);
		__m256i sum;

		high = _mm256_madd_epi16(high, by);
		low = _mm256_srai_epi32(_mm256_madd_epi16(low, by), 15);
		sum = _mm256_add_epi32(high, low);
		store256(r + k, _mm256_slli_epi32(sum, 1));
	}
}

/* The shortest lag of the greatest r. */
static int greatest(const int32_t r[ROOM])
{
	int at = 0;

	for (int k = 1; k < LAGS; k++)
		at = r[k] >= r[at] ? k : at;
	return LONGEST - at;
}

/* 2 * <a, b>. */
AVX2 static int32_t multiply_pitch_med_ol(const int16_t a[], const int16_t b[],
					  int n)
{
	return shift_left(dot_product(a, b, n), 1);
}

/* wb_round_wrapped(v * 2^n), the shift saturating first. */
static int32_t shift_and_round(int32_t v, int n)
{
	if (n <= 0)
		return wb_round_wrapped(v >> (-n > 31 ? 0 : -n));
	if (v && wb_norm_l(v) < n)
		return INT16_MIN;
	return wb_round_wrapped(shift_left(v, n));
}

/* The library's floating point: fractions of 16 bits, and exponents. */
static int16_t gain(const int16_t x[], const int16_t y[], int n)
{
	int32_t xy = multiply_pitch_med_ol(x, y, n), norm_xy = wb_norm_l(xy);
	int32_t xx = add_wrapped(multiply_pitch_med_ol(x, x, n), 1),
		norm_xx = wb_norm_l(xx);
	int32_t yy = add_wrapped(multiply_pitch_med_ol(y, y, n), 1),
		norm_yy = wb_norm_l(yy);
	int32_t energy =
		shift_left(wb_round_wrapped(shift_left(xx, norm_xx)) *
				   wb_round_wrapped(shift_left(yy, norm_yy)),
			   1);
	int norm = wb_norm_l(energy);
	int16_t exponent = (int16_t)(62 - norm_xx - norm_yy - norm);
	int32_t g;

	energy = shift_left(energy, norm);
	Isqrt_n(&energy, &exponent);
	g = round_limited(shift_left(xy, norm_xy), INT16_MAX) *
	    round_limited(energy, INT16_MAX);
	return (int16_t)shift_and_round(shift_left(g, 1),
					(int16_t)(31 - norm_xy + exponent));
}

static bool is_valid_pitch_med_ol(int n, bool near, int median)
{
	return cr_kernels_fast && n > 0 && n <= MOST_SAMPLES &&
	       n % BLOCK == 0 &&
	       (!near || (median >= MEDIAN_MIN && median <= MEDIAN_MAX));
}

int16_t Pitch_med_ol(int16_t speech[], void *state, int16_t n)
{
	int16_t *filtered = field(state, FILTERED);
	int16_t median = *field(state, MEDIAN_LAG);
	bool near = *field(state, VOICED) > 0 && median > 0;
	int32_t r[ROOM];
	int lag;

	if (!is_valid_pitch_med_ol(n, near, median))
		return stock_Pitch_med_ol(speech, state, n);
	correlate_pitch_med_ol(speech, n, r);
	weight_pitch_med_ol(r, stock_corrweight + WEIGHT);
	if (near)
		weight_pitch_med_ol(r,
				    stock_corrweight + (NEAR_WEIGHT - median));
	lag = greatest(r);
	Hp_wsp(speech, filtered + LONGEST, n, field(state, HIGH_PASS));
	*field(state, GAIN) =
		gain(filtered + LONGEST, filtered + LONGEST - lag, n);
	memmove(filtered, filtered + n, LONGEST * sizeof(*filtered));
	return (int16_t)lag;
}
