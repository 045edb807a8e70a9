/* SPDX-License-Identifier: Apache-2.0 */
/*
 * voAWB_Convolve and voAWB_cor_h_x give what the library's give, whatever the
 * numbers.
 */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "cmocka_cr.h"
#include "codecs/kernels/amrwb.h"
#include "kernels_needed.h"
#include "unit/codecs/kernels/numbers.h"
#include "unit/codecs/kernels/stock.h"

enum {
	TRIES = 1000000,
	SUBFRAME = 64,
};

static void convolve_is_the_librarys(void **state)
{
	int16_t x[SUBFRAME], h[SUBFRAME], ours[SUBFRAME], stock[SUBFRAME];
	uint64_t seed = test_seed();

	for (unsigned i = 0; i < TEST_TRIES(TRIES / 4); i++) {
		fill_int16(&seed, x, SUBFRAME);
		fill_int16(&seed, h, SUBFRAME);
		voAWB_Convolve(x, h, ours, SUBFRAME);
		STOCK(stock_voAWB_Convolve(x, h, stock, SUBFRAME));
		assert_memory_equal(ours, stock, sizeof(ours));
	}
}

static void so_it_is_in_place(void **state)
{
	int16_t x[SUBFRAME], ours[SUBFRAME], stock[SUBFRAME];
	uint64_t seed = test_seed();

	for (unsigned i = 0; i < TEST_TRIES(TRIES / 50); i++) {
		fill_int16(&seed, x, SUBFRAME);
		fill_int16(&seed, ours, SUBFRAME);
		memcpy(stock, ours, sizeof(stock));
		voAWB_Convolve(ours, x, ours, SUBFRAME);
		STOCK(stock_voAWB_Convolve(stock, x, stock, SUBFRAME));
		assert_memory_equal(ours, stock, sizeof(ours));
		voAWB_Convolve(x, ours, ours, SUBFRAME);
		STOCK(stock_voAWB_Convolve(x, stock, stock, SUBFRAME));
		assert_memory_equal(ours, stock, sizeof(ours));
	}
}

/* The library may never come back when the greatest sums of the four tracks
 * do not fit in 32 bits together. */
static bool library_returns(const int16_t h[], const int16_t x[])
{
	int64_t most[4] = { 0 };

	for (int i = 0; i < SUBFRAME; i++) {
		uint32_t sum = 1;

		for (int j = i; j < SUBFRAME; j++)
			sum += 2u * (uint32_t)(x[j] * h[j - i]);
		if (llabs((int64_t)(int32_t)sum) > most[i % 4])
			most[i % 4] = llabs((int64_t)(int32_t)sum);
	}
	return most[0] + most[1] + most[2] + most[3] <= INT32_MAX;
}

static void cor_h_x_is_the_librarys(void **state)
{
	int16_t x[SUBFRAME], h[SUBFRAME], ours[SUBFRAME], stock[SUBFRAME];
	uint64_t seed = test_seed();

	for (unsigned i = 0; i < TEST_TRIES(TRIES / 10); i++) {
		fill_int16(&seed, x, SUBFRAME);
		fill_int16(&seed, h, SUBFRAME);
		if (!library_returns(h, x))
			continue;
		voAWB_cor_h_x(h, x, ours);
		STOCK(stock_voAWB_cor_h_x(h, x, stock));
		assert_memory_equal(ours, stock, sizeof(ours));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(convolve_is_the_librarys),
		cmocka_unit_test(so_it_is_in_place),
		cmocka_unit_test(cor_h_x_is_the_librarys),
	};

	return cmocka_run_group_tests(tests, kernels_needed, NULL);
}
