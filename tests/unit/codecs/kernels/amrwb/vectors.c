/* SPDX-License-Identifier: Apache-2.0 */
/*
 * voAWB_Dot_product12, Updt_tar and voAWB_Copy give what the library's give,
 * whatever the numbers, for any length, in place and across themselves.
 */
#include <string.h>

#include "cmocka_cr.h"
#include "codecs/kernels/amrwb.h"
#include "kernels_needed.h"
#include "unit/codecs/kernels/numbers.h"
#include "unit/codecs/kernels/stock.h"

enum {
	TRIES = 1000000,
	SUBFRAME = 64,
	LONGEST = 320,
};

/* A length that encoders use, or any. */
static int16_t any_length(uint64_t *seed)
{
	if (test_below(seed, 8))
		return SUBFRAME;
	return (int16_t)test_below(seed, LONGEST + 1);
}

static void dot_product12_is_the_librarys(void **state)
{
	int16_t a[LONGEST], b[LONGEST];
	uint64_t seed = test_seed();

	for (unsigned i = 0; i < TEST_TRIES(TRIES / 2); i++) {
		int16_t n = any_length(&seed), ours = 99, stock = 99;

		fill_int16(&seed, a, (size_t)n);
		fill_int16(&seed, b, (size_t)n);
		assert_int_equal(
			voAWB_Dot_product12(a, b, n, &ours),
			STOCK(stock_voAWB_Dot_product12(a, b, n, &stock)));
		assert_int_equal(ours, stock);
	}
}

/* The sums from which normalising differs most. */
static void so_are_its_least_sums(void **state)
{
	for (int v = -70; v <= 70; v++) {
		int16_t a[16] = { 0 }, b[16] = { 0 }, ours, stock;

		a[0] = (int16_t)v;
		b[0] = 1;
		assert_int_equal(
			voAWB_Dot_product12(a, b, 16, &ours),
			STOCK(stock_voAWB_Dot_product12(a, b, 16, &stock)));
		assert_int_equal(ours, stock);
	}
}

/* A target, a vector, and room to write to before and behind. */
struct target {
	int16_t x[3 * LONGEST];
	int16_t y[LONGEST];
};

static void compare_target(const struct target *in, int to, int16_t gain,
			   int16_t n)
{
	static struct target ours, stock;

	ours = *in;
	stock = *in;
	Updt_tar(ours.x + LONGEST, ours.x + to, ours.y, gain, n);
	STOCK(stock_Updt_tar(stock.x + LONGEST, stock.x + to, stock.y, gain,
			     n));
	assert_memory_equal(&ours, &stock, sizeof(ours));
}

static void updt_tar_is_the_librarys(void **state)
{
	static struct target in;
	uint64_t seed = test_seed();

	for (unsigned i = 0; i < TEST_TRIES(TRIES / 4); i++) {
		int16_t n = any_length(&seed), gain;
		int to = i % 4 ? LONGEST : (int)test_below(&seed, 2 * LONGEST);

		fill_int16(&seed, in.x + LONGEST, (size_t)n);
		fill_int16(&seed, in.y, (size_t)n);
		fill_int16(&seed, &gain, 1);
		compare_target(&in, to, gain, n);
	}
}

static void copy_is_the_librarys(void **state)
{
	static int16_t ours[3 * LONGEST], stock[3 * LONGEST];
	uint64_t seed = test_seed();

	for (unsigned i = 0; i < TEST_TRIES(TRIES / 10); i++) {
		int16_t n = (int16_t)(2 + test_below(&seed, LONGEST - 1));
		unsigned to = test_below(&seed, 2 * LONGEST);

		fill_int16(&seed, ours, 3 * LONGEST);
		memcpy(stock, ours, sizeof(stock));
		voAWB_Copy(ours + LONGEST, ours + to, n);
		STOCK(stock_voAWB_Copy(stock + LONGEST, stock + to, n));
		assert_memory_equal(ours, stock, sizeof(ours));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(dot_product12_is_the_librarys),
		cmocka_unit_test(so_are_its_least_sums),
		cmocka_unit_test(updt_tar_is_the_librarys),
		cmocka_unit_test(copy_is_the_librarys),
	};

	return cmocka_run_group_tests(tests, kernels_needed, NULL);
}
