/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Filt_6k_7k gives what the library's gives, whatever the numbers, for any
 * length it has room for.
 */
#include "cmocka_cr.h"
#include "codecs/kernels/amrwb.h"
#include "kernels_needed.h"
#include "unit/codecs/kernels/numbers.h"
#include "unit/codecs/kernels/stock.h"

enum {
	TRIES = 1000000,
	LONGEST = 80,
	MEMORY = 30,
};

struct signals {
	int16_t signal[LONGEST], mem[MEMORY];
};

static void filt_6k_7k_is_the_librarys(void **state)
{
	struct signals ours, stock;
	uint64_t seed = test_seed();

	for (unsigned i = 0; i < TEST_TRIES(TRIES / 4); i++) {
		int16_t n = LONGEST;

		if (i % 8 == 0)
			n = (int16_t)(2 + test_below(&seed, LONGEST - 1));
		fill_int16(&seed, ours.signal, LONGEST);
		fill_int16(&seed, ours.mem, MEMORY);
		stock = ours;
		Filt_6k_7k(ours.signal, n, ours.mem);
		STOCK(stock_Filt_6k_7k(stock.signal, n, stock.mem));
		assert_memory_equal(&ours, &stock, sizeof(ours));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(filt_6k_7k_is_the_librarys),
	};

	return cmocka_run_group_tests(tests, kernels_needed, NULL);
}
