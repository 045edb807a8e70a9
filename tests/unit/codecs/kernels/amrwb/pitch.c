/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pitch_fr4 and voAWB_Pred_lt4 give what the library's give, whatever the
 * numbers, the lags and the resolution.
 */
#include <string.h>

#include "cmocka_cr.h"
#include "codecs/kernels/amrwb.h"
#include "kernels_needed.h"
#include "unit/codecs/kernels/numbers.h"
#include "unit/codecs/kernels/stock.h"

enum {
	TRIES = 1000000,
	SUBFRAME = 64,
	PAST = 231 + 17, /* excitation that an encoder keeps */
	SHORTEST = 34,
	LONGEST = 231,
};

struct input {
	int16_t exc[PAST + SUBFRAME + 1];
	int16_t x[SUBFRAME], h[SUBFRAME];
};

static void fill(uint64_t *seed, struct input *in)
{
	fill_int16(seed, in->exc, PAST + SUBFRAME + 1);
	fill_int16(seed, in->x, SUBFRAME);
	fill_int16(seed, in->h, SUBFRAME);
}

/* One of the limits of resolution that modes have, or any. */
static int16_t any_limit(uint64_t *seed)
{
	static const int16_t limits[] = { SHORTEST, 92, 128, 160, LONGEST + 1 };

	if (test_below(seed, 4))
		return limits[test_below(seed, 5)];
	return (int16_t)test_below(seed, LONGEST);
}

static void pitch_fr4_is_the_librarys(void **state)
{
	static struct input in;
	uint64_t seed = test_seed();

	for (unsigned i = 0; i < TEST_TRIES(TRIES / 10); i++) {
		int first = SHORTEST + (int)test_below(&seed, 182);
		int16_t last = (int16_t)(first + (int)test_below(&seed, 16));
		int16_t half = any_limit(&seed), whole = any_limit(&seed);
		int16_t subframe = i % 2 ? 0 : SUBFRAME, f = 99, stock_f = 99;
		int16_t *exc = in.exc + PAST;

		fill(&seed, &in);
		assert_int_equal(
			Pitch_fr4(exc, in.x, in.h, (int16_t)first, last, &f,
				  subframe, half, whole, SUBFRAME),
			STOCK(stock_Pitch_fr4(exc, in.x, in.h, (int16_t)first,
					      last, &stock_f, subframe, half,
					      whole, SUBFRAME)));
		assert_int_equal(f, stock_f);
	}
}

/* The lag where the excitation is computed block by block is 32. */
static void pred_lt4_is_the_librarys(void **state)
{
	static struct input ours, stock;
	uint64_t seed = test_seed();

	for (unsigned i = 0; i < TEST_TRIES(TRIES / 3); i++) {
		int16_t lag =
			(int16_t)(test_below(&seed, i % 4 ? 40 : LONGEST) + 1);
		int16_t fraction = (int16_t)((int)test_below(&seed, 7) - 3);
		int16_t n = (int16_t)test_below(&seed, SUBFRAME + 2);

		fill_int16(&seed, ours.exc, PAST + SUBFRAME + 1);
		stock = ours;
		voAWB_Pred_lt4(ours.exc + PAST, lag, fraction, n);
		STOCK(stock_voAWB_Pred_lt4(stock.exc + PAST, lag, fraction, n));
		assert_memory_equal(&ours, &stock, sizeof(ours));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pitch_fr4_is_the_librarys),
		cmocka_unit_test(pred_lt4_is_the_librarys),
	};

	return cmocka_run_group_tests(tests, kernels_needed, NULL);
}
