/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Corners of the live driver: ticks that only sleeping workers can honour, a
 * task that leaves while it runs, rules that change.
 */
#include "engine_fixture.h"
#include "schedulers/policies.h"

enum { N = 4, ALL = 15 };

/* --- a policy that holds all tasks but the first back until a tick --- */

/* Behind what fifo's callbacks see of a run queue. */
struct hold_rq {
	cr_ns open; /* the last tick: picks of this instant get something */
	struct cr_task *first; /* if it waits */
};

static struct hold_rq *hold_of(struct cr_rq *rq)
{
	return (struct hold_rq *)(void *)((unsigned char *)rq->priv +
					  cr_sched_fifo.rq_size);
}

static void hold_enqueue(struct cr_rq *rq, struct cr_task *t, enum cr_enq why,
			 cr_ns now)
{
	cr_sched_fifo.enqueue(rq, t, why, now);
	if (t->id == 0)
		hold_of(rq)->first = t;
	if (rq->next_tick == CR_NEVER)
		rq->next_tick = now + CR_MS;
}

static struct cr_task *pick_the_first(struct cr_rq *rq, cr_ns now)
{
	struct cr_task *t = hold_of(rq)->first;

	if (!t || t->state != CR_QUEUED)
		return NULL;
	cr_sched_fifo.dequeue(rq, t, now);
	t->slice = CR_NEVER;
	return t;
}

static struct cr_task *hold_pick(struct cr_rq *rq, unsigned cpu, cr_ns now)
{
	struct cr_task *t;

	if (hold_of(rq)->open != now) {
		if (rq->next_tick == CR_NEVER)
			rq->next_tick = now + CR_MS;
		return pick_the_first(rq, now);
	}
	t = cr_sched_fifo.pick(rq, cpu, now);
	if (rq->nqueued > 1 && rq->next_tick == CR_NEVER)
		rq->next_tick = now + CR_MS;
	return t;
}

static void hold_tick(struct cr_rq *rq, cr_ns now)
{
	hold_of(rq)->open = now;
}

static struct cr_sched_ops holding(void)
{
	struct cr_sched_ops ops = cr_sched_fifo;

	ops.name = "hold";
	ops.flags = CR_F_IDLES;
	ops.rq_size += sizeof(struct hold_rq);
	ops.enqueue = hold_enqueue;
	ops.pick = hold_pick;
	ops.tick = hold_tick;
	return ops;
}

static void frames_held_until(bool poll)
{
	struct cr_sched_ops ops = holding();
	struct engine_fixture g;
	struct live_config cfg = engine_config(&g, N, &ops, 2);

	cfg.poll = poll;
	engine_open(&g, &cfg);
	for (unsigned k = 1; k <= 20; k++) {
		for (unsigned i = 0; i < N; i++)
			engine_frame(&g, i);
		for (unsigned i = 0; i < N; i++)
			engine_wait_done(&g, i, k);
	}
	engine_close(&g);
}

static void idle_workers_honour_ticks(void **state)
{
	frames_held_until(false);
	frames_held_until(true);
}

/* The worker that waits for the tick is called away to a long frame; another
 * one has to wait for the tick in its place. */
static void a_busy_keeper_hands_over(void **state)
{
	struct cr_sched_ops ops = holding();
	struct engine_fixture g;
	struct live_config cfg = engine_config(&g, N, &ops, 2);

	engine_open(&g, &cfg);
	for (uint64_t k = 1; k <= 50; k++) {
		atomic_store(&g.hold, 1u << 0);
		engine_frame(&g, 1);
		/* any moment from before it is the keeper to after the tick */
		for (cr_ns until = clock_now() + (cr_ns)k * 25 * CR_US;
		     clock_now() < until;)
			(void)sched_yield();
		engine_frame(&g, 0);
		engine_wait_done(&g, 1, k);
		atomic_store(&g.hold, 0);
		engine_wait_done(&g, 0, k);
	}
	engine_close(&g);
}

/* --- the last moment --- */

static atomic_int late_frames;

/* The receiver strikes between the worker's look and its going to sleep: it
 * pushes, finds the task active, and so does not release it. */
static bool late_peek(struct core_task *t, struct cr_job *job)
{
	if (source_peek(t, job))
		return true;
	if (atomic_load(&late_frames) > 0) {
		atomic_fetch_sub(&late_frames, 1);
		(void)source_push(source_of(t), 0);
		assert_false(live_task_wake(&source_of(t)->task));
	}
	return false;
}

static void a_frame_at_the_last_moment_is_not_forgotten(void **state)
{
	struct engine_fixture g;
	struct live_config cfg = engine_config(&g, N, &cr_sched_fifo, 2);

	cfg.client.backlog.peek = late_peek;
	engine_open(&g, &cfg);
	atomic_store(&late_frames, 1);
	engine_frame(&g, 0);
	engine_wait_done(&g, 0, 2);
	engine_close(&g);
}

/* --- stealing --- */

static struct cr_task *take_first(struct cr_rq *from, struct cr_rq *to,
				  unsigned cpu, cr_ns now)
{
	(void)to, (void)cpu;
	return cr_sched_fifo.pick(from, 0, now);
}

/* Two tasks of one queue: its only worker is held by the first one, so the
 * sleeping worker of the other queue has to be woken for the second. */
static void a_sleeping_thief_is_woken(void **state)
{
	struct cr_sched_ops stealing = cr_sched_fifo;
	struct live_worker_stats st[2];
	struct engine_fixture g;
	struct live_config cfg = engine_config(&g, N, &stealing, 2);

	stealing.steal = take_first;
	cfg.core.cpus_per_rq = 1;
	/* 0 and 2 are in one queue, 1 and 3 in the other */
	engine_open(&g, &cfg);
	for (uint64_t k = 1; k <= 20; k++) {
		atomic_store(&g.hold, ALL);
		engine_frame(&g, 0);
		engine_wait_running(&g, 0);
		engine_frame(&g, 2);
		engine_wait_running(&g, 2); /* held, too, on the other worker */
		atomic_store(&g.hold, 0);
		engine_wait_done(&g, 0, k);
		engine_wait_done(&g, 2, k);
		/* the stolen one has moved: back to where there is room */
		engine_leave(&g, 0);
		engine_leave(&g, 2);
		engine_join(&g, 0);
		engine_join(&g, 2);
	}
	for (unsigned w = 0; w < 2; w++)
		live_worker_stats(g.live, w, &st[w]);
	assert_true(st[0].steals + st[1].steals > 0);
	engine_close(&g);
}

/* --- leaving --- */

static void a_running_task_finishes_its_frame_and_then_leaves(void **state)
{
	struct engine_fixture g;
	struct live_config cfg = engine_config(&g, N, &cr_sched_fifo, 2);

	engine_open(&g, &cfg);
	atomic_store(&g.hold, ALL);
	engine_frame(&g, 0);
	engine_wait_running(&g, 0);
	engine_frame(&g, 0);
	engine_remove(&g, 0);
	assert_int_equal(g.s[0].gone, 0);
	atomic_store(&g.hold, 0);
	engine_wait_gone(&g, 0);
	assert_int_equal(g.s[0].done, 1);
	assert_int_equal(g.s[0].shed[CR_OUT_CANCELLED], 1);
	engine_close(&g);
}

static void a_queued_task_leaves_at_once(void **state)
{
	struct live_load load;
	struct engine_fixture g;
	struct live_config cfg = engine_config(&g, N, &cr_sched_rr, 2);

	engine_open(&g, &cfg);
	atomic_store(&g.hold, ALL);
	engine_frame(&g, 0);
	engine_frame(&g, 1);
	while (!g.s[0].running || !g.s[1].running)
		(void)sched_yield();
	engine_frame(&g, 2); /* both workers are busy */
	engine_frame(&g, 2);
	live_load(g.live, &load);
	assert_int_equal(load.queued, 1);
	assert_int_equal(load.tasks, N);
	assert_int_equal(load.load_ppm, N * 5000);
	assert_int_equal(load.bound_ppm, 2 * CR_PPM);
	engine_remove(&g, 2);
	assert_int_equal(g.s[2].gone, 1);
	assert_int_equal(g.s[2].shed[CR_OUT_CANCELLED], 2);
	atomic_store(&g.hold, 0);
	engine_wait_done(&g, 0, 1);
	engine_wait_done(&g, 1, 1);
	engine_close(&g);
}

/* The new policy never picked the running task, and never hears of its stop. */
static void a_switch_under_a_running_frame(void **state)
{
	struct cr_kv kv[4];
	struct engine_fixture g;
	struct live_config cfg = engine_config(&g, N, &cr_sched_edf, 2);
	cr_ns before;

	engine_open(&g, &cfg);
	atomic_store(&g.hold, ALL);
	engine_frame(&g, 0);
	engine_wait_running(&g, 0);
	engine_frame(&g, 0);
	before = clock_now();
	assert_int_equal(live_switch(g.live, &cr_sched_rr, "quantum=2ms", NULL),
			 0);
	assert_in_range(live_switched_at(g.live), before, clock_now());
	atomic_store(&g.hold, 0);
	engine_wait_done(&g, 0, 2);
	assert_int_equal(live_explain(g.live, &g.s[0].task, kv, 4), 1);
	assert_string_equal(kv[0].key, "turn_used");
	engine_close(&g);
}

static void a_masked_task_wakes_the_worker_that_may_run_it(void **state)
{
	struct engine_fixture g;
	struct live_config cfg = engine_config(&g, N, &cr_sched_fifo, 2);

	for (unsigned i = 0; i < N; i++)
		cr_cpus_del(&g.s[i].task.core.task.cpus, 0);
	engine_open(&g, &cfg);
	for (uint64_t k = 1; k <= 50; k++) {
		engine_frame(&g, 3);
		engine_wait_done(&g, 3, k);
	}
	engine_close(&g);
}

/* --- rules --- */

/* No frame is lost by it, and the last rules hold. */
static void rules_change_while_workers_run(void **state)
{
	enum { ROUNDS = 200 };
	struct engine_fixture g;
	struct live_config cfg = engine_config(&g, N, &cr_sched_fifo, 2);
	struct core_config to = { .capacity_ppm = CR_PPM };
	struct live_load load;

	engine_open(&g, &cfg);
	for (unsigned i = 1; i <= ROUNDS; i++) {
		for (unsigned j = 0; j < N; j++)
			engine_frame(&g, j);
		to.capacity_ppm = CR_PPM / i;
		to.max_age[CR_SOFT] = i % 2 ? 0 : 60 * CR_SEC;
		assert_int_equal(live_set_rules(g.live, &to), 0);
		live_load(g.live, &load);
		assert_int_equal(load.bound_ppm, 2 * (CR_PPM / i));
		for (unsigned j = 0; j < N; j++)
			engine_wait_done(&g, j, i);
	}
	engine_close(&g);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(idle_workers_honour_ticks),
		cmocka_unit_test(a_busy_keeper_hands_over),
		cmocka_unit_test(a_frame_at_the_last_moment_is_not_forgotten),
		cmocka_unit_test(a_sleeping_thief_is_woken),
		cmocka_unit_test(
			a_running_task_finishes_its_frame_and_then_leaves),
		cmocka_unit_test(a_queued_task_leaves_at_once),
		cmocka_unit_test(a_switch_under_a_running_frame),
		cmocka_unit_test(
			a_masked_task_wakes_the_worker_that_may_run_it),
		cmocka_unit_test(rules_change_while_workers_run),
	};

	return cmocka_run_group_tests_name("live", tests, NULL, NULL);
}
