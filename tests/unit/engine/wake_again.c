/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a watchdog can do for a task that does not advance: wake it when nobody
 * released it, take the run queue from a policy that forgets it. Exact counts
 * of frames in every case.
 */
#include "engine_fixture.h"
#include "schedulers/policies.h"

enum { N = 4, FRAMES = 50 };

static void note_fault(void *arg, const struct core_fault *fault)
{
	assert_string_equal(fault->what,
			    "nothing while a task waited, for too long");
	assert_int_equal(fault->task, 2);
	engine_faulty(arg, fault);
}

/* A policy may break its contract, in debug builds, too. */
static void start_watched(struct engine_fixture *g,
			  const struct cr_sched_ops *ops, unsigned workers)
{
	struct live_config cfg = engine_config(g, N, ops, workers);

	cfg.core.lenient = true;
	cfg.client.faulty = note_fault;
	engine_open(g, &cfg);
}

/* --- lost wake-ups --- */

static void a_task_that_nobody_released_is_woken(void **state)
{
	struct live_task_look before, after;
	struct engine_fixture g;

	start_watched(&g, &cr_sched_fifo, 1);
	engine_wait_idle(&g, 1);
	live_look_task(g.live, &g.s[1].task, &before);
	(void)source_push(&g.s[1], clock_now()); /* without a wake-up */
	live_look_task(g.live, &g.s[1].task, &after);
	assert_int_equal(after.state, CR_IDLE);
	assert_int_equal(after.release, before.release);
	live_wake_again(g.live, &g.s[1].task);
	engine_wait_done(&g, 1, 1);
	live_look_task(g.live, &g.s[1].task, &after);
	assert_true(after.release > before.release);
	engine_frame(&g, 1); /* and it goes on as if nothing had been */
	engine_wait_done(&g, 1, 2);
	engine_close(&g);
}

/* The release comes after all, while the task waits, runs or sleeps again. */
static void a_late_release_does_no_harm(void **state)
{
	struct live_task *t;
	struct engine_fixture g;

	start_watched(&g, &cr_sched_fifo, 1);
	t = &g.s[1].task;
	for (uint64_t k = 0; k < FRAMES; k++) {
		atomic_store(&g.hold, k % 3 == 0 ? 1u << 0 : 1u << 1);
		engine_frame(&g, 0);
		if (k % 3 == 0)
			engine_wait_running(&g, 0);
		else
			engine_wait_done(&g, 0, k + 1);
		(void)source_push(&g.s[1], clock_now());
		assert_true(live_task_wake(t)); /* and fell asleep here */
		live_wake_again(g.live, t);
		if (k % 3 == 1)
			engine_wait_running(&g, 1);
		if (k % 3 == 2) {
			atomic_store(&g.hold, 0);
			engine_wait_done(&g, 1, k + 1);
			engine_wait_idle(&g, 1);
		}
		live_release(g.live, &t, 1);
		atomic_store(&g.hold, 0);
		engine_wait_done(&g, 0, k + 1);
		engine_wait_done(&g, 1, k + 1);
		engine_wait_idle(&g, 1);
	}
	engine_close(&g);
}

static void waking_who_sleeps_with_nothing_to_do(void **state)
{
	struct engine_fixture g;

	start_watched(&g, &cr_sched_fifo, 2);
	for (unsigned k = 0; k < FRAMES; k++)
		live_wake_again(g.live, &g.s[k % N].task);
	for (unsigned i = 0; i < N; i++)
		assert_int_equal(g.s[i].done, 0);
	engine_frame(&g, 0);
	engine_wait_done(&g, 0, 1);
	engine_close(&g);
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
	struct engine_fixture g;

	start_watched(&g, &ops, 2);
	assert_false(live_blame_policy(g.live, &g.s[2].task)); /* of nothing */
	engine_frame(&g, 2);
	engine_frame(&g, 0);
	engine_wait_done(&g, 0, 1);
	live_look_task(g.live, &g.s[2].task, &look);
	assert_int_equal(look.state, CR_QUEUED);
	do /* workers have nothing to do meanwhile, as one can see */
		live_look_task(g.live, &g.s[2].task, &later);
	while (!later.idle || later.idles < look.idles + 3);
	assert_int_equal(later.release, look.release);
	live_wake_again(g.live, &g.s[2].task);
	engine_frame(&g, 1);
	engine_wait_done(&g, 1, 1);
	assert_int_equal(g.s[2].done, 0); /* that was not it */

	assert_true(live_blame_policy(g.live, &g.s[2].task));
	engine_wait_done(&g, 2, 1);
	assert_int_equal(g.faults, 1);
	engine_frame(&g, 2);
	engine_wait_done(&g, 2, 2);
	assert_int_equal(live_recover(g.live, NULL), 1);
	assert_int_equal(live_recover(g.live, NULL), 0);
	engine_close(&g);
}

static void the_stand_in_is_not_blamed(void **state)
{
	const struct cr_sched_ops ops = forgetful();
	struct engine_fixture g;

	start_watched(&g, &ops, 1);
	engine_frame(&g, 2);
	assert_true(live_blame_policy(g.live, &g.s[2].task));
	engine_wait_done(&g, 2, 1);
	atomic_store(&g.hold, 1);
	engine_frame(&g, 0);
	engine_wait_running(&g, 0);
	engine_frame(&g, 1);
	assert_false(live_blame_policy(g.live, &g.s[1].task));
	atomic_store(&g.hold, 0);
	engine_wait_done(&g, 1, 1);
	assert_int_equal(g.faults, 1);
	engine_close(&g);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_task_that_nobody_released_is_woken),
		cmocka_unit_test(a_late_release_does_no_harm),
		cmocka_unit_test(waking_who_sleeps_with_nothing_to_do),
		cmocka_unit_test(who_was_forgotten_runs_under_fifo),
		cmocka_unit_test(the_stand_in_is_not_blamed),
	};

	return cmocka_run_group_tests_name("wake_again", tests, NULL, NULL);
}
