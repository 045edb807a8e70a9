/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A core over a handful of test sources, driven by hand.
 */
#ifndef TESTS_UNIT_ENGINE_CORE_FIXTURE_H
#define TESTS_UNIT_ENGINE_CORE_FIXTURE_H

#include <stdlib.h>

#include "cmocka_cr.h"
#include "engine/core.h"
#include "engine_source.h"

enum { N = 6 };

struct core_fixture {
	struct core *core;
	struct source *s; /* [N] */
};

static inline void open_core(struct core_fixture *g, struct core_config cfg)
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

static inline void join(struct core_fixture *g, unsigned i)
{
	struct cr_verdict v;
	int rq = core_admit(g->core, &g->s[i].task.core.task, &v);

	assert_true(rq >= 0);
	core_add(g->core, &g->s[i].task.core, (unsigned)rq, 0);
}

static inline void open_core_joined(struct core_fixture *g,
				    struct core_config cfg)
{
	open_core(g, cfg);
	for (unsigned i = 0; i < N; i++)
		join(g, i);
}

static inline void close_core(struct core_fixture *g, cr_ns now)
{
	for (unsigned i = 0; i < N; i++)
		if (g->s[i].task.core.task.rq)
			core_del(g->core, &g->s[i].task.core, now);
	core_close(g->core);
	free(g->s);
}

static inline bool frame(struct core_fixture *g, unsigned i, cr_ns now)
{
	(void)source_push(&g->s[i], now);
	if (g->s[i].task.core.task.state != CR_IDLE)
		return false;
	return core_release(g->core, &g->s[i].task.core, now);
}

/* Pick on @cpu of the first run queue; -1: nothing. */
static inline int pick(struct core_fixture *g, unsigned cpu, cr_ns now)
{
	struct core_task *t = core_pick(g->core, core_rq(g->core, 0), cpu, now);

	return t ? (int)t->task.id : -1;
}

static inline bool stop(struct core_fixture *g, unsigned cpu, cr_ns now)
{
	struct core_task *t = core_stop(g->core, core_rq(g->core, 0), cpu, 1,
					CR_STOP_DONE, now);

	source_of(t)->done++;
	return core_again(g->core, t, now);
}

#endif
