/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Autocorr of AMR-NB gives what the library's gives, also where the energy of
 * the frame needs scaling down, more than once.
 */
#include <string.h>

#include "cmocka_cr.h"
#include "codecs/kernels/amrnb.h"
#include "kernels_needed.h"
#include "unit/codecs/kernels/numbers.h"
#include "unit/codecs/kernels/stock.h"

enum {
	TRIES = 250000, /* of 240 samples each */
	N = 240,
	ORDER = 10,
};

struct output {
	int16_t high[ORDER + 1], low[ORDER + 1];
	int16_t scale;
	int32_t overflow;
};

/* A window rises and falls; or it is anything. */
static void fill_window(uint64_t *seed, int16_t w[N])
{
	if (test_below(seed, 4)) {
		fill_int16(seed, w, N);
		return;
	}
	for (int i = 0; i < N; i++)
		w[i] = (int16_t)(INT16_MAX -
				 270 * (i < N / 2 ? N / 2 - i : i - N / 2));
}

static void the_frame_is_the_librarys(void **state)
{
	uint64_t seed = test_seed();
	static int16_t x[N], w[N];

	for (unsigned i = 0; i < TEST_TRIES(TRIES); i++) {
		int16_t m = (int16_t)(i % 16 ? ORDER
					     : (int)test_below(&seed, ORDER));
		struct output ours = { 0 }, stock = { 0 };

		fill_int16(&seed, x, N);
		fill_window(&seed, w);
		ours.scale =
			Autocorr(x, m, ours.high, ours.low, w, &ours.overflow);
		stock.scale = STOCK(stock_Autocorr(x, m, stock.high, stock.low,
						   w, &stock.overflow));
		assert_memory_equal(&ours, &stock, sizeof(ours));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_frame_is_the_librarys),
	};

	return cmocka_run_group_tests(tests, kernels_needed, NULL);
}
