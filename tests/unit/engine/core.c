/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The core without threads: dropped, stale and cancelled frames, domains,
 * admission, and the replacement of a policy at an awkward moment.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cmocka_cr.h"
#include "engine/core.h"
#include "engine_source.h"
#include "schedulers/policies.h"

enum { N = 6 };

struct rig {
	struct core *core;
	struct source *s; /* [N] */
};

static void open_with(struct rig *g, struct core_config cfg)
{
	struct cr_err e = { "" };

	if (core_open(&g->core, &cfg, 0, &e))
		fail_msg("%s", e.text);
	g->s = calloc(N, sizeof(*g->s));
	assert_non_null(g->s);
	for (unsigned i = 0; i < N; i++) {
		source_init(&g->s[i], i, 2, cfg.ncpu);
		g->s[i].task.core.backlog = &source_backlog;
	}
}

static void join(struct rig *g, unsigned i)
{
	struct cr_verdict v;
	int rq = core_admit(g->core, &g->s[i].task.core.task, &v);

	assert_true(rq >= 0);
	core_add(g->core, &g->s[i].task.core, (unsigned)rq, 0);
}

static void open_all(struct rig *g, struct core_config cfg)
{
	open_with(g, cfg);
	for (unsigned i = 0; i < N; i++)
		join(g, i);
}

static void close_rig(struct rig *g, cr_ns now)
{
	for (unsigned i = 0; i < N; i++)
		if (g->s[i].task.core.task.rq)
			core_del(g->core, &g->s[i].task.core, now);
	core_close(g->core);
	free(g->s);
}

static bool frame(struct rig *g, unsigned i, cr_ns now)
{
	(void)source_push(&g->s[i], now);
	if (g->s[i].task.core.task.state != CR_IDLE)
		return false;
	return core_release(g->core, &g->s[i].task.core, now);
}

/* Pick on @cpu of the first run queue; -1: nothing. */
static int pick(struct rig *g, unsigned cpu, cr_ns now)
{
	struct core_task *t = core_pick(g->core, core_rq(g->core, 0), cpu, now);

	return t ? (int)t->task.id : -1;
}

static bool stop(struct rig *g, unsigned cpu, cr_ns now)
{
	struct core_task *t = core_stop(g->core, core_rq(g->core, 0), cpu, 1,
					CR_STOP_DONE, now);

	source_of(t)->done++;
	return core_again(g->core, t, now);
}

static void a_dropped_frame_changes_the_job_before_it_is_run(void **state)
{
	struct core_config cfg = { .ops = &cr_sched_edf, .ncpu = 1 };
	struct core_counts n;
	struct rig g;

	(void)state;
	open_all(&g, cfg);
	assert_true(frame(&g, 0, 0));	      /* deadline 20 ms */
	assert_true(frame(&g, 1, 5 * CR_MS)); /* deadline 25 ms */
	/* two more for task 0: its ring holds 2, the first one goes; the job
	 * that is left has deadline 26 ms, so task 1 is first now */
	assert_false(frame(&g, 0, 6 * CR_MS));
	assert_false(frame(&g, 0, 7 * CR_MS));
	assert_int_equal(g.s[0].dropped, 1);
	assert_int_equal(pick(&g, 0, 8 * CR_MS), 1);
	n = core_counts(g.core, core_rq(g.core, 0));
	assert_int_equal(n.gone, 1);
	assert_int_equal(n.picks, 1);
	assert_int_equal(g.s[0].task.core.task.job.seq, 1);
	assert_int_equal(g.s[0].task.core.task.job.deadline, 26 * CR_MS);
	assert_false(stop(&g, 0, 9 * CR_MS));
	assert_int_equal(pick(&g, 0, 9 * CR_MS), 0);
	assert_true(stop(&g, 0, 10 * CR_MS));
	assert_int_equal(pick(&g, 0, 10 * CR_MS), 0);
	assert_false(stop(&g, 0, 11 * CR_MS));
	assert_int_equal(pick(&g, 0, 11 * CR_MS), -1);
	close_rig(&g, 11 * CR_MS);
}

static void under_fifo_a_dropped_frame_does_not_cost_the_place(void **state)
{
	struct core_config cfg = { .ops = &cr_sched_fifo, .ncpu = 1 };
	struct rig g;

	(void)state;
	open_all(&g, cfg);
	(void)frame(&g, 0, 0);
	(void)frame(&g, 1, 1);
	(void)frame(&g, 0, 2);
	(void)frame(&g, 0, 3);
	assert_int_equal(g.s[0].dropped, 1);
	assert_int_equal(pick(&g, 0, 4), 0);
	assert_int_equal(g.s[0].task.core.task.job.seq, 1);
	(void)stop(&g, 0, 5);
	close_rig(&g, 6);
}

static void old_frames_are_shed_and_counted(void **state)
{
	struct core_config cfg = { .ops = &cr_sched_fifo,
				   .ncpu = 1,
				   .max_age = { [CR_SOFT] = 30 } };
	struct rig g;

	(void)state;
	open_all(&g, cfg);
	(void)frame(&g, 0, 0);
	(void)frame(&g, 0, 20);
	(void)frame(&g, 1, 25);
	/* 31 old: shed; its next one is 11 old: fine */
	assert_int_equal(pick(&g, 0, 31), 0);
	assert_int_equal(g.s[0].task.core.task.job.seq, 1);
	assert_false(g.s[0].task.core.stale);
	assert_int_equal(g.s[0].shed[CR_OUT_STALE], 1);
	assert_int_equal(core_counts(g.core, core_rq(g.core, 0)).shed, 1);
	assert_false(stop(&g, 0, 40));
	/* everything too old: nothing to run, and the tasks are asleep */
	assert_int_equal(pick(&g, 0, 100), -1);
	assert_int_equal(g.s[1].shed[CR_OUT_STALE], 1);
	assert_int_equal(g.s[1].task.core.task.state, CR_IDLE);
	assert_int_equal(core_rq(g.core, 0)->nqueued, 0);
	close_rig(&g, 100);
}

static void old_frames_are_handed_out_marked_to_conceal(void **state)
{
	struct core_config cfg = { .ops = &cr_sched_edf,
				   .ncpu = 1,
				   .max_age = { [CR_SOFT] = 30 },
				   .stale = { [CR_SOFT] =
						      CORE_STALE_CONCEAL } };
	struct rig g;

	(void)state;
	open_all(&g, cfg);
	(void)frame(&g, 0, 0);
	(void)frame(&g, 0, 20);
	assert_int_equal(pick(&g, 0, 50), 0);
	assert_true(g.s[0].task.core.stale);
	assert_true(stop(&g, 0, 50));
	assert_int_equal(pick(&g, 0, 50), 0);
	assert_false(g.s[0].task.core.stale);
	(void)stop(&g, 0, 51);
	assert_int_equal(core_counts(g.core, core_rq(g.core, 0)).stale, 1);
	close_rig(&g, 51);
}

static void a_leaving_task_cancels_all_its_frames(void **state)
{
	struct core_config cfg = { .ops = &cr_sched_rr, .ncpu = 1 };
	struct rig g;

	(void)state;
	open_all(&g, cfg);
	(void)frame(&g, 0, 0);
	(void)frame(&g, 0, 1);
	(void)frame(&g, 1, 2);
	core_del(g.core, &g.s[0].task.core, 3);
	assert_int_equal(g.s[0].shed[CR_OUT_CANCELLED], 2);
	assert_int_equal(pick(&g, 0, 4), 1);
	(void)stop(&g, 0, 5);
	assert_int_equal(pick(&g, 0, 5), -1);
	close_rig(&g, 6);
}

/* The simulator's preemption: same job, its frame is claimed only once. */
static void a_preempted_job_comes_back_whole(void **state)
{
	struct core_config cfg = { .ops = &cr_sched_edf,
				   .ncpu = 1,
				   .preemptible = true };
	struct core_task *t;
	struct rig g;

	(void)state;
	open_all(&g, cfg);
	(void)frame(&g, 0, 100);
	assert_int_equal(pick(&g, 0, 100), 0);
	g.s[1].rel_deadline = 10; /* earlier than that of task 0 */
	(void)frame(&g, 1, 110);
	assert_true(cr_cpus_has(&core_rq(g.core, 0)->kick, 0));
	t = core_stop(g.core, core_rq(g.core, 0), 0, 10, CR_STOP_PREEMPT, 110);
	assert_true(core_again(g.core, t, 110));
	assert_int_equal(pick(&g, 0, 110), 1);
	(void)stop(&g, 0, 115);
	assert_int_equal(pick(&g, 0, 115), 0);
	assert_int_equal(g.s[0].task.core.task.job.ran, 10);
	assert_int_equal(g.s[0].task.core.task.job.seq, 0);
	/* and when it leaves preempted, its claimed frame is cancelled */
	t = core_stop(g.core, core_rq(g.core, 0), 0, 1, CR_STOP_PREEMPT, 120);
	assert_true(core_again(g.core, t, 120));
	core_del(g.core, t, 121);
	assert_int_equal(g.s[0].shed[CR_OUT_CANCELLED], 1);
	close_rig(&g, 121);
}

static void domains_share_out_the_cpus(void **state)
{
	static const struct {
		unsigned ncpu, per_rq, nrq, last;
	} want[] = { { 4, 0, 1, 4 }, { 4, 1, 4, 1 }, { 4, 2, 2, 2 },
		     { 5, 2, 3, 1 }, { 1, 1, 1, 1 }, { 7, 3, 3, 1 } };

	(void)state;
	for (unsigned i = 0; i < 6; i++) {
		struct core_config cfg = { .ops = &cr_sched_fifo,
					   .ncpu = want[i].ncpu,
					   .cpus_per_rq = want[i].per_rq };
		struct rig g;

		open_with(&g, cfg);
		assert_int_equal(core_nrq(g.core), want[i].nrq);
		assert_int_equal(core_rq(g.core, want[i].nrq - 1)->ncpu,
				 want[i].last);
		for (unsigned c = 0; c < want[i].ncpu; c++) {
			struct cr_rq *rq = core_rq_of(g.core, c);

			assert_true(c >= rq->first_cpu &&
				    c < rq->first_cpu + rq->ncpu);
		}
		close_rig(&g, 0);
	}
}

static void impossible_engines_are_refused(void **state)
{
	struct core_config cfg = { .ops = &cr_sched_rr, .ncpu = 0 };
	struct core *c = NULL;
	struct cr_err e;

	(void)state;
	assert_int_equal(core_open(&c, &cfg, 0, &e), -EINVAL);
	assert_string_equal(e.text, "0 CPUs: give 1 to 256");
	cfg.ncpu = 2;
	cfg.cpus_per_rq = 3;
	assert_int_equal(core_open(&c, &cfg, 0, &e), -EINVAL);
	assert_non_null(strstr(e.text, "3 CPUs per run queue"));
	cfg.cpus_per_rq = 0;
	cfg.opts = "quantumm=1ms";
	assert_int_equal(core_open(&c, &cfg, 0, &e), -EINVAL);
	assert_string_equal(e.text, "scheduler rr: no option 'quantumm'; "
				    "did you mean 'quantum'?");
	assert_null(c);
}

static void the_guard_fills_the_emptiest_queue_up_to_its_capacity(void **state)
{
	struct core_config cfg = { .ops = &cr_sched_fifo,
				   .ncpu = 2,
				   .cpus_per_rq = 1,
				   .admission = true,
				   .capacity_ppm = 500000 };
	struct cr_verdict v;
	struct cr_task *t;
	char text[200];
	struct rig g;

	(void)state;
	open_with(&g, cfg);
	for (unsigned i = 0; i < N; i++)
		g.s[i].task.core.task.cost.mean = 4 * CR_MS; /* 0.2 */
	for (unsigned i = 0; i < 4; i++) {
		join(&g, i);
		assert_int_equal(g.s[i].task.core.task.rq->id, i % 2);
	}
	t = &g.s[4].task.core.task;
	assert_int_equal(core_admit(g.core, t, &v), -ENOSPC);
	core_refusal(g.core, -ENOSPC, &v, text, sizeof(text));
	assert_string_equal(text, "no-capacity: need 0.2000, free 0.1000 of "
				  "0.50 under fifo (sum of mean cost / period "
				  "<= capacity)");
	/* rounding never makes a refusal look as if it fitted */
	v.need_ppm = 3501;
	v.free_ppm = 3500;
	core_refusal(g.core, -ENOSPC, &v, text, sizeof(text));
	assert_non_null(strstr(text, "need 0.0036, free 0.0035 of"));
	v.free_ppm = -1;
	core_refusal(g.core, -ENOSPC, &v, text, sizeof(text));
	assert_non_null(strstr(text, "free -0.0001 of"));
	/* room again when one leaves, on the queue that it left */
	core_del(g.core, &g.s[1].task.core, 0);
	assert_int_equal(core_admit(g.core, t, &v), 1);
	/* its mask forbids that queue */
	cr_cpus_del(&t->cpus, 1);
	assert_int_equal(core_admit(g.core, t, &v), -ENOSPC);
	cr_cpus_del(&t->cpus, 0);
	assert_int_equal(core_admit(g.core, t, &v), -EINVAL);
	close_rig(&g, 0);
}

static void without_admission_only_nonsense_is_refused(void **state)
{
	struct core_config cfg = { .ops = &cr_sched_edf,
				   .ncpu = 2,
				   .cpus_per_rq = 1 };
	struct cr_verdict v;
	struct rig g;

	(void)state;
	open_with(&g, cfg);
	for (unsigned i = 0; i < N; i++) {
		g.s[i].task.core.task.cost.mean = 30 * CR_MS; /* 1.5 each */
		join(&g, i);
	}
	assert_int_equal(core_rq(g.core, 0)->load_ppm, 4500000);
	assert_int_equal(core_rq(g.core, 1)->load_ppm, 4500000);
	core_del(g.core, &g.s[0].task.core, 0);
	g.s[0].task.core.task.period = 0;
	assert_int_equal(core_admit(g.core, &g.s[0].task.core.task, &v),
			 -EINVAL);
	assert_string_equal(v.rule, "period > 0");
	close_rig(&g, 0);
}

/* --- replacing the policy --- */

static int switch_to(struct rig *g, const struct cr_sched_ops *ops,
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
	struct rig g;

	(void)state;
	open_all(&g, cfg);
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
	close_rig(&g, 30);
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
	struct rig g, twin;

	(void)state;
	bad_init.rq_init = never_starts;
	picky.admit = not_the_last;
	open_all(&g, cfg);
	open_all(&twin, cfg);
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
	close_rig(&g, 30);
	close_rig(&twin, 30);
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
	struct rig g;

	(void)state;
	hearing.pick = hearing_pick;
	hearing.stop = hearing_stop;
	hearing.enqueue = hearing_enqueue;
	open_all(&g, cfg);
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
	close_rig(&g, 6);
}

static void edf_refuses_what_fifo_took(void **state)
{
	struct core_config cfg = { .ops = &cr_sched_fifo,
				   .ncpu = 1,
				   .admission = true };
	struct cr_err e = { "" };
	struct rig g;

	(void)state;
	open_with(&g, cfg);
	for (unsigned i = 0; i < 5; i++) {
		g.s[i].task.core.task.cost.mean = 4 * CR_MS;
		join(&g, i); /* 5 * 0.2: all of the CPU, no room to block */
	}
	assert_int_equal(switch_to(&g, &cr_sched_edf, NULL, 1, &e), -ENOSPC);
	assert_non_null(strstr(e.text, "no-capacity: need 0.2000, free "));
	assert_ptr_equal(core_sched(g.core)->ops, &cr_sched_fifo);
	close_rig(&g, 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			a_dropped_frame_changes_the_job_before_it_is_run),
		cmocka_unit_test(
			under_fifo_a_dropped_frame_does_not_cost_the_place),
		cmocka_unit_test(old_frames_are_shed_and_counted),
		cmocka_unit_test(old_frames_are_handed_out_marked_to_conceal),
		cmocka_unit_test(a_leaving_task_cancels_all_its_frames),
		cmocka_unit_test(a_preempted_job_comes_back_whole),
		cmocka_unit_test(domains_share_out_the_cpus),
		cmocka_unit_test(impossible_engines_are_refused),
		cmocka_unit_test(
			the_guard_fills_the_emptiest_queue_up_to_its_capacity),
		cmocka_unit_test(without_admission_only_nonsense_is_refused),
		cmocka_unit_test(a_switch_keeps_every_waiting_job_in_order),
		cmocka_unit_test(a_refused_switch_changes_nothing),
		cmocka_unit_test(
			a_policy_hears_no_stop_of_what_it_did_not_pick),
		cmocka_unit_test(edf_refuses_what_fifo_took),
	};

	return cmocka_run_group_tests_name("core", tests, NULL, NULL);
}
