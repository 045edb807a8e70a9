/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A call's histogram: its size, its buckets, and how far its quantiles are off.
 */
#include "cmocka_cr.h"

#include <stdlib.h>

#include "observe/histogram.h"
#include "seed.h"

#define FIRST (4 << SKETCH_UNIT_BITS) /* ns: where bucket 1 begins */

_Static_assert(sizeof(struct sketch) == 256, "bytes of a call");

static void buckets_follow_each_other(void **state)
{
	unsigned last = 0;

	assert_int_equal(sketch_bucket(-1), 0);
	assert_int_equal(sketch_bucket(0), 0);
	assert_int_equal(sketch_bucket(FIRST - 1), 0);
	assert_int_equal(sketch_bucket(FIRST), 1);
	for (cr_ns t = FIRST; t < 4 * CR_SEC; t += t / 50) {
		unsigned bucket = sketch_bucket(t);

		assert_true(bucket == last || bucket == last + 1);
		last = bucket;
	}
	assert_int_equal(last, SKETCH_BUCKETS - 1);
	assert_int_equal(sketch_bucket(CR_SEC * 3600), SKETCH_BUCKETS - 1);
	assert_int_equal(sketch_bucket(INT64_MAX), SKETCH_BUCKETS - 1);
}

static void an_empty_one_has_no_times(void **state)
{
	struct sketch s = { 0 };

	assert_int_equal(sketch_total(&s), 0);
	assert_int_equal(sketch_quantile(&s, 500000), 0);
}

static int compare(const void *a, const void *b)
{
	cr_ns x = *(const cr_ns *)a, y = *(const cr_ns *)b;

	return (x > y) - (x < y);
}

/* Against the sorted times themselves, over all octaves. */
static void quantiles_are_within_an_eighth(void **state)
{
	enum { TIMES = 1000 };
	static const uint32_t ppm[] = { 1,	100000, 500000,
					900000, 990000, 1000000 };
	uint64_t seed = test_seed();
	cr_ns t[TIMES];

	for (unsigned try = 0; try < TEST_TRIES(100); try++) {
		struct sketch s = { 0 };
		unsigned n = 1 + test_below(&seed, TIMES);

		for (unsigned i = 0; i < n; i++) {
			t[i] = ((cr_ns)FIRST << test_below(&seed, 15)) *
			       (1000 + test_below(&seed, 1000)) / 1000;
			sketch_add(&s, t[i]);
		}
		qsort(t, n, sizeof(*t), compare);
		assert_int_equal(sketch_total(&s), n);
		for (unsigned i = 0; i < sizeof(ppm) / sizeof(*ppm); i++) {
			uint64_t rank =
				((uint64_t)n * ppm[i] + 999999) / 1000000;
			cr_ns want = t[rank - 1];
			cr_ns got = sketch_quantile(&s, ppm[i]);

			assert_true(llabs(got - want) * 8 <= want);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(buckets_follow_each_other),
		cmocka_unit_test(an_empty_one_has_no_times),
		cmocka_unit_test(quantiles_are_within_an_eighth),
	};

	return cmocka_run_group_tests_name("sketch", tests, NULL, NULL);
}
