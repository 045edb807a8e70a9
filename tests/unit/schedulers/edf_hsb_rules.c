/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The small print of edf-hsb, rule by rule: when a period begins, what becomes
 * of budgets that are late, left over or overrun, who may use slack and until
 * when. Each schedule is worked out by hand; with its rule broken it is
 * another.
 */
#include "hsb_slots.h"

/* --- budgets --- */

/* 5 instead of 2: a period and one slot of debt. So one of the two that wait
 * has to wait for another budget. */
static void a_debt_is_taken_from_the_next_budget(void **state)
{
	static const struct sim_job more[] = { { 0, 500, 500 },
					       { 600, 100, 1100 },
					       { 700, 100, 1200 } };
	struct sim_rig *rig = rig_on(NS "be-share=0", 1);

	rig->cfg.preempt = SIM_FRAME;
	sends(rig, 5, 2, more, 3);
	expect(rig, "AAAAA.....A....A....", NULL);
}

static void a_budget_does_not_outlive_its_work(void **state)
{
	static const struct sim_job two[] = { { 0, 100, 1000 },
					      { 300, 100, 1300 } };
	struct sim_rig *rig = rig_on(NS "be-share=0", 1);

	sends(rig, 10, 4, two, 2);
	expect(rig, "A.........A.....", NULL);
}

/* A's first budget is used up at 6; its period was over at 5, and there was
 * work all the time: the next one ends at 10. */
static void a_period_begins_when_the_last_one_ended(void **state)
{
	static const struct sim_job three[] = { { 0, 200, 500 },
						{ 0, 200, 500 },
						{ 0, 200, 500 } };
	struct sim_rig *rig = rig_on(NS "be-share=0", 1);

	sends(rig, 5, 2, three, 3);
	JOB(rig, hard, 20, 4, 0, 4);
	expect(rig, "BBBBAAAA..AA....", NULL);
}

/* B gives away three slots, and has them back for its next frame. */
static void who_has_more_work_keeps_its_budget(void **state)
{
	static const struct sim_job burst[] = { { 0, 100, 1000 },
						{ 0, 200, 1000 },
						{ 0, 200, 1000 } };
	struct sim_rig *rig = rig_on(SLACK "be-share=0", 1);

	sends(rig, 10, 4, burst, 3);
	expect(rig, "AAAA......A.....", NULL);
}

static void short_and_hard(struct rig_task *r)
{
	hard(r);
	r->st.core.task.rel_deadline = 5 * SLOT;
}

/* A's server has the closer deadline, B's jobs have. */
static void hard_tasks_go_by_their_jobs_deadlines(void **state)
{
	struct sim_rig *rig = rig_on(NS "be-share=0", 1);

	(void)rig_add_with(rig, 10 * SLOT, 2 * SLOT, hard);
	(void)rig_add_with(rig, 20 * SLOT, 2 * SLOT, short_and_hard);
	expect(rig, "BBAA......AA........BBAA", NULL);
}

/* --- best effort's servers --- */

/* What nobody asked for in 25 slots is not saved up. */
static void best_effort_that_comes_late_has_one_budget(void **state)
{
	struct sim_rig *rig = rig_on(NS "be-share=20%", 1);

	JOB(rig, best_effort, 10, 1, 25, 10);
	expect(rig, ".........................AA........AA...", NULL);
}

/* It was waited for: the server's second period begins at 10, not at 11. */
static void a_late_server_of_best_effort_begins_on_time(void **state)
{
	struct sim_rig *rig = rig_on(NS "be-share=20%", 1);

	JOB(rig, hard, 30, 9, 0, 9);
	JOB(rig, best_effort, 10, 1, 0, 20);
	expect(rig, "AAAAAAAAABBBB.......BB...", NULL);
}

static void best_effort_pays_back_what_it_overran(void **state)
{
	static const struct sim_job two[] = { { 0, 500, CR_NEVER },
					      { 600, 100, CR_NEVER } };
	struct sim_rig *rig = rig_on(NS "be-share=20%", 1);
	struct rig_task *r;

	rig->cfg.preempt = SIM_FRAME;
	r = rig_add_with(rig, 10 * SLOT, SLOT, best_effort);
	r->job = two;
	r->njobs = 2;
	expect(rig, "AAAAA...............A....", NULL);
}

/* The server has two slots, A needs one: the other is B's before its own. */
static void best_effort_gives_away_what_it_does_not_need(void **state)
{
	struct sim_rig *rig = rig_on(SLACK "be-share=20%", 1);

	JOB(rig, best_effort, 10, 1, 0, 1);
	JOB(rig, NULL, 20, 1, 0, 3);
	expect(rig, "ABB.................B", NULL);
}

/* B is on A's slack when C comes; the server that waits for B is not C's. */
static void who_uses_slack_keeps_its_server(void **state)
{
	struct sim_rig *rig = rig_on(SLACK "be-share=20%", 1);

	JOB(rig, NULL, 10, 4, 0, 1);
	JOB(rig, best_effort, 10, 1, 0, 10);
	JOB(rig, NULL, 7, 1, 2, 5);
	expect(rig, "ABCCCBB..CBB....C...", NULL);
}

/* Two servers wait behind hard A for B and C; when C goes, the one with the
 * later deadline, 13, goes with it, so that B is before D, of 11. */
static void the_latest_server_rests(void **state)
{
	struct sim_rig *rig =
		rig_on("budget=1,reclaim=no,background=no,be-servers=2,"
		       "be-period=1us,be-share=20%",
		       1);
	struct rig_task *c;

	JOB(rig, hard, 30, 6, 0, 6);
	JOB(rig, best_effort, 10, 1, 0, 10);
	c = JOB(rig, best_effort, 10, 1, 3, 10);
	JOB(rig, NULL, 6, 2, 5, 2);
	sim_run(rig->sim, 5 * SLOT);
	sim_remove(rig->sim, &c->st);
	expect(rig, "ABBDDBB", NULL);
}

/* --- the order --- */

/* A's server ends its period before B's. */
static void best_effort_goes_by_its_servers_deadline(void **state)
{
	struct sim_rig *rig = rig_on(NS "be-share=20%", 1);

	JOB(rig, best_effort, 10, 1, 0, 5);
	JOB(rig, NULL, 20, 3, 0, 3);
	expect(rig, "AABBB.....AA....", NULL);
}

/* A's server ends at 10, and C, that comes at 1, has until 31. */
static void a_server_of_best_effort_keeps_its_cpu(void **state)
{
	struct sim_rig *rig = rig_on(NS "be-share=50%", 1);

	JOB(rig, best_effort, 10, 1, 0, 10);
	JOB(rig, NULL, 30, 3, 1, 3);
	expect(rig, "AAAAABBB..AAAAA.", NULL);
}

/* C interrupts A, whose turn is not over: B's is next. */
static void an_interrupted_turn_goes_on(void **state)
{
	struct sim_rig *rig = rig_on(NS "be-share=50%", 1);

	JOB(rig, best_effort, 10, 1, 0, 8);
	JOB(rig, best_effort, 10, 1, 0, 5);
	JOB(rig, NULL, 5, 1, 2, 1);
	expect(rig, "AACAAA....BBBBB.....AAA.", NULL);
}

static void hard_tasks_of_one_deadline_go_by_id(void **state)
{
	struct sim_rig *rig = rig_on(NS "be-share=0", 1);

	JOB(rig, hard, 9, 2, 1, 2);
	JOB(rig, hard, 10, 4, 0, 4);
	expect(rig, "BAABBB..", NULL);
}

static void soft_tasks_of_one_deadline_do_not_displace(void **state)
{
	struct sim_rig *rig = rig_on(NS "be-share=0", 1);

	JOB(rig, NULL, 9, 3, 1, 3);
	JOB(rig, NULL, 10, 4, 0, 4);
	expect(rig, "BBBBAAA.", NULL);
}

/* --- slack --- */

static void without_reclaiming_slack_is_nobodys(void **state)
{
	struct sim_rig *rig = rig_on(NS "be-share=0", 1);

	JOB(rig, NULL, 10, 4, 0, 1);
	JOB(rig, NULL, 20, 2, 0, 8);
	expect(rig, "ABB.................BB...", NULL);
}

/* B is done at 11, after its period. */
static void slack_of_a_late_server_is_nobodys(void **state)
{
	struct sim_rig *rig = rig_on(SLACK "be-share=0", 1);

	JOB(rig, hard, 30, 9, 0, 9);
	JOB(rig, NULL, 10, 4, 0, 2);
	JOB(rig, NULL, 20, 1, 0, 3);
	expect(rig, "AAAAAAAAABBC........C", NULL);
}

/* A's slack waits beside hard B until its period is over. */
static void slack_that_waits_ends_with_its_period(void **state)
{
	struct sim_rig *rig = rig_on(SLACK "be-share=0", 1);

	JOB(rig, NULL, 4, 2, 0, 1);
	JOB(rig, hard, 20, 4, 1, 4);
	JOB(rig, NULL, 20, 1, 1, 3);
	expect(rig, "ABBBBC...............C", NULL);
}

/* While B has the CPU nothing of A's slack is lost. */
static void a_busy_cpu_uses_no_slack_up(void **state)
{
	struct sim_rig *rig = rig_on(SLACK "be-share=0", 1);

	JOB(rig, NULL, 30, 4, 0, 1);
	JOB(rig, NULL, 10, 5, 1, 5);
	JOB(rig, NULL, 40, 1, 1, 4);
	expect(rig, "ABBBBBCCCC......", NULL);
}

/* A goes while B is on its slack; then there is a slot of B's for C, and no
 * more of A's. */
static void slack_goes_with_its_owner(void **state)
{
	struct sim_rig *rig = rig_on(SLACK "be-share=0", 1);
	struct rig_task *a = JOB(rig, NULL, 10, 4, 0, 1);

	JOB(rig, NULL, 20, 1, 0, 2);
	JOB(rig, NULL, 20, 1, 3, 3);
	sim_run(rig->sim, 2 * SLOT);
	sim_remove(rig->sim, &a->st);
	/* whose memory is free now */
	memset(a->st.core.task.priv, 0x7f, sizeof(a->st.core.task.priv));
	expect(rig, "BCC.....", NULL);
}

static void slack_of_hard_tasks_is_nobodys(void **state)
{
	struct sim_rig *rig = rig_on(SLACK "be-share=0", 1);

	JOB(rig, hard, 10, 4, 0, 1);
	JOB(rig, NULL, 20, 1, 0, 4);
	expect(rig, "AB..................B", NULL);
}

/* Best effort has A's slack before B has its budget, of the same deadline. */
static void slack_goes_before_a_server_of_its_deadline(void **state)
{
	struct sim_rig *rig = rig_on(SLACK "be-share=0", 1);

	JOB(rig, NULL, 10, 4, 0, 1);
	JOB(rig, NULL, 10, 2, 0, 2);
	JOB(rig, best_effort, 10, 1, 0, 3);
	expect(rig, "ACCCBB..........", NULL);
}

/* Of three slots two are left before 10. */
static void slack_is_used_until_its_deadline(void **state)
{
	struct sim_rig *rig = rig_on(SLACK "be-share=0", 1);

	JOB(rig, hard, 30, 7, 0, 7);
	JOB(rig, NULL, 10, 4, 0, 1);
	JOB(rig, NULL, 20, 1, 0, 6);
	expect(rig, "AAAAAAABCCC.........C", NULL);
}

/* B goes on with its own budget while A's slack runs out on the idle CPU; it
 * has what is left of that at 2. */
static void slack_is_for_who_waits(void **state)
{
	struct sim_rig *rig = rig_on(SLACK "be-share=0", 2);

	JOB(rig, NULL, 10, 4, 0, 1);
	JOB(rig, NULL, 20, 2, 0, 6);
	expect(rig, "A.BB................B", "BB...................");
}

static void slack_in_the_queue_goes_with_its_owner(void **state)
{
	struct sim_rig *rig = rig_on(SLACK "be-share=0", 1);
	struct rig_task *a = JOB(rig, NULL, 10, 4, 0, 1);

	JOB(rig, hard, 20, 3, 1, 3);
	JOB(rig, NULL, 20, 1, 1, 3);
	sim_run(rig->sim, 2 * SLOT);
	sim_remove(rig->sim, &a->st);
	expect(rig, "BBC.....", NULL);
}

/* --- background --- */

/* A has its second budget from 10 on, so that from 12 on it is B's turn. */
static void the_background_ends_with_a_new_budget(void **state)
{
	struct sim_rig *rig = rig_on("budget=1,reclaim=no,be-share=0", 1);

	JOB(rig, NULL, 10, 2, 0, 20);
	JOB(rig, NULL, 30, 5, 12, 5);
	expect(rig, "AAAAAAAAAAAABBBBBAAAAA", NULL);
}

static void best_effort_leaves_the_background_for_its_server(void **state)
{
	struct sim_rig *rig =
		rig_on("budget=1,reclaim=no,be-servers=1,be-period=1us,"
		       "be-share=20%",
		       1);

	JOB(rig, best_effort, 10, 1, 0, 20);
	JOB(rig, NULL, 30, 5, 12, 5);
	expect(rig, "AAAAAAAAAAAABBBBBAAAAA", NULL);
}

/* From 2 on A, in the background, and the idle CPU use up B's eight slots until
 * 6: nothing is left for C, whose budget lasts until 7. So D and E, who come at
 * 8, displace both, and by rank nobody else. */
static void the_background_uses_slack_up(void **state)
{
	struct sim_rig *rig = rig_on("budget=1,be-share=0", 2);

	JOB(rig, NULL, 40, 1, 0, 20);
	JOB(rig, NULL, 30, 10, 0, 2);
	JOB(rig, NULL, 50, 1, 6, 10);
	JOB(rig, NULL, 32, 3, 8, 3);
	JOB(rig, NULL, 32, 3, 8, 3);
	expect(rig, "BB....CCDDDA", "AAAAAAAAEEEC");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_debt_is_taken_from_the_next_budget),
		cmocka_unit_test(a_budget_does_not_outlive_its_work),
		cmocka_unit_test(a_period_begins_when_the_last_one_ended),
		cmocka_unit_test(who_has_more_work_keeps_its_budget),
		cmocka_unit_test(hard_tasks_go_by_their_jobs_deadlines),
		cmocka_unit_test(best_effort_that_comes_late_has_one_budget),
		cmocka_unit_test(a_late_server_of_best_effort_begins_on_time),
		cmocka_unit_test(best_effort_pays_back_what_it_overran),
		cmocka_unit_test(best_effort_gives_away_what_it_does_not_need),
		cmocka_unit_test(who_uses_slack_keeps_its_server),
		cmocka_unit_test(the_latest_server_rests),
		cmocka_unit_test(best_effort_goes_by_its_servers_deadline),
		cmocka_unit_test(a_server_of_best_effort_keeps_its_cpu),
		cmocka_unit_test(an_interrupted_turn_goes_on),
		cmocka_unit_test(hard_tasks_of_one_deadline_go_by_id),
		cmocka_unit_test(soft_tasks_of_one_deadline_do_not_displace),
		cmocka_unit_test(without_reclaiming_slack_is_nobodys),
		cmocka_unit_test(slack_of_a_late_server_is_nobodys),
		cmocka_unit_test(slack_that_waits_ends_with_its_period),
		cmocka_unit_test(a_busy_cpu_uses_no_slack_up),
		cmocka_unit_test(slack_goes_with_its_owner),
		cmocka_unit_test(slack_of_hard_tasks_is_nobodys),
		cmocka_unit_test(slack_goes_before_a_server_of_its_deadline),
		cmocka_unit_test(slack_is_used_until_its_deadline),
		cmocka_unit_test(slack_is_for_who_waits),
		cmocka_unit_test(slack_in_the_queue_goes_with_its_owner),
		cmocka_unit_test(the_background_ends_with_a_new_budget),
		cmocka_unit_test(
			best_effort_leaves_the_background_for_its_server),
		cmocka_unit_test(the_background_uses_slack_up),
	};

	return cmocka_run_group_tests_name("edf_hsb_rules", tests, NULL, NULL);
}
