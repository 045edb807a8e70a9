/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Other terms for a task: where it is admitted, what it keeps, and what is
 * refused.
 */
#include <errno.h>

#include "core_fixture.h"
#include "schedulers/policies.h"

static struct core_terms soft(cr_ns mean)
{
	return (struct core_terms){
		.cls = CR_SOFT,
		.rel_deadline = 20 * CR_MS,
		.cost = { .mean = mean, .p99 = mean },
		.weight = 1024,
	};
}

static int change(struct core_fixture *g, unsigned i, unsigned flags,
		  struct core_terms to, struct cr_verdict *v)
{
	struct core_change *ch;
	int rc;

	assert_int_equal(core_change_prepare(&ch, g->core, N, flags), 0);
	rc = core_change(ch, &g->s[i].task.core, &to, CR_MS, v);
	core_change_finish(ch);
	return rc;
}

static const struct cr_task *task(const struct core_fixture *g, unsigned i)
{
	return &g->s[i].task.core.task;
}

static const struct core_config partitioned = {
	.ops = &cr_sched_edf, .ncpu = 2, .cpus_per_rq = 1, .admission = true
};

static void a_task_stays_where_it_fits_and_moves_where_it_does_not(void **state)
{
	struct cr_verdict v;
	struct core_fixture g;
	unsigned home;

	open_core_joined(&g, partitioned);
	home = task(&g, 0)->rq->id;
	assert_int_equal(change(&g, 0, 0, soft(8 * CR_MS), &v), 0);
	assert_int_equal(task(&g, 0)->rq->id, home);
	/* beside the first, which is as large, there is no room for it */
	for (unsigned i = 1; i < N; i++) {
		if (task(&g, i)->rq->id != home)
			continue;
		assert_true(frame(&g, i, CR_MS));
		assert_int_equal(
			change(&g, i, CORE_CHANGE_STAY, soft(9 * CR_MS), &v),
			-ENOSPC);
		assert_int_equal(task(&g, i)->rq->id, home);
		assert_int_equal(change(&g, i, 0, soft(9 * CR_MS), &v), 0);
		assert_int_equal(task(&g, i)->rq->id, !home);
		assert_int_equal(task(&g, i)->state, CR_QUEUED);
		assert_int_equal(core_rq(g.core, !home)->nqueued, 1);
		break;
	}
	close_core(&g, CR_MS);
}

static void what_runs_goes_on_where_it_runs(void **state)
{
	struct cr_verdict v;
	struct core_fixture g;
	unsigned home = 0;

	open_core_joined(&g, partitioned);
	for (unsigned i = 0; i < N; i++)
		if (task(&g, i)->rq->id == 0)
			home = i;
	assert_true(frame(&g, home, CR_MS));
	assert_int_equal(pick(&g, 0, CR_MS), home);
	/* 0.95 fit nowhere but alone; the other queue has no room either */
	assert_int_equal(change(&g, home, 0, soft(19 * CR_MS), &v), -ENOSPC);
	assert_string_equal(v.rule, "sum C / min(D, T) + longest frame / "
				    "shortest D <= bound");
	assert_int_equal(task(&g, home)->cost.mean, 100 * CR_US);
	assert_int_equal(change(&g, home, 0, soft(CR_MS), &v), 0);
	assert_int_equal(task(&g, home)->state, CR_RUNNING);
	assert_ptr_equal(core_rq(g.core, 0)->cpu[0].running, task(&g, home));
	(void)source_push(&g.s[home], CR_MS);
	assert_true(stop(&g, 0, 2 * CR_MS));
	assert_int_equal(pick(&g, 0, 2 * CR_MS), home);
	assert_int_equal(task(&g, home)->job.cost, CR_MS);
	(void)stop(&g, 0, 3 * CR_MS);
	close_core(&g, 3 * CR_MS);
}

static unsigned stops[4];

static void count_stop(struct cr_rq *rq, unsigned cpu, struct cr_task *t,
		       cr_ns ran, enum cr_stop why, cr_ns now)
{
	stops[why]++;
	if (cr_sched_fifo.stop)
		cr_sched_fifo.stop(rq, cpu, t, ran, why, now);
}

/* It hears that the task leaves, not that a job ends which it has not
 * picked. */
static void the_policy_hears_of_a_running_task_what_the_contract_says(
	void **state)
{
	struct cr_sched_ops ops = cr_sched_fifo;
	struct cr_verdict v;
	struct core_fixture g;

	ops.stop = count_stop;
	open_core_joined(&g, (struct core_config){ .ops = &ops, .ncpu = 1 });
	assert_true(frame(&g, 0, CR_MS));
	assert_int_equal(pick(&g, 0, CR_MS), 0);
	assert_int_equal(change(&g, 0, 0, soft(CR_MS), &v), 0);
	assert_int_equal(change(&g, 0, 0, soft(2 * CR_MS), &v), 0);
	(void)stop(&g, 0, 2 * CR_MS);
	assert_int_equal(stops[CR_STOP_DROP], 1);
	assert_int_equal(stops[CR_STOP_DONE], 0);
	assert_true(frame(&g, 0, 2 * CR_MS));
	assert_int_equal(pick(&g, 0, 2 * CR_MS), 0);
	(void)stop(&g, 0, 3 * CR_MS);
	assert_int_equal(stops[CR_STOP_DONE], 1);
	close_core(&g, 3 * CR_MS);
}

static void a_job_that_waits_goes_by_the_new_class(void **state)
{
	struct core_terms be = soft(CR_MS), again = soft(CR_MS);
	struct cr_verdict v;
	struct core_fixture g;

	open_core_joined(&g, partitioned);
	assert_true(frame(&g, 0, CR_MS));
	assert_int_equal(task(&g, 0)->job.deadline, 21 * CR_MS);
	be.cls = CR_BE;
	assert_int_equal(change(&g, 0, 0, be, &v), 0);
	assert_true(task(&g, 0)->job.deadline == CR_NEVER);
	again.rel_deadline = 7 * CR_MS;
	assert_int_equal(change(&g, 0, 0, again, &v), 0);
	assert_int_equal(task(&g, 0)->job.deadline, 8 * CR_MS);
	close_core(&g, CR_MS);
}

static void a_job_that_waits_goes_by_the_new_deadline(void **state)
{
	struct core_terms to = soft(CR_MS);
	struct cr_verdict v;
	struct core_fixture g;

	open_core_joined(&g, partitioned);
	assert_true(frame(&g, 0, CR_MS));
	assert_int_equal(task(&g, 0)->job.deadline, 21 * CR_MS);
	to.rel_deadline = 7 * CR_MS;
	assert_int_equal(change(&g, 0, 0, to, &v), 0);
	assert_int_equal(task(&g, 0)->job.deadline, 8 * CR_MS);
	/* as a rate-based model does, behind jobs that came too early */
	g.s[0].task.core.task.job.deadline = 30 * CR_MS;
	to.rel_deadline = 9 * CR_MS;
	assert_int_equal(change(&g, 0, 0, to, &v), 0);
	assert_int_equal(task(&g, 0)->job.deadline, 30 * CR_MS);
	close_core(&g, CR_MS);
}

/* What a task takes is reckoned by it. */
static void a_period_may_change(void **state)
{
	struct core_terms to = soft(6 * CR_MS);
	struct cr_verdict v;
	struct core_fixture g;
	unsigned home;

	open_core_joined(&g, partitioned);
	home = task(&g, 0)->rq->id;
	assert_int_equal(change(&g, 0, 0, to, &v), 0);
	assert_int_equal(task(&g, 0)->period, 20 * CR_MS);
	to.period = to.rel_deadline = 60 * CR_MS;
	assert_int_equal(change(&g, 0, 0, to, &v), 0);
	assert_int_equal(task(&g, 0)->period, 60 * CR_MS);
	assert_int_equal(task(&g, 0)->rq->id, home);
	/* as much, more often, is more than there is */
	to.period = to.rel_deadline = 5 * CR_MS;
	assert_int_equal(change(&g, 0, 0, to, &v), -ENOSPC);
	assert_int_equal(task(&g, 0)->period, 60 * CR_MS);
	close_core(&g, CR_MS);
}

/* Where more is promised than there is (force, or a cost that rose), a change
 * to the better must be possible. */
static void who_asks_for_no_more_is_never_refused(void **state)
{
	struct core_terms to = soft(30 * CR_MS);
	struct cr_verdict v;
	struct core_fixture g;

	open_core_joined(&g, partitioned);
	assert_int_equal(change(&g, 0, 0, to, &v), -ENOSPC);
	assert_int_equal(change(&g, 0, CORE_CHANGE_FORCE, to, &v), 1);
	assert_true(v.need_ppm > v.free_ppm);
	assert_int_equal(task(&g, 0)->cost.mean, 30 * CR_MS);
	to.nice = 5;
	assert_int_equal(change(&g, 0, 0, to, &v), 0);
	to.cost.mean = to.cost.p99 = 25 * CR_MS;
	assert_int_equal(change(&g, 0, 0, to, &v), 0);
	to.cls = CR_HARD;
	assert_int_equal(change(&g, 0, 0, to, &v), -ENOSPC);
	to.cls = CR_SOFT;
	to.rel_deadline = 19 * CR_MS;
	assert_int_equal(change(&g, 0, 0, to, &v), -ENOSPC);
	assert_int_equal(task(&g, 0)->rel_deadline, 20 * CR_MS);
	close_core(&g, CR_MS);
}

/* A policy's test may read the contract; what it refuses there is no less
 * refused because costs and deadlines are the same. */
static void more_jobs_are_more(void **state)
{
	const struct cr_contract was = { .jobs = 1,
					 .per = 20 * CR_MS,
					 .burst = 2,
					 .peak_jobs_per_sec = 100 };
	struct core_terms to = soft(30 * CR_MS);
	struct cr_contract more[5];
	struct cr_verdict v;
	struct core_fixture g;

	open_core_joined(&g, partitioned);
	to.contract = was;
	assert_int_equal(change(&g, 0, CORE_CHANGE_FORCE, to, &v), 1);
	for (unsigned i = 0; i < 5; i++)
		more[i] = was;
	more[0].per = 19 * CR_MS;
	more[1].burst = 3;
	more[2].peak_jobs_per_sec = 101;
	more[3].peak_jobs_per_sec = 0;
	more[4].jobs = 2;
	more[4].per = 40 * CR_MS;
	for (unsigned i = 0; i < 5; i++) {
		to.contract = more[i];
		assert_int_equal(change(&g, 0, 0, to, &v), -ENOSPC);
	}
	to.contract = (struct cr_contract){ .jobs = 1,
					    .per = 21 * CR_MS,
					    .burst = 1,
					    .peak_jobs_per_sec = 99 };
	assert_int_equal(change(&g, 0, 0, to, &v), 0);
	close_core(&g, CR_MS);
}

static void the_sums_are_those_of_the_new_terms(void **state)
{
	struct core_terms hard = soft(2 * CR_MS);
	struct cr_verdict v;
	struct core_fixture g;

	open_core_joined(
		&g, (struct core_config){ .ops = &cr_sched_fifo, .ncpu = 1 });
	assert_int_equal(core_rq(g.core, 0)->load_ppm, N * 5000);
	assert_int_equal(change(&g, 0, 0, hard, &v), 0);
	assert_int_equal(core_rq(g.core, 0)->load_ppm, (N - 1) * 5000 + 100000);
	hard.cls = CR_HARD;
	hard.contract.largest = 4 * CR_MS; /* the guard counts it by that */
	assert_int_equal(change(&g, 0, 0, hard, &v), 0);
	assert_int_equal(core_rq(g.core, 0)->load_ppm, (N - 1) * 5000 + 200000);
	assert_int_equal(core_ntasks(g.core, core_rq(g.core, 0)), N);
	close_core(&g, CR_MS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			a_task_stays_where_it_fits_and_moves_where_it_does_not),
		cmocka_unit_test(what_runs_goes_on_where_it_runs),
		cmocka_unit_test(
			the_policy_hears_of_a_running_task_what_the_contract_says),
		cmocka_unit_test(a_job_that_waits_goes_by_the_new_class),
		cmocka_unit_test(a_job_that_waits_goes_by_the_new_deadline),
		cmocka_unit_test(a_period_may_change),
		cmocka_unit_test(who_asks_for_no_more_is_never_refused),
		cmocka_unit_test(more_jobs_are_more),
		cmocka_unit_test(the_sums_are_those_of_the_new_terms),
	};

	return cmocka_run_group_tests_name("change", tests, NULL, NULL);
}
