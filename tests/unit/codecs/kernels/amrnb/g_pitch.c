/* SPDX-License-Identifier: Apache-2.0 */
/*
 * G_pitch of AMR-NB gives what the library's gives, also where sums are too
 * large, at the end or on the way.
 */
#include <string.h>

#include "cmocka_cr.h"
#include "codecs/kernels/amrnb.h"
#include "kernels_needed.h"
#include "unit/codecs/kernels/numbers.h"
#include "unit/codecs/kernels/stock.h"

enum {
	TRIES = 1000000, /* of a subframe each */
	N = 40,
	MODES = 8,
	TERMS = 4,
};

struct output {
	int16_t terms[TERMS];
	int16_t gain;
	int32_t overflow;
};

/* x like y, larger or smaller; or anything. */
static void fill(uint64_t *seed, int16_t x[N], int16_t y[N])
{
	unsigned kind = test_below(seed, 4);
	unsigned shift = test_below(seed, 6);

	fill_int16(seed, y, N);
	fill_int16(seed, x, N);
	for (int i = 0; i < N; i++) {
		if (kind == 0)
			x[i] = (int16_t)((y[i] >> shift) + (x[i] >> 8));
		else if (kind == 1)
			x[i] = (int16_t)(-(y[i] >> shift));
		else if (kind == 2)
			y[i] = (int16_t)(x[i] >> shift);
	}
}

static void all_subframes(void **state)
{
	uint64_t seed = test_seed();
	int16_t x[N], y[N];

	for (unsigned i = 0; i < TEST_TRIES(TRIES); i++) {
		int mode = (int)test_below(&seed, MODES);
		int16_t n = i % 64 ? N : 4 * (int16_t)test_below(&seed, N / 4);
		struct output ours = { .overflow =
					       (int32_t)test_below(&seed, 2) };
		struct output stock = ours;

		fill(&seed, x, y);
		ours.gain = G_pitch(mode, x, y, ours.terms, n, &ours.overflow);
		stock.gain = STOCK(stock_G_pitch(mode, x, y, stock.terms, n,
						 &stock.overflow));
		assert_memory_equal(&ours, &stock, sizeof(ours));
	}
}

/* The one sum that is not looked at, and the smallest energy that is too large;
 * and their neighbours. */
static void sums_at_the_limits(void **state)
{
	uint64_t seed = test_seed();

	for (unsigned i = 0; i < TEST_TRIES(TRIES / 10); i++) {
		struct output ours = { 0 }, stock = { 0 };
		int16_t x[N] = { 0 }, y[N] = { 0 };
		unsigned first = test_below(&seed, N - 2);
		unsigned second = first + 1 + test_below(&seed, N - first - 1);
		int16_t large = test_below(&seed, 2) ? INT16_MIN : INT16_MAX;

		x[first] = y[first] = large;
		x[second] = y[second] = large;
		if (test_below(&seed, 4) == 0)
			y[second] = 0;
		x[second] = (int16_t)(x[second] ^ (int)test_below(&seed, 2));
		x[test_below(&seed, N)] ^= (int16_t)test_below(&seed, 2);
		ours.gain = G_pitch(0, x, y, ours.terms, N, &ours.overflow);
		stock.gain = STOCK(stock_G_pitch(0, x, y, stock.terms, N,
						 &stock.overflow));
		assert_memory_equal(&ours, &stock, sizeof(ours));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_subframes),
		cmocka_unit_test(sums_at_the_limits),
	};

	return cmocka_run_group_tests(tests, kernels_needed, NULL);
}
