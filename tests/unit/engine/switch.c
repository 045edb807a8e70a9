/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Replacing a policy at awkward moments: nothing is lost, or nothing changes.
 */
#include <errno.h>
#include <string.h>

#include "core_fixture.h"
#include "schedulers/policies.h"

static int switch_to(struct core_fixture *g, const struct cr_sched_ops *ops,
		     const char *opts, cr_ns now, struct cr_err *e)
{
	struct core_switch *sw;
	int rc = core_switch_prepare(&sw, g->core, N, ops, opts, e);

	if (rc)
		return rc;
	rc = core_switch_commit(sw, now, e);
	core_switch_finish(sw);
	return rc;
}

static void a_switch_keeps_every_waiting_job_in_order(void **state)
{
	static const unsigned order[N] = { 3, 1, 4, 0, 2, 5 };
	struct core_config cfg = { .ops = &cr_sched_edf, .ncpu = 1 };
	struct cr_err e = { "" };
	struct core_fixture g;

	open_core_joined(&g, cfg);
	for (unsigned k = 0; k < N; k++) {
		/* later released, earlier due */
		g.s[order[k]].rel_deadline = 1000 - 100 * (cr_ns)k;
		(void)frame(&g, order[k], k);
	}
	assert_int_equal(pick(&g, 0, 10), 5);
	assert_int_equal(switch_to(&g, &cr_sched_fifo, NULL, 11, &e), 0);
	/* the running one goes on and is stopped into the new policy */
	(void)source_push(&g.s[5], 12);
	assert_true(stop(&g, 0, 13));
	for (unsigned i = 0; i < N; i++) {
		assert_int_equal(pick(&g, 0, 14 + i), order[i]);
		(void)stop(&g, 0, 14 + i);
	}
	assert_int_equal(pick(&g, 0, 30), -1);
	close_core(&g, 30);
}

static int never_starts(struct cr_rq *rq)
{
	return rq->id == 1 ? -ENOTSUP : 0;
}

/* The last one to be handed over: all others have joined by then. */
static int not_the_last(const struct cr_sched *s, const struct cr_task *t,
			struct cr_verdict *v)
{
	(void)s;
	v->rule = "ids below 5";
	return t->id < 5 ? (int)(t->id % 2) : -EINVAL;
}

static void a_refused_switch_changes_nothing(void **state)
{
	struct core_config cfg = { .ops = &cr_sched_edf,
				   .ncpu = 2,
				   .cpus_per_rq = 1,
				   .admission = true };
	struct cr_sched_ops bad_init = cr_sched_fifo, picky = cr_sched_rr;
	struct cr_err e = { "" };
	struct core_switch *sw;
	struct core_fixture g, twin;

	bad_init.rq_init = never_starts;
	picky.admit = not_the_last;
	open_core_joined(&g, cfg);
	open_core_joined(&twin, cfg);
	for (unsigned i = 0; i < N; i++) {
		g.s[i].rel_deadline = twin.s[i].rel_deadline =
			1000 - 100 * (cr_ns)i;
		(void)frame(&g, i, i);
		(void)frame(&twin, i, i);
	}
	assert_int_equal(pick(&g, 0, 10), pick(&twin, 0, 10));
	assert_int_equal(switch_to(&g, &bad_init, NULL, 11, &e), -ENOTSUP);
	assert_non_null(strstr(e.text, "fifo does not start"));
	assert_int_equal(switch_to(&g, &picky, NULL, 12, &e), -EINVAL);
	assert_non_null(strstr(e.text, "not a task for rr: needs ids below 5"));
	assert_int_equal(switch_to(&g, &cr_sched_rr, "quantum=0", 12, &e),
			 -EINVAL);
	assert_int_equal(
		core_switch_prepare(&sw, g.core, N - 1, &cr_sched_rr, NULL, &e),
		0);
	assert_int_equal(core_switch_commit(sw, 12, &e), -EAGAIN);
	core_switch_finish(sw);
	/* the same decisions as the twin that never tried */
	assert_ptr_equal(core_sched(g.core)->ops, &cr_sched_edf);
	for (unsigned q = 0; q < 2; q++)
		assert_int_equal(core_rq(g.core, q)->load_ppm,
				 core_rq(twin.core, q)->load_ppm);
	for (cr_ns now = 13; now < 20; now++) {
		if (core_rq(g.core, 0)->cpu[0].running) {
			(void)stop(&g, 0, now);
			(void)stop(&twin, 0, now);
		}
		assert_int_equal(pick(&g, 0, now), pick(&twin, 0, now));
	}
	close_core(&g, 30);
	close_core(&twin, 30);
}

/* --- a policy that knows whom it picked --- */

static struct {
	unsigned picked, stopped;
	enum cr_enq last_why;
} heard;

static struct cr_task *hearing_pick(struct cr_rq *rq, unsigned cpu, cr_ns now)
{
	struct cr_task *t = cr_sched_fifo.pick(rq, cpu, now);

	heard.picked += t != NULL;
	return t;
}

static void hearing_stop(struct cr_rq *rq, unsigned cpu, struct cr_task *t,
			 cr_ns ran, enum cr_stop why, cr_ns now)
{
	heard.stopped++;
	cr_sched_fifo.stop(rq, cpu, t, ran, why, now);
}

static void hearing_enqueue(struct cr_rq *rq, struct cr_task *t,
			    enum cr_enq why, cr_ns now)
{
	heard.last_why = why;
	cr_sched_fifo.enqueue(rq, t, why, now);
}

static void a_policy_hears_no_stop_of_what_it_did_not_pick(void **state)
{
	struct core_config cfg = { .ops = &cr_sched_edf, .ncpu = 1 };
	struct cr_sched_ops hearing = cr_sched_fifo;
	struct cr_err e = { "" };
	struct core_task *t;
	struct core_fixture g;

	hearing.pick = hearing_pick;
	hearing.stop = hearing_stop;
	hearing.enqueue = hearing_enqueue;
	open_core_joined(&g, cfg);
	(void)frame(&g, 0, 0);
	assert_int_equal(pick(&g, 0, 1), 0);
	assert_int_equal(switch_to(&g, &hearing, NULL, 2, &e), 0);
	/* the job it did not pick comes back, as new to it */
	t = core_stop(g.core, core_rq(g.core, 0), 0, 1, CR_STOP_PREEMPT, 3);
	assert_int_equal(heard.stopped, 0);
	assert_true(core_again(g.core, t, 3));
	assert_int_equal(heard.last_why, CR_ENQ_MIGRATE);
	/* from now on it is the policy's own */
	assert_int_equal(pick(&g, 0, 4), 0);
	t = core_stop(g.core, core_rq(g.core, 0), 0, 1, CR_STOP_PREEMPT, 5);
	assert_int_equal(heard.stopped, 1);
	assert_true(core_again(g.core, t, 5));
	assert_int_equal(heard.last_why, CR_ENQ_REQUEUE);
	close_core(&g, 6);
}

static void edf_refuses_what_fifo_took(void **state)
{
	struct core_config cfg = { .ops = &cr_sched_fifo,
				   .ncpu = 1,
				   .admission = true };
	struct cr_err e = { "" };
	struct core_fixture g;

	open_core(&g, cfg);
	for (unsigned i = 0; i < 5; i++) {
		g.s[i].task.core.task.cost.mean = 4 * CR_MS;
		join(&g, i); /* 5 * 0.2: all of the CPU, no room to block */
	}
	assert_int_equal(switch_to(&g, &cr_sched_edf, NULL, 1, &e), -ENOSPC);
	assert_non_null(strstr(e.text, "no-capacity: need 0.2000, free "));
	assert_ptr_equal(core_sched(g.core)->ops, &cr_sched_fifo);
	close_core(&g, 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_switch_keeps_every_waiting_job_in_order),
		cmocka_unit_test(a_refused_switch_changes_nothing),
		cmocka_unit_test(
			a_policy_hears_no_stop_of_what_it_did_not_pick),
		cmocka_unit_test(edf_refuses_what_fifo_took),
	};

	return cmocka_run_group_tests_name("switch", tests, NULL, NULL);
}
