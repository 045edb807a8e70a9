/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Histograms against sorted samples: every quantile within 1 %, counts, sums
 * and maxima exact. The seed is printed; give it as the argument to repeat.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "cmocka_cr.h"
#include "observe/histogram.h"

enum { SAMPLES = 20000, ROUNDS = 20 };

static uint64_t seed;

/* xorshift64* (Vigna 2016): good enough to choose samples. */
static uint64_t draw(void)
{
	seed ^= seed >> 12;
	seed ^= seed << 25;
	seed ^= seed >> 27;
	return seed * UINT64_C(2685821657736338717);
}

static int by_value(const void *a, const void *b)
{
	const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

/* Log-uniform over 1 ns..60 s or uniform in a narrow range, by round. */
static int64_t sample(unsigned round)
{
	if (round % 2)
		return (int64_t)(draw() % 1000000) + 20 * CR_MS;
	return (int64_t)(draw() >> (28 + draw() % 36)) % (60 * CR_SEC) + 1;
}

static void expect_near(int64_t got, int64_t want)
{
	int64_t error = got > want ? got - want : want - got;

	if (error * 100 > want)
		fail_msg("%" PRId64 " is not within 1 %% of %" PRId64, got,
			 want);
}

static void check_quantiles(const struct histogram *h, const int64_t *sorted)
{
	static const uint32_t ppm[] = { 0,	1,	10000,	250000, 500000,
					900000, 990000, 999000, 999990 };

	for (size_t i = 0; i < sizeof(ppm) / sizeof(ppm[0]); i++) {
		uint64_t rank = ((uint64_t)SAMPLES * ppm[i] + 999999) / 1000000;

		expect_near(histogram_quantile(h, ppm[i]),
			    sorted[rank ? rank - 1 : 0]);
	}
	assert_int_equal(histogram_quantile(h, 1000000), sorted[SAMPLES - 1]);
	assert_int_equal(histogram_max(h), sorted[SAMPLES - 1]);
	assert_int_equal(histogram_count(h), SAMPLES);
}

static unsigned count_up_to(const int64_t *sorted, double bound)
{
	unsigned n = 0;

	while (n < SAMPLES && (double)sorted[n] <= bound)
		n++;
	return n;
}

/* Bounds may be off by the width of a bucket, counts may not. */
static void check_below(const struct histogram *h, const int64_t *sorted)
{
	for (double bound = 1; bound < 1e11; bound *= 1.7) {
		uint64_t got = histogram_below(h, (cr_ns)bound);

		if (got < count_up_to(sorted, (double)(cr_ns)bound / 1.01) ||
		    got > count_up_to(sorted, (double)(cr_ns)bound * 1.01))
			fail_msg("%" PRIu64 " up to %.0f", got, bound);
	}
}

static void quantiles_are_those_of_the_samples(void **state)
{
	static int64_t v[SAMPLES];
	static struct histogram h, half, empty;

	for (unsigned round = 0; round < ROUNDS; round++) {
		uint64_t sum = 0;

		h = half = empty;
		for (unsigned i = 0; i < SAMPLES; i++) {
			v[i] = sample(round);
			sum += (uint64_t)v[i];
			/* Half of them come through a merge. */
			histogram_add(i % 2 ? &h : &half, v[i]);
		}
		histogram_merge(&h, &half);
		qsort(v, SAMPLES, sizeof(v[0]), by_value);
		check_quantiles(&h, v);
		check_below(&h, v);
		assert_int_equal(histogram_sum(&h), sum);
		assert_int_equal(histogram_mean(&h), sum / SAMPLES);
	}
}

static void an_empty_histogram_is_all_zero(void **state)
{
	static struct histogram h;

	assert_int_equal(histogram_quantile(&h, 500000), 0);
	assert_int_equal(histogram_mean(&h), 0);
	assert_int_equal(histogram_count(&h), 0);
	assert_int_equal(histogram_max(&h), 0);
}

static void the_ends_of_the_range_are_kept(void **state)
{
	static struct histogram h;

	histogram_add(&h, -5);
	assert_int_equal(histogram_quantile(&h, 1), 0);
	histogram_add(&h, 200 * CR_SEC);
	histogram_add(&h, INT64_MAX);
	assert_int_equal(histogram_max(&h), INT64_MAX);
	assert_int_equal(histogram_count(&h), 3);
	/* Longer than the range: known to be at least its end. */
	assert_true(histogram_quantile(&h, 500000) >= 68 * CR_SEC);
}

static void a_summary_has_the_quantiles(void **state)
{
	static struct histogram h;
	struct histogram_summary s;

	for (int i = 1; i <= 100; i++)
		histogram_add(&h, i);
	histogram_summarise(&h, &s);
	assert_int_equal(s.count, 100);
	assert_int_equal(s.p50, 50);
	assert_int_equal(s.p99, 99);
	assert_int_equal(s.max, 100);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(quantiles_are_those_of_the_samples),
		cmocka_unit_test(an_empty_histogram_is_all_zero),
		cmocka_unit_test(the_ends_of_the_range_are_kept),
		cmocka_unit_test(a_summary_has_the_quantiles),
	};

	seed = argc > 1 ? strtoull(argv[1], NULL, 0) : (uint64_t)time(NULL);
	seed |= 1; /* zero would stay zero */
	printf("seed %" PRIu64 "\n", seed);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
