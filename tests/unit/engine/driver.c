/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The drivers of the live engine: which one a scheduler has, what it says of
 * itself, and that it is so. Under SCHED_OTHER, which everybody may use.
 */
#include <errno.h>
#include <string.h>

#include "engine_fixture.h"

enum { WORKERS = 2, THREADS = 3 };

static struct scheduler find(const char *spec)
{
	struct cr_err e = { "" };
	struct scheduler s;

	if (scheduler_find(spec, &s, &e))
		fail_msg("%s", e.text);
	return s;
}

/* Under @spec, with a task that has joined and sleeps. */
static void start_under(struct engine_fixture *g, const char *spec)
{
	struct live_config cfg = engine_config(g, 1, NULL, WORKERS);
	const struct scheduler s = find(spec);

	cfg.max_threads = THREADS;
	live_choose(&cfg, &s);
	engine_open(g, &cfg);
	assert_ptr_equal(live_driver(g->live), live_driver_for(&s));
}

static void ours_have_workers_the_kernels_have_threads(void **state)
{
	for (unsigned i = 0; cr_schedulers[i]; i++) {
		const struct scheduler s = { .policy = cr_schedulers[i] };

		assert_string_equal(live_driver_for(&s)->name, "workers");
	}
	for (unsigned i = 0; kernel_scheds[i]; i++) {
		const struct scheduler s = { .kernel = kernel_scheds[i] };

		assert_string_equal(live_driver_for(&s)->name,
				    "kernel threads");
	}
}

/* Frames flow under each, and each has the threads that it says. */
static void threads_are_as_the_driver_says(void **state)
{
	static const char *const specs[] = { "fifo", "kernel:other" };

	for (unsigned i = 0; i < 2; i++) {
		bool per_task;
		struct engine_fixture g;

		start_under(&g, specs[i]);
		per_task = live_driver(g.live)->thread_per_task;
		for (uint64_t k = 1; k <= 100; k++) {
			engine_frame(&g, 0);
			engine_wait_done(&g, 0, k);
		}
		engine_close(&g);
		assert_int_equal(g.up, per_task ? 1 : WORKERS);
	}
}

static void names_and_options_are_the_schedulers(void **state)
{
	static const struct {
		const char *spec, *name, *opts;
	} cases[] = {
		{ "rr,quantum=2ms", "rr", "quantum=2ms" },
		{ "kernel:other", "kernel:other", "" },
		{ "kernel:nice,scale=1", "kernel:nice", "scale=1" },
	};

	for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char text[128];
		struct engine_fixture g;

		start_under(&g, cases[i].spec);
		assert_string_equal(live_scheduler(g.live), cases[i].name);
		live_scheduler_opts(g.live, text, sizeof(text));
		assert_string_equal(text, cases[i].opts);
		engine_close(&g);
	}
}

/* What it cannot do is refused, and nothing has changed. */
static void changes_are_as_the_driver_says(void **state)
{
	static const char *const specs[] = { "fifo", "kernel:other" };

	for (unsigned i = 0; i < 2; i++) {
		struct core_terms to = { .cls = CR_SOFT,
					 .rel_deadline = CR_SEC,
					 .cost = { .mean = CR_US },
					 .weight = 1 };
		struct core_config rules = { .capacity_ppm = CR_PPM / 4 };
		struct live_load load;
		struct cr_verdict v = { 0 };
		struct engine_fixture g;
		bool can = i == 0;

		start_under(&g, specs[i]);
		assert_int_equal(live_change(g.live, &g.s[0].task, &to, 0, &v),
				 can ? 0 : -EINVAL);
		assert_int_equal(g.s[0].task.core.task.rel_deadline == CR_SEC,
				 can);
		if (!can)
			assert_non_null(strstr(v.rule, "by the kernel"));
		assert_int_equal(live_set_rules(g.live, &rules),
				 can ? 0 : -ENOTSUP);
		live_load(g.live, &load);
		assert_int_equal(load.bound_ppm,
				 WORKERS * (can ? CR_PPM / 4 : CR_PPM));
		engine_close(&g);
	}
}

/* From one driver to the other, or between the kernel's: never, and the words
 * say what to do instead. */
static void a_driver_is_for_the_whole_run(void **state)
{
	static const struct {
		const char *from, *to, *says;
		int rc;
	} cases[] = {
		{ "fifo", "edf", "", 0 },
		{ "fifo", "kernel:nice",
		  "from fifo to kernel:nice only by a new start (codec-runner "
		  "--scheduler kernel:nice)",
		  -ENOTSUP },
		{ "kernel:other", "fifo",
		  "from kernel:other to fifo only by a new start (codec-runner "
		  "--scheduler fifo)",
		  -ENOTSUP },
		{ "kernel:other", "kernel:nice",
		  "from kernel:other to kernel:nice only by a new start",
		  -ENOTSUP },
	};

	for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct scheduler to = find(cases[i].to);
		struct cr_err e = { "" };
		struct engine_fixture g;

		start_under(&g, cases[i].from);
		assert_int_equal(live_switch_to(g.live, &to, &e), cases[i].rc);
		assert_non_null(strstr(e.text, cases[i].says));
		assert_string_equal(live_scheduler(g.live),
				    cases[i].rc ? cases[i].from : cases[i].to);
		engine_close(&g);
	}
}

static void only_workers_are_watched(void **state)
{
	struct live_task_look look;
	struct cr_err e = { "" };
	struct engine_fixture g;

	start_under(&g, "kernel:other");
	assert_false(live_driver(g.live)->watched);
	live_look_task(g.live, &g.s[0].task, &look);
	assert_int_equal(look.state, CR_IDLE);
	assert_int_equal(live_start_worker(g.live, 0, &e), 0);
	engine_close(&g);
	assert_int_equal(g.up, 1); /* its own thread, and no worker */
}

/* A frame waits, and its thread has not been woken yet: that is no policy's
 * matter, for there is none. */
static void nobody_wakes_a_thread_of_the_kernels(void **state)
{
	struct live_task *t;
	struct engine_fixture g;

	start_under(&g, "kernel:other");
	t = &g.s[0].task;
	(void)source_push(&g.s[0], clock_now());
	live_wake_again(g.live, t);
	assert_false(live_blame_policy(g.live, t));
	assert_int_equal(t->core.task.state, CR_IDLE);
	assert_true(live_task_wake(t));
	live_release(g.live, &t, 1);
	engine_wait_done(&g, 0, 1);
	engine_close(&g);
}

/* A thread that serves one task has nothing to send together. */
static void tasks_stay_where_one_worker_serves(void **state)
{
	struct engine_fixture g;

	start_under(&g, "fifo"); /* two workers, one run queue */
	assert_false(live_tasks_stay(g.live));
	engine_close(&g);
	start_under(&g, "kernel:other");
	assert_false(live_driver(g.live)->shares);
	assert_false(live_tasks_stay(g.live));
	engine_close(&g);
}

/* A refusal goes by the name of what decides. */
static void refusals_name_the_scheduler(void **state)
{
	const struct cr_verdict v = { .need_ppm = 1, .rule = "a rule" };
	char text[200];
	struct engine_fixture g;

	start_under(&g, "kernel:other");
	live_refusal(g.live, -ENOSPC, &v, text, sizeof(text));
	assert_non_null(strstr(text, "under kernel:other (a rule)"));
	engine_close(&g);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ours_have_workers_the_kernels_have_threads),
		cmocka_unit_test(threads_are_as_the_driver_says),
		cmocka_unit_test(names_and_options_are_the_schedulers),
		cmocka_unit_test(changes_are_as_the_driver_says),
		cmocka_unit_test(a_driver_is_for_the_whole_run),
		cmocka_unit_test(only_workers_are_watched),
		cmocka_unit_test(nobody_wakes_a_thread_of_the_kernels),
		cmocka_unit_test(tasks_stay_where_one_worker_serves),
		cmocka_unit_test(refusals_name_the_scheduler),
	};

	return cmocka_run_group_tests_name("driver", tests, NULL, NULL);
}
