/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decim_12k8 gives what the library's gives, whatever the numbers, for any
 * length: a frame, the 15 samples of its look-ahead, and others.
 */
#include <string.h>

#include "cmocka_cr.h"
#include "codecs/kernels/amrwb.h"
#include "kernels_needed.h"
#include "unit/codecs/kernels/numbers.h"
#include "unit/codecs/kernels/stock.h"

enum {
	TRIES = 1000000,
	FRAME = 320,
	MEMORY = 30,
};

struct signals {
	int16_t in[FRAME], out[FRAME], mem[MEMORY];
};

static void compare(const struct signals *in, int16_t n)
{
	static struct signals ours, stock;

	ours = *in;
	stock = *in;
	Decim_12k8(ours.in, n, ours.out, ours.mem);
	STOCK(stock_Decim_12k8(stock.in, n, stock.out, stock.mem));
	assert_memory_equal(&ours, &stock, sizeof(ours));
}

static void decim_12k8_is_the_librarys(void **state)
{
	static const int16_t used[] = { 15, 15, 15, FRAME };
	static struct signals in;
	uint64_t seed = test_seed();

	for (unsigned i = 0; i < TEST_TRIES(TRIES / 5); i++) {
		int16_t n = used[i % 4];

		if (i % 16 == 0)
			n = (int16_t)(2 + test_below(&seed, FRAME - 1));
		fill_int16(&seed, in.in, (size_t)n);
		fill_int16(&seed, in.mem, MEMORY);
		compare(&in, n);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(decim_12k8_is_the_librarys),
	};

	return cmocka_run_group_tests(tests, kernels_needed, NULL);
}
