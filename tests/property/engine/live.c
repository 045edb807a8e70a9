/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The live driver under load from a producer thread: every frame is done,
 * dropped or cancelled exactly once and in order, whatever the domains, the
 * policy, the way of idling, and whoever leaves or switches meanwhile.
 */
#include <string.h>

#include "engine_fixture.h"
#include "schedulers/policies.h"
#include "schedulers/registry.h"
#include "seed.h"

enum { TASKS = 40, WORKERS = 4, FRAMES = 400 };

static void open_on(struct engine_fixture *g, const struct cr_sched_ops *ops,
		    unsigned cpus_per_rq, bool poll)
{
	struct live_config cfg = engine_config(g, TASKS, ops, WORKERS);

	cfg.core.cpus_per_rq = cpus_per_rq;
	cfg.poll = poll;
	g->spin = 200;
	for (unsigned i = 0; i < TASKS; i++)
		g->s[i].room = 8; /* some are dropped */
	engine_open(g, &cfg);
}

/* Push one frame to each of the sources that @mask lets through. */
static void push_round(struct engine_fixture *g, unsigned step, unsigned first)
{
	struct live_task *batch[TASKS];
	unsigned n = 0;

	for (unsigned i = first; i < TASKS; i += step) {
		(void)source_push(&g->s[i], clock_now());
		if (live_task_wake(&g->s[i].task))
			batch[n++] = &g->s[i].task;
	}
	live_release(g->live, batch, n);
}

/* Until every frame pushed so far has ended. */
static void wait_until_idle(struct engine_fixture *g)
{
	for (unsigned i = 0; i < TASKS; i++) {
		struct source *s = &g->s[i];

		while (!s->gone && s->dropped + s->done < s->tail)
			(void)sched_yield();
	}
}

static void check_counts(struct engine_fixture *g, uint64_t frames)
{
	uint64_t jobs = 0, done = 0;

	for (unsigned i = 0; i < TASKS; i++) {
		struct source *s = &g->s[i];

		assert_int_equal(s->tail, frames);
		assert_int_equal(s->head, s->tail);
		assert_int_equal(source_accounted(s), frames);
		done += s->done;
	}
	for (unsigned w = 0; w < live_nworkers(g->live); w++) {
		struct live_worker_stats st;

		live_worker_stats(g->live, w, &st);
		/* picked before, counted after it has run */
		assert_true(st.picks - st.jobs <= 1);
		assert_true(!st.jobs || (st.busy > 0 && st.cpu > 0));
		jobs += st.jobs;
	}
	/* a run may have counted its frame but not yet itself */
	assert_true(jobs <= done && jobs + WORKERS >= done);
}

static void every_frame_ends_once(const struct cr_sched_ops *ops,
				  unsigned cpus_per_rq, bool poll)
{
	struct engine_fixture g;

	open_on(&g, ops, cpus_per_rq, poll);
	for (unsigned f = 0; f < FRAMES; f++)
		push_round(&g, 1, 0);
	wait_until_idle(&g);
	check_counts(&g, FRAMES);
	engine_close(&g);
}

static void every_frame_ends_once_in_every_domain(void **state)
{
	static const unsigned domains[] = { 0, 1, 2, 3 };

	for (unsigned d = 0; d < 4; d++) {
		every_frame_ends_once(&cr_sched_fifo, domains[d], false);
		every_frame_ends_once(&cr_sched_rr, domains[d], false);
		every_frame_ends_once(&cr_sched_edf, domains[d], false);
	}
}

static void polling_workers_do_the_same(void **state)
{
	every_frame_ends_once(&cr_sched_fifo, 0, true);
	every_frame_ends_once(&cr_sched_edf, 1, true);
}

/* Few frames, so that workers sleep and tasks fall asleep all the time. */
static void no_wake_up_is_lost(void **state)
{
	struct engine_fixture g;

	open_on(&g, &cr_sched_fifo, 0, false);
	g.spin = 0;
	for (unsigned f = 0; f < 3000; f++) {
		push_round(&g, TASKS, f % TASKS);
		if (f % 3 == 0)
			wait_until_idle(&g);
	}
	wait_until_idle(&g);
	for (unsigned i = 0; i < TASKS; i++)
		assert_int_equal(g.s[i].dropped + g.s[i].done, 75);
	engine_close(&g);
}

static struct cr_task *take_first(struct cr_rq *from, struct cr_rq *to,
				  unsigned cpu, cr_ns now)
{
	(void)to, (void)cpu;
	return cr_sched_fifo.pick(from, 0, now);
}

/* Workers that have nothing left help others; no frame is done twice. */
static void steal_under(const struct cr_sched_ops *ops)
{
	struct live_worker_stats st;
	uint64_t steals = 0;
	struct engine_fixture g;

	open_on(&g, ops, 1, false);
	g.spin = 2000;
	for (unsigned f = 0; f < FRAMES; f++)
		push_round(&g, 1, 0);
	wait_until_idle(&g);
	check_counts(&g, FRAMES);
	for (unsigned w = 0; w < WORKERS; w++) {
		live_worker_stats(g.live, w, &st);
		steals += st.steals;
	}
	assert_true(steals > 0);
	engine_close(&g);
}

static void idle_workers_steal(void **state)
{
	struct cr_sched_ops stealing = cr_sched_fifo;

	stealing.steal = take_first;
	steal_under(&stealing);
	steal_under(&cr_sched_edf_steal);
}

static void tasks_leave_under_load(void **state)
{
	uint64_t seed = test_seed();
	struct engine_fixture g;

	for (unsigned domain = 0; domain < 3; domain++) {
		open_on(&g, &cr_sched_edf, domain, false);
		for (unsigned f = 0; f < FRAMES; f++) {
			/* only even ones are released once odd ones go */
			push_round(&g, f < 50 ? 1 : 2, 0);
			if (f >= 50 && f % 8 == 0) {
				unsigned i =
					2 * test_below(&seed, TASKS / 2) + 1;

				if (g.joined >> i & 1)
					engine_remove(&g, i);
			}
		}
		wait_until_idle(&g);
		engine_remove_all(&g);
		for (unsigned i = 0; i < TASKS; i++)
			assert_int_equal(source_accounted(&g.s[i]),
					 g.s[i].tail);
		engine_close(&g);
	}
}

/* The @k-th policy that may serve run queues of @cpus_per_rq CPUs; from the
 * first again after the last. */
static const struct cr_sched_ops *policy(unsigned k, unsigned cpus_per_rq)
{
	for (unsigned i = 0;; i++) {
		if (!cr_schedulers[i])
			i = 0;
		if (cr_schedulers[i]->flags & CR_F_ONE_CPU && cpus_per_rq != 1)
			continue;
		if (k-- == 0)
			return cr_schedulers[i];
	}
}

/* All of them, in turn. */
static void the_policy_changes_under_load(void **state)
{
	const struct cr_sched_ops *ops;
	struct cr_err e = { "" };
	char opts[64];
	struct engine_fixture g;

	for (unsigned domain = 0; domain < 3; domain++) {
		open_on(&g, &cr_sched_fifo, domain, false);
		for (unsigned f = 0; f < FRAMES; f++) {
			push_round(&g, 1, 0);
			if (f % 4)
				continue;
			ops = policy(f / 4, domain);
			assert_int_equal(live_switch(g.live, ops, "", &e), 0);
			assert_string_equal(live_scheduler(g.live), ops->name);
		}
		assert_int_equal(live_switch(g.live, &cr_sched_rr, NULL, &e),
				 0);
		assert_int_equal(live_tune(g.live, "quantum=3ms", &e), 0);
		live_scheduler_opts(g.live, opts, sizeof(opts));
		assert_string_equal(opts, "quantum=3ms");
		assert_true(live_tune(g.live, "quantum=3", &e) < 0);
		assert_non_null(strstr(e.text, "scheduler rr: quantum=3:"));
		wait_until_idle(&g);
		check_counts(&g, FRAMES);
		engine_close(&g);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_frame_ends_once_in_every_domain),
		cmocka_unit_test(polling_workers_do_the_same),
		cmocka_unit_test(no_wake_up_is_lost),
		cmocka_unit_test(idle_workers_steal),
		cmocka_unit_test(tasks_leave_under_load),
		cmocka_unit_test(the_policy_changes_under_load),
	};

	return cmocka_run_group_tests_name("live", tests, NULL, NULL);
}
