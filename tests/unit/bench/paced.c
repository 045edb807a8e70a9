/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a core carries, by the times its frames took.
 */
#include "cmocka_cr.h"
#include "paced.h"

enum { FRAMES = 100000 };

static const cr_ns period = 20 * CR_MS, bound = 10 * CR_MS;
static uint32_t took[FRAMES];

static void all(cr_ns ns)
{
	for (int i = 0; i < FRAMES; i++)
		took[i] = (uint32_t)ns;
}

/* Within 1 %: what is beyond the limit piles up slowly. */
static void a_steady_core_is_filled(void **state)
{
	all(20 * CR_US);
	assert_in_range(paced_calls(took, FRAMES, period, bound), 1000, 1010);
	all(2 * CR_MS);
	assert_int_equal(paced_calls(took, FRAMES, period, bound), 10);
}

/* 20 us a frame, and one that takes @stop: what of it is beyond the bound has
 * to be made good while 1,000 others pass, so each must come that much more
 * than 20 us after the one before. */
static unsigned with_a_stop(cr_ns stop)
{
	all(20 * CR_US);
	took[FRAMES / 2] = (uint32_t)stop;
	return paced_calls(took, FRAMES, period, bound);
}

static void one_frame_in_a_hundred_may_be_late(void **state)
{
	assert_in_range(with_a_stop(11 * CR_MS), 950, 954); /* 20 ms / 21 us */
	assert_in_range(with_a_stop(40 * CR_MS), 398, 402); /* 20 ms / 50 us */
	assert_in_range(with_a_stop(310 * CR_MS), 62, 63);  /* 20 ms / 320 us */
}

static void speed_that_wanders_costs_calls(void **state)
{
	cr_ns sum = 0;
	unsigned calls, mean;

	/* 50 ms fast, 50 ms slow */
	for (int i = 0; i < FRAMES; i++) {
		took[i] = (uint32_t)(i / 2500 % 2 ? 28 * CR_US : 20 * CR_US);
		sum += took[i];
	}
	mean = (unsigned)(period * FRAMES / sum);
	calls = paced_calls(took, FRAMES, period, bound);
	assert_in_range(calls, 1000 * 20 / 28, mean);
}

static void not_even_one_call(void **state)
{
	all(30 * CR_MS);
	assert_int_equal(paced_calls(took, FRAMES, period, bound), 0);
	all(11 * CR_MS); /* keeps up, but every frame is late */
	assert_int_equal(paced_calls(took, FRAMES, period, bound), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_steady_core_is_filled),
		cmocka_unit_test(one_frame_in_a_hundred_may_be_late),
		cmocka_unit_test(speed_that_wanders_costs_calls),
		cmocka_unit_test(not_even_one_call),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
