/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kernels of AMR-NB that load vectors near the ends of their arrays touch no
 * more of them than the encoder has.
 */
#define _GNU_SOURCE
#include "unit/codecs/kernels/guard.h"

#include "codecs/kernels/amrnb.h"
#include "codecs/kernels/kernel.h"
#include "kernels_needed.h"

enum {
	TRIES = 20000,
	ORDER = 10,
	SUBFRAME = 40,
	FRAME = 160,
	WINDOW = 240,
	LAG_MIN = 18,
	LAG_MAX = 143,
	BESIDE = 10, /* of the fractions' filter, on one side */
	MARGIN = 4,  /* of the pitch search, in lags */
	NMODES = 8,
	NRC = 4,    /* reflection coefficients of Levinson */
	NTERMS = 4, /* of G_pitch: two numbers and their exponents */
};

static void residu(struct guard *g)
{
	int16_t n = (int16_t)(8 * (1 + test_below(&g->seed, FRAME / 8)));
	int16_t *a = guard_array(g, ORDER + 1);
	int16_t *x = guard_array(g, ORDER + (size_t)n) + ORDER;

	Residu(a, x, guard_array(g, (size_t)n), n);
}

static void convolve(struct guard *g)
{
	int16_t *x = guard_array(g, SUBFRAME), *h = guard_array(g, SUBFRAME);

	Convolve(x, h, guard_array(g, SUBFRAME), SUBFRAME);
}

static void syn_filt(struct guard *g)
{
	int16_t n = (int16_t)(ORDER + 2 * test_below(&g->seed, 76));
	int16_t *a = guard_array(g, ORDER + 1);
	int16_t *x = guard_array(g, (size_t)n), *y = guard_array(g, (size_t)n);

	Syn_filt(a, x, y, n, guard_array(g, ORDER),
		 (int16_t)test_below(&g->seed, 2));
}

static void correlation(struct guard *g)
{
	int16_t *h = guard_array(g, SUBFRAME), *x = guard_array(g, SUBFRAME);
	int16_t *dn = guard_array(g, SUBFRAME);
	int16_t room = (int16_t)test_below(&g->seed, 9);
	int32_t overflow = 0;

	cor_h_x(h, x, dn, room, &overflow);
	cor_h_x2(h, x, dn, room, 4, 4, &overflow);
}

static void autocorr(struct guard *g)
{
	int16_t *x = guard_array(g, WINDOW), *w = guard_array(g, WINDOW);
	int16_t *high = guard_array(g, ORDER + 1);
	int32_t overflow = 0;

	(void)Autocorr(x, ORDER, high, guard_array(g, ORDER + 1), w, &overflow);
}

static void levinson(struct guard *g)
{
	int16_t *state = guard_array(g, ORDER + 1);
	int16_t *high = guard_array(g, ORDER + 1);
	int16_t *low = guard_array(g, ORDER + 1);
	int16_t *a = guard_array(g, ORDER + 1);
	int32_t overflow = 0;

	high[0] |= 0x4000; /* normalised halves: else the library's own runs */
	high[0] &= INT16_MAX;
	low[0] &= INT16_MAX;
	(void)Levinson(state, high, low, a, guard_array(g, NRC), &overflow);
}

static void g_pitch(struct guard *g)
{
	int16_t *x = guard_array(g, SUBFRAME), *y = guard_array(g, SUBFRAME);
	int mode = (int)test_below(&g->seed, NMODES);
	int32_t overflow = 0;

	(void)G_pitch(mode, x, y, guard_array(g, NTERMS), SUBFRAME, &overflow);
}

/* The first sample that the filter needs is BESIDE before the lag, or one less
 * when the lag is rounded up. */
static void pred_lt(struct guard *g)
{
	int lag = LAG_MIN + (int)test_below(&g->seed, LAG_MAX - LAG_MIN + 1);
	int16_t thirds = (int16_t)test_below(&g->seed, 2);
	int16_t frac = (int16_t)(thirds ? (int)test_below(&g->seed, 3) - 1
					: (int)test_below(&g->seed, 6) - 2);
	size_t past = (size_t)(frac > 0 ? lag + BESIDE : lag + BESIDE - 1);
	int16_t *exc = guard_array(g, past + SUBFRAME) + past;
	int32_t overflow = 0;

	Pred_lt_3or6(exc, (int16_t)lag, frac, SUBFRAME, thirds, &overflow);
}

/* The longest lag that is tried needs the most of the past; and the shortest
 * needs some of the subframe itself. */
static void pitch_fr(struct guard *g)
{
	enum { PAST = LAG_MAX + MARGIN, AHEAD = SUBFRAME - LAG_MIN + MARGIN };
	int mode = (int)test_below(&g->seed, NMODES);
	int16_t at = (int16_t)(test_below(&g->seed, 4) * SUBFRAME);
	int16_t *exc = guard_array(g, PAST + AHEAD) + PAST;
	int16_t *target = guard_array(g, SUBFRAME);
	int16_t *h = guard_array(g, SUBFRAME);
	int16_t *lags = guard_array(g, 2), *before = guard_array(g, 1);
	int16_t frac, thirds, index;
	int32_t overflow = 0;

	lags[0] = test_below(&g->seed, 2) ? LAG_MIN : LAG_MAX;
	lags[1] = test_below(&g->seed, 2) ? 20 : LAG_MAX;
	*before = test_below(&g->seed, 2) ? 20 : LAG_MAX;
	(void)Pitch_fr(before, mode, lags, exc, target, h, SUBFRAME, at, &frac,
		       &thirds, &index, &overflow);
}

static void (*const kernels[])(struct guard *g) = {
	residu,	  convolve, syn_filt, correlation, autocorr,
	levinson, pred_lt,  pitch_fr, g_pitch,
};

static void kernels_stay_within_their_arrays(void **state)
{
	for (size_t i = 0; i < sizeof(kernels) / sizeof(*kernels); i++)
		guard_kernel(kernels[i], TEST_TRIES(TRIES));
}

/* The library's own functions, to show that what the arrays have is enough. */
static void so_do_the_librarys_functions(void **state)
{
	cr_kernels_fast = false;
	for (size_t i = 0; i < sizeof(kernels) / sizeof(*kernels); i++)
		guard_kernel(kernels[i], TEST_TRIES(TRIES / 10));
	cr_kernels_fast = true;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(kernels_stay_within_their_arrays),
		cmocka_unit_test(so_do_the_librarys_functions),
	};

	return cmocka_run_group_tests(tests, kernels_needed, NULL);
}
