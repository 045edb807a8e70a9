/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Goodness: counters by the formula of the paper, and what follows from them.
 */
#include "schedulers/policies.h"
#include "endless.h"

/* 160 ticks; then n -> n / 2 + 160 whenever the loop has spent its own. */
static void a_sleeper_gathers_up_to_twice_its_ticks(void **state)
{
	static const int64_t ticks[] = { 160, 240, 280, 300, 310,
					 315, 317, 318, 319, 319 };
	static const struct sim_job late = { 1000 * CR_SEC, 1, CR_NEVER };
	struct sim_rig *rig = rig_new(&cr_sched_goodness, NULL, 1, 2);
	struct rig_task *sleeper = rig_add_jobs(rig, &late, 1);

	(void)add_loop(rig, NULL);
	for (unsigned i = 0; i < 10; i++) {
		sim_run(rig->sim, (2 * i + 1) * 100 * CR_MS);
		assert_int_equal(shown(sleeper, "counter_ticks"), ticks[i]);
	}
	sim_run(rig->sim, 900 * CR_SEC);
	assert_int_equal(shown(sleeper, "counter_ticks"), 319);
	rig_free(rig);
}

static void half(struct rig_task *r)
{
	r->st.core.task.nice = 10;
}

static void shares_follow_niceness(void **state)
{
	struct sim_rig *rig = rig_new(&cr_sched_goodness, NULL, 1, 2);
	struct rig_task *a = add_loop(rig, NULL), *b;

	b = add_loop(rig, half);
	sim_run(rig->sim, 30 * CR_SEC);
	assert_int_equal(cr_task_ran(&a->st.core.task, 30 * CR_SEC),
			 20 * CR_SEC);
	assert_int_equal(cr_task_ran(&b->st.core.task, 30 * CR_SEC),
			 10 * CR_SEC);
	rig_free(rig);
}

/* It has 160 ticks and the loop as many or less. */
static void who_wakes_up_displaces_who_computes(void **state)
{
	static const struct sim_job jobs[] = {
		{ 50 * CR_MS, 10 * CR_MS, CR_NEVER },
		{ 90 * CR_MS, 10 * CR_MS, CR_NEVER },
	};
	struct sim_rig *rig = rig_new(&cr_sched_goodness, NULL, 1, 2);
	struct rig_task *r = rig_add_jobs(rig, jobs, 2);

	(void)add_loop(rig, NULL);
	sim_run(rig->sim, CR_SEC);
	assert_int_equal(r->done, 2);
	assert_int_equal(r->response, 10 * CR_MS);
	rig_free(rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_sleeper_gathers_up_to_twice_its_ticks),
		cmocka_unit_test(shares_follow_niceness),
		cmocka_unit_test(who_wakes_up_displaces_who_computes),
	};

	return cmocka_run_group_tests_name("goodness", tests, NULL, NULL);
}
