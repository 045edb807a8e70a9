/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What edf-hsb counts, and how it comes out of the sums again; budgets in
 * corners. The constraints themselves are in edf_hsb.c.
 */
#include <errno.h>

#include "hsb_slots.h"

static void spread(struct rig_task *r)
{
	hard(r);
	r->st.core.task.cost.p99 = 60;
}

static void declared(struct rig_task *r)
{
	spread(r);
	r->st.core.task.contract.largest = 70;
}

/* A mean of 20, a p99 of 60, and 70 where that was declared. */
static void hard_tasks_count_by_their_worst_case(void **state)
{
	void (*const how[])(struct rig_task *) = { hard, spread, declared };
	static const cr_ns left[] = { 80, 40, 30 };
	struct cr_verdict v;

	for (unsigned i = 0; i < 3; i++) {
		struct sim_rig *rig = market("be-share=0", 1);

		assert_non_null(rig_add_with(rig, 100, 20, how[i]));
		assert_int_equal(ask(rig, CR_HARD, 100, left[i], &v), 0);
		assert_int_equal(ask(rig, CR_HARD, 100, left[i] + 1, &v),
				 -ENOSPC);
		rig_free(rig);
	}
}

/* Three times a third is more than one, in ppm. */
static void sums_are_rounded_against_the_task(void **state)
{
	struct sim_rig *rig = market("be-share=0", 1);

	assert_non_null(rig_add_with(rig, 300, 100, hard));
	assert_non_null(rig_add_with(rig, 300, 100, hard));
	assert_null(rig_add_with(rig, 300, 100, hard));
	assert_non_null(rig_add_with(rig, 300, 99, hard));
	rig_free(rig);
}

static void short_window(struct rig_task *r)
{
	hard(r);
	r->st.core.task.rel_deadline = 50;
}

static void a_close_deadline_counts_as_a_short_period(void **state)
{
	struct sim_rig *rig = market("be-share=0", 1);
	struct cr_verdict v;

	assert_non_null(rig_add_with(rig, 100, 20, short_window));
	assert_int_equal(ask(rig, CR_HARD, 100, 60, &v), 0);
	assert_int_equal(ask(rig, CR_HARD, 100, 61, &v), -ENOSPC);
	rig_free(rig);
}

/* Of 4 CPUs a server may have less than 4/6 of one: 0.7 is best effort's. */
static void best_efforts_servers_have_to_be_small_too(void **state)
{
	struct sim_rig *rig = market("be-servers=1,be-share=70%", 4);
	struct cr_verdict v;

	assert_int_equal(ask(rig, CR_SOFT, 100, 1, &v), -ENOSPC);
	assert_non_null(strstr(v.rule, "(2 M - 2)"));
	rig_free(rig);
}

static void the_emptier_run_queue_is_joined(void **state)
{
	struct sim_rig *rig = market("be-share=0", 2);
	struct cr_verdict v;

	rig->cfg.core.cpus_per_rq = 1;
	assert_non_null(rig_add_with(rig, 100, 60, hard));
	assert_int_equal(ask(rig, CR_HARD, 100, 10, &v), 1);
	assert_int_equal(ask(rig, CR_SOFT, 100, 10, &v), 1);
	rig_free(rig);
}

static void varies(struct rig_task *r)
{
	r->st.core.task.cost.variance_ns2 = 25;
}

/* All of the CPU is there again for either class. */
static void who_leaves_gives_everything_back(void **state)
{
	void (*const how[])(struct rig_task *) = { hard, NULL, varies };
	struct cr_verdict v;

	for (unsigned i = 0; i < 3; i++) {
		struct sim_rig *rig = market("be-share=0", 1);
		struct rig_task *r = rig_add_with(rig, 100, 60, how[i]);

		assert_non_null(r);
		assert_int_equal(ask(rig, CR_HARD, 100, 41, &v), -ENOSPC);
		assert_int_equal(ask(rig, CR_SOFT, 100, 41, &v), -ENOSPC);
		sim_remove(rig->sim, &r->st);
		assert_int_equal(ask(rig, CR_HARD, 100, 100, &v), 0);
		assert_int_equal(ask(rig, CR_SOFT, 100, 100, &v), 0);
		rig_free(rig);
	}
}

/* --- budgets in corners --- */

static void a_budget_is_at_most_the_period(void **state)
{
	struct sim_rig *rig = rig_on("be-share=0,budget=20", 1);
	struct rig_task *r = rig_add(rig, 100, 10);

	assert_int_equal(budget_of(r), 100);
	rig_free(rig);
}

/* Two want a CPU each and there is one. */
static void without_admission_all_budgets_fall_short_alike(void **state)
{
	struct sim_rig *rig = rig_on("be-share=0", 1);
	struct rig_task *a = rig_add(rig, 100, 100);
	struct rig_task *b = rig_add(rig, 1000, 1000);

	assert_int_equal(budget_of(a), 50);
	assert_int_equal(budget_of(b), 500);
	rig_free(rig);
}

static void a_hard_budget_is_the_worst_case(void **state)
{
	struct sim_rig *rig = rig_on("be-share=0", 1);
	struct rig_task *r = rig_add_with(rig, 100, 20, spread);

	assert_int_equal(budget_of(r), 60);
	rig_free(rig);
}

static void who_knows_no_cost_has_all_the_period(void **state)
{
	struct sim_rig *rig = rig_on("be-share=0", 1);
	struct rig_task *r = rig_add(rig, 100, 0);

	assert_int_equal(budget_of(r), 100);
	rig_free(rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(hard_tasks_count_by_their_worst_case),
		cmocka_unit_test(sums_are_rounded_against_the_task),
		cmocka_unit_test(a_close_deadline_counts_as_a_short_period),
		cmocka_unit_test(best_efforts_servers_have_to_be_small_too),
		cmocka_unit_test(the_emptier_run_queue_is_joined),
		cmocka_unit_test(who_leaves_gives_everything_back),
		cmocka_unit_test(a_budget_is_at_most_the_period),
		cmocka_unit_test(
			without_admission_all_budgets_fall_short_alike),
		cmocka_unit_test(a_hard_budget_is_the_worst_case),
		cmocka_unit_test(who_knows_no_cost_has_all_the_period),
	};

	return cmocka_run_group_tests_name("edf_hsb_admit", tests, NULL, NULL);
}
