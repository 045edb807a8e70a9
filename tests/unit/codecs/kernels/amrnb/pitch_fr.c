/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pitch_fr of AMR-NB finds the lag that the library's finds, its fraction and
 * its index, in all modes and subframes, also from one subframe to the next.
 */
#include <string.h>

#include "cmocka_cr.h"
#include "codecs/kernels/amrnb.h"
#include "kernels_needed.h"
#include "unit/codecs/kernels/numbers.h"
#include "unit/codecs/kernels/stock.h"

enum {
	TRIES = 200000, /* of 15 to 28 lags each */
	PAST = 160,
	SUBFRAME = 40,
	LAG_MIN = 20,
	LAG_MAX = 143,
	NMODES = 8,
};

struct input {
	int16_t past[PAST + SUBFRAME];
	int16_t target[SUBFRAME];
	int16_t h[SUBFRAME];
	int16_t open_loop[2];
};

struct output {
	int16_t before, lag, frac, thirds, index;
	int32_t overflow;
};

static int16_t any_lag(uint64_t *seed)
{
	return (int16_t)(LAG_MIN + test_below(seed, LAG_MAX - LAG_MIN + 1));
}

/* A response begins with 1 and falls; a voice repeats itself. */
static void like_speech(uint64_t *seed, struct input *in)
{
	int lag = any_lag(seed);

	fill_int16(seed, in->h, SUBFRAME);
	for (int i = 0; i < SUBFRAME; i++)
		in->h[i] = (int16_t)(in->h[i] * (SUBFRAME - i) / 400);
	in->h[0] = 4096;
	for (int i = lag; i < PAST + SUBFRAME; i++)
		in->past[i] =
			(int16_t)(in->past[i] / 4 + in->past[i - lag] / 4 * 3);
	memcpy(in->target, in->past + PAST, sizeof(in->target));
}

static void fill(uint64_t *seed, struct input *in)
{
	fill_int16(seed, in->past, PAST + SUBFRAME);
	fill_int16(seed, in->target, SUBFRAME);
	fill_int16(seed, in->h, SUBFRAME);
	if (test_below(seed, 2))
		like_speech(seed, in);
	in->open_loop[0] = any_lag(seed);
	in->open_loop[1] = any_lag(seed);
}

static void all_modes_and_subframes(void **state)
{
	struct output ours = { .before = 40 }, stock = { .before = 40 };
	uint64_t seed = test_seed();
	static struct input in;

	for (unsigned i = 0; i < TEST_TRIES(TRIES); i++) {
		int16_t at = (int16_t)(i % 4 * SUBFRAME);
		int mode = (int)(i / 4 % NMODES);

		fill(&seed, &in);
		if (i % 3 == 0)
			ours.before = stock.before = any_lag(&seed);
		ours.lag = Pitch_fr(&ours.before, mode, in.open_loop,
				    in.past + PAST, in.target, in.h, SUBFRAME,
				    at, &ours.frac, &ours.thirds, &ours.index,
				    &ours.overflow);
		stock.lag = STOCK(stock_Pitch_fr(
			&stock.before, mode, in.open_loop, in.past + PAST,
			in.target, in.h, SUBFRAME, at, &stock.frac,
			&stock.thirds, &stock.index, &stock.overflow));
		assert_memory_equal(&ours, &stock, sizeof(ours));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_modes_and_subframes),
	};

	return cmocka_run_group_tests(tests, kernels_needed, NULL);
}
