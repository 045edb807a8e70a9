/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Convolve of AMR-NB gives what the library's gives, whatever the numbers and
 * the length.
 */
#include <string.h>

#include "cmocka_cr.h"
#include "codecs/kernels/amrnb.h"
#include "kernels_needed.h"
#include "unit/codecs/kernels/numbers.h"
#include "unit/codecs/kernels/stock.h"

enum {
	TRIES = 1000000,
	SUBFRAME = 40,
	LONGEST = 64,
};

static void compare(uint64_t *seed, int16_t n)
{
	int16_t ours[LONGEST + 1], stock[LONGEST + 1];
	int16_t x[LONGEST], h[LONGEST];

	fill_int16(seed, x, (size_t)n);
	fill_int16(seed, h, (size_t)n);
	memset(ours, 0x55, sizeof(ours));
	memset(stock, 0x55, sizeof(stock));
	Convolve(x, h, ours, n);
	STOCK(stock_Convolve(x, h, stock, n));
	assert_memory_equal(ours, stock, sizeof(ours));
}

static void a_subframe_is_the_librarys(void **state)
{
	uint64_t seed = test_seed();

	for (unsigned i = 0; i < TEST_TRIES(TRIES); i++)
		compare(&seed, SUBFRAME);
}

static void so_is_any_length(void **state)
{
	uint64_t seed = test_seed();

	for (unsigned i = 0; i < TEST_TRIES(TRIES / 20); i++)
		compare(&seed, (int16_t)test_below(&seed, LONGEST + 1));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_subframe_is_the_librarys),
		cmocka_unit_test(so_is_any_length),
	};

	return cmocka_run_group_tests(tests, kernels_needed, NULL);
}
