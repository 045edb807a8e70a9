/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A thread per task: every frame is done once and in order, those too old and
 * those of tasks that leave are accounted for, and what cannot be had is
 * refused. Under SCHED_OTHER, which everybody may use; the others, where the
 * privilege is there.
 */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "cmocka_cr.h"
#include "engine/live_watch.h"
#include "engine_source.h"
#include "schedulers/policies.h"

enum { TASKS = 20, FRAMES = 500, FEW = 20 };

struct rig {
	struct live *live;
	struct source *s; /* [TASKS] */
	atomic_int up, down;
	atomic_bool hold; /* run() waits while it is set */
};

static void run(void *arg, struct live_task *t, const struct live_run *r)
{
	struct rig *g = arg;
	struct source *s = source_of(&t->core);
	uint64_t seq = t->core.task.job.seq;

	assert_int_equal(atomic_fetch_add(&s->running, 1), 0);
	while (atomic_load(&g->hold))
		(void)sched_yield();
	assert_true(seq >= atomic_load(&s->last_seq));
	atomic_store(&s->last_seq, seq + 1);
	assert_true(r->cpu > 0 && r->worker == 0);
	(void)atomic_fetch_add(&s->expired, r->expired);
	(void)atomic_fetch_sub(&s->running, 1);
	(void)atomic_fetch_add(&s->done, 1);
}

static void gone(void *arg, struct live_task *t)
{
	(void)arg;
	(void)atomic_fetch_add(&source_of(&t->core)->gone, 1);
}

static void up(void *arg, unsigned slot)
{
	struct rig *g = arg;

	assert_true(slot < TASKS);
	(void)atomic_fetch_add(&g->up, 1);
}

static void down(void *arg, unsigned slot)
{
	struct rig *g = arg;

	(void)slot;
	(void)atomic_fetch_add(&g->down, 1);
}

static int rig_try(struct rig *g, const char *spec,
		   const struct core_config *core)
{
	struct live_config cfg = {
		.core = { .ncpu = 1 },
		.max_threads = TASKS,
		.client = { .backlog = source_backlog,
			    .run = run,
			    .gone = gone,
			    .worker_up = up,
			    .worker_down = down,
			    .arg = g },
	};
	struct cr_err e = { "" }, warn = { "" };
	struct scheduler s;
	int rc;

	memset(g, 0, sizeof(*g));
	if (core)
		cfg.core = *core;
	assert_int_equal(scheduler_find(spec, &s, &e), 0);
	live_choose(&cfg, &s);
	rc = live_open(&g->live, &cfg, &warn, &e);
	if (rc == -EPERM)
		assert_non_null(strstr(e.text, "CAP_SYS_NICE"));
	else if (rc)
		fail_msg("%s", e.text);
	if (rc)
		return rc;
	g->s = calloc(TASKS, sizeof(*g->s));
	assert_non_null(g->s);
	for (unsigned i = 0; i < TASKS; i++)
		source_init(&g->s[i], i + 1, SOURCE_SLOTS, 1);
	return 0;
}

static void join(struct rig *g, unsigned i)
{
	struct cr_verdict v = { 0 };

	assert_int_equal(live_add(g->live, &g->s[i].task, &v), 0);
}

static void rig_close(struct rig *g)
{
	live_close(g->live);
	assert_int_equal(g->up, g->down);
	free(g->s);
}

static void push(struct rig *g, unsigned i)
{
	struct live_task *t = &g->s[i].task;

	(void)source_push(&g->s[i], clock_now());
	if (live_task_wake(t))
		live_release(g->live, &t, 1);
}

static void wait_for(const _Atomic uint64_t *counter, uint64_t n)
{
	while (atomic_load(counter) < n) /* or the test's time-out */
		(void)sched_yield();
}

static void all_frames_are_done(struct rig *g, unsigned frames)
{
	struct live_worker_stats stats;
	struct live_load load;

	for (unsigned i = 0; i < TASKS; i++)
		join(g, i);
	for (unsigned k = 0; k < frames; k++)
		for (unsigned i = 0; i < TASKS; i++)
			push(g, i);
	for (unsigned i = 0; i < TASKS; i++)
		wait_for(&g->s[i].done, frames);
	live_load(g->live, &load);
	assert_int_equal(load.tasks, TASKS);
	assert_int_equal(load.load_ppm, TASKS * 5000);
	for (unsigned i = 0; i < TASKS; i++)
		live_remove(g->live, &g->s[i].task);
	for (unsigned i = 0; i < TASKS; i++)
		while (!atomic_load(&g->s[i].gone))
			(void)sched_yield();
	live_worker_stats(g->live, 0, &stats);
	assert_int_equal(stats.jobs, TASKS * frames);
	assert_int_equal(stats.drops, 0);
	assert_true(stats.cpu > 0 && stats.busy > 0);
}

static void frames_are_done_once_and_in_order(void **state)
{
	struct rig g;

	(void)state;
	assert_int_equal(rig_try(&g, "kernel:other", NULL), 0);
	all_frames_are_done(&g, FRAMES);
	rig_close(&g);
}

/* Under SCHED_DEADLINE giving way ends the budget: a frame a period. */
static void under_the_others_too(void **state)
{
	static const char *const specs[] = { "kernel:nice", "kernel:rr",
					     "kernel:fifo", "kernel:deadline" };
	struct rig g;

	(void)state;
	for (unsigned i = 0; i < 4; i++) {
		if (rig_try(&g, specs[i], NULL))
			continue; /* told: the privilege is not there */
		all_frames_are_done(&g, FEW);
		rig_close(&g);
	}
}

/* A task that leaves while it works: its frame ends, the rest is cancelled. */
static void what_waits_is_cancelled(void **state)
{
	struct rig g;

	(void)state;
	assert_int_equal(rig_try(&g, "kernel:other", NULL), 0);
	atomic_store(&g.hold, true);
	join(&g, 0);
	for (unsigned k = 0; k < 10; k++)
		push(&g, 0);
	while (!atomic_load(&g.s[0].running))
		(void)sched_yield();
	live_remove(g.live, &g.s[0].task);
	assert_int_equal(atomic_load(&g.s[0].gone), 0);
	atomic_store(&g.hold, false);
	while (!atomic_load(&g.s[0].gone))
		(void)sched_yield();
	assert_int_equal(g.s[0].done, 1);
	assert_int_equal(g.s[0].shed[CR_OUT_CANCELLED], 9);
	rig_close(&g);
}

static void old_frames_are_shed_or_marked(struct rig *g, enum core_expired what)
{
	struct core_config core = { .ncpu = 1 };

	core.max_age[CR_SOFT] = CR_SEC;
	core.expired[CR_SOFT] = what;
	assert_int_equal(rig_try(g, "kernel:other", &core), 0);
	join(g, 0);
	(void)source_push(&g->s[0], clock_now() - 2 * CR_SEC);
	push(g, 0); /* a fresh one behind it wakes the thread */
	wait_for(&g->s[0].done, what == CORE_EXPIRED_SHED ? 1 : 2);
	live_remove(g->live, &g->s[0].task);
	live_close(g->live);
}

static void frames_grow_old(void **state)
{
	struct rig g;

	(void)state;
	old_frames_are_shed_or_marked(&g, CORE_EXPIRED_SHED);
	assert_int_equal(g.s[0].shed[CR_OUT_EXPIRED], 1);
	assert_int_equal(g.s[0].done, 1);
	free(g.s);
	old_frames_are_shed_or_marked(&g, CORE_EXPIRED_CONCEAL);
	assert_int_equal(g.s[0].shed[CR_OUT_EXPIRED], 0);
	assert_int_equal(g.s[0].done, 2);
	assert_int_equal(g.s[0].expired, 1);
	free(g.s);
}

/* 5 % each: 19 of 20 fit under 97 %; a thread that has gone makes room. */
static void load_is_admitted_up_to_the_bound(void **state)
{
	struct core_config core = { .ncpu = 1,
				    .admission = true,
				    .capacity_ppm = 970000 };
	struct cr_verdict v = { 0 };
	struct rig g;

	(void)state;
	assert_int_equal(rig_try(&g, "kernel:other", &core), 0);
	for (unsigned i = 0; i < TASKS; i++)
		g.s[i].task.core.task.cost.mean = CR_MS;
	for (unsigned i = 0; i < 19; i++)
		join(&g, i);
	assert_int_equal(live_add(g.live, &g.s[19].task, &v), -ENOSPC);
	assert_non_null(strstr(v.rule, "cost / period"));
	assert_int_equal(v.free_ppm, 20000);
	live_remove(g.live, &g.s[7].task);
	while (live_add(g.live, &g.s[19].task, &v)) /* until it has gone */
		(void)sched_yield();
	for (unsigned i = 0; i < TASKS; i++)
		if (i != 7)
			live_remove(g.live, &g.s[i].task);
	rig_close(&g);
}

static void threads_are_bounded(void **state)
{
	struct cr_verdict v = { 0 };
	struct source extra;
	struct rig g;

	(void)state;
	assert_int_equal(rig_try(&g, "kernel:other", NULL), 0);
	memset(&extra, 0, sizeof(extra));
	source_init(&extra, 99, 8, 1);
	for (unsigned i = 0; i < TASKS; i++)
		join(&g, i);
	assert_int_equal(live_add(g.live, &extra.task, &v), -ENOSPC);
	assert_non_null(strstr(v.rule, "--max-calls"));
	for (unsigned i = 0; i < TASKS; i++)
		live_remove(g.live, &g.s[i].task);
	rig_close(&g);
}

/* Between the kernel's and ours nothing can change under calls. */
static void it_is_for_the_whole_run(void **state)
{
	struct cr_err e = { "" };
	struct scheduler nice;
	struct rig g;

	(void)state;
	assert_int_equal(scheduler_find("kernel:nice", &nice, &e), 0);
	assert_int_equal(rig_try(&g, "kernel:other", NULL), 0);
	join(&g, 0);
	assert_int_equal(live_switch(g.live, &cr_sched_fifo, NULL, &e),
			 -ENOTSUP);
	assert_non_null(strstr(e.text, "only by a new start"));
	assert_string_equal(live_scheduler(g.live), "kernel:other");
	/* nor has it workers that a watchdog could replace */
	assert_int_equal(live_start_worker(g.live, 0, &e), 0);
	live_remove(g.live, &g.s[0].task);
	rig_close(&g);
	assert_int_equal(g.up, 1);
	assert_int_equal(rig_try(&g, "fifo", NULL), 0);
	assert_int_equal(live_switch_to(g.live, &nice, &e), -ENOTSUP);
	rig_close(&g);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(frames_are_done_once_and_in_order),
		cmocka_unit_test(under_the_others_too),
		cmocka_unit_test(what_waits_is_cancelled),
		cmocka_unit_test(frames_grow_old),
		cmocka_unit_test(load_is_admitted_up_to_the_bound),
		cmocka_unit_test(threads_are_bounded),
		cmocka_unit_test(it_is_for_the_whole_run),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
