/* SPDX-License-Identifier: Apache-2.0 */
/*
 * div_s, norm_l, norm_s and Inv_sqrt of AMR-NB are the library's: for all
 * arguments of 16 bits, and a million of 32.
 */
#include "cmocka_cr.h"
#include "codecs/kernels/amrnb.h"
#include "kernels_needed.h"
#include "unit/codecs/kernels/numbers.h"
#include "unit/codecs/kernels/stock.h"

enum { TRIES = 1000000 };

/* Any number of 32 bits, of any size. */
static int32_t any_int32(uint64_t *seed)
{
	return (int32_t)(test_random(seed) >> 32) >> test_below(seed, 32);
}

static void norms_of_all_short_numbers(void **state)
{
	for (int32_t v = INT16_MIN; v <= INT16_MAX; v++) {
		assert_int_equal(norm_s((int16_t)v),
				 STOCK(stock_norm_s((int16_t)v)));
		assert_int_equal(norm_l(v), STOCK(stock_norm_l(v)));
	}
}

static void norms_and_roots_of_long_ones(void **state)
{
	static const int32_t edges[] = { INT32_MIN, INT32_MIN + 1, -1, 0,
					 1,	    INT32_MAX };
	uint64_t seed = test_seed();
	int32_t overflow = 0;

	for (unsigned i = 0; i < TEST_TRIES(TRIES); i++) {
		int32_t v = i < 6 ? edges[i] : any_int32(&seed);

		assert_int_equal(norm_l(v), STOCK(stock_norm_l(v)));
		assert_int_equal(Inv_sqrt(v, &overflow),
				 STOCK(stock_Inv_sqrt(v, &overflow)));
	}
	for (int bit = 0; bit < 31; bit++) {
		for (int off = -2; off <= 2; off++) {
			int32_t v = (int32_t)(1u << bit) + off;

			assert_int_equal(norm_l(v), STOCK(stock_norm_l(v)));
			assert_int_equal(norm_l(-v), STOCK(stock_norm_l(-v)));
			assert_int_equal(Inv_sqrt(v, &overflow),
					 STOCK(stock_Inv_sqrt(v, &overflow)));
		}
	}
	assert_int_equal(overflow, 0);
}

static void quotients(void **state)
{
	uint64_t seed = test_seed();

	for (unsigned i = 0; i < TEST_TRIES(TRIES); i++) {
		int16_t n[2];

		if (i % 4)
			fill_int16(&seed, n, 2);
		else
			n[0] = n[1] = any_int16(&seed);
		assert_int_equal(div_s(n[0], n[1]),
				 STOCK(stock_div_s(n[0], n[1])));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(norms_of_all_short_numbers),
		cmocka_unit_test(norms_and_roots_of_long_ones),
		cmocka_unit_test(quotients),
	};

	return cmocka_run_group_tests(tests, kernels_needed, NULL);
}
