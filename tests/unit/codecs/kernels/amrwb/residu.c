/* SPDX-License-Identifier: Apache-2.0 */
/*
 * voAWB_Residu gives what the library's gives, whatever the numbers, also in
 * place and for lengths that no encoder uses.
 */
#include <string.h>

#include "cmocka_cr.h"
#include "codecs/kernels/amrwb.h"
#include "kernels_needed.h"
#include "unit/codecs/kernels/numbers.h"
#include "unit/codecs/kernels/stock.h"

enum {
	TRIES = 1000000,
	ORDER = 16,
	SUBFRAME = 64,
	LONGEST = 160,
};

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
	voAWB_Residu(in->a, in->x + ORDER, ours, n);
	STOCK(stock_voAWB_Residu(in->a, in->x + ORDER, stock, n));
	assert_memory_equal(ours, stock, sizeof(ours));
}

static void in_place(const struct input *in, int16_t n)
{
	struct input ours = *in, stock = *in;

	voAWB_Residu(ours.a, ours.x + ORDER, ours.x + ORDER, n);
	STOCK(stock_voAWB_Residu(stock.a, stock.x + ORDER, stock.x + ORDER, n));
	assert_memory_equal(&ours, &stock, sizeof(ours));
}

static void a_subframe_is_the_librarys(void **state)
{
	uint64_t seed = test_seed();
	static struct input in;

	for (unsigned i = 0; i < TEST_TRIES(TRIES / 2); i++) {
		fill(&seed, &in, SUBFRAME);
		apart(&in, SUBFRAME);
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
