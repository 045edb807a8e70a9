/* SPDX-License-Identifier: Apache-2.0 */
/*
 * vad1: the voice activity detector of option 1, which only DTX needs.
 *
 * A filter bank of all-pass sections splits the signal into nine bands
 * (vad_bands.h). Their levels are compared with those of the background; what
 * was long unlike it is speech, and for some frames after. Background follows
 * the signal, fast where it sounds stationary, not at all during tones, voices
 * and complex signals like music, of which the open-loop pitch search tells.
 *
 * The decisions are the library's, step by step, with its limits. They take
 * little time; the filters do, as the library calls a function for every sum.
 *
 * Valid: powers that the library's sum of squares does not make negative, where
 * it misses an overflow (mac() in basic_ops.h). Else stock_vad1.
 */
#include "codecs/kernels/amrnb.h"
#include "codecs/kernels/amrnb/basic_ops.h"
#include "codecs/kernels/amrnb/vad_bands.h"

enum {
	N = 160,
	LOOKAHEAD = 40,
	POWER_LOW = 15000,    /* of a frame, below which nothing is speech */
	POWER_PITCH = 343040, /* below which a pitch does not count */
	NEWEST = 0x4000,      /* bit of this frame in a history */
	CORR_MIN = 13106,     /* of corr_fast */
	STATIONARY = 20,      /* frames until a signal is taken for it */
	LEVEL_MIN = 184,      /* that is compared */
	NOISE_MIN = 40,
	NOISE_MAX = 16000,
	COMPLEX_FRAMES = 250, /* for which complex signals are speech */
};

/* The power of the frame, limited, which is noted; below 0 where it is the
 * library's. */
static int32_t power_of(const int16_t in[], int32_t *overflow)
{
	int64_t sum = 0;

	for (int i = -LOOKAHEAD; i < N - LOOKAHEAD; i++)
		sum += 2 * (int64_t)(in[i] * in[i]);
	if (sum <= INT32_MAX)
		return (int32_t)sum;
	return mac_squares(0, in - LOOKAHEAD, N, overflow);
}

/* v << bits, limited to 16 bits, or >>. */
static int16_t shift16(int16_t v, int bits)
{
	/* bits < 15: NOLINTNEXTLINE(clang-analyzer-core.BitwiseShift) */
	int32_t shifted = bits < 0 ? v >> -bits : v * (1 << bits);

	if (shifted > INT16_MAX)
		return INT16_MAX;
	return shifted < INT16_MIN ? INT16_MIN : (int16_t)shifted;
}

/* The upper 16 bits of v << bits, limited. */
static int16_t upper_limited(int32_t v, int bits)
{
	int64_t shifted = (int64_t)v * (1 << bits) >> 16;

	if (shifted > INT16_MAX)
		return INT16_MAX;
	return shifted < INT16_MIN ? INT16_MIN : (int16_t)shifted;
}

/* The ratio of levels to noise, squared and averaged. */
static int16_t noise_ratio(const struct vad *v, const int16_t level[BANDS],
			   int32_t *overflow)
{
	int32_t sum = 0;

	for (int i = 0; i < BANDS; i++) {
		int norm = leading_shifts16(v->noise[i]);
		int16_t noise = shift16(v->noise[i], norm);
		int16_t ratio = quotient((int16_t)(level[i] >> 1), noise);

		ratio = shift16(ratio, norm - 5);
		sum = mac(sum, ratio * ratio, overflow);
	}
	return (int16_t)(upper_limited(sum, 6) * 3641 >> 15);
}

static int16_t noise_level(const struct vad *v)
{
	int32_t sum = 0;

	for (int i = 0; i < BANDS; i++)
		sum += v->noise[i];
	return upper_limited(sum, 13);
}

/* corr_fast follows best_corr: up and down at different speeds. */
static void follow_correlation(struct vad *v, bool low_power)
{
	bool high = v->corr_fast > 0x4ccb;
	int alpha = 2621;
	int32_t sum;

	if (high)
		alpha = v->best_corr < v->corr_fast ? 6553 : 655;
	sum = v->corr_fast * 65536 - 2 * alpha * v->corr_fast;
	sum += 2 * alpha * v->best_corr;
	v->corr_fast = (int16_t)((sum + 0x8000) >> 16);
	if (low_power || v->corr_fast < CORR_MIN)
		v->corr_fast = CORR_MIN;
}

static void look_for_complex(struct vad *v, int32_t *overflow)
{
	v->complex_high >>= 1;
	v->complex_low >>= 1;
	if (v->corr_fast > 0x4ccc)
		v->complex_high |= NEWEST;
	if (v->corr_fast > 0x3fff)
		v->complex_low |= NEWEST;
	v->complex_timer = v->corr_fast > 0x5998
				   ? add16(v->complex_timer, 1, overflow)
				   : 0;
	v->complex_warning = (v->complex_high & 0x7f80) == 0x7f80 ||
			     (v->complex_low & 0x7fff) == 0x7fff;
	if (v->complex_warning && v->stationary < 5)
		v->stationary = 5;
}

/* How much the levels differ from their averages, either way. */
static int16_t level_changes(const struct vad *v, const int16_t level[BANDS],
			     int32_t *overflow)
{
	int16_t changes = 0;

	for (int i = 0; i < BANDS; i++) {
		bool louder = level[i] > v->average[i];
		int16_t more = louder ? level[i] : v->average[i];
		int16_t less = louder ? v->average[i] : level[i];
		int norm;

		more = more < LEVEL_MIN ? LEVEL_MIN : more;
		less = less < LEVEL_MIN ? LEVEL_MIN : less;
		norm = leading_shifts16(less);
		more = quotient((int16_t)(more >> 1), shift16(less, norm));
		changes = add16(changes, shift16(more, norm - 8), overflow);
	}
	return changes;
}

/* Frames until the signal is taken for stationary. */
static void count_stationary(struct vad *v, const int16_t level[BANDS],
			     int32_t *overflow)
{
	if ((v->pitch & 0x6000) == 0x6000 || (v->tone & 0x7c00) == 0x7c00 ||
	    !(v->decisions & 0x7f80) ||
	    level_changes(v, level, overflow) > 1000)
		v->stationary = STATIONARY;
	else if ((v->decisions & NEWEST) && v->stationary)
		v->stationary = sub16(v->stationary, 1, overflow);
}

/* from + alpha (to - from), each step limited, the product rounded. */
static int16_t approach(int16_t from, int16_t to, int16_t alpha,
			int32_t *overflow)
{
	int16_t step = sub16(to, from, overflow);

	/* alpha is never -32768, so the product fits */
	step = (int16_t)((step * alpha + 0x4000) >> 15);
	return add16(from, step, overflow);
}

/* How the noise follows the level: up, down, and one step more. */
struct speed {
	int16_t up, down, step;
};

static struct speed noise_speed(const struct vad *v)
{
	static const struct speed fast = { 1638, 2097, 2 };
	static const struct speed slow = { 491, 1867, 2 };
	static const struct speed down_only = { 0, 1638, 0 };

	if (!(v->decisions & 0x7800) && !(v->pitch & 0x7800))
		return v->complex_frames ? down_only : fast;
	if (v->stationary || v->complex_frames)
		return down_only;
	return slow;
}

static void update_noise(struct vad *v, const int16_t level[BANDS],
			 int32_t *overflow)
{
	int16_t alpha = 3276;
	struct speed speed;

	count_stationary(v, level, overflow);
	if (v->stationary == STATIONARY)
		alpha = INT16_MAX;
	else if (!(v->decisions & NEWEST))
		alpha = 16383;
	for (int i = 0; i < BANDS; i++)
		v->average[i] =
			approach(v->average[i], level[i], alpha, overflow);
	speed = noise_speed(v);
	for (int i = 0; i < BANDS; i++) {
		int16_t step = sub16(v->last[i], v->noise[i], overflow);
		int16_t alpha_now = step < 0 ? speed.down : speed.up;
		int16_t n =
			approach(v->noise[i], v->last[i], alpha_now, overflow);

		if (step < 0) {
			n = add16(-2, n, overflow);
			v->noise[i] = n < NOISE_MIN ? NOISE_MIN : n;
		} else {
			n = add16(speed.step, n, overflow);
			v->noise[i] = n > NOISE_MAX ? NOISE_MAX : n;
		}
	}
	memcpy(v->last, level, sizeof(v->last));
}

/* Speech, with the frames after it. */
static int16_t decide(struct vad *v, bool noisy, bool low_power,
		      int32_t *overflow)
{
	if (low_power) {
		v->burst = v->hang = 0;
		v->complex_frames = v->complex_timer = 0;
		return 0;
	}
	if (v->complex_timer > 100 && v->complex_frames < COMPLEX_FRAMES)
		v->complex_frames = COMPLEX_FRAMES;
	if (v->complex_frames) {
		v->burst = 4;
		v->complex_frames = sub16(v->complex_frames, 1, overflow);
		return 1;
	}
	if (!(v->decisions & 0x3ff0) && v->corr_fast > 0x5332)
		return 1;
	if (v->decisions & NEWEST) {
		v->burst = add16(v->burst, 1, overflow);
		if (v->burst >= (noisy ? 4 : 5))
			v->hang = noisy ? 7 : 4;
		return 1;
	}
	v->burst = 0;
	if (v->hang <= 0)
		return 0;
	v->hang--;
	return 1;
}

static int16_t detect(struct vad *v, const int16_t in[], int32_t power,
		      int32_t *overflow)
{
	bool low_power = power < POWER_LOW;
	int16_t level[BANDS], noise, threshold;

	if (power < POWER_PITCH)
		v->pitch &= 0x3fff;
	if (low_power)
		v->complex_low &= 0x3fff;
	vad_bands(v, in, level, overflow);
	noise = noise_level(v);
	threshold = (int16_t)((noise * -2808 >> 15) + 1260);
	threshold = threshold < 720 ? 720 : threshold;
	v->decisions >>= 1;
	if (noise_ratio(v, level, overflow) > threshold)
		v->decisions |= NEWEST;
	follow_correlation(v, low_power);
	look_for_complex(v, overflow);
	update_noise(v, level, overflow);
	v->speech = decide(v, noise > 100, low_power, overflow);
	return v->speech;
}

int16_t vad1(void *state, int16_t in[], int32_t *overflow)
{
	int32_t power = -1;

	if (cr_kernels_fast)
		power = power_of(in, overflow);
	if (power < 0)
		return stock_vad1(state, in, overflow);
	return detect(state, in, power, overflow);
}
