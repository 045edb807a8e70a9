/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A thread per task: every frame is done once and in order, those too old and
 * those of tasks that leave are accounted for, and what cannot be had is
 * refused. Under SCHED_OTHER, which everybody may use; the others, where the
 * privilege is there.
 */
#include <errno.h>
#include <string.h>

#include "engine_fixture.h"
#include "schedulers/policies.h"

enum { TASKS = 20, FRAMES = 500, FEW = 20 };

/* A thread for the task alone. */
static void run(void *arg, struct live_task *t, const struct live_run *r)
{
	assert_true(r->cpu > 0 && r->worker == 0);
	engine_run(arg, t, r);
}

/* Under @spec, with no task yet; or -EPERM. */
static int open_under(struct engine_fixture *g, const char *spec,
		      const struct core_config *core)
{
	struct live_config cfg = engine_config(g, TASKS, NULL, 1);
	struct cr_err e = { "" }, warn = { "" };
	struct scheduler s;
	int rc;

	if (core)
		cfg.core = *core;
	cfg.max_threads = TASKS;
	cfg.client.run = run;
	assert_int_equal(scheduler_find(spec, &s, &e), 0);
	live_choose(&cfg, &s);
	rc = live_open(&g->live, &cfg, &warn, &e);
	if (rc == -EPERM)
		assert_non_null(strstr(e.text, "CAP_SYS_NICE"));
	else if (rc)
		fail_msg("%s", e.text);
	if (rc)
		free(g->s);
	return rc;
}

static void all_frames_are_done(struct engine_fixture *g, unsigned frames)
{
	struct live_worker_stats stats;
	struct live_load load;

	for (unsigned i = 0; i < TASKS; i++)
		engine_join(g, i);
	for (unsigned k = 0; k < frames; k++)
		for (unsigned i = 0; i < TASKS; i++)
			engine_frame(g, i);
	for (unsigned i = 0; i < TASKS; i++)
		engine_wait_done(g, i, frames);
	live_load(g->live, &load);
	assert_int_equal(load.tasks, TASKS);
	assert_int_equal(load.load_ppm, TASKS * 5000);
	engine_remove_all(g);
	live_worker_stats(g->live, 0, &stats);
	assert_int_equal(stats.jobs, TASKS * frames);
	assert_int_equal(stats.drops, 0);
	assert_true(stats.cpu > 0 && stats.busy > 0);
}

static void frames_are_done_once_and_in_order(void **state)
{
	struct engine_fixture g;

	assert_int_equal(open_under(&g, "kernel:other", NULL), 0);
	all_frames_are_done(&g, FRAMES);
	engine_close(&g);
}

/* Under SCHED_DEADLINE giving way ends the budget: a frame a period. */
static void under_the_others_too(void **state)
{
	static const char *const specs[] = { "kernel:nice", "kernel:rr",
					     "kernel:fifo", "kernel:deadline" };
	struct engine_fixture g;

	for (unsigned i = 0; i < 4; i++) {
		if (open_under(&g, specs[i], NULL))
			continue; /* reported: the privilege is not there */
		all_frames_are_done(&g, FEW);
		engine_close(&g);
	}
}

/* A task that leaves while it works: its frame ends, the rest is cancelled. */
static void what_waits_is_cancelled(void **state)
{
	struct engine_fixture g;

	assert_int_equal(open_under(&g, "kernel:other", NULL), 0);
	atomic_store(&g.hold, 1);
	engine_join(&g, 0);
	for (unsigned k = 0; k < 10; k++)
		engine_frame(&g, 0);
	engine_wait_running(&g, 0);
	engine_remove(&g, 0);
	assert_int_equal(atomic_load(&g.s[0].gone), 0);
	atomic_store(&g.hold, 0);
	engine_wait_gone(&g, 0);
	assert_int_equal(g.s[0].done, 1);
	assert_int_equal(g.s[0].shed[CR_OUT_CANCELLED], 9);
	engine_close(&g);
}

static void old_frames_are_dropped_or_marked(struct engine_fixture *g,
					     enum core_expired what)
{
	struct core_config core = { .ncpu = 1 };

	core.max_age[CR_SOFT] = CR_SEC;
	core.expired[CR_SOFT] = what;
	assert_int_equal(open_under(g, "kernel:other", &core), 0);
	engine_join(g, 0);
	(void)source_push(&g->s[0], clock_now() - 2 * CR_SEC);
	engine_frame(g, 0); /* a fresh one behind it wakes the thread */
	engine_wait_done(g, 0, what == CORE_EXPIRED_DROP ? 1 : 2);
	engine_leave(g, 0);
}

static void frames_grow_old(void **state)
{
	struct engine_fixture g;

	old_frames_are_dropped_or_marked(&g, CORE_EXPIRED_DROP);
	assert_int_equal(g.s[0].shed[CR_OUT_EXPIRED], 1);
	assert_int_equal(g.s[0].done, 1);
	engine_close(&g);
	old_frames_are_dropped_or_marked(&g, CORE_EXPIRED_CONCEAL);
	assert_int_equal(g.s[0].shed[CR_OUT_EXPIRED], 0);
	assert_int_equal(g.s[0].done, 2);
	assert_int_equal(g.s[0].expired, 1);
	engine_close(&g);
}

/* 5 % each: 19 of 20 fit under 97 %; a thread that has gone makes room. */
static void load_is_admitted_up_to_the_bound(void **state)
{
	struct core_config core = { .ncpu = 1,
				    .admission = true,
				    .capacity_ppm = 970000 };
	struct cr_verdict v = { 0 };
	struct engine_fixture g;

	assert_int_equal(open_under(&g, "kernel:other", &core), 0);
	for (unsigned i = 0; i < TASKS; i++)
		g.s[i].task.core.task.cost.mean = CR_MS;
	for (unsigned i = 0; i < 19; i++)
		engine_join(&g, i);
	assert_int_equal(engine_add(&g, 19, &v), -ENOSPC);
	assert_non_null(strstr(v.rule, "cost / period"));
	assert_int_equal(v.free_ppm, 20000);
	engine_remove(&g, 7);
	while (engine_add(&g, 19, &v)) /* until it has gone */
		(void)sched_yield();
	engine_close(&g);
}

static void threads_are_bounded(void **state)
{
	struct cr_verdict v = { 0 };
	struct source extra;
	struct engine_fixture g;

	assert_int_equal(open_under(&g, "kernel:other", NULL), 0);
	memset(&extra, 0, sizeof(extra));
	source_init(&extra, 99, 8, 1);
	for (unsigned i = 0; i < TASKS; i++)
		engine_join(&g, i);
	assert_int_equal(live_add(g.live, &extra.task, &v), -ENOSPC);
	assert_non_null(strstr(v.rule, "--max-calls"));
	engine_close(&g);
}

/* Between the kernel's and ours nothing can change under calls. */
static void it_is_for_the_whole_run(void **state)
{
	struct cr_err e = { "" };
	struct scheduler nice;
	struct engine_fixture g;

	assert_int_equal(scheduler_find("kernel:nice", &nice, &e), 0);
	assert_int_equal(open_under(&g, "kernel:other", NULL), 0);
	engine_join(&g, 0);
	assert_int_equal(live_switch(g.live, &cr_sched_fifo, NULL, &e),
			 -ENOTSUP);
	assert_non_null(strstr(e.text, "only by a new start"));
	assert_string_equal(live_scheduler(g.live), "kernel:other");
	/* nor has it workers that a watchdog could replace */
	assert_int_equal(live_start_worker(g.live, 0, &e), 0);
	engine_close(&g);
	assert_int_equal(g.up, 1);
	assert_int_equal(open_under(&g, "fifo", NULL), 0);
	assert_int_equal(live_switch_to(g.live, &nice, &e), -ENOTSUP);
	engine_close(&g);
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
