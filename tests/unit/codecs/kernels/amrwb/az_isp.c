/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Az_isp gives what the library's gives: for stable predictors, which have all
 * roots, for such with an error here and there, and whatever the numbers.
 */
#include <stdbool.h>
#include <string.h>

#include "cmocka_cr.h"
#include "codecs/kernels/amrwb.h"
#include "kernels_needed.h"
#include "unit/codecs/kernels/numbers.h"
#include "unit/codecs/kernels/stock.h"

enum {
	TRIES = 150000,
	ORDER = 16,
};

/* A predictor of reflection coefficients below @most / 1000, Q12. */
static void fill_stable(uint64_t *seed, int16_t a[], unsigned most)
{
	double p[ORDER + 1] = { 1 };

	for (int m = 1; m <= ORDER; m++) {
		double k = ((double)test_below(seed, 2 * most) - most) / 1000;
		double next[ORDER + 1] = { 1 };

		for (int i = 1; i <= m; i++)
			next[i] = p[i] + k * p[m - i];
		memcpy(p, next, sizeof(p));
	}
	for (int i = 0; i <= ORDER; i++) {
		double v = p[i] * 4096;

		a[i] = (int16_t)(v > 32767 ? 32767 : v < -32768 ? -32768 : v);
	}
}

/* Returns whether all roots were found. */
static bool compare(int16_t a[])
{
	int16_t old[ORDER], ours[ORDER] = { 0 }, stock[ORDER] = { 0 };

	for (int i = 0; i < ORDER; i++)
		old[i] = (int16_t)(i + 1);
	Az_isp(a, ours, old);
	STOCK(stock_Az_isp(a, stock, old));
	assert_memory_equal(ours, stock, sizeof(ours));
	return memcmp(ours, old, sizeof(old)) != 0;
}

static void stable_predictors_are_the_librarys(void **state)
{
	uint64_t seed = test_seed();
	unsigned found = 0, tries = TEST_TRIES(TRIES);

	for (unsigned i = 0; i < tries; i++) {
		int16_t a[ORDER + 1];

		fill_stable(&seed, a, 100 + 850 * (i % 8) / 8);
		found += compare(a);
	}
	assert_true(found > tries / 2);
}

static void so_are_any(void **state)
{
	uint64_t seed = test_seed();

	for (unsigned i = 0; i < TEST_TRIES(TRIES / 2); i++) {
		int16_t a[ORDER + 1];

		if (i % 2) {
			fill_stable(&seed, a, 600);
			fill_int16(&seed, a + test_below(&seed, ORDER), 2);
		} else {
			fill_int16(&seed, a, ORDER + 1);
		}
		compare(a);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(stable_predictors_are_the_librarys),
		cmocka_unit_test(so_are_any),
	};

	return cmocka_run_group_tests(tests, kernels_needed, NULL);
}
