/* SPDX-License-Identifier: Apache-2.0 */
/*
 * comp_corr of AMR-NB gives what the library's gives, for the ranges of lags
 * and the lengths of the codec and for others.
 */
#include <string.h>

#include "cmocka_cr.h"
#include "codecs/kernels/amrnb.h"
#include "kernels_needed.h"
#include "unit/codecs/kernels/numbers.h"
#include "unit/codecs/kernels/stock.h"

enum {
	TRIES = 100000, /* of 4 to 124 lags each */
	LAG_MAX = 143,
	LONGEST = 160,
	BEYOND = 4, /* lags past the last, as they come in fours */
};

static void compare(uint64_t *seed, int16_t n, int16_t lag_max, int16_t lag_min)
{
	int32_t ours[LAG_MAX + 2 * BEYOND], stock[LAG_MAX + 2 * BEYOND];
	int16_t s[LAG_MAX + LONGEST + BEYOND];

	fill_int16(seed, s, sizeof(s) / sizeof(s[0]));
	memset(ours, 0x55, sizeof(ours));
	memset(stock, 0x55, sizeof(stock));
	comp_corr(s + LAG_MAX, n, lag_max, lag_min, ours + LAG_MAX);
	STOCK(stock_comp_corr(s + LAG_MAX, n, lag_max, lag_min,
			      stock + LAG_MAX));
	assert_memory_equal(ours, stock, sizeof(ours));
}

static void the_open_loop_searches_are_the_librarys(void **state)
{
	uint64_t seed = test_seed();

	for (unsigned i = 0; i < TEST_TRIES(TRIES / 2); i++) {
		int16_t n = i % 2 ? 80 : 160;

		compare(&seed, n, LAG_MAX, i % 4 < 2 ? 20 : 18);
	}
}

static void so_are_any_lags_and_lengths(void **state)
{
	uint64_t seed = test_seed();

	for (unsigned i = 0; i < TEST_TRIES(TRIES); i++) {
		int16_t n = (int16_t)(2 * test_below(&seed, LONGEST / 2 + 1));
		int16_t lag = (int16_t)test_below(&seed, LAG_MAX + 1);
		int16_t least = (int16_t)test_below(&seed, LAG_MAX + 1);

		compare(&seed, n, lag, least);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_open_loop_searches_are_the_librarys),
		cmocka_unit_test(so_are_any_lags_and_lengths),
	};

	return cmocka_run_group_tests(tests, kernels_needed, NULL);
}
