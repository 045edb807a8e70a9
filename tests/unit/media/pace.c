/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The receiver waits only where its CPU is scarce and its turns are small, and
 * never longer than it is meant to.
 */
#include "cmocka_cr.h"
#include "media/rx.h"

#define PPM 1000000
/* A load at which nobody waits. */
#define IDLE 30000

/* The same share of the CPU for @looks looks. */
static void work(struct pace *p, cr_ns *now, cr_ns *used, int64_t load_ppm,
		 unsigned looks)
{
	for (unsigned i = 0; i < looks; i++) {
		*now += PACE_LOOK;
		*used += PACE_LOOK * load_ppm / PPM;
		assert_true(pace_due(p, *now));
		pace_look(p, *now, *used);
		assert_false(pace_due(p, *now));
	}
}

static void the_gap_grows_with_the_load(void **state)
{
	cr_ns before = 0;

	assert_int_equal(pace_gap(0), 0);
	assert_int_equal(pace_gap(IDLE), 0);
	assert_true(pace_gap(PPM / 2) > 0);
	for (int64_t load = 0; load <= 2 * PPM; load += 1000) {
		cr_ns gap = pace_gap(load);

		assert_true(gap >= before && gap <= PACE_GAP_MAX);
		before = gap;
	}
	assert_int_equal(pace_gap(PPM), PACE_GAP_MAX);
	assert_int_equal(pace_gap(2 * PPM), PACE_GAP_MAX);
}

static void it_never_waits_while_the_cpu_has_time(void **state)
{
	struct pace p = { 0 };
	cr_ns now = 5 * CR_SEC, used = 77;

	assert_int_equal(pace_wait(&p, 1, now, now), 0);
	pace_look(&p, now, used);
	assert_int_equal(p.gap, 0); /* one look tells nothing */
	work(&p, &now, &used, IDLE, 100);
	assert_int_equal(pace_wait(&p, 1, now, now), 0);
}

static void it_waits_when_the_cpu_is_scarce_and_turns_are_small(void **state)
{
	struct pace p = { 0 };
	cr_ns now = 5 * CR_SEC, used = 0;

	pace_look(&p, now, used);
	work(&p, &now, &used, PPM, 10);
	assert_int_equal(p.gap, PACE_GAP_MAX);
	assert_int_equal(pace_wait(&p, 1, now, now), PACE_GAP_MAX);
	/* from the turn's beginning on */
	assert_int_equal(pace_wait(&p, 1, now, now + PACE_GAP_MAX / 4),
			 PACE_GAP_MAX - PACE_GAP_MAX / 4);
	assert_int_equal(pace_wait(&p, 1, now, now + 2 * PACE_GAP_MAX), 0);
	assert_int_equal(pace_wait(&p, PACE_PACKETS, now, now), 0);
}

static void after_a_silence_the_past_is_forgotten(void **state)
{
	struct pace p = { 0 };
	cr_ns now = 5 * CR_SEC, used = 0;

	pace_look(&p, now, used);
	work(&p, &now, &used, PPM, 10);
	now += 60 * CR_SEC;
	pace_look(&p, now, used + CR_SEC);
	assert_int_equal(p.gap, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_gap_grows_with_the_load),
		cmocka_unit_test(it_never_waits_while_the_cpu_has_time),
		cmocka_unit_test(
			it_waits_when_the_cpu_is_scarce_and_turns_are_small),
		cmocka_unit_test(after_a_silence_the_past_is_forgotten),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
