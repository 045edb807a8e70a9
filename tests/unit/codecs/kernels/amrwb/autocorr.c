/* SPDX-License-Identifier: Apache-2.0 */
/*
 * voAWB_Autocorr gives what the library's gives, whatever the numbers.
 */
#include "cmocka_cr.h"
#include "codecs/kernels/amrwb.h"
#include "kernels_needed.h"
#include "unit/codecs/kernels/numbers.h"
#include "unit/codecs/kernels/stock.h"

enum {
	TRIES = 1000000,
	WINDOW = 384,
	LAGS = 16,
};

struct halves {
	int16_t high[LAGS + 1], low[LAGS + 1];
};

static void autocorr_is_the_librarys(void **state)
{
	int16_t x[WINDOW];
	uint64_t seed = test_seed();

	for (unsigned i = 0; i < TEST_TRIES(TRIES / 4); i++) {
		struct halves ours, stock;

		fill_int16(&seed, x, WINDOW);
		voAWB_Autocorr(x, LAGS, ours.high, ours.low);
		STOCK(stock_voAWB_Autocorr(x, LAGS, stock.high, stock.low));
		assert_memory_equal(&ours, &stock, sizeof(ours));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(autocorr_is_the_librarys),
	};

	return cmocka_run_group_tests(tests, kernels_needed, NULL);
}
