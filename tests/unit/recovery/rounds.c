/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rounds over a live engine: what a client is told of a worker that is stuck,
 * in which order, with which contexts; what happens without a spare, at the
 * end, and to a task that nobody woke.
 */
#include <errno.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "cmocka_cr.h"
#include "engine_source.h"
#include "recovery/recovery.h"
#include "schedulers/registry.h"

enum { TASKS = 4 };
#define LIMIT (20 * CR_MS)

struct rig {
	struct live *live;
	struct recovery *r;
	struct source s[TASKS];
	struct watch_task watch[TASKS];
	atomic_uint hold; /* run() of task i waits while bit i is set */
	unsigned made;	  /* contexts */
	bool over[TASKS];
	char events[512];
	struct recovery_context *rescued, *put;
	const struct recovery_context *before;
};

static _Thread_local struct recovery_context *me;

/* --- the engine's client --- */

static void run(void *arg, struct live_task *t, const struct live_run *run_)
{
	struct rig *g = arg;
	struct source *s = source_of(&t->core);

	(void)run_;
	atomic_store(&s->running, 1);
	while (atomic_load(&g->hold) >> t->core.task.id & 1)
		(void)sched_yield();
	atomic_store(&s->running, 0);
	atomic_fetch_add(&s->done, 1);
}

static void gone(void *arg, struct live_task *t)
{
	(void)arg;
	assert_int_equal(atomic_exchange(&source_of(&t->core)->gone, 1), 0);
}

static void up(void *arg, unsigned place)
{
	me = recovery_sit(((struct rig *)arg)->r, place);
}

static void down(void *arg, unsigned place)
{
	(void)arg, (void)place;
	recovery_leave(me);
}

static void returned(void *arg, struct live_task *t)
{
	live_remove(((struct rig *)arg)->live, t);
}

/* --- recovery's client: what it is called for, as text --- */

__attribute__((format(printf, 2, 3))) static void note(struct rig *g,
						       const char *fmt, ...)
{
	size_t n = strlen(g->events);
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(g->events + n, sizeof(g->events) - n, fmt, ap);
	va_end(ap);
}

static struct recovery_context *context_new(void *arg)
{
	((struct rig *)arg)->made++;
	return calloc(1, sizeof(struct recovery_context));
}

static void context_free(void *arg, struct recovery_context *c)
{
	((struct rig *)arg)->made--;
	free(c);
}

static void context_for(void *arg, struct recovery_context *c, unsigned place,
			const struct recovery_context *before)
{
	struct rig *g = arg;

	assert_int_equal(place, 0);
	g->put = c;
	g->before = before;
	note(g, "put ");
}

static void rescue(void *arg, struct recovery_context *stuck,
		   struct live_task *t)
{
	struct rig *g = arg;

	g->rescued = stuck;
	note(g, "rescue%u ", t->core.task.id);
}

static void over(void *arg, struct live_task *t)
{
	struct rig *g = arg;

	note(g, "over%u ", t->core.task.id);
	g->over[t->core.task.id] = true;
	live_remove(g->live, t);
}

static void found(void *arg, const struct recovery_finding *f)
{
	static const char *const names[] = {
		[RECOVERY_STUCK] = "stuck",
		[RECOVERY_NO_SPARE] = "no-spare",
		[RECOVERY_VACANT] = "vacant",
		[RECOVERY_STALLED] = "stalled",
		[RECOVERY_FORGOTTEN] = "forgotten",
	};

	if (f->event == RECOVERY_NO_SPARE)
		assert_int_equal(f->err, -EAGAIN);
	if (f->event == RECOVERY_STALLED)
		assert_int_equal(f->state, CR_IDLE);
	note(arg, "%s%d ", names[f->event],
	     f->task ? (int)f->task->core.task.id : -1);
}

/* --- */

/* One worker, and room for @spares threads that are stuck. */
static void start(struct rig *g, unsigned spares)
{
	const struct recovery_config cfg = {
		.places = 1,
		.workers = 1,
		.spares = spares,
		.limit = LIMIT,
		.client = { context_new, context_free, context_for, rescue,
			    over, found, g },
	};
	struct live_config live = {
		.core = { .ops = cr_sched_fallback, .ncpu = 1 },
		.client = { .backlog = source_backlog,
			    .run = run,
			    .gone = gone,
			    .returned = returned,
			    .worker_up = up,
			    .worker_down = down,
			    .arg = g },
	};
	struct cr_verdict v;
	struct cr_err e = { "" };

	memset(g, 0, sizeof(*g));
	assert_int_equal(recovery_open(&g->r, &cfg), 0);
	if (live_open(&g->live, &live, NULL, &e))
		fail_msg("%s", e.text);
	recovery_of(g->r, g->live);
	for (unsigned i = 0; i < TASKS; i++) {
		source_init(&g->s[i], i, SOURCE_SLOTS, 1);
		assert_int_equal(live_add(g->live, &g->s[i].task, &v), 0);
	}
	assert_string_equal(g->events, "put ");
	g->events[0] = '\0';
}

/* Those tasks that are not over leave; all threads come back. */
static void finish(struct rig *g)
{
	atomic_store(&g->hold, 0);
	for (unsigned i = 0; i < TASKS; i++) {
		if (!g->over[i])
			live_remove(g->live, &g->s[i].task);
		while (!atomic_load(&g->s[i].gone))
			(void)sched_yield();
	}
	while (live_stop(g->live))
		(void)sched_yield();
	live_close(g->live);
	recovery_close(g->r);
	assert_int_equal(g->made, 0);
}

static void frame(struct rig *g, unsigned i)
{
	struct live_task *t = &g->s[i].task;

	(void)source_push(&g->s[i], clock_now());
	if (live_task_wake(t))
		live_release(g->live, &t, 1);
}

static void wait_done(struct rig *g, unsigned i, uint64_t n)
{
	while (atomic_load(&g->s[i].done) < n)
		(void)sched_yield();
}

/* Task @i is in a run() that does not return. */
static void get_stuck(struct rig *g, unsigned i)
{
	(void)atomic_fetch_or(&g->hold, 1u << i);
	frame(g, i);
	while (!atomic_load(&g->s[i].running))
		(void)sched_yield();
}

static void rounds_until(struct rig *g, const char *event)
{
	while (!strstr(g->events, event)) {
		recovery_round(g->r, clock_now());
		(void)sched_yield();
	}
}

static void nothing_is_found_where_all_advance(void **state)
{
	struct rig g;

	(void)state;
	start(&g, 1);
	for (uint64_t k = 1; k <= 50; k++) {
		for (unsigned i = 0; i < TASKS; i++)
			frame(&g, i);
		for (unsigned i = 0; i < TASKS; i++) {
			wait_done(&g, i, k);
			recovery_task(g.r, &g.watch[i], &g.s[i].task, false, k);
		}
		recovery_round(g.r, (cr_ns)k * CR_SEC); /* however late */
	}
	assert_string_equal(g.events, "");
	assert_int_equal(recovery_counts(g.r).hung, 0);
	assert_true(recovery_interval(g.r) < LIMIT);
	finish(&g);
}

static void a_stuck_worker_is_replaced_in_order(void **state)
{
	struct recovery_context *first;
	struct rig g;

	(void)state;
	start(&g, 1);
	frame(&g, 1); /* its thread has started */
	wait_done(&g, 1, 1);
	first = recovery_context(g.r, 0);
	get_stuck(&g, 0);
	rounds_until(&g, "over");
	assert_string_equal(g.events, "stuck0 rescue0 put over0 ");
	assert_ptr_equal(g.rescued, first);
	assert_ptr_equal(g.before, first);
	assert_ptr_equal(g.put, recovery_context(g.r, 0));
	assert_ptr_not_equal(g.put, first);
	assert_int_equal(recovery_counts(g.r).hung, 1);
	assert_int_equal(recovery_counts(g.r).away, 1);
	assert_int_equal(recovery_counts(g.r).lost, 0);
	frame(&g, 1); /* the others go on */
	wait_done(&g, 1, 2);
	assert_int_equal(g.s[0].gone, 0);
	atomic_store(&g.hold, 0);
	while (recovery_counts(g.r).away)
		recovery_round(g.r, clock_now());
	assert_int_equal(g.s[0].gone, 1);
	assert_ptr_equal(recovery_used(g.r, 0), first); /* its sums count */
	assert_string_equal(g.events, "stuck0 rescue0 put over0 ");
	get_stuck(&g, 2); /* what came back is a spare again */
	rounds_until(&g, "over2");
	assert_ptr_equal(recovery_context(g.r, 0), first);
	assert_int_equal(g.made, 2);
	finish(&g);
}

static void without_a_spare_nothing_is_done(void **state)
{
	struct rig g;

	(void)state;
	start(&g, 1);
	get_stuck(&g, 0);
	rounds_until(&g, "over0");
	get_stuck(&g, 1);
	rounds_until(&g, "no-spare");
	for (unsigned k = 0; k < 100; k++) /* and said once */
		recovery_round(g.r, clock_now());
	assert_string_equal(g.events, "stuck0 rescue0 put over0 no-spare-1 ");
	assert_int_equal(recovery_counts(g.r).hung, 1);
	assert_int_equal(recovery_counts(g.r).lost, 1);
	/* at the end none is needed, nor is a thread started */
	recovery_end(g.r, CR_SEC);
	rounds_until(&g, "over1");
	assert_non_null(strstr(g.events, "stuck1 rescue1 over1 "));
	assert_int_equal(recovery_counts(g.r).away, 2);
	assert_int_equal(recovery_counts(g.r).lost, 0);
	assert_int_equal(recovery_counts(g.r).limit, LIMIT);
	finish(&g);
}

static void a_task_that_nobody_woke_is_woken(void **state)
{
	struct rig g;

	(void)state;
	start(&g, 1);
	frame(&g, 3);
	wait_done(&g, 3, 1);
	(void)source_push(&g.s[3], clock_now()); /* and told nobody */
	while (!recovery_counts(g.r).stalled) {
		recovery_round(g.r, clock_now());
		recovery_task(g.r, &g.watch[3], &g.s[3].task, true, 1);
	}
	wait_done(&g, 3, 2);
	assert_string_equal(g.events, "stalled3 ");
	finish(&g);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_is_found_where_all_advance),
		cmocka_unit_test(a_stuck_worker_is_replaced_in_order),
		cmocka_unit_test(without_a_spare_nothing_is_done),
		cmocka_unit_test(a_task_that_nobody_woke_is_woken),
	};

	return cmocka_run_group_tests_name("rounds", tests, NULL, NULL);
}
