/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Corners of the live driver: ticks that only sleeping workers can honour, a
 * task that leaves while it runs, refusals, priorities that are not granted.
 */
#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "cmocka_cr.h"
#include "engine_source.h"
#include "schedulers/policies.h"

enum { N = 4, ALL = 15 };

struct rig {
	struct live *live;
	struct source *s; /* [N] */
	atomic_uint hold; /* run() of task i waits while bit i is set */
	atomic_uint workers;
};

static void run(void *arg, struct live_task *t, const struct live_run *r)
{
	struct rig *g = arg;
	struct source *s = source_of(&t->core);

	(void)r;
	atomic_store(&s->running, 1);
	while (atomic_load(&g->hold) >> t->core.task.id & 1)
		(void)sched_yield();
	atomic_store(&s->running, 0);
	atomic_fetch_add(&s->done, 1);
}

static void gone(void *arg, struct live_task *t)
{
	(void)arg;
	atomic_store(&source_of(&t->core)->gone, 1);
}

static void worker_up(void *arg, unsigned worker)
{
	atomic_fetch_or(&((struct rig *)arg)->workers, 1u << worker);
}

static struct live_config config(struct rig *g, const struct cr_sched_ops *ops)
{
	*g = (struct rig){ .s = calloc(N, sizeof(*g->s)) };
	assert_non_null(g->s);
	for (unsigned i = 0; i < N; i++)
		source_init(&g->s[i], i, 8, 2);
	return (struct live_config){
		.core = { .ops = ops, .ncpu = 2 },
		.client = { .backlog = source_backlog,
			    .run = run,
			    .gone = gone,
			    .worker_up = worker_up,
			    .arg = g },
	};
}

static void join(struct rig *g, unsigned i)
{
	struct cr_verdict v;

	assert_int_equal(live_add(g->live, &g->s[i].task, &v), 0);
}

static void start(struct rig *g, const struct live_config *cfg)
{
	struct cr_err e = { "" };

	if (live_open(&g->live, cfg, NULL, &e))
		fail_msg("%s", e.text);
	for (unsigned i = 0; i < N; i++)
		join(g, i);
}

static void finish(struct rig *g)
{
	for (unsigned i = 0; i < N; i++) {
		if (!g->s[i].gone)
			live_remove(g->live, &g->s[i].task);
		while (!g->s[i].gone)
			(void)sched_yield();
	}
	live_close(g->live);
	free(g->s);
}

static void frame(struct rig *g, unsigned i)
{
	struct live_task *t = &g->s[i].task;

	(void)source_push(&g->s[i], clock_now());
	if (live_task_wake(t))
		live_release(g->live, &t, 1);
}

static void wait_done(struct source *s, uint64_t n)
{
	while (atomic_load(&s->done) < n)
		(void)sched_yield();
}

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
	struct rig g;
	struct live_config cfg = config(&g, &ops);

	cfg.poll = poll;
	start(&g, &cfg);
	for (unsigned k = 1; k <= 20; k++) {
		for (unsigned i = 0; i < N; i++)
			frame(&g, i);
		for (unsigned i = 0; i < N; i++)
			wait_done(&g.s[i], k);
	}
	finish(&g);
}

static void idle_workers_honour_ticks(void **state)
{
	(void)state;
	frames_held_until(false);
	frames_held_until(true);
}

/* The worker that waits for the tick is called away to a long frame; another
 * one has to wait for the tick in its place. */
static void a_busy_keeper_hands_over(void **state)
{
	struct cr_sched_ops ops = holding();
	struct rig g;
	struct live_config cfg = config(&g, &ops);

	(void)state;
	start(&g, &cfg);
	for (uint64_t k = 1; k <= 50; k++) {
		atomic_store(&g.hold, 1u << 0);
		frame(&g, 1);
		/* any moment from before it is the keeper to after the tick */
		for (cr_ns until = clock_now() + (cr_ns)k * 25 * CR_US;
		     clock_now() < until;)
			(void)sched_yield();
		frame(&g, 0);
		wait_done(&g.s[1], k);
		atomic_store(&g.hold, 0);
		wait_done(&g.s[0], k);
	}
	finish(&g);
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
	struct rig g;
	struct live_config cfg = config(&g, &cr_sched_fifo);

	(void)state;
	cfg.client.backlog.peek = late_peek;
	start(&g, &cfg);
	atomic_store(&late_frames, 1);
	frame(&g, 0);
	wait_done(&g.s[0], 2);
	finish(&g);
}

/* --- stealing --- */

static struct cr_task *take_first(struct cr_rq *from, struct cr_rq *to,
				  unsigned cpu, cr_ns now)
{
	(void)to, (void)cpu;
	return cr_sched_fifo.pick(from, 0, now);
}

static void leave(struct rig *g, unsigned i)
{
	live_remove(g->live, &g->s[i].task);
	while (!atomic_exchange(&g->s[i].gone, 0))
		(void)sched_yield();
}

/* Two tasks of one queue: its only worker is held by the first one, so the
 * sleeping worker of the other queue has to be woken for the second. */
static void a_sleeping_thief_is_woken(void **state)
{
	struct cr_sched_ops stealing = cr_sched_fifo;
	struct live_worker_stats st[2];
	struct rig g;
	struct live_config cfg = config(&g, &stealing);

	(void)state;
	stealing.steal = take_first;
	cfg.core.cpus_per_rq = 1;
	start(&g, &cfg); /* 0 and 2 are in one queue, 1 and 3 in the other */
	for (uint64_t k = 1; k <= 20; k++) {
		atomic_store(&g.hold, ALL);
		frame(&g, 0);
		while (!g.s[0].running)
			(void)sched_yield();
		frame(&g, 2);
		while (!g.s[2].running) /* held, too, on the other worker */
			(void)sched_yield();
		atomic_store(&g.hold, 0);
		wait_done(&g.s[0], k);
		wait_done(&g.s[2], k);
		/* the stolen one has moved: back to where there is room */
		leave(&g, 0);
		leave(&g, 2);
		join(&g, 0);
		join(&g, 2);
	}
	for (unsigned w = 0; w < 2; w++)
		live_worker_stats(g.live, w, &st[w]);
	assert_true(st[0].steals + st[1].steals > 0);
	finish(&g);
}

/* --- leaving --- */

static void a_running_task_finishes_its_frame_and_then_leaves(void **state)
{
	struct rig g;
	struct live_config cfg = config(&g, &cr_sched_fifo);

	(void)state;
	start(&g, &cfg);
	atomic_store(&g.hold, ALL);
	frame(&g, 0);
	while (!g.s[0].running)
		(void)sched_yield();
	frame(&g, 0);
	live_remove(g.live, &g.s[0].task);
	assert_int_equal(g.s[0].gone, 0);
	atomic_store(&g.hold, 0);
	while (!g.s[0].gone)
		(void)sched_yield();
	assert_int_equal(g.s[0].done, 1);
	assert_int_equal(g.s[0].shed[CR_OUT_CANCELLED], 1);
	finish(&g);
}

static void a_queued_task_leaves_at_once(void **state)
{
	struct live_load load;
	struct rig g;
	struct live_config cfg = config(&g, &cr_sched_rr);

	(void)state;
	start(&g, &cfg);
	atomic_store(&g.hold, ALL);
	frame(&g, 0);
	frame(&g, 1);
	while (!g.s[0].running || !g.s[1].running)
		(void)sched_yield();
	frame(&g, 2); /* both workers are busy */
	frame(&g, 2);
	live_load(g.live, &load);
	assert_int_equal(load.queued, 1);
	assert_int_equal(load.tasks, N);
	assert_int_equal(load.load_ppm, N * 5000);
	assert_int_equal(load.bound_ppm, 2 * CR_PPM);
	live_remove(g.live, &g.s[2].task);
	assert_int_equal(g.s[2].gone, 1);
	assert_int_equal(g.s[2].shed[CR_OUT_CANCELLED], 2);
	atomic_store(&g.hold, 0);
	wait_done(&g.s[0], 1);
	wait_done(&g.s[1], 1);
	finish(&g);
}

/* The new policy never picked the running task, and never hears of its stop. */
static void a_switch_under_a_running_frame(void **state)
{
	struct cr_kv kv[4];
	struct rig g;
	struct live_config cfg = config(&g, &cr_sched_edf);

	(void)state;
	start(&g, &cfg);
	atomic_store(&g.hold, ALL);
	frame(&g, 0);
	while (!g.s[0].running)
		(void)sched_yield();
	frame(&g, 0);
	assert_int_equal(live_switch(g.live, &cr_sched_rr, "quantum=2ms", NULL),
			 0);
	atomic_store(&g.hold, 0);
	wait_done(&g.s[0], 2);
	assert_int_equal(live_explain(g.live, &g.s[0].task, kv, 4), 1);
	assert_string_equal(kv[0].key, "turn_used_ns");
	finish(&g);
}

static void a_masked_task_wakes_the_worker_that_may_run_it(void **state)
{
	struct rig g;
	struct live_config cfg = config(&g, &cr_sched_fifo);

	(void)state;
	for (unsigned i = 0; i < N; i++)
		cr_cpus_del(&g.s[i].task.core.task.cpus, 0);
	start(&g, &cfg);
	for (uint64_t k = 1; k <= 50; k++) {
		frame(&g, 3);
		wait_done(&g.s[3], k);
	}
	finish(&g);
}

/* --- refusals --- */

/* No frame is lost by it, and the last rules hold. */
static void rules_change_while_workers_run(void **state)
{
	enum { ROUNDS = 200 };
	struct rig g;
	struct live_config cfg = config(&g, &cr_sched_fifo);
	struct core_config to = { .capacity_ppm = CR_PPM };
	struct live_load load;

	(void)state;
	start(&g, &cfg);
	for (unsigned i = 1; i <= ROUNDS; i++) {
		for (unsigned j = 0; j < N; j++)
			frame(&g, j);
		to.capacity_ppm = CR_PPM / i;
		to.max_age[CR_SOFT] = i % 2 ? 0 : 60 * CR_SEC;
		assert_int_equal(live_set_rules(g.live, &to), 0);
		live_load(g.live, &load);
		assert_int_equal(load.bound_ppm, 2 * (CR_PPM / i));
		for (unsigned j = 0; j < N; j++)
			wait_done(&g.s[j], i);
	}
	finish(&g);
}

static void a_full_engine_says_why(void **state)
{
	struct cr_verdict v;
	char text[200];
	struct rig g;
	struct live_config cfg = config(&g, &cr_sched_fifo);
	struct source extra = { .room = 2 };
	int rc;

	(void)state;
	cfg.core.admission = true;
	cfg.core.capacity_ppm = 10000;
	start(&g, &cfg); /* 4 * 0.005 on 2 * 0.01: full */
	source_init(&extra, 9, 2, 2);
	rc = live_add(g.live, &extra.task, &v);
	assert_int_equal(rc, -ENOSPC);
	live_refusal(g.live, rc, &v, text, sizeof(text));
	assert_non_null(strstr(text, "no-capacity: need 0.0050, free 0.0000 of "
				     "0.02 under fifo"));
	finish(&g);
}

static void what_cannot_start_says_why(void **state)
{
	static const unsigned nowhere[2] = { 0, 1000000 };
	struct live *l = NULL;
	struct cr_err e = { "" };
	struct rig g;
	struct live_config cfg = config(&g, &cr_sched_fifo);

	(void)state;
	cfg.pin = nowhere;
	assert_true(live_open(&l, &cfg, NULL, &e) < 0);
	assert_non_null(strstr(e.text, "worker 1 does not start on CPU "
				       "1000000"));
	cfg.pin = NULL;
	cfg.core.opts = "x=1";
	assert_int_equal(live_open(&l, &cfg, NULL, &e), -EINVAL);
	assert_non_null(strstr(e.text, "scheduler fifo: no option 'x'"));
	assert_null(l);
	free(g.s);
}

/* Granted or not, the engine runs; what is lost or risky is said. */
static void real_time_priority_is_not_needed(void **state)
{
	struct cr_err warn = { "" }, e = { "" };
	struct rig g;
	struct live_config cfg = config(&g, &cr_sched_fifo);

	(void)state;
	cfg.core.ncpu = 1; /* leave a CPU to whoever runs this test */
	cfg.rt_priority = 10;
	cfg.poll = true;
	assert_int_equal(live_open(&g.live, &cfg, &warn, &e), 0);
	assert_true(strstr(warn.text, "without real-time priority 10") ||
		    strstr(warn.text, "real-time throttling"));
	live_close(g.live);
	free(g.s);
}

static void every_worker_reports_for_work(void **state)
{
	struct rig g;
	struct live_config cfg = config(&g, &cr_sched_fifo);

	(void)state;
	start(&g, &cfg);
	while (atomic_load(&g.workers) != 3)
		(void)sched_yield();
	assert_int_equal(live_nworkers(g.live), 2);
	finish(&g);
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
		cmocka_unit_test(a_full_engine_says_why),
		cmocka_unit_test(what_cannot_start_says_why),
		cmocka_unit_test(real_time_priority_is_not_needed),
		cmocka_unit_test(every_worker_reports_for_work),
	};

	return cmocka_run_group_tests_name("live", tests, NULL, NULL);
}
