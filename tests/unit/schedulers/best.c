/* SPDX-License-Identifier: Apache-2.0 */
/*
 * BEST: periods, confidence and deadlines as section 3.3 of the paper has them.
 */
#include "schedulers/policies.h"
#include "endless.h"

/* Wake-ups at 0, 100 and 250 ms. */
static const struct sim_job uneven[] = {
	{ 0, CR_MS, CR_NEVER },
	{ 100 * CR_MS, CR_MS, CR_NEVER },
	{ 250 * CR_MS, CR_MS, CR_NEVER },
};

/* 100 after one interval; then (150 + 1 * 100) / (1 + 1). */
static void the_period_is_a_weighted_mean_of_intervals(void **state)
{
	struct sim_rig *rig = rig_new(&cr_sched_best, "w=1.0", 1, 1);
	struct rig_task *r = rig_add_jobs(rig, uneven, 3);

	sim_run(rig->sim, 50 * CR_MS);
	assert_int_equal(shown(r, "period_found"), 0);
	assert_int_equal(shown(r, "deadline_found"), 300 * CR_MS);
	sim_run(rig->sim, 150 * CR_MS);
	assert_int_equal(shown(r, "period_found"), 100 * CR_MS);
	assert_int_equal(shown(r, "confidence_16"), 16);
	assert_int_equal(shown(r, "deadline_found"), 200 * CR_MS);
	sim_run(rig->sim, 300 * CR_MS);
	assert_int_equal(shown(r, "period_found"), 125 * CR_MS);
	/* |150 mod 125 - 62.5| = 37.5 of 62.5: 9.6 of 16 */
	assert_int_equal(shown(r, "confidence_16"), 9);
	assert_int_equal(shown(r, "deadline_found"), 375 * CR_MS);
	assert_int_equal(shown(r, "deadline_timer"), 124 * CR_MS);
	rig_free(rig);
}

static void below_the_threshold_there_is_no_timer(void **state)
{
	struct sim_rig *rig =
		rig_new(&cr_sched_best, "w=1.0,threshold=10", 1, 1);
	struct rig_task *r = rig_add_jobs(rig, uneven, 3);

	sim_run(rig->sim, 150 * CR_MS);
	assert_int_equal(shown(r, "deadline_timer"), 99 * CR_MS);
	sim_run(rig->sim, 300 * CR_MS);
	assert_int_equal(shown(r, "deadline_timer"), 0);
	rig_free(rig);
}

/* first-period is 0.3 s: its timer is spent then, at the end of a quantum, and
 * every quantum from there on puts it 5.22 s ahead. */
static void who_never_sleeps_is_put_behind_the_longest_period(void **state)
{
	struct sim_rig *rig = rig_new(&cr_sched_best, NULL, 1, 1);
	struct rig_task *r = add_loop(rig, NULL);

	sim_run(rig->sim, 250 * CR_MS);
	assert_int_equal(shown(r, "deadline_found"), 300 * CR_MS);
	sim_run(rig->sim, 350 * CR_MS);
	assert_int_equal(shown(r, "deadline_found"), 5520 * CR_MS);
	sim_run(rig->sim, 450 * CR_MS);
	assert_int_equal(shown(r, "deadline_found"), 5620 * CR_MS);
	rig_free(rig);
}

/* Turns of the loop begin at 1.0 s, and where a job of the other has ended. */
static void the_last_moments_of_a_quantum_are_not_disturbed(void **state)
{
	static const struct sim_job early = { 1085 * CR_MS, CR_MS, CR_NEVER };
	static const struct sim_job late = { 1095 * CR_MS, CR_MS, CR_NEVER };
	const struct sim_job *job[] = { &early, &late };
	const cr_ns response[] = { CR_MS, 6 * CR_MS };

	for (unsigned i = 0; i < 2; i++) {
		struct sim_rig *rig = rig_new(&cr_sched_best, NULL, 1, 2);
		struct rig_task *r;

		(void)add_loop(rig, NULL);
		r = rig_add_jobs(rig, job[i], 1);
		sim_run(rig->sim, 2 * CR_SEC);
		assert_int_equal(r->done, 1);
		assert_int_equal(r->response, response[i]);
		rig_free(rig);
	}
}

/* Without a period they have only pseudo-deadlines: equal turns. */
static void those_without_a_period_take_turns(void **state)
{
	struct sim_rig *rig = rig_new(&cr_sched_best, NULL, 1, 2);
	struct rig_task *a = add_loop(rig, NULL), *b = add_loop(rig, NULL);

	sim_run(rig->sim, 60 * CR_SEC);
	assert_int_equal(cr_task_ran(&a->st.core.task, 60 * CR_SEC),
			 30 * CR_SEC);
	assert_int_equal(cr_task_ran(&b->st.core.task, 60 * CR_SEC),
			 30 * CR_SEC);
	rig_free(rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_period_is_a_weighted_mean_of_intervals),
		cmocka_unit_test(below_the_threshold_there_is_no_timer),
		cmocka_unit_test(
			who_never_sleeps_is_put_behind_the_longest_period),
		cmocka_unit_test(
			the_last_moments_of_a_quantum_are_not_disturbed),
		cmocka_unit_test(those_without_a_period_take_turns),
	};

	return cmocka_run_group_tests_name("best", tests, NULL, NULL);
}
