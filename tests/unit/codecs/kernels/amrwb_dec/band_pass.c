/* SPDX-License-Identifier: Apache-2.0 */
/*
 * band_pass_6k_7k of the AMR-WB decoder gives what the library's gives, also in
 * the scratch memory, whatever the numbers and the length.
 */
#include <string.h>

#include "cmocka_cr.h"
#include "codecs/kernels/amrwb_dec.h"
#include "kernels_needed.h"
#include "unit/codecs/kernels/numbers.h"
#include "unit/codecs/kernels/stock.h"

enum {
	TRIES = 1000000,
	LONGEST = 80,
	MEMORY = 30,
};

struct signals {
	int16_t signal[LONGEST], mem[MEMORY], x[LONGEST + MEMORY + 2];
};

static void band_pass_6k_7k_is_the_librarys(void **state)
{
	static struct signals ours, stock;
	uint64_t seed = test_seed();

	memset(&ours, 0, sizeof(ours));
	for (unsigned i = 0; i < TEST_TRIES(TRIES / 4); i++) {
		int16_t n = LONGEST;

		if (i % 8 == 0)
			n = (int16_t)test_below(&seed, LONGEST + 1);
		fill_int16(&seed, ours.signal, LONGEST);
		fill_int16(&seed, ours.mem, MEMORY);
		stock = ours;
		band_pass_6k_7k(ours.signal, n, ours.mem, ours.x);
		STOCK(stock_band_pass_6k_7k(stock.signal, n, stock.mem,
					    stock.x));
		assert_memory_equal(&ours, &stock, sizeof(ours));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(band_pass_6k_7k_is_the_librarys),
	};

	return cmocka_run_group_tests(tests, kernels_needed, NULL);
}
