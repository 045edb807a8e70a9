/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pred_lt_3or6 of AMR-NB gives what the library's gives, for all lags and
 * fractions, also those shorter than its filter, and other lengths.
 */
#include <string.h>

#include "cmocka_cr.h"
#include "codecs/kernels/amrnb.h"
#include "kernels_needed.h"
#include "unit/codecs/kernels/numbers.h"
#include "unit/codecs/kernels/stock.h"

enum {
	TRIES = 1000000,
	PAST = 160,
	SUBFRAME = 40,
	LONGEST = 48,
	BESIDE = 16, /* of the filter, beyond the last sample */
	LAG_MAX = 143,
};

static void compare(uint64_t *seed, int16_t lag, int16_t n)
{
	int16_t ours[PAST + LONGEST + BESIDE], stock[PAST + LONGEST + BESIDE];
	int16_t thirds = (int16_t)test_below(seed, 2);
	int16_t frac = (int16_t)(thirds ? (int)test_below(seed, 5) - 2
					: (int)test_below(seed, 7) - 3);
	int32_t overflow[2] = { 0 };

	fill_int16(seed, ours, PAST + LONGEST + BESIDE);
	memcpy(stock, ours, sizeof(stock));
	Pred_lt_3or6(ours + PAST, lag, frac, n, thirds, &overflow[0]);
	STOCK(stock_Pred_lt_3or6(stock + PAST, lag, frac, n, thirds,
				 &overflow[1]));
	assert_memory_equal(ours, stock, sizeof(ours));
	assert_int_equal(overflow[0], overflow[1]);
}

static void a_subframe_is_the_librarys(void **state)
{
	uint64_t seed = test_seed();

	for (unsigned i = 0; i < TEST_TRIES(TRIES); i++)
		compare(&seed, (int16_t)(17 + test_below(&seed, LAG_MAX - 16)),
			SUBFRAME);
}

static void so_are_short_lags_and_any_length(void **state)
{
	uint64_t seed = test_seed();

	for (unsigned i = 0; i < TEST_TRIES(TRIES / 20); i++)
		compare(&seed, (int16_t)test_below(&seed, 40),
			(int16_t)test_below(&seed, LONGEST + 1));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_subframe_is_the_librarys),
		cmocka_unit_test(so_are_short_lags_and_any_length),
	};

	return cmocka_run_group_tests(tests, kernels_needed, NULL);
}
