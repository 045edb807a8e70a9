/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pred_lt4 of the AMR-WB decoder gives what the library's gives, whatever the
 * numbers, the lag and the length.
 */
#include "cmocka_cr.h"
#include "codecs/kernels/amrwb_dec.h"
#include "kernels_needed.h"
#include "unit/codecs/kernels/numbers.h"
#include "unit/codecs/kernels/stock.h"

enum {
	TRIES = 1000000,
	SUBFRAME = 64,
	PAST = 231 + 17, /* excitation that a decoder keeps */
	LONGEST = 231,
	AHEAD = 16, /* taps after the sample at the lag */
	ALL = PAST + SUBFRAME + 1 + AHEAD,
};

struct excitation {
	int16_t v[ALL];
};

/* The lag where the excitation is computed block by block is 32. */
static void pred_lt4_is_the_librarys(void **state)
{
	static struct excitation ours, stock;
	uint64_t seed = test_seed();

	for (unsigned i = 0; i < TEST_TRIES(TRIES / 3); i++) {
		unsigned most = i % 4 ? 50 : LONGEST;
		int16_t lag = (int16_t)(test_below(&seed, most) + 1);
		int16_t fraction = (int16_t)((int)test_below(&seed, 7) - 3);
		int16_t n = SUBFRAME + 1;

		if (i % 8 == 0)
			n = (int16_t)test_below(&seed, SUBFRAME + 2);
		fill_int16(&seed, ours.v, ALL);
		stock = ours;
		Pred_lt4(ours.v + PAST, lag, fraction, n);
		STOCK(stock_Pred_lt4(stock.v + PAST, lag, fraction, n));
		assert_memory_equal(&ours, &stock, sizeof(ours));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pred_lt4_is_the_librarys),
	};

	return cmocka_run_group_tests(tests, kernels_needed, NULL);
}
