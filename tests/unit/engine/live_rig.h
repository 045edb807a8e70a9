/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A live engine of two workers, and four tasks whose frames take as long as the
 * test wants.
 */
#ifndef TESTS_UNIT_ENGINE_LIVE_RIG_H
#define TESTS_UNIT_ENGINE_LIVE_RIG_H

#include <sched.h>
#include <stdlib.h>

#include "base/clock.h"
#include "cmocka_cr.h"
#include "engine_source.h"

enum { N = 4, ALL = 15 };

struct rig {
	struct live *live;
	struct source *s; /* [N] */
	atomic_uint hold; /* run() of task i waits while bit i is set */
	atomic_uint workers;
};

static inline void run(void *arg, struct live_task *t, const struct live_run *r)
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

static inline void gone(void *arg, struct live_task *t)
{
	(void)arg;
	atomic_store(&source_of(&t->core)->gone, 1);
}

static inline void worker_up(void *arg, unsigned worker)
{
	atomic_fetch_or(&((struct rig *)arg)->workers, 1u << worker);
}

static inline struct live_config config(struct rig *g,
					const struct cr_sched_ops *ops)
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

static inline void join(struct rig *g, unsigned i)
{
	struct cr_verdict v;

	assert_int_equal(live_add(g->live, &g->s[i].task, &v), 0);
}

static inline void start(struct rig *g, const struct live_config *cfg)
{
	struct cr_err e = { "" };

	if (live_open(&g->live, cfg, NULL, &e))
		fail_msg("%s", e.text);
	for (unsigned i = 0; i < N; i++)
		join(g, i);
}

static inline void finish(struct rig *g)
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

static inline void frame(struct rig *g, unsigned i)
{
	struct live_task *t = &g->s[i].task;

	(void)source_push(&g->s[i], clock_now());
	if (live_task_wake(t))
		live_release(g->live, &t, 1);
}

static inline void wait_done(struct source *s, uint64_t n)
{
	while (atomic_load(&s->done) < n)
		(void)sched_yield();
}

#endif
