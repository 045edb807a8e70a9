/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A live engine and a watchdog: tasks whose run() waits while it is
 * held, and counts of what the client was called for.
 */
#ifndef TESTS_WATCH_RIG_H
#define TESTS_WATCH_RIG_H

#include <sched.h>
#include <stdlib.h>

#include "base/clock.h"
#include "cmocka_cr.h"
#include "engine/live_watch.h"
#include "engine_source.h"

enum { N = 4, FRAMES = 50 };

struct rig {
	struct live *live;
	struct source *s; /* [N] */
	atomic_uint hold; /* run() of task i waits while bit i is set */
	atomic_uint up, down, backs, faults;
	atomic_bool keep; /* may_detach() says no */
};

static inline void run(void *arg, struct live_task *t, const struct live_run *r)
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

static inline void gone(void *arg, struct live_task *t)
{
	(void)arg;
	assert_int_equal(atomic_exchange(&source_of(&t->core)->gone, 1), 0);
}

static inline bool may_detach(void *arg, struct live_task *t, unsigned worker)
{
	struct rig *g = arg;

	assert_true(atomic_load(&source_of(&t->core)->running));
	assert_in_range(worker, 0, 1);
	return !atomic_load(&g->keep);
}

static inline void returned(void *arg, struct live_task *t)
{
	struct rig *g = arg;

	atomic_fetch_add(&g->backs, 1);
	live_remove(g->live, t);
}

static inline void worker_up(void *arg, unsigned worker)
{
	(void)worker;
	atomic_fetch_add(&((struct rig *)arg)->up, 1);
}

static inline void worker_down(void *arg, unsigned worker)
{
	(void)worker;
	atomic_fetch_add(&((struct rig *)arg)->down, 1);
}

static inline void faulty(void *arg, const struct core_fault *fault)
{
	assert_string_equal(fault->what,
			    "nothing while a task waited, for too long");
	assert_int_equal(fault->task, 2);
	atomic_fetch_add(&((struct rig *)arg)->faults, 1);
}

static inline void join(struct rig *g, unsigned i)
{
	struct cr_verdict v;

	assert_int_equal(live_add(g->live, &g->s[i].task, &v), 0);
}

static inline void start(struct rig *g, const struct cr_sched_ops *ops,
			 unsigned workers)
{
	const struct live_config cfg = {
		.core = { .ops = ops, .ncpu = workers, .lenient = true },
		.client = { .backlog = source_backlog,
			    .run = run,
			    .gone = gone,
			    .may_detach = may_detach,
			    .returned = returned,
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

static inline void leave(struct rig *g, unsigned i)
{
	live_remove(g->live, &g->s[i].task);
	while (!atomic_load(&g->s[i].gone))
		(void)sched_yield();
}

static inline void finish(struct rig *g)
{
	for (unsigned i = 0; i < N; i++)
		if (!atomic_load(&g->s[i].gone))
			leave(g, i);
	/* a detached thread may have given its task back and not have ended */
	while (live_stop(g->live))
		(void)sched_yield();
	live_close(g->live);
	assert_int_equal(g->up, g->down);
	free(g->s);
}

static inline void frame(struct rig *g, unsigned i)
{
	struct live_task *t = &g->s[i].task;

	(void)source_push(&g->s[i], clock_now());
	if (live_task_wake(t))
		live_release(g->live, &t, 1);
}

static inline void wait_done(struct rig *g, unsigned i, uint64_t n)
{
	while (atomic_load(&g->s[i].done) < n)
		(void)sched_yield();
	assert_int_equal(atomic_load(&g->s[i].done), n);
}

static inline void wait_idle(struct rig *g, unsigned i)
{
	struct live_task_look look;

	do
		live_look_task(g->live, &g->s[i].task, &look);
	while (look.state != CR_IDLE || !look.idle);
}

#endif
