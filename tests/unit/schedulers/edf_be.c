/* SPDX-License-Identifier: Apache-2.0 */
/*
 * edf-be, where best effort has deadlines: what tells the server (be_server.c)
 * that calls left, that somebody ran too long, that a job never ran, that
 * nothing waited. Deadlines are worked out by hand: beside a call of C every T
 * with the deadline T, E is t up to T - C, flat up to T, and rises by 1 - C /
 * T.
 */
#include "schedulers/policies.h"
#include "sim_rig.h"

/* The jobs of a test, which outlive its rig. */
static struct sim_job jobs[8];

static struct sim_rig *rig_of(const struct cr_sched_ops *ops, const char *opts)
{
	return rig_new(ops, opts, 1, 8);
}

static void best_effort(struct rig_task *r)
{
	r->st.core.task.cls = CR_BE;
}

/* A task of best effort with one job of @cost at @at. */
static struct rig_task *be_job(struct sim_rig *rig, cr_ns at, cr_ns cost)
{
	struct rig_task *r = rig_add_with(rig, CR_SEC, cost, best_effort);

	assert_non_null(r);
	jobs[rig->ntasks] = (struct sim_job){ at, cost, CR_NEVER };
	r->job = &jobs[rig->ntasks];
	r->njobs = 1;
	sim_arrive_at(rig->sim, &r->st, at);
	return r;
}

static cr_ns deadline_of(const struct rig_task *r)
{
	struct cr_kv kv[8];

	assert_true(cr_sched_edf_be.explain(&r->st.core.task, kv, 8) > 0);
	assert_string_equal(kv[0].key, "deadline");
	return kv[0].value;
}

/* By hand, and what rounding adds. */
static void is_due(const struct rig_task *r, cr_ns when)
{
	assert_in_range(deadline_of(r), when, when + 2);
}

/* 2000 every 10000, by 2000 after each: E is 0 up to there, then rises by 0.8:
 * w is there after 2000 + 1.25 w. */
static void tight(struct rig_task *r)
{
	r->st.core.task.rel_deadline = 2000;
}

/* Beside both calls the second job would be due at 50000, behind the other
 * call's frame; beside that one alone it is at 34000, and before it. */
static void a_call_that_leaves_leaves_its_capacity(void **state)
{
	struct sim_rig *rig = rig_of(&cr_sched_edf_be, "rule=exact");
	struct rig_task *a = rig_add(rig, 10000, 5000), *first, *second;

	assert_non_null(rig_add(rig, 10000, 3000));
	first = be_job(rig, 0, 4000);
	second = be_job(rig, 30000, 4000);
	sim_run(rig->sim, 100);
	is_due(first, 20000);
	sim_run(rig->sim, 20000 - 1);
	sim_remove(rig->sim, &a->st);
	sim_run(rig->sim, 50000);
	assert_int_equal(second->done, 1);
	assert_int_equal(second->response, 4000);
	rig_free(rig);
}

static void takes_twice_its_cost(struct rig_task *r)
{
	r->cost *= 2;
}

/* Of the first call's 6000 were promised 3000: as if best effort had asked for
 * the rest at 6000, its 3000 of 7000 are the last of 6000 from 6000 on. */
static void what_a_call_overruns_is_charged(void **state)
{
	struct sim_rig *rig = rig_of(&cr_sched_edf_be, "rule=exact");
	struct rig_task *job;

	assert_non_null(rig_add_with(rig, 10000, 3000, takes_twice_its_cost));
	assert_non_null(rig_add(rig, 10000, 2000));
	job = be_job(rig, 7000, 3000);
	sim_run(rig->sim, 7500);
	is_due(job, 18000);
	rig_free(rig);
}

/* The first job leaves before it has run: the second one, of 1500, is due 1250
 * + 2000 later, and not at 8250, where the sum of both would be. */
static void a_job_that_never_ran_is_not_counted(void **state)
{
	struct sim_rig *rig = rig_of(&cr_sched_edf_be, "rule=exact");
	struct rig_task *gone, *job;

	assert_non_null(rig_add_with(rig, 10000, 2000, tight));
	gone = be_job(rig, 0, 4000);
	job = be_job(rig, 1500, 1000);
	sim_run(rig->sim, 1000);
	is_due(gone, 7000);
	sim_remove(rig->sim, &gone->st);
	sim_run(rig->sim, 1600);
	is_due(job, 4750);
	rig_free(rig);
}

static void tight_and_late(struct rig_task *r)
{
	tight(r);
	r->offset = CR_MS;
}

/* The call sends nothing yet. At 6000 nothing waits, and what was promised
 * before is forgotten: else the second would be due at 10750. */
static void an_idle_instant_ends_all_promises(void **state)
{
	struct sim_rig *rig = rig_of(&cr_sched_edf_be, "rule=exact");
	struct rig_task *job;

	assert_non_null(rig_add_with(rig, 10000, 2000, tight_and_late));
	(void)be_job(rig, 0, 6000);
	job = be_job(rig, 6100, 1000);
	sim_run(rig->sim, 6200);
	is_due(job, 9350);
	rig_free(rig);
}

/* Without deadlines, too: B has no claim for the time before it came. */
static void who_comes_late_shares_from_then_on(void **state)
{
	static struct sim_job early[20], late[20];
	struct sim_rig *rig = rig_of(&cr_sched_edf, NULL);
	struct sim_job *const all[] = { early, late };
	char line[1][128];

	for (unsigned k = 0; k < 2; k++) {
		struct rig_task *r =
			rig_add_with(rig, CR_SEC, 100, best_effort);

		for (unsigned i = 0; i < 20; i++)
			all[k][i] =
				(struct sim_job){ k ? 450 : 0, 100, CR_NEVER };
		r->job = all[k];
		r->njobs = 20;
		sim_arrive_at(rig->sim, &r->st, all[k][0].at);
	}
	rig_trace(rig, 100, 1, line, 12);
	assert_string_equal(line[0], "AAAAABABABAB");
	rig_free(rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_call_that_leaves_leaves_its_capacity),
		cmocka_unit_test(what_a_call_overruns_is_charged),
		cmocka_unit_test(a_job_that_never_ran_is_not_counted),
		cmocka_unit_test(an_idle_instant_ends_all_promises),
		cmocka_unit_test(who_comes_late_shares_from_then_on),
	};

	return cmocka_run_group_tests_name("edf_be", tests, NULL, NULL);
}
