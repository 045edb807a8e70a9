/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a watchdog can do with the live driver: wake a task that nobody
 * released, take the run queue from a policy that forgets, take the place from
 * a thread that does not come back. Exact counts of frames in every case.
 */
#include <errno.h>
#include <sched.h>
#include <stdlib.h>

#include "base/clock.h"
#include "cmocka_cr.h"
#include "engine_source.h"
#include "schedulers/list.h"
#include "schedulers/policies.h"

enum { N = 4, FRAMES = 50 };

struct rig {
	struct live *live;
	struct source *s; /* [N] */
	atomic_uint hold; /* run() of task i waits while bit i is set */
	atomic_uint up, down, backs, faults;
	atomic_bool keep; /* retire() says no */
};

static void run(void *arg, struct live_task *t, const struct live_run *r)
{
	struct rig *g = arg;
	struct source *s = source_of(&t->core);

	(void)r;
	assert_int_equal(atomic_exchange(&s->running, 1), 0);
	while (atomic_load(&g->hold) >> t->core.task.id & 1)
		(void)sched_yield();
	atomic_store(&s->running, 0);
	atomic_fetch_add(&s->done, 1);
}

static void gone(void *arg, struct live_task *t)
{
	(void)arg;
	assert_int_equal(atomic_exchange(&source_of(&t->core)->gone, 1), 0);
}

static bool retire(void *arg, struct live_task *t, unsigned worker)
{
	struct rig *g = arg;

	assert_true(atomic_load(&source_of(&t->core)->running));
	assert_in_range(worker, 0, 1);
	return !atomic_load(&g->keep);
}

static void back(void *arg, struct live_task *t)
{
	struct rig *g = arg;

	atomic_fetch_add(&g->backs, 1);
	live_remove(g->live, t);
}

static void worker_up(void *arg, unsigned worker)
{
	(void)worker;
	atomic_fetch_add(&((struct rig *)arg)->up, 1);
}

static void worker_down(void *arg, unsigned worker)
{
	(void)worker;
	atomic_fetch_add(&((struct rig *)arg)->down, 1);
}

static void faulty(void *arg, const struct core_fault *fault)
{
	assert_string_equal(fault->what,
			    "nothing while a task waited, for too long");
	assert_int_equal(fault->task, 2);
	atomic_fetch_add(&((struct rig *)arg)->faults, 1);
}

static void join(struct rig *g, unsigned i)
{
	struct cr_verdict v;

	assert_int_equal(live_add(g->live, &g->s[i].task, &v), 0);
}

static void start(struct rig *g, const struct cr_sched_ops *ops,
		  unsigned workers)
{
	const struct live_config cfg = {
		.core = { .ops = ops, .ncpu = workers, .lenient = true },
		.client = { .backlog = source_backlog,
			    .run = run,
			    .gone = gone,
			    .retire = retire,
			    .back = back,
			    .worker_up = worker_up,
			    .worker_down = worker_down,
			    .faulty = faulty,
			    .arg = g },
	};
	struct cr_err e = { "" };

	*g = (struct rig){ .s = calloc(N, sizeof(*g->s)) };
	assert_non_null(g->s);
	if (live_open(&g->live, &cfg, NULL, &e))
		fail_msg("%s", e.text);
	for (unsigned i = 0; i < N; i++) {
		source_init(&g->s[i], i, SOURCE_SLOTS, workers);
		join(g, i);
	}
}

static void leave(struct rig *g, unsigned i)
{
	live_remove(g->live, &g->s[i].task);
	while (!atomic_load(&g->s[i].gone))
		(void)sched_yield();
}

static void finish(struct rig *g)
{
	for (unsigned i = 0; i < N; i++)
		if (!atomic_load(&g->s[i].gone))
			leave(g, i);
	assert_int_equal(live_stop(g->live), 0);
	live_close(g->live);
	assert_int_equal(g->up, g->down);
	free(g->s);
}

static void frame(struct rig *g, unsigned i)
{
	struct live_task *t = &g->s[i].task;

	(void)source_push(&g->s[i], clock_now());
	if (live_task_wake(t))
		live_release(g->live, &t, 1);
}

static void wait_done(struct rig *g, unsigned i, uint64_t n)
{
	while (atomic_load(&g->s[i].done) < n)
		(void)sched_yield();
	assert_int_equal(atomic_load(&g->s[i].done), n);
}

static void wait_idle(struct rig *g, unsigned i)
{
	struct live_task_look look;

	do
		live_look_task(g->live, &g->s[i].task, &look);
	while (look.state != CR_IDLE || !look.idle);
}

/* --- lost wake-ups --- */

static void a_task_that_nobody_released_is_roused(void **state)
{
	struct live_task_look before, after;
	struct rig g;

	(void)state;
	start(&g, &cr_sched_fifo, 1);
	wait_idle(&g, 1);
	live_look_task(g.live, &g.s[1].task, &before);
	(void)source_push(&g.s[1], clock_now()); /* and told nobody */
	live_look_task(g.live, &g.s[1].task, &after);
	assert_int_equal(after.state, CR_IDLE);
	assert_int_equal(after.release, before.release);
	live_rouse(g.live, &g.s[1].task);
	wait_done(&g, 1, 1);
	live_look_task(g.live, &g.s[1].task, &after);
	assert_true(after.release > before.release);
	frame(&g, 1); /* and it goes on as if nothing had been */
	wait_done(&g, 1, 2);
	finish(&g);
}

/* The release comes after all, while the task waits, runs or sleeps again. */
static void a_late_release_does_no_harm(void **state)
{
	struct live_task *t;
	struct rig g;

	(void)state;
	start(&g, &cr_sched_fifo, 1);
	t = &g.s[1].task;
	for (uint64_t k = 0; k < FRAMES; k++) {
		atomic_store(&g.hold, k % 3 == 0 ? 1u << 0 : 1u << 1);
		frame(&g, 0);
		if (k % 3 == 0)
			while (!atomic_load(&g.s[0].running))
				(void)sched_yield();
		else
			wait_done(&g, 0, k + 1);
		(void)source_push(&g.s[1], clock_now());
		assert_true(live_task_wake(t)); /* and fell asleep here */
		live_rouse(g.live, t);
		if (k % 3 == 1)
			while (!atomic_load(&g.s[1].running))
				(void)sched_yield();
		if (k % 3 == 2) {
			atomic_store(&g.hold, 0);
			wait_done(&g, 1, k + 1);
			wait_idle(&g, 1);
		}
		live_release(g.live, &t, 1);
		atomic_store(&g.hold, 0);
		wait_done(&g, 0, k + 1);
		wait_done(&g, 1, k + 1);
		wait_idle(&g, 1);
	}
	finish(&g);
}

static void rousing_who_sleeps_with_nothing_to_do(void **state)
{
	struct rig g;

	(void)state;
	start(&g, &cr_sched_fifo, 2);
	for (unsigned k = 0; k < FRAMES; k++)
		live_rouse(g.live, &g.s[k % N].task);
	for (unsigned i = 0; i < N; i++)
		assert_int_equal(g.s[i].done, 0);
	frame(&g, 0);
	wait_done(&g, 0, 1);
	finish(&g);
}

/* --- a policy that forgets, and hides it behind ticks to come --- */

static struct cr_task *forgetful_pick(struct cr_rq *rq, unsigned cpu, cr_ns now)
{
	struct cr_task *t = cr_sched_fifo.pick(rq, cpu, now);

	if (rq->next_tick == CR_NEVER)
		rq->next_tick = now + CR_MS;
	return t && t->id == 2 ? cr_sched_fifo.pick(rq, cpu, now) : t;
}

static struct cr_sched_ops forgetful(void)
{
	struct cr_sched_ops ops = cr_sched_fifo;

	ops.name = "forgetful";
	ops.flags |= CR_F_IDLES;
	ops.pick = forgetful_pick;
	ops.check = NULL;
	return ops;
}

static void who_was_forgotten_runs_under_fifo(void **state)
{
	const struct cr_sched_ops ops = forgetful();
	struct live_task_look look, later;
	struct rig g;

	(void)state;
	start(&g, &ops, 2);
	assert_false(live_accuse(g.live, &g.s[2].task)); /* of nothing */
	frame(&g, 2);
	frame(&g, 0);
	wait_done(&g, 0, 1);
	live_look_task(g.live, &g.s[2].task, &look);
	assert_int_equal(look.state, CR_QUEUED);
	do /* workers have nothing to do meanwhile, as one can see */
		live_look_task(g.live, &g.s[2].task, &later);
	while (!later.idle || later.idles < look.idles + 3);
	assert_int_equal(later.release, look.release);
	live_rouse(g.live, &g.s[2].task);
	frame(&g, 1);
	wait_done(&g, 1, 1);
	assert_int_equal(g.s[2].done, 0); /* that was not it */

	assert_true(live_accuse(g.live, &g.s[2].task));
	wait_done(&g, 2, 1);
	assert_int_equal(g.faults, 1);
	frame(&g, 2);
	wait_done(&g, 2, 2);
	assert_int_equal(live_recover(g.live, NULL), 1);
	assert_int_equal(live_recover(g.live, NULL), 0);
	finish(&g);
}

static void the_stand_in_is_not_accused(void **state)
{
	const struct cr_sched_ops ops = forgetful();
	struct rig g;

	(void)state;
	start(&g, &ops, 1);
	frame(&g, 2);
	assert_true(live_accuse(g.live, &g.s[2].task));
	wait_done(&g, 2, 1);
	atomic_store(&g.hold, 1);
	frame(&g, 0);
	while (!atomic_load(&g.s[0].running))
		(void)sched_yield();
	frame(&g, 1);
	assert_false(live_accuse(g.live, &g.s[1].task));
	atomic_store(&g.hold, 0);
	wait_done(&g, 1, 1);
	assert_int_equal(g.faults, 1);
	finish(&g);
}

/* --- threads that do not come back --- */

/* Task 0's run() does not return: its frame is in there, two more wait. */
static struct live_worker_look get_stuck(struct rig *g, unsigned *worker)
{
	struct live_worker_look look;

	atomic_store(&g->hold, 1);
	frame(g, 0);
	while (!atomic_load(&g->s[0].running))
		(void)sched_yield();
	frame(g, 0);
	frame(g, 0);
	for (*worker = 0; *worker < live_nworkers(g->live); ++*worker)
		if (live_look_worker(g->live, *worker, &look) &&
		    look.task == &g->s[0].task)
			return look;
	fail_msg("no worker has it");
	return look;
}

static void take_the_place(struct rig *g)
{
	struct live_worker_look look;
	unsigned worker;

	look = get_stuck(g, &worker);
	assert_true(live_retire(g->live, worker, &look));
	assert_false(live_look_worker(g->live, worker, &look));
	assert_int_equal(live_hire(g->live, worker, NULL), 0);
	assert_int_equal(live_hire(g->live, worker, NULL), 0);
	assert_int_equal(live_reap(g->live), 1);
}

/* Everybody but task 0. */
static void others_flow(struct rig *g, uint64_t upto)
{
	for (uint64_t k = g->s[1].done + 1; k <= upto; k++) {
		for (unsigned i = 1; i < N; i++)
			frame(g, i);
		for (unsigned i = 1; i < N; i++)
			wait_done(g, i, k);
	}
}

static void wait_reaped(struct rig *g)
{
	while (live_reap(g->live))
		(void)sched_yield();
}

static void others_go_on(unsigned workers)
{
	struct live_worker_stats st;
	uint64_t jobs = 0;
	struct rig g;

	start(&g, &cr_sched_edf, workers);
	others_flow(&g, FRAMES);
	take_the_place(&g);
	others_flow(&g, 2 * FRAMES);
	live_remove(g.live, &g.s[0].task);
	assert_int_equal(g.s[0].gone, 0);
	others_flow(&g, 3 * FRAMES);
	assert_int_equal(g.s[0].done, 0);

	atomic_store(&g.hold, 0);
	while (!atomic_load(&g.s[0].gone))
		(void)sched_yield();
	wait_reaped(&g);
	assert_int_equal(g.backs, 1);
	assert_int_equal(g.s[0].done, 1); /* by itself, for nobody */
	assert_int_equal(g.s[0].shed[CR_OUT_CANCELLED], 2);
	while (atomic_load(&g.up) < workers + 1)
		(void)sched_yield();
	assert_int_equal(g.down, 1);
	for (unsigned i = 0; i < N; i++)
		wait_idle(&g, i ? i : 1);
	for (unsigned w = 0; w < workers; w++) {
		live_worker_stats(g.live, w, &st);
		jobs += st.jobs;
		assert_true(st.cpu > 0);
	}
	assert_int_equal(jobs, 3 * FRAMES * (N - 1)); /* its own not */
	finish(&g);
}

static void others_go_on_with_one_worker(void **state)
{
	(void)state;
	others_go_on(1);
}

static void others_go_on_with_two_workers(void **state)
{
	(void)state;
	others_go_on(2);
}

static void who_comes_back_before_it_is_removed(void **state)
{
	struct rig g;

	(void)state;
	start(&g, &cr_sched_fifo, 1);
	take_the_place(&g);
	atomic_store(&g.hold, 0);
	wait_reaped(&g);
	assert_int_equal(g.s[0].done, 1);
	assert_int_equal(g.s[0].gone, 0);
	frame(&g, 0); /* is not released any more */
	others_flow(&g, FRAMES);
	assert_int_equal(g.s[0].done, 1);
	live_remove(g.live, &g.s[0].task);
	assert_int_equal(g.s[0].gone, 1);
	assert_int_equal(g.s[0].shed[CR_OUT_CANCELLED], 3);
	assert_int_equal(g.backs, 0);
	finish(&g);
}

static void who_was_to_leave_already(void **state)
{
	struct live_worker_look look;
	unsigned worker;
	struct rig g;

	(void)state;
	start(&g, &cr_sched_fifo, 2);
	look = get_stuck(&g, &worker);
	live_remove(g.live, &g.s[0].task);
	assert_true(live_retire(g.live, worker, &look));
	assert_int_equal(live_hire(g.live, worker, NULL), 0);
	others_flow(&g, FRAMES);
	assert_int_equal(g.s[0].gone, 0);
	atomic_store(&g.hold, 0);
	while (!atomic_load(&g.s[0].gone))
		(void)sched_yield();
	assert_int_equal(g.backs, 1);
	finish(&g);
}

/* Each policy is told that the job is over, and plans on. */
static void the_policy_may_change_meanwhile(void **state)
{
	struct rig g;

	(void)state;
	start(&g, &cr_sched_edf, 1);
	take_the_place(&g);
	for (unsigned k = 1; k <= 10; k++) {
		assert_int_equal(
			live_switch(g.live,
				    k % 2 ? &cr_sched_rr : &cr_sched_edf, NULL,
				    NULL),
			0);
		others_flow(&g, k * 5);
	}
	live_rouse(g.live, &g.s[0].task); /* no way back for it */
	live_remove(g.live, &g.s[0].task);
	others_flow(&g, 60);
	atomic_store(&g.hold, 0);
	while (!atomic_load(&g.s[0].gone))
		(void)sched_yield();
	assert_int_equal(g.s[0].done, 1);
	finish(&g);
}

static void several_one_after_another(void **state)
{
	struct rig g;

	(void)state;
	start(&g, &cr_sched_fifo, 1);
	for (unsigned i = 0; i < N - 1; i++) {
		struct live_worker_look look;

		atomic_fetch_or(&g.hold, 1u << i);
		frame(&g, i);
		while (!atomic_load(&g.s[i].running))
			(void)sched_yield();
		assert_true(live_look_worker(g.live, 0, &look));
		assert_true(live_retire(g.live, 0, &look));
		assert_int_equal(live_hire(g.live, 0, NULL), 0);
		live_remove(g.live, &g.s[i].task);
		frame(&g, N - 1);
		wait_done(&g, N - 1, i + 1);
		assert_int_equal(live_reap(g.live), i + 1);
	}
	atomic_store(&g.hold, 1u << 0); /* the first comes last */
	while (live_reap(g.live) > 1)
		(void)sched_yield();
	assert_int_equal(g.s[0].gone, 0);
	assert_int_equal(g.s[1].gone + g.s[2].gone, 2);
	atomic_store(&g.hold, 0);
	wait_reaped(&g);
	assert_int_equal(g.s[0].gone, 1);
	finish(&g);
}

static void who_has_moved_on_keeps_the_place(void **state)
{
	struct live_worker_look look;
	unsigned worker;
	struct rig g;

	(void)state;
	start(&g, &cr_sched_fifo, 1);
	look = get_stuck(&g, &worker);
	atomic_store(&g.keep, true); /* the client: it is about to return */
	assert_false(live_retire(g.live, worker, &look));
	atomic_store(&g.keep, false);
	atomic_store(&g.hold, 0);
	wait_done(&g, 0, 3);
	assert_false(live_retire(g.live, worker, &look));
	atomic_store(&g.hold, 1); /* the same task, another job */
	frame(&g, 0);
	while (!atomic_load(&g.s[0].running))
		(void)sched_yield();
	assert_false(live_retire(g.live, worker, &look));
	atomic_store(&g.hold, 0);
	wait_done(&g, 0, 4);
	assert_int_equal(live_reap(g.live), 0);
	finish(&g);
}

static void the_end_does_not_wait_for_the_lost(void **state)
{
	struct rig g;

	(void)state;
	start(&g, &cr_sched_fifo, 2);
	take_the_place(&g);
	live_remove(g.live, &g.s[0].task);
	for (unsigned i = 1; i < N; i++)
		leave(&g, i);
	assert_int_equal(live_stop(g.live), -EBUSY);
	assert_int_equal(g.up - g.down, 1);
	assert_int_equal(live_stop(g.live), -EBUSY);
	atomic_store(&g.hold, 0);
	while (!atomic_load(&g.s[0].gone))
		(void)sched_yield();
	wait_reaped(&g);
	finish(&g);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_task_that_nobody_released_is_roused),
		cmocka_unit_test(a_late_release_does_no_harm),
		cmocka_unit_test(rousing_who_sleeps_with_nothing_to_do),
		cmocka_unit_test(who_was_forgotten_runs_under_fifo),
		cmocka_unit_test(the_stand_in_is_not_accused),
		cmocka_unit_test(others_go_on_with_one_worker),
		cmocka_unit_test(others_go_on_with_two_workers),
		cmocka_unit_test(who_comes_back_before_it_is_removed),
		cmocka_unit_test(who_was_to_leave_already),
		cmocka_unit_test(the_policy_may_change_meanwhile),
		cmocka_unit_test(several_one_after_another),
		cmocka_unit_test(who_has_moved_on_keeps_the_place),
		cmocka_unit_test(the_end_does_not_wait_for_the_lost),
	};

	return cmocka_run_group_tests_name("astray", tests, NULL, NULL);
}
