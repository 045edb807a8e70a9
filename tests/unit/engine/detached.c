/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Threads that do not come back from run() lose their place to another one:
 * the other tasks go on, and nothing is left when they come back after all.
 * Exact counts of frames, tasks and threads in every case.
 */
#include <errno.h>

#include "engine_fixture.h"
#include "schedulers/policies.h"

enum { N = 4, FRAMES = 50 };

/* --- threads that do not come back --- */

/* Task 0's run() does not return: its frame is in there, two more wait. */
static struct live_worker_look get_stuck(struct engine_fixture *g,
					 unsigned *worker)
{
	struct live_worker_look look;

	engine_get_stuck(g, 0);
	engine_frame(g, 0);
	engine_frame(g, 0);
	for (*worker = 0; *worker < live_nworkers(g->live); ++*worker)
		if (live_look_worker(g->live, *worker, &look) &&
		    look.task == &g->s[0].task)
			return look;
	fail_msg("no worker has it");
	return look;
}

static void take_the_place(struct engine_fixture *g)
{
	struct live_worker_look look;
	unsigned worker;

	look = get_stuck(g, &worker);
	assert_true(live_detach(g->live, worker, &look));
	assert_false(live_look_worker(g->live, worker, &look));
	assert_int_equal(live_start_worker(g->live, worker, NULL), 0);
	assert_int_equal(live_start_worker(g->live, worker, NULL), 0);
	assert_int_equal(live_join_detached(g->live), 1);
}

/* Everybody but task 0. */
static void others_flow(struct engine_fixture *g, uint64_t upto)
{
	for (uint64_t k = g->s[1].done + 1; k <= upto; k++) {
		for (unsigned i = 1; i < N; i++)
			engine_frame(g, i);
		for (unsigned i = 1; i < N; i++)
			engine_wait_done(g, i, k);
	}
}

static void wait_reaped(struct engine_fixture *g)
{
	while (live_join_detached(g->live))
		(void)sched_yield();
}

static void others_go_on(unsigned workers)
{
	struct live_worker_stats st;
	uint64_t jobs = 0;
	struct engine_fixture g;

	engine_start(&g, N, &cr_sched_edf, workers);
	others_flow(&g, FRAMES);
	take_the_place(&g);
	others_flow(&g, 2 * FRAMES);
	engine_remove(&g, 0);
	assert_int_equal(g.s[0].gone, 0);
	others_flow(&g, 3 * FRAMES);
	assert_int_equal(g.s[0].done, 0);

	atomic_store(&g.hold, 0);
	engine_wait_gone(&g, 0);
	wait_reaped(&g);
	assert_int_equal(g.backs, 1);
	assert_int_equal(g.s[0].done, 1); /* by itself, for nobody */
	assert_int_equal(g.s[0].shed[CR_OUT_CANCELLED], 2);
	while (atomic_load(&g.up) < workers + 1)
		(void)sched_yield();
	assert_int_equal(g.down, 1);
	for (unsigned i = 0; i < N; i++)
		engine_wait_idle(&g, i ? i : 1);
	for (unsigned w = 0; w < workers; w++) {
		live_worker_stats(g.live, w, &st);
		jobs += st.jobs;
		assert_true(st.cpu > 0);
	}
	assert_int_equal(jobs, 3 * FRAMES * (N - 1)); /* its own not */
	engine_close(&g);
}

static void others_go_on_with_one_worker(void **state)
{
	others_go_on(1);
}

static void others_go_on_with_two_workers(void **state)
{
	others_go_on(2);
}

static void who_comes_back_before_it_is_removed(void **state)
{
	struct engine_fixture g;

	engine_start(&g, N, &cr_sched_fifo, 1);
	take_the_place(&g);
	atomic_store(&g.hold, 0);
	wait_reaped(&g);
	assert_int_equal(g.s[0].done, 1);
	assert_int_equal(g.s[0].gone, 0);
	engine_frame(&g, 0); /* is not released any more */
	others_flow(&g, FRAMES);
	assert_int_equal(g.s[0].done, 1);
	engine_remove(&g, 0);
	assert_int_equal(g.s[0].gone, 1);
	assert_int_equal(g.s[0].shed[CR_OUT_CANCELLED], 3);
	assert_int_equal(g.backs, 0);
	engine_close(&g);
}

static void who_was_to_leave_already(void **state)
{
	struct live_worker_look look;
	unsigned worker;
	struct engine_fixture g;

	engine_start(&g, N, &cr_sched_fifo, 2);
	look = get_stuck(&g, &worker);
	engine_remove(&g, 0);
	assert_true(live_detach(g.live, worker, &look));
	assert_int_equal(live_start_worker(g.live, worker, NULL), 0);
	others_flow(&g, FRAMES);
	assert_int_equal(g.s[0].gone, 0);
	atomic_store(&g.hold, 0);
	engine_wait_gone(&g, 0);
	assert_int_equal(g.backs, 1);
	engine_close(&g);
}

/* Each policy hears that the job is over, and plans on. */
static void the_policy_may_change_meanwhile(void **state)
{
	struct engine_fixture g;

	engine_start(&g, N, &cr_sched_edf, 1);
	take_the_place(&g);
	for (unsigned k = 1; k <= 10; k++) {
		assert_int_equal(
			live_switch(g.live,
				    k % 2 ? &cr_sched_rr : &cr_sched_edf, NULL,
				    NULL),
			0);
		others_flow(&g, k * 5);
	}
	live_wake_again(g.live, &g.s[0].task); /* no way back for it */
	engine_remove(&g, 0);
	others_flow(&g, 60);
	atomic_store(&g.hold, 0);
	engine_wait_gone(&g, 0);
	assert_int_equal(g.s[0].done, 1);
	engine_close(&g);
}

static void several_one_after_another(void **state)
{
	struct engine_fixture g;

	engine_start(&g, N, &cr_sched_fifo, 1);
	for (unsigned i = 0; i < N - 1; i++) {
		struct live_worker_look look;

		engine_get_stuck(&g, i);
		assert_true(live_look_worker(g.live, 0, &look));
		assert_true(live_detach(g.live, 0, &look));
		assert_int_equal(live_start_worker(g.live, 0, NULL), 0);
		engine_remove(&g, i);
		engine_frame(&g, N - 1);
		engine_wait_done(&g, N - 1, i + 1);
		assert_int_equal(live_join_detached(g.live), i + 1);
	}
	atomic_store(&g.hold, 1u << 0); /* the first comes last */
	while (live_join_detached(g.live) > 1)
		(void)sched_yield();
	assert_int_equal(g.s[0].gone, 0);
	assert_int_equal(g.s[1].gone + g.s[2].gone, 2);
	atomic_store(&g.hold, 0);
	wait_reaped(&g);
	assert_int_equal(g.s[0].gone, 1);
	engine_close(&g);
}

static void who_has_moved_on_keeps_the_place(void **state)
{
	struct live_worker_look look;
	unsigned worker;
	struct engine_fixture g;

	engine_start(&g, N, &cr_sched_fifo, 1);
	look = get_stuck(&g, &worker);
	atomic_store(&g.keep, true); /* the client: it is about to return */
	assert_false(live_detach(g.live, worker, &look));
	atomic_store(&g.keep, false);
	atomic_store(&g.hold, 0);
	engine_wait_done(&g, 0, 3);
	assert_false(live_detach(g.live, worker, &look));
	engine_get_stuck(&g, 0); /* the same task, another job */
	assert_false(live_detach(g.live, worker, &look));
	atomic_store(&g.hold, 0);
	engine_wait_done(&g, 0, 4);
	assert_int_equal(live_join_detached(g.live), 0);
	engine_close(&g);
}

static void the_end_does_not_wait_for_the_lost(void **state)
{
	struct engine_fixture g;

	engine_start(&g, N, &cr_sched_fifo, 2);
	take_the_place(&g);
	engine_remove(&g, 0);
	for (unsigned i = 1; i < N; i++)
		engine_leave(&g, i);
	assert_int_equal(live_stop(g.live), -EBUSY);
	assert_int_equal(g.up - g.down, 1);
	assert_int_equal(live_stop(g.live), -EBUSY);
	atomic_store(&g.hold, 0);
	engine_wait_gone(&g, 0);
	wait_reaped(&g);
	engine_close(&g);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(others_go_on_with_one_worker),
		cmocka_unit_test(others_go_on_with_two_workers),
		cmocka_unit_test(who_comes_back_before_it_is_removed),
		cmocka_unit_test(who_was_to_leave_already),
		cmocka_unit_test(the_policy_may_change_meanwhile),
		cmocka_unit_test(several_one_after_another),
		cmocka_unit_test(who_has_moved_on_keeps_the_place),
		cmocka_unit_test(the_end_does_not_wait_for_the_lost),
	};

	return cmocka_run_group_tests_name("detached", tests, NULL, NULL);
}
