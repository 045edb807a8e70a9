/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Interarrival jitter, against the formula of RFC 3550, 6.4.1, in floating
 * point.
 */
#include "cmocka_cr.h"

#include <math.h>

#include "media/rtp_stream.h"
#include "seed.h"

#define STEP 160u
#define PERIOD (20 * CR_MS)

static void even_packets_have_none(void **state)
{
	struct arrivals a = { 0 };

	assert_int_equal(arrivals_jitter(&a), 0);
	for (unsigned i = 0; i < 100; i++) /* the timestamp wraps */
		arrivals_add(&a, 7 * CR_SEC + i * PERIOD, i * STEP - 1000, STEP,
			     PERIOD);
	assert_int_equal(arrivals_jitter(&a), 0);
}

static void a_silence_is_no_jitter(void **state)
{
	struct arrivals a = { 0 };

	arrivals_add(&a, CR_SEC, 1000, STEP, PERIOD);
	arrivals_add(&a, CR_SEC + 500 * PERIOD, 1000 + 500 * STEP, STEP,
		     PERIOD);
	assert_int_equal(arrivals_jitter(&a), 0);
}

static void another_beginning_does_not_count(void **state)
{
	struct arrivals a = { 0 };

	arrivals_add(&a, CR_SEC, 1000, STEP, PERIOD);
	arrivals_add(&a, CR_SEC + PERIOD, 0x80000000u, STEP, PERIOD);
	assert_int_equal(arrivals_jitter(&a), 0);
	arrivals_add(&a, CR_SEC + 2 * PERIOD + 16 * CR_US, 0x80000000u + STEP,
		     STEP, PERIOD);
	assert_int_equal(arrivals_jitter(&a), CR_US);
}

static void it_is_the_formula(void **state)
{
	uint64_t seed = test_seed();

	for (unsigned try = 0; try < TEST_TRIES(100); try++) {
		struct arrivals a = { 0 };
		double jitter = 0, last = 0;

		for (unsigned i = 0; i < 300; i++) {
			cr_ns transit = test_below(&seed, 30 * CR_MS);

			arrivals_add(&a, i * PERIOD + transit, i * STEP, STEP,
				     PERIOD);
			if (i)
				jitter += (fabs((double)transit - last) -
					   jitter) /
					  16;
			last = (double)transit;
		}
		assert_true(fabs((double)arrivals_jitter(&a) - jitter) < 20);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(even_packets_have_none),
		cmocka_unit_test(a_silence_is_no_jitter),
		cmocka_unit_test(another_beginning_does_not_count),
		cmocka_unit_test(it_is_the_formula),
	};

	return cmocka_run_group_tests_name("arrivals", tests, NULL, NULL);
}
