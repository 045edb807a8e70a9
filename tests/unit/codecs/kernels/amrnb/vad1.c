/* SPDX-License-Identifier: Apache-2.0 */
/*
 * vad1 of AMR-NB decides what the library's decides, and keeps the same state,
 * from frame to frame, for signals that come and go, and from any state.
 */
#include <string.h>

#include "cmocka_cr.h"
#include "codecs/kernels/amrnb.h"
#include "kernels_needed.h"
#include "unit/codecs/kernels/numbers.h"
#include "unit/codecs/kernels/stock.h"

enum {
	TRIES = 100000,
	LOOKAHEAD = 40,
	N = 160,
	STATE = 64, /* numbers of the state */
	NOISE = 0,  /* places of the levels of bands */
	REST = 0x36 / 2,
	BANDS = 9,
	/* places of what other functions set, and of counters */
	STATIONARY = 0x62 / 2,
	PITCH = 0x66 / 2,
	TONE = 0x68 / 2,
	COMPLEX_FRAMES = 0x72 / 2,
	COMPLEX_TIMER = 0x74 / 2,
	BEST_CORR = 0x76 / 2,
	CORR_FAST = 0x7e / 2,
};

struct detector {
	int16_t state[STATE];
	int16_t in[LOOKAHEAD + N];
	int32_t overflow;
	int16_t speech;
};

/* Background of one loudness for some frames, then of another; often small, as
 * the powers that decide are. */
static void fill_signal(uint64_t *seed, struct detector *d, unsigned i)
{
	static int loudness;

	if (i % 32 == 0)
		loudness = 1 + (int)test_below(seed, i % 64 ? 100 : INT16_MAX);
	fill_int16(seed, d->in, LOOKAHEAD + N);
	if (i % 4)
		for (unsigned k = 0; k < LOOKAHEAD + N; k++)
			d->in[k] = (int16_t)(any_int16(seed) * loudness >> 15);
}

/* A correlation that is and stays about one that decides. */
static int16_t near_threshold(uint64_t *seed)
{
	static const int16_t thresholds[] = { 0x3332, 0x3fff, 0x4ccb,
					      0x4ccc, 0x5332, 0x5998 };

	return (int16_t)(thresholds[test_below(seed, 6)] - 2 +
			 (int)test_below(seed, 5));
}

static void fill(uint64_t *seed, struct detector *d, unsigned i)
{
	fill_signal(seed, d, i);
	if (test_below(seed, 8) == 0)
		d->state[BEST_CORR] = any_int16(seed);
	if (test_below(seed, 8) == 0)
		d->state[BEST_CORR] = d->state[CORR_FAST] =
			near_threshold(seed);
	if (test_below(seed, 8) == 0)
		d->state[PITCH] = any_int16(seed) & INT16_MAX;
	if (test_below(seed, 8) == 0)
		d->state[TONE] = any_int16(seed) & INT16_MAX;
	if (test_below(seed, 8) == 0)
		d->state[COMPLEX_TIMER] = (int16_t)(98 + test_below(seed, 6));
	if (test_below(seed, 4) == 0)
		d->state[COMPLEX_FRAMES] = (int16_t)test_below(seed, 3);
	if (test_below(seed, 4) == 0)
		d->state[STATIONARY] = (int16_t)test_below(seed, 3);
	if (test_below(seed, 128) == 0)
		fill_int16(seed, d->state, STATE);
	d->overflow = 0;
}

/* Both go on from @ours. */
static void compare(struct detector *ours)
{
	struct detector stock = *ours;

	ours->speech = vad1(ours->state, ours->in + LOOKAHEAD, &ours->overflow);
	stock.speech = STOCK(
		stock_vad1(stock.state, stock.in + LOOKAHEAD, &stock.overflow));
	assert_memory_equal(ours, &stock, sizeof(stock));
}

static void the_decision_is_the_librarys(void **state)
{
	struct detector ours = { 0 };
	uint64_t seed = test_seed();

	for (unsigned i = 0; i < TEST_TRIES(TRIES); i++) {
		fill(&seed, &ours, i);
		compare(&ours);
	}
}

/* Ratios of 13440, 13440 and 26880: the last square is twice the sum of those
 * before, and they do not fit together. */
static void so_it_is_where_an_overflow_is_missed(void **state)
{
	struct detector ours = { 0 };

	for (int i = 0; i < BANDS; i++)
		ours.state[NOISE + i] = 40;
	/* silence has the levels that the last frame left */
	ours.state[REST] = ours.state[REST + 1] = 1050;
	ours.state[REST + 2] = 2100;
	compare(&ours);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_decision_is_the_librarys),
		cmocka_unit_test(so_it_is_where_an_overflow_is_missed),
	};

	return cmocka_run_group_tests(tests, kernels_needed, NULL);
}
