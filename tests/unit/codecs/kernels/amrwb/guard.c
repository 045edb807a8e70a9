/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kernels of AMR-WB that load vectors near the ends of their arrays touch no
 * more of them than the encoder has.
 */
#define _GNU_SOURCE
#include "unit/codecs/kernels/guard.h"

#include "codecs/kernels/amrwb.h"
#include "codecs/kernels/kernel.h"
#include "kernels_needed.h"

enum {
	TRIES = 20000,
	ORDER = 16,
	SUBFRAME = 64,
	WINDOW = 384,
	LAG_MIN = 34,
	LAG_MAX = 231,
	BESIDE = 16, /* of the fractions' filter, on one side */
	MARGIN = 4,  /* of the pitch search, in lags */
	LAGS = 16,   /* that it looks at, at most */
};

static void residu(struct guard *g)
{
	int16_t n = (int16_t)(16 * (1 + test_below(&g->seed, 16)));
	int16_t *a = guard_array(g, ORDER + 1);
	int16_t *x = guard_array(g, ORDER + (size_t)n) + ORDER;

	voAWB_Residu(a, x, guard_array(g, (size_t)n), n);
}

static void convolve(struct guard *g)
{
	int16_t *x = guard_array(g, SUBFRAME), *h = guard_array(g, SUBFRAME);

	voAWB_Convolve(x, h, guard_array(g, SUBFRAME), SUBFRAME);
}

static void syn_filt(struct guard *g)
{
	int16_t n = (int16_t)(8 * (2 + test_below(&g->seed, 7)));
	int16_t *a = guard_array(g, ORDER + 1);
	int16_t *x = guard_array(g, (size_t)n), *y = guard_array(g, (size_t)n);

	voAWB_Syn_filt(a, x, y, n, guard_array(g, ORDER),
		       (int16_t)test_below(&g->seed, 2));
}

static void syn_filt_32(struct guard *g)
{
	int16_t *a = guard_array(g, ORDER + 1);
	int16_t *exc = guard_array(g, SUBFRAME);
	int16_t *high = guard_array(g, ORDER + SUBFRAME) + ORDER;
	int16_t *low = guard_array(g, ORDER + SUBFRAME) + ORDER;
	int16_t scale = (int16_t)test_below(&g->seed, 8);

	voAWB_Syn_filt_32(a, ORDER, exc, scale, high, low, SUBFRAME);
}

/* Numbers for which the library's function comes back. */
static void correlation(struct guard *g)
{
	int16_t *h = guard_array(g, SUBFRAME), *x = guard_array(g, SUBFRAME);

	for (int i = 0; i < SUBFRAME; i++) {
		h[i] /= 32;
		x[i] /= 32;
	}
	voAWB_cor_h_x(h, x, guard_array(g, SUBFRAME));
}

static void autocorr(struct guard *g)
{
	int16_t *x = guard_array(g, WINDOW), *high = guard_array(g, ORDER + 1);

	voAWB_Autocorr(x, ORDER, high, guard_array(g, ORDER + 1));
}

/* The first sample that the filter needs is BESIDE - 1 before the lag, which
 * is rounded up. */
static void pred_lt(struct guard *g)
{
	int lag = LAG_MIN + (int)test_below(&g->seed, LAG_MAX - LAG_MIN + 1);
	int16_t fraction = (int16_t)((int)test_below(&g->seed, 7) - 3);
	size_t past = (size_t)(lag + (fraction > 0) + BESIDE - 1);
	int16_t *exc = guard_array(g, past + SUBFRAME + 1) + past;

	voAWB_Pred_lt4(exc, (int16_t)lag, fraction, SUBFRAME + 1);
}

static void pitch_fr4(struct guard *g)
{
	int first = LAG_MIN +
		    (int)test_below(&g->seed, LAG_MAX - LAGS - LAG_MIN + 1);
	int last = first + (int)test_below(&g->seed, LAGS);
	int past = last + MARGIN, ahead = SUBFRAME - first + MARGIN;
	int16_t *exc = guard_array(g, (size_t)(past + (ahead > 0 ? ahead : 0)));
	int16_t *x = guard_array(g, SUBFRAME), *h = guard_array(g, SUBFRAME);
	int16_t fraction;

	(void)Pitch_fr4(exc + past, x, h, (int16_t)first, (int16_t)last,
			&fraction, (int16_t)(test_below(&g->seed, 2) * 64), 128,
			160, SUBFRAME);
}

static void (*const kernels[])(struct guard *g) = {
	residu,	     convolve, syn_filt, syn_filt_32,
	correlation, autocorr, pred_lt,	 pitch_fr4,
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
