/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Scale_sig gives what the library's gives, whatever the numbers, for any
 * length and exponent.
 */
#include <string.h>

#include "cmocka_cr.h"
#include "codecs/kernels/amrwb.h"
#include "kernels_needed.h"
#include "unit/codecs/kernels/numbers.h"
#include "unit/codecs/kernels/stock.h"

enum {
	TRIES = 1000000,
	LONGEST = 384,
};

static void scale_sig_is_the_librarys(void **state)
{
	int16_t ours[LONGEST], stock[LONGEST];
	uint64_t seed = test_seed();

	for (unsigned i = 0; i < TEST_TRIES(TRIES / 3); i++) {
		size_t n = test_below(&seed, i % 8 ? 100 : LONGEST + 1);
		int exp = (int)test_below(&seed, i % 8 ? 37 : 80) - 18;

		fill_int16(&seed, ours, n);
		memcpy(stock, ours, n * sizeof(*ours));
		Scale_sig(ours, (int16_t)n, (int16_t)exp);
		STOCK(stock_Scale_sig(stock, (int16_t)n, (int16_t)exp));
		assert_memory_equal(ours, stock, n * sizeof(*ours));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(scale_sig_is_the_librarys),
	};

	return cmocka_run_group_tests(tests, kernels_needed, NULL);
}
