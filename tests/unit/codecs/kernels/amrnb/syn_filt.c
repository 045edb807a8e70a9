/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Syn_filt of AMR-NB gives what the library's gives: also in place, for
 * lengths that no codec uses, and where its limiter is odd.
 */
#include <stdbool.h>
#include <string.h>

#include "cmocka_cr.h"
#include "codecs/kernels/amrnb.h"
#include "kernels_needed.h"
#include "unit/codecs/kernels/numbers.h"
#include "unit/codecs/kernels/stock.h"

enum {
	TRIES = 1000000,
	ORDER = 10,
	SUBFRAME = 40,
	LONGEST = 168,
};

struct input {
	int16_t a[ORDER + 1];
	int16_t x[LONGEST];
	int16_t mem[ORDER];
};

/* A filter as the codec has them, with a(0) = 1, or of any numbers. */
static void fill(uint64_t *seed, struct input *in, int n)
{
	fill_int16(seed, in->a, ORDER + 1);
	fill_int16(seed, in->x, (size_t)n);
	fill_int16(seed, in->mem, ORDER);
	if (test_below(seed, 2))
		in->a[0] = 4096;
}

static void compare(const struct input *in, int16_t n, int16_t update,
		    bool in_place)
{
	struct input ours = *in, stock = *in;
	int16_t y[2][LONGEST] = { 0 };

	Syn_filt(ours.a, ours.x, in_place ? ours.x : y[0], n, ours.mem, update);
	STOCK(stock_Syn_filt(stock.a, stock.x, in_place ? stock.x : y[1], n,
			     stock.mem, update));
	assert_memory_equal(&ours, &stock, sizeof(ours));
	assert_memory_equal(y[0], y[1], sizeof(y[0]));
}

static void a_subframe_is_the_librarys(void **state)
{
	uint64_t seed = test_seed();
	static struct input in;

	for (unsigned i = 0; i < TEST_TRIES(TRIES); i++) {
		fill(&seed, &in, SUBFRAME);
		compare(&in, SUBFRAME, i & 1, i & 2);
	}
}

/* The library reads ten samples at least and writes in pairs. */
static void so_is_any_length(void **state)
{
	uint64_t seed = test_seed();
	static struct input in;

	for (unsigned i = 0; i < TEST_TRIES(TRIES / 20); i++) {
		int n = ORDER + (int)test_below(&seed, LONGEST - ORDER + 1);

		fill(&seed, &in, LONGEST);
		compare(&in, (int16_t)(n & ~1), i & 1, i & 2);
	}
}

/* Sums from just below to just above what fits: the sample before gives 4096
 * times itself, the input the rest. */
static void the_limiter_is_as_odd_as_the_librarys(void **state)
{
	static const int32_t edges[] = { 0x07ffffff, 0x07fff000, -0x08000000,
					 0x08000000, -0x08001000 };
	struct input in = { .a = { 1, -4096 } };

	for (size_t e = 0; e < sizeof(edges) / sizeof(edges[0]); e++) {
		int32_t before = edges[e] / 4096;

		before = before > INT16_MAX ? INT16_MAX : before;
		before = before < INT16_MIN ? INT16_MIN : before;
		in.mem[ORDER - 1] = (int16_t)before;
		for (int off = -4; off <= 4; off++) {
			int32_t rest = edges[e] - before * 4096 - 2048 + off;

			in.x[0] = (int16_t)rest;
			compare(&in, SUBFRAME, 1, false);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_subframe_is_the_librarys),
		cmocka_unit_test(so_is_any_length),
		cmocka_unit_test(the_limiter_is_as_odd_as_the_librarys),
	};

	return cmocka_run_group_tests(tests, kernels_needed, NULL);
}
