/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ph_disp: phase dispersion of the decoder's innovation, and the excitation.
 *
 * Where a voice is weak, pulses sound harsh. How much they are spread follows
 * from the last five pitch gains and from whether the innovation has just begun
 * to grow: the level is 0 (most), 1, or 2 (not at all). Spread is by circular
 * convolution with an impulse response p of 40 samples, a pulse at a time,
 *
 *	c'(n) = c'(n) + (int16)((c(k) p(n - k mod 40)) >> 15), limited
 *
 * and the excitation is, limited at each step,
 *
 *	x(n) = (((2 x(n) f + 2 c'(n) g) << shift) + 2^15) >> 16
 *
 * Limiting notes *overflow as in the library: in sums and in rounding, not in
 * the shift.
 *
 * Valid: shifts of 1 to 8 and gains above -32768, so that products fit. Else
 * stock_ph_disp.
 */
#include "codecs/kernels/amrnb.h"
#include "codecs/kernels/amrnb/basic_ops.h"

enum {
	N = 40,
	LANES = 8,
	NGAINS = 5,
	MIDDLE_GAIN = 9830, /* 0.6 in Q14 */
	HIGH_GAIN = 14746,  /* 0.9 */
	ONSET_SUBFRAMES = 2,
	LOW_LEVEL = 10,
	NONE = 2, /* no dispersion */
	SHIFT_MAX = 8,
	MODE_7_40 = 4,
	MODE_7_95 = 5,
	MODE_10_2 = 6,
	MODE_12_2 = 7,
};

/* The library's. */
struct memory {
	int16_t gains[NGAINS]; /* the newest first */
	int16_t level;
	int16_t innovation_gain;
	int16_t locked; /* at most dispersion */
	int16_t onset;	/* subframes for which it lasts */
};

/* The library's impulse responses, those of 7.95 kbit/s and of the others. */
extern const int16_t ph_imp_low_MR795[N], ph_imp_mid_MR795[N];
extern const int16_t ph_imp_low[N], ph_imp_mid[N];

/* Twice the gain before, rounded and limited: what is more is an onset. */
static int16_t onset_limit(int16_t before, int32_t *overflow)
{
	if (before > INT16_MAX / 2) {
		*overflow = 1;
		return INT16_MAX;
	}
	if (before < INT16_MIN / 2) {
		*overflow = 1;
		return INT16_MIN;
	}
	return (int16_t)(2 * before);
}

static int weak_gains(const struct memory *m)
{
	int weak = 0;

	for (int i = 0; i < NGAINS; i++)
		weak += m->gains[i] < MIDDLE_GAIN;
	return weak;
}

/* The level of a subframe, from its gains. */
static int choose_level(struct memory *m, int16_t pitch_gain,
			int16_t innovation_gain, int32_t *overflow)
{
	int level = pitch_gain >= HIGH_GAIN ? NONE : pitch_gain > MIDDLE_GAIN;

	memmove(m->gains + 1, m->gains, (NGAINS - 1) * sizeof(m->gains[0]));
	m->gains[0] = pitch_gain;
	if (innovation_gain > onset_limit(m->innovation_gain, overflow))
		m->onset = ONSET_SUBFRAMES;
	else if (m->onset > 0)
		m->onset--;
	if (m->onset == 0) {
		if (weak_gains(m) > NGAINS / 2)
			level = 0;
		if (level > m->level + 1)
			level--;
	} else if (m->onset > 0 && level < NONE) {
		level++;
	}
	if (innovation_gain < LOW_LEVEL)
		level = NONE;
	if (m->locked == 1)
		level = 0;
	m->level = (int16_t)level;
	m->innovation_gain = innovation_gain;
	return level;
}

static const int16_t *choose_response(int mode, int level)
{
	if (mode == MODE_7_95)
		return level == 0 ? ph_imp_low_MR795 : ph_imp_mid_MR795;
	return level == 0 ? ph_imp_low : ph_imp_mid;
}

/* Adds a pulse's @response, which begins at its place; true if all sums fit. */
AVX2_INLINE bool add_pulse(int16_t pulse, const int16_t *response,
			   int16_t sums[N])
{
	const __m128i factor = _mm_set1_epi16(pulse);
	__m128i limited = _mm_setzero_si128();

	for (int i = 0; i < N; i += LANES) {
		__m128i more =
			multiply_shift128(load128(response + i), factor, 15);
		__m128i sum = load128(sums + i);
		__m128i right = _mm_adds_epi16(sum, more);
		__m128i wrapped = _mm_add_epi16(sum, more);

		limited = _mm_or_si128(limited, _mm_xor_si128(right, wrapped));
		store128(sums + i, right);
	}
	return _mm_testz_si128(limited, limited);
}

AVX2 static void disperse(int16_t code[N], const int16_t response[N],
			  int32_t *overflow)
{
	/* from N - k on: the response, of a pulse at k */
	int16_t circle[2 * N];
	int16_t sums[N] = { 0 };

	memcpy(circle, response, N * sizeof(*circle));
	memcpy(circle + N, response, N * sizeof(*circle));
	for (int k = 0; k < N; k++)
		if (code[k] && !add_pulse(code[k], circle + N - k, sums))
			*overflow = 1;
	memcpy(code, sums, N * sizeof(*code));
}

/* 2 v factor of eight numbers of 16 bits. */
AVX2_INLINE __m256i double_product(const int16_t v[], int16_t factor)
{
	__m256i wide = _mm256_cvtepi16_epi32(load128(v));

	return _mm256_slli_epi32(
		_mm256_mullo_epi32(wide, _mm256_set1_epi32(factor)), 1);
}

struct mix {
	int16_t pitch_factor, innovation_gain;
	int shift;
};

AVX2 static void mix_excitation(const struct mix *mix, int16_t x[N],
				const int16_t code[N], int32_t *overflow)
{
	__m256i limited = _mm256_setzero_si256();

	for (int i = 0; i < N; i += LANES) {
		__m256i v = add_saturated(
			double_product(x + i, mix->pitch_factor),
			double_product(code + i, mix->innovation_gain),
			&limited);

		v = shift_saturated(v, mix->shift);
		store128(x + i, pack_lanes(round_saturated(v, &limited)));
	}
	raise_overflow(limited, overflow);
}

void ph_disp(void *state, int mode, int16_t x[], int16_t innovation_gain,
	     int16_t pitch_gain, int16_t code[], int16_t pitch_factor,
	     int16_t shift, void *tables, int32_t *overflow)
{
	const struct mix mix = { pitch_factor, innovation_gain, shift };
	int level;

	if (!cr_kernels_fast || shift < 1 || shift > SHIFT_MAX ||
	    pitch_factor == INT16_MIN || innovation_gain == INT16_MIN) {
		stock_ph_disp(state, mode, x, innovation_gain, pitch_gain, code,
			      pitch_factor, shift, tables, overflow);
		return;
	}
	level = choose_level(state, pitch_gain, innovation_gain, overflow);
	if (level < NONE && mode != MODE_7_40 && mode != MODE_10_2 &&
	    mode != MODE_12_2)
		disperse(code, choose_response(mode, level), overflow);
	mix_excitation(&mix, x, code, overflow);
}
