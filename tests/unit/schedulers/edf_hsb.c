/* SPDX-License-Identifier: Apache-2.0 */
/*
 * edf-hsb slot by slot, worked out by hand: budgets and their renewal, slack,
 * background, best effort's servers, the partition; and admission constraint by
 * constraint. A slot is 100 ns.
 */
#include <errno.h>

#include "hsb_slots.h"

/* --- budgets --- */

static void a_budget_is_renewed_every_period(void **state)
{
	struct sim_rig *rig = rig_on(NS "be-share=0", 1);

	JOB(rig, NULL, 5, 2, 0, 5);
	JOB(rig, NULL, 10, 3, 0, 3);
	expect(rig, "AABBBAA...A....", NULL);
}

/* A's second job comes a slot early: its server's period is not over. */
static void work_before_its_time_waits_for_the_renewal(void **state)
{
	static const struct sim_job early[] = { { 0, 200, 500 },
						{ 400, 200, 900 },
						{ 1200, 200, 1700 } };
	struct sim_rig *rig = rig_on(NS "be-share=0", 1);

	sends(rig, 5, 2, early, 3);
	expect(rig, "AA...AA.....AA..", NULL);
}

/* Frames that wait share a period's budget: 4 every 10 for 1 + 2 + 2. */
static void a_server_goes_on_with_the_next_job(void **state)
{
	static const struct sim_job burst[] = { { 0, 100, 1000 },
						{ 0, 200, 1000 },
						{ 0, 200, 1000 } };
	struct sim_rig *rig = rig_on(NS "be-share=0", 1);

	sends(rig, 10, 4, burst, 3);
	expect(rig, "AAAA......A....", NULL);
}

/* In live mode a frame is not cut. A had 2 every 5 and took 5: the debt of 3 is
 * paid by a whole period and half of the next budget. */
static void what_overran_is_paid_back(void **state)
{
	static const struct sim_job more[] = { { 0, 500, 500 },
					       { 600, 100, 1100 },
					       { 1500, 100, 2000 } };
	struct sim_rig *rig = rig_on(NS "be-share=0", 1);

	rig->cfg.preempt = SIM_FRAME;
	sends(rig, 5, 2, more, 3);
	expect(rig, "AAAAA.....A....A....", NULL);
}

/* --- best effort --- */

/* 2 every 10 for B, whatever else is idle. */
static void best_effort_gets_its_servers_budget(void **state)
{
	struct sim_rig *rig = rig_on(NS "be-share=20%", 1);

	(void)rig_add(rig, 5 * SLOT, 2 * SLOT);
	JOB(rig, best_effort, 10, 1, 0, 20);
	expect(rig, "AABB.AA...AABB.AA...", NULL);
}

/* A turn is a server's budget; the servers are two, the CPU is one. */
static void best_effort_takes_turns(void **state)
{
	struct sim_rig *rig = rig_on(
		"budget=1,reclaim=no,background=no,be-servers=2,be-period=1us,"
		"be-share=20%",
		1);

	JOB(rig, best_effort, 10, 1, 0, 5);
	JOB(rig, best_effort, 10, 1, 0, 3);
	JOB(rig, best_effort, 10, 1, 0, 1);
	/* A's turn, B's; of C's server a slot is left to A, of B's, too */
	expect(rig, "AABB......CABA......A.", NULL);
}

static void without_servers_best_effort_runs_in_the_background(void **state)
{
	struct sim_rig *rig = rig_on(NS "be-share=0", 1);

	(void)rig_add(rig, 5 * SLOT, 2 * SLOT);
	JOB(rig, best_effort, 10, 1, 0, 20);
	expect(rig, "AABBBAABBBAABBB", NULL);
}

/* --- slack --- */

/* A needs 1 of its 4. B uses the rest before its own budget of 2. */
static void slack_goes_before_ones_own_budget(void **state)
{
	struct sim_rig *rig = rig_on(SLACK "be-share=0", 1);

	JOB(rig, NULL, 10, 4, 0, 1);
	JOB(rig, NULL, 20, 2, 0, 8);
	expect(rig, "ABBBBB..............BB..................B.", NULL);
}

/* B has used up its budget, C has not: what A leaves is B's, and so is the slot
 * that C does not need. */
static void slack_goes_first_to_who_has_no_budget(void **state)
{
	struct sim_rig *rig = rig_on(SLACK "be-share=0", 1);

	JOB(rig, NULL, 10, 4, 3, 1);
	JOB(rig, NULL, 20, 1, 0, 6);
	JOB(rig, NULL, 30, 3, 4, 2);
	expect(rig, "B..ABBBCCB..........B.", NULL);
}

static void slack_goes_to_best_effort(void **state)
{
	struct sim_rig *rig = rig_on(SLACK "be-share=10%", 1);

	JOB(rig, NULL, 10, 4, 0, 1);
	JOB(rig, best_effort, 10, 1, 0, 10);
	expect(rig, "ABBBB.....B.........B", NULL);
}

/* Two slots of A's three pass unused. */
static void idleness_uses_slack_up(void **state)
{
	struct sim_rig *rig = rig_on(SLACK "be-share=0", 1);

	JOB(rig, NULL, 10, 4, 0, 1);
	JOB(rig, NULL, 20, 1, 3, 4);
	expect(rig, "A..BB..................B...................B.", NULL);
}

/* A's slack has the deadline 4, and B, of 3, does not let it be used before. */
static void slack_ends_with_its_period(void **state)
{
	struct sim_rig *rig = rig_on(SLACK "be-share=0", 1);

	JOB(rig, NULL, 4, 2, 0, 1);
	JOB(rig, NULL, 3, 2, 1, 2);
	JOB(rig, NULL, 20, 1, 1, 3);
	/* from 3 to 4 C is on A's slack, then on its own */
	expect(rig, "ABBCC................C...................", NULL);
}

/* At 2, D takes A's CPU, and A's slack, which is B's, that of C: its deadline
 * is 10, C's is 31. At 8 B has C's. */
static void slack_displaces_by_its_deadline(void **state)
{
	struct sim_rig *rig = rig_on(SLACK "be-share=0", 2);

	JOB(rig, NULL, 10, 4, 0, 2);
	JOB(rig, NULL, 20, 1, 0, 4);
	JOB(rig, NULL, 30, 9, 1, 5);
	JOB(rig, NULL, 7, 3, 2, 3);
	expect(rig, "AADDD...B", "BCBBCCCC.");
}

/* --- background --- */

/* B comes at 3 and displaces it. What A did there costs it no budget. */
static void the_background_is_free_and_gives_way(void **state)
{
	static const struct sim_job two[] = { { 0, 500, 1000 },
					      { 1000, 200, 2000 } };
	struct sim_rig *rig = rig_on("budget=1,reclaim=no,be-share=0", 1);

	sends(rig, 10, 2, two, 2);
	JOB(rig, NULL, 10, 3, 3, 2);
	expect(rig, "AAABBAA...AA...", NULL);
}

/* Out of budget, soft before best effort; with budget again, out of it. */
static void the_background_is_for_soft_tasks_first(void **state)
{
	struct sim_rig *rig =
		rig_on("budget=1,reclaim=no,be-servers=1,be-period=1us,"
		       "be-share=10%",
		       1);

	JOB(rig, best_effort, 10, 1, 0, 20);
	JOB(rig, NULL, 10, 2, 0, 6);
	JOB(rig, NULL, 10, 1, 10, 1);
	/* the server is 1 of 10 and goes after B's; at 10 it is renewed */
	expect(rig, "BBABBBBAAACAAAAAAAAAAAAAAA", NULL);
}

/* --- hard tasks --- */

/* A and C share the first CPU, B has the other. D takes what they leave. */
static void hard_tasks_stay_on_their_cpus(void **state)
{
	struct sim_rig *rig = rig_on(NS "be-share=0", 2);

	(void)rig_add_with(rig, 10 * SLOT, 4 * SLOT, hard);
	(void)rig_add_with(rig, 10 * SLOT, 6 * SLOT, hard);
	(void)rig_add_with(rig, 10 * SLOT, 3 * SLOT, hard);
	JOB(rig, NULL, 20, 6, 0, 6);
	expect(rig, "AAAACCC...AAAACCC...", "BBBBBBDDDDBBBBBBDD..");
}

/* B is displaced by hard A, and displaces C, whose deadline is later. */
static void the_displaced_displace(void **state)
{
	struct sim_rig *rig = rig_on(NS "be-share=0", 2);

	JOB(rig, hard, 10, 3, 2, 3);
	JOB(rig, NULL, 20, 4, 0, 4);
	JOB(rig, NULL, 40, 4, 0, 4);
	expect(rig, "BBAAA...", "CCBBCC..");
}

/* A takes 3 where it said 2, again and again: B is not late for it. */
static void hard_tasks_have_budgets_too(void **state)
{
	struct sim_rig *rig = rig_on(NS "be-share=0", 1);
	struct rig_task *r = rig_add_with(rig, 4 * SLOT, 2 * SLOT, hard);

	r->cost = 3 * SLOT;
	(void)rig_add_with(rig, 8 * SLOT, 4 * SLOT, hard);
	expect(rig, "AABBAABBAABBAABB", NULL);
}

/* --- admission --- */

static void constraint_1_is_of_every_cpu(void **state)
{
	struct sim_rig *rig = market("be-share=0", 2);
	struct cr_verdict v;

	assert_non_null(rig_add_with(rig, 100, 60, hard));
	assert_non_null(rig_add_with(rig, 100, 50, hard));
	assert_int_equal(ask(rig, CR_HARD, 100, 50, &v), 0);
	assert_int_equal(v.free_ppm, 500000);
	assert_int_equal(ask(rig, CR_HARD, 100, 51, &v), -ENOSPC);
	assert_int_equal(v.bound_ppm, CR_PPM);
	assert_non_null(strstr(v.rule, "hard tasks of one CPU"));
	rig_free(rig);
}

/* A frame of 10 that is not cut may be in the way of the shortest window. */
static void constraint_1_counts_the_longest_frame_in_live_mode(void **state)
{
	struct sim_rig *rig = market("be-share=0", 1);
	struct cr_verdict v;

	rig->cfg.preempt = SIM_FRAME;
	assert_non_null(rig_add(rig, 100, 10));
	assert_int_equal(ask(rig, CR_HARD, 50, 41, &v), -ENOSPC);
	assert_int_equal(ask(rig, CR_HARD, 50, 25, &v), 0);
	assert_int_equal(v.free_ppm - v.need_ppm, 0); /* its own frame */
	assert_non_null(rig_add_with(rig, 50, 25, hard));
	assert_int_equal(ask(rig, CR_BE, 1000, 25, &v), 0);
	assert_int_equal(ask(rig, CR_BE, 1000, 26, &v), -ENOSPC);
	rig_free(rig);
}

/* Half a CPU is left by 0.4 hard and 0.1 for best effort. */
static void constraint_2_is_of_all_cpus(void **state)
{
	struct sim_rig *rig = market("be-share=10%", 1);
	struct cr_verdict v;

	assert_non_null(rig_add_with(rig, 100, 40, hard));
	assert_int_equal(ask(rig, CR_SOFT, 100, 50, &v), 0);
	assert_int_equal(v.free_ppm, 500000);
	assert_int_equal(ask(rig, CR_SOFT, 100, 51, &v), -ENOSPC);
	assert_int_equal(v.bound_ppm, CR_PPM);
	assert_non_null(strstr(v.rule, "best-effort servers <= M"));
	assert_int_equal(ask(rig, CR_BE, 100, 100, &v), 0);
	rig_free(rig);
}

/* c / (2 M - 2) = 3.6 / 6, less epsilon. */
static void constraint_3_keeps_servers_small(void **state)
{
	struct sim_rig *rig = market("be-share=10%,epsilon=1%", 4);
	struct cr_verdict v;

	assert_non_null(rig_add_with(rig, 100, 40, hard));
	assert_int_equal(ask(rig, CR_SOFT, 100, 59, &v), 0);
	assert_int_equal(ask(rig, CR_SOFT, 100, 60, &v), -ENOSPC);
	assert_int_equal(v.bound_ppm, 600000);
	assert_non_null(strstr(v.rule, "(2 M - 2)"));
	rig_free(rig);
}

static void varies(struct rig_task *r)
{
	r->st.core.task.cost.variance_ns2 = 25;
}

/* A budget that is the mean is not enough for a cost that varies. */
static void constraint_4_wants_more_than_the_mean(void **state)
{
	struct sim_rig *rig = market("budget=1,be-share=0", 1);
	struct cr_verdict v;

	assert_non_null(rig_add(rig, 100, 40));
	assert_null(rig_add_with(rig, 100, 10, varies));
	rig_free(rig);
	rig = market("budget=0.9,be-share=0", 1);
	assert_int_equal(ask(rig, CR_SOFT, 100, 50, &v), -ENOSPC);
	assert_non_null(strstr(v.rule, "budget > mean"));
	rig_free(rig);
	rig = market("be-share=0", 1);
	assert_null(rig_add_with(rig, 100, 100, varies));
	assert_non_null(rig_add_with(rig, 100, 99, varies));
	rig_free(rig);
}

/* --- the size of budgets --- */

/* The rows of Table 1 that follow from equation (3) with an epsilon of 0.8 ms,
 * which is 1.92 % of the period of 1001 / 24 ms. */
static void budgets_are_those_of_table_1(void **state)
{
	static const struct {
		unsigned videos;
		cr_ns budget; /* in 10 us */
	} row[] = { { 11, 1994 }, { 16, 1894 }, { 17, 1874 }, { 19, 1773 },
		    { 20, 1665 }, { 21, 1566 }, { 22, 1477 } };
	const cr_ns period = 41708333;

	for (unsigned i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		struct sim_rig *rig =
			rig_new(&cr_sched_edf_hsb, "epsilon=1.92%", 11, 64);

		rig->cfg.core.admission = true;
		for (unsigned v = 0; v < row[i].videos; v++) {
			assert_non_null(
				rig_add_with(rig, period, 4 * CR_MS, hard));
			assert_non_null(
				rig_add_with(rig, period, 14490000, varies));
		}
		assert_int_equal((budget_of(&rig->task[1]) + 5000) / 10000,
				 row[i].budget);
		rig_free(rig);
	}
}

static void of_23_videos_the_last_is_refused(void **state)
{
	const cr_ns period = 41708333;
	struct sim_rig *rig = rig_new(&cr_sched_edf_hsb, NULL, 11, 64);

	rig->cfg.core.admission = true;
	for (unsigned v = 0; v < 22; v++) {
		assert_non_null(rig_add_with(rig, period, 4 * CR_MS, hard));
		assert_non_null(rig_add_with(rig, period, 14490000, varies));
	}
	assert_non_null(rig_add_with(rig, period, 4 * CR_MS, hard));
	assert_null(rig_add_with(rig, period, 14490000, varies));
	rig_free(rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_budget_is_renewed_every_period),
		cmocka_unit_test(work_before_its_time_waits_for_the_renewal),
		cmocka_unit_test(a_server_goes_on_with_the_next_job),
		cmocka_unit_test(what_overran_is_paid_back),
		cmocka_unit_test(best_effort_gets_its_servers_budget),
		cmocka_unit_test(best_effort_takes_turns),
		cmocka_unit_test(
			without_servers_best_effort_runs_in_the_background),
		cmocka_unit_test(slack_goes_before_ones_own_budget),
		cmocka_unit_test(slack_goes_first_to_who_has_no_budget),
		cmocka_unit_test(slack_goes_to_best_effort),
		cmocka_unit_test(idleness_uses_slack_up),
		cmocka_unit_test(slack_ends_with_its_period),
		cmocka_unit_test(slack_displaces_by_its_deadline),
		cmocka_unit_test(the_background_is_free_and_gives_way),
		cmocka_unit_test(the_background_is_for_soft_tasks_first),
		cmocka_unit_test(hard_tasks_stay_on_their_cpus),
		cmocka_unit_test(the_displaced_displace),
		cmocka_unit_test(hard_tasks_have_budgets_too),
		cmocka_unit_test(constraint_1_is_of_every_cpu),
		cmocka_unit_test(
			constraint_1_counts_the_longest_frame_in_live_mode),
		cmocka_unit_test(constraint_2_is_of_all_cpus),
		cmocka_unit_test(constraint_3_keeps_servers_small),
		cmocka_unit_test(constraint_4_wants_more_than_the_mean),
		cmocka_unit_test(budgets_are_those_of_table_1),
		cmocka_unit_test(of_23_videos_the_last_is_refused),
	};

	return cmocka_run_group_tests_name("edf_hsb", tests, NULL, NULL);
}
