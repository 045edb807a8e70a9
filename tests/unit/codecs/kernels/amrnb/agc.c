/* SPDX-License-Identifier: Apache-2.0 */
/*
 * agc and agc2 of AMR-NB give what the library's give, for all energies: none,
 * and such as do not fit at first or at all.
 */
#include <string.h>

#include "cmocka_cr.h"
#include "codecs/kernels/amrnb.h"
#include "kernels_needed.h"
#include "unit/codecs/kernels/numbers.h"
#include "unit/codecs/kernels/stock.h"

enum {
	TRIES = 500000,
	SUBFRAME = 40,
	LONGEST = 160,
};

struct control {
	int16_t in[LONGEST], out[LONGEST];
	int16_t gain;
	int32_t overflow;
};

/* Often of like sizes, as the filtered signal is. */
static int16_t fill(uint64_t *seed, struct control *c)
{
	int n = test_below(seed, 8) ? SUBFRAME
				    : (int)test_below(seed, LONGEST + 1);

	memset(c, 0, sizeof(*c));
	fill_int16(seed, c->in, (size_t)n);
	fill_int16(seed, c->out, (size_t)n);
	if (test_below(seed, 2))
		for (int i = 0; i < n; i++)
			c->out[i] = (int16_t)(c->in[i] / 2 + c->out[i] / 8);
	if (test_below(seed, 16) == 0)
		memset(c->in, 0, sizeof(c->in));
	c->gain = any_int16(seed);
	return (int16_t)n;
}

static void gains_that_follow(void **state)
{
	struct control ours, stock;
	uint64_t seed = test_seed();

	for (unsigned i = 0; i < TEST_TRIES(TRIES); i++) {
		int16_t n = fill(&seed, &ours);
		int16_t factor = i % 4 ? 29491 : any_int16(&seed);

		stock = ours;
		agc(&ours.gain, ours.in, ours.out, factor, n, &ours.overflow);
		STOCK(stock_agc(&stock.gain, stock.in, stock.out, factor, n,
				&stock.overflow));
		assert_memory_equal(&ours, &stock, sizeof(ours));
	}
}

static void gains_at_once(void **state)
{
	struct control ours, stock;
	uint64_t seed = test_seed();

	for (unsigned i = 0; i < TEST_TRIES(TRIES); i++) {
		int16_t n = fill(&seed, &ours);

		stock = ours;
		agc2(ours.in, ours.out, n, &ours.overflow);
		STOCK(stock_agc2(stock.in, stock.out, n, &stock.overflow));
		assert_memory_equal(&ours, &stock, sizeof(ours));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(gains_that_follow),
		cmocka_unit_test(gains_at_once),
	};

	return cmocka_run_group_tests(tests, kernels_needed, NULL);
}
