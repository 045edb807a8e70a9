/* SPDX-License-Identifier: Apache-2.0 */
/*
 * voAWB_Syn_filt gives what the library's gives, whatever the numbers: apart,
 * in place, with and without an update of its memory, and in any length. So
 * does voAWB_Syn_filt_32, with any scale.
 */
#include <stdbool.h>
#include <string.h>

#include "cmocka_cr.h"
#include "codecs/kernels/amrwb.h"
#include "kernels_needed.h"
#include "unit/codecs/kernels/numbers.h"
#include "unit/codecs/kernels/stock.h"

enum {
	TRIES = 700000,
	ORDER = 16,
	LONGEST = 80, /* that the library has room for */
};

struct buffers {
	int16_t a[ORDER + 1];
	int16_t x[LONGEST];
	int16_t y[LONGEST];
	int16_t mem[ORDER];
};

/* Filters that stay away from the limits, and any. */
static void fill(uint64_t *seed, struct buffers *b, size_t n)
{
	memset(b->y, 0, sizeof(b->y));
	fill_int16(seed, b->a, ORDER + 1);
	fill_int16(seed, b->x, n);
	fill_int16(seed, b->mem, ORDER);
	if (test_below(seed, 2))
		b->a[0] = 4096;
}

static void compare(const struct buffers *in, int16_t n, bool update,
		    bool in_place)
{
	struct buffers ours = *in, stock = *in;

	voAWB_Syn_filt(ours.a, ours.x, in_place ? ours.x : ours.y, n, ours.mem,
		       update);
	STOCK(stock_voAWB_Syn_filt(stock.a, stock.x,
				   in_place ? stock.x : stock.y, n, stock.mem,
				   update));
	assert_memory_equal(&ours, &stock, sizeof(ours));
}

static void a_subframe_is_the_librarys(void **state)
{
	uint64_t seed = test_seed();
	struct buffers in;

	for (unsigned i = 0; i < TEST_TRIES(TRIES / 2); i++) {
		fill(&seed, &in, 64);
		compare(&in, 64, i % 2, i % 4 >= 2);
	}
}

static void so_is_any_length(void **state)
{
	uint64_t seed = test_seed();
	struct buffers in;

	for (unsigned i = 0; i < TEST_TRIES(TRIES / 10); i++) {
		int16_t n = (int16_t)test_below(&seed, LONGEST + 1);

		fill(&seed, &in, (size_t)n);
		compare(&in, n, i % 2, i % 4 >= 2);
	}
}

/* Two words a sample. */
struct words {
	int16_t a[ORDER + 1];
	int16_t exc[LONGEST];
	int16_t high[ORDER + LONGEST], low[ORDER + LONGEST];
};

static void two_words_are_the_librarys(void **state)
{
	static struct words ours, stock;
	uint64_t seed = test_seed();

	for (unsigned i = 0; i < TEST_TRIES(TRIES / 5); i++) {
		int16_t n = 64, q = (int16_t)((int)test_below(&seed, 14) - 2);

		if (i % 8 == 0)
			n = (int16_t)test_below(&seed, LONGEST + 1);
		fill_int16(&seed, ours.a, ORDER + 1);
		fill_int16(&seed, ours.exc, LONGEST);
		fill_int16(&seed, ours.high, ORDER + LONGEST);
		fill_int16(&seed, ours.low, ORDER + LONGEST);
		stock = ours;
		voAWB_Syn_filt_32(ours.a, ORDER, ours.exc, q, ours.high + ORDER,
				  ours.low + ORDER, n);
		STOCK(stock_voAWB_Syn_filt_32(stock.a, ORDER, stock.exc, q,
					      stock.high + ORDER,
					      stock.low + ORDER, n));
		assert_memory_equal(&ours, &stock, sizeof(ours));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_subframe_is_the_librarys),
		cmocka_unit_test(so_is_any_length),
		cmocka_unit_test(two_words_are_the_librarys),
	};

	return cmocka_run_group_tests(tests, kernels_needed, NULL);
}
