/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Az_lsp of AMR-NB finds the line spectral pairs that the library's finds, and
 * keeps the old ones when it does: for filters like those of speech, and for
 * any numbers. It raises no exceptions of floating point.
 */
#include <fenv.h>
#include <string.h>

#include "cmocka_cr.h"
#include "codecs/kernels/amrnb.h"
#include "kernels_needed.h"
#include "unit/codecs/kernels/numbers.h"
#include "unit/codecs/kernels/stock.h"

enum {
	TRIES = 200000, /* each of some 300 polynomials */
	ORDER = 10,
};

/* The filter of reflection coefficients below 1 is stable, as Levinson's. */
static void stable_filter(uint64_t *seed, int16_t a[ORDER + 1])
{
	double filter[ORDER + 1] = { 1 };

	for (int m = 1; m <= ORDER; m++) {
		double k = (double)any_int16(seed) / 32768;
		double before[ORDER + 1];

		if (test_below(seed, 2))
			k *= k * k;
		memcpy(before, filter, sizeof(before));
		for (int i = 1; i <= m; i++)
			filter[i] = before[i] + k * before[m - i];
	}
	for (int i = 0; i <= ORDER; i++) {
		double v = filter[i] * 4096;

		a[i] = (int16_t)(v > 32767 ? 32767 : v < -32768 ? -32768 : v);
	}
}

static void compare(uint64_t *seed, int16_t a[ORDER + 1])
{
	int16_t ours[ORDER], stock[ORDER], old[ORDER];
	int32_t overflow[2] = { 0 };

	fill_int16(seed, old, ORDER);
	memset(ours, 0x55, sizeof(ours));
	memset(stock, 0x55, sizeof(stock));
	Az_lsp(a, ours, old, &overflow[0]);
	STOCK(stock_Az_lsp(a, stock, old, &overflow[1]));
	assert_memory_equal(ours, stock, sizeof(ours));
	assert_int_equal(overflow[0], overflow[1]);
}

static void of_stable_filters(void **state)
{
	uint64_t seed = test_seed();
	int16_t a[ORDER + 1];

	for (unsigned i = 0; i < TEST_TRIES(TRIES); i++) {
		stable_filter(&seed, a);
		compare(&seed, a);
	}
}

static void of_any_filters(void **state)
{
	uint64_t seed = test_seed();
	int16_t a[ORDER + 1];

	for (unsigned i = 0; i < TEST_TRIES(TRIES); i++) {
		fill_int16(&seed, a, ORDER + 1);
		compare(&seed, a);
	}
}

/* One of its polynomials is that of order 5 alone, which is 0 in the middle. */
static void without_exceptions(void **state)
{
	int16_t a[ORDER + 1] = { 4096, 4096 }, lsp[ORDER], old[ORDER] = { 0 };
	int32_t overflow = 0;

	assert_int_equal(feclearexcept(FE_ALL_EXCEPT), 0);
	Az_lsp(a, lsp, old, &overflow);
	assert_int_equal(fetestexcept(FE_DIVBYZERO | FE_INVALID), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(of_stable_filters),
		cmocka_unit_test(of_any_filters),
		cmocka_unit_test(without_exceptions),
	};

	return cmocka_run_group_tests(tests, kernels_needed, NULL);
}
