/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A file's tests of a residual filter, RESIDU: it gives what the library's,
 * STOCK_RESIDU, gives, whatever the numbers, also in place and for lengths that
 * no encoder uses. ORDER, SUBFRAME, LONGEST and TRIES are the file's, too.
 */
#include <string.h>

#include "cmocka_cr.h"
#include "kernels_needed.h"
#include "unit/codecs/kernels/numbers.h"
#include "unit/codecs/kernels/stock.h"

/* A filter and a signal. */
struct input {
	int16_t a[ORDER + 1];
	int16_t x[ORDER + LONGEST];
};

static void fill(uint64_t *seed, struct input *in, int n)
{
	fill_int16(seed, in->a, ORDER + 1);
	fill_int16(seed, in->x, ORDER + (size_t)n);
}

static void apart(struct input *in, int16_t n)
{
	int16_t ours[LONGEST + 1], stock[LONGEST + 1];

	memset(ours, 0x55, sizeof(ours));
	memset(stock, 0x55, sizeof(stock));
	RESIDU(in->a, in->x + ORDER, ours, n);
	STOCK(STOCK_RESIDU(in->a, in->x + ORDER, stock, n));
	assert_memory_equal(ours, stock, sizeof(ours));
}

static void in_place(const struct input *in, int16_t n)
{
	struct input ours = *in, stock = *in;

	RESIDU(ours.a, ours.x + ORDER, ours.x + ORDER, n);
	STOCK(STOCK_RESIDU(stock.a, stock.x + ORDER, stock.x + ORDER, n));
	assert_memory_equal(&ours, &stock, sizeof(ours));
}

/* The encoder's length: a subframe. */
static void a_subframe_is_the_librarys(void **state)
{
	uint64_t seed = test_seed();
	static struct input in;

	for (unsigned i = 0; i < TEST_TRIES(TRIES); i++) {
		fill(&seed, &in, SUBFRAME);
		if (i % 8)
			apart(&in, SUBFRAME);
		else
			in_place(&in, SUBFRAME);
	}
}

static void so_is_any_length(void **state)
{
	uint64_t seed = test_seed();
	static struct input in;

	for (unsigned i = 0; i < TEST_TRIES(TRIES / 10); i++) {
		int16_t n = (int16_t)test_below(&seed, LONGEST + 1);

		fill(&seed, &in, n);
		apart(&in, n);
		in_place(&in, n);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_subframe_is_the_librarys),
		cmocka_unit_test(so_is_any_length),
	};

	return cmocka_run_group_tests(tests, kernels_needed, NULL);
}
