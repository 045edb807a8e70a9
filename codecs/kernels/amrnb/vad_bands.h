/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The state of vad1, and the filter bank that gives the levels of nine bands.
 *
 * A section splits a signal in two bands of half its rate, by all-pass filters
 * of the first order for its even and its odd samples:
 *
 *	t = x - (c d >> 15),	y = d + (c t >> 15),	d = t
 *	low = y(even) + y(odd),	high = y(even) - y(odd)
 *
 * all sums limited to 16 bits, which is noted in *overflow. Three sections are
 * such ones; five more filter odd samples only. The bands lie in one buffer, in
 * the places of the samples they are made of. A level is the sum of the
 * magnitudes of its band.
 */
#ifndef CODECS_KERNELS_AMRNB_VAD_BANDS_H
#define CODECS_KERNELS_AMRNB_VAD_BANDS_H

#include "codecs/kernels/amrnb/arith.h"

enum {
	BANDS = 9,
	VAD_N = 160,
};

/** The library's state. Histories have a bit a frame, the newest on top. */
struct vad {
	int16_t noise[BANDS];	/* level of the background */
	int16_t average[BANDS]; /* level */
	int16_t last[BANDS];	/* frame's level */
	int16_t rest[BANDS];	/* of the last frame, for this one's level */
	int16_t two[3][2];	/* filters: sections of two */
	int16_t one[5];		/* of one */
	int16_t burst;		/* frames of speech, so far */
	int16_t hang;		/* frames after it, still to come */
	int16_t stationary;	/* frames until the signal is */
	int16_t decisions;	/* history: louder than noise */
	int16_t pitch, tone;	/* histories */
	int16_t complex_high, complex_low;
	int16_t lag_count, lag_before; /* of vad_pitch_detection */
	int16_t complex_frames;	       /* of speech, still to come */
	int16_t complex_timer;	       /* frames that were complex */
	int16_t best_corr;	       /* hp_max's */
	int16_t speech;		       /* the last decision */
	int16_t complex_warning;
	int16_t unused;
	int16_t corr_fast; /* best_corr, smoothed */
};

/** a + b, limited, which is noted. */
static inline int16_t add16(int a, int b, int32_t *overflow)
{
	int sum = a + b;

	if (__builtin_expect(sum == (int16_t)sum, 1))
		return (int16_t)sum;
	*overflow = 1;
	return sum < 0 ? INT16_MIN : INT16_MAX;
}

/** a - b, the same. */
static inline int16_t sub16(int a, int b, int32_t *overflow)
{
	return add16(a, -b, overflow);
}

static inline int16_t all_pass(int16_t x, int c, int16_t *d, int32_t *overflow)
{
	int16_t t = sub16(x, *d * c >> 15, overflow);
	int16_t y = add16(*d, t * c >> 15, overflow);

	*d = t;
	return y;
}

/** A section with both filters, halved by @shift: low to even, high to odd. */
static inline void split_two(int16_t *even, int16_t *odd, int16_t d[2],
			     int shift, int32_t *overflow)
{
	int16_t a = all_pass(*even, 21955, &d[0], overflow);
	int16_t b = all_pass(*odd, 6390, &d[1], overflow);

	*even = (int16_t)(add16(a, b, overflow) >> shift);
	*odd = (int16_t)(sub16(a, b, overflow) >> shift);
}

/** One with a filter for odd samples only. */
static inline void split_one(int16_t *even, int16_t *odd, int16_t *d,
			     int32_t *overflow)
{
	int16_t b = all_pass(*odd, 13363, d, overflow);
	int16_t a = *even;

	*even = (int16_t)(add16(a, b, overflow) >> 1);
	*odd = (int16_t)(sub16(a, b, overflow) >> 1);
}

static inline void split_bands(struct vad *v, int16_t p[VAD_N],
			       int32_t *overflow)
{
	for (int i = 0; i < VAD_N; i += 2)
		split_two(&p[i], &p[i + 1], v->two[0], 0, overflow);
	for (int i = 0; i < VAD_N; i += 4) {
		split_two(&p[i], &p[i + 2], v->two[1], 1, overflow);
		split_two(&p[i + 1], &p[i + 3], v->two[2], 1, overflow);
	}
	for (int i = 0; i < VAD_N; i += 8) {
		split_one(&p[i], &p[i + 4], &v->one[0], overflow);
		split_one(&p[i + 2], &p[i + 6], &v->one[1], overflow);
		split_one(&p[i + 3], &p[i + 7], &v->one[4], overflow);
	}
	for (int i = 0; i < VAD_N; i += 16) {
		split_one(&p[i], &p[i + 8], &v->one[2], overflow);
		split_one(&p[i + 4], &p[i + 12], &v->one[3], overflow);
	}
}

/** Where a band's samples are, and how its level is scaled. */
struct band {
	int first, step, scale;
};

static inline int32_t sum_magnitudes(const int16_t p[], const struct band *b,
				     int from, int to)
{
	int32_t sum = 0;

	for (int i = from; i < to; i++) {
		int16_t x = p[b->first + b->step * i];

		sum += x == INT16_MIN ? INT16_MAX : x < 0 ? -x : x;
	}
	return 2 * sum;
}

static inline int16_t limit_level(int32_t v, int scale)
{
	v >>= 16 - scale;
	if (v > INT16_MAX)
		return INT16_MAX;
	return v < INT16_MIN ? INT16_MIN : (int16_t)v;
}

/** The levels of the frame that begins at @in. The last fifth of it counts for
 * the next one, too. */
static inline void vad_bands(struct vad *v, const int16_t in[],
			     int16_t level[BANDS], int32_t *overflow)
{
	static const struct band bands[BANDS] = {
		{ 0, 16, 16 }, { 8, 16, 16 }, { 12, 16, 16 },
		{ 4, 16, 16 }, { 6, 8, 16 },  { 2, 8, 16 },
		{ 3, 8, 16 },  { 7, 8, 16 },  { 1, 4, 15 },
	};
	int16_t p[VAD_N];

	for (int i = 0; i < VAD_N; i++)
		p[i] = (int16_t)(in[i] >> 2);
	split_bands(v, p, overflow);
	for (int i = 0; i < BANDS; i++) {
		const struct band *b = &bands[i];
		int n = VAD_N / b->step;
		int now = n / 5 * 4;
		int32_t tail = sum_magnitudes(p, b, now, n);
		int32_t sum = tail + v->rest[i] * (1 << (16 - b->scale));

		v->rest[i] = limit_level(tail, b->scale);
		sum += sum_magnitudes(p, b, 0, now);
		level[i] = limit_level(sum, b->scale);
	}
}

#endif
