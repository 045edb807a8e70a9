/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rounds over a live engine: reports to a client of a worker that is stuck,
 * in which order, with which contexts; what happens without a spare, at the
 * end, and to a task that nobody woke.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "engine_fixture.h"
#include "recovery/recovery.h"
#include "schedulers/registry.h"

enum { TASKS = 4 };
#define LIMIT (20 * CR_MS)

struct watched {
	struct engine_fixture engine; /* first: what its callbacks get */
	struct recovery *r;
	struct watch_task watch[TASKS];
	unsigned made; /* contexts */
	char events[512];
	struct recovery_context *rescued, *put;
	const struct recovery_context *before;
};

static _Thread_local struct recovery_context *me;

/* --- the engine's client --- */

static void up(void *arg, unsigned place)
{
	engine_up(arg, place);
	me = recovery_take_slot(((struct watched *)arg)->r, place);
}

static void down(void *arg, unsigned place)
{
	recovery_leave_slot(me);
	engine_down(arg, place);
}

/* --- recovery's client: what it is called for, as text --- */

__attribute__((format(printf, 2, 3))) static void note(struct watched *g,
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
	((struct watched *)arg)->made++;
	return calloc(1, sizeof(struct recovery_context));
}

static void context_free(void *arg, struct recovery_context *c)
{
	((struct watched *)arg)->made--;
	free(c);
}

static void context_for(void *arg, struct recovery_context *c, unsigned place,
			const struct recovery_context *before)
{
	struct watched *g = arg;

	assert_int_equal(place, 0);
	g->put = c;
	g->before = before;
	note(g, "put ");
}

static void rescue(void *arg, struct recovery_context *stuck,
		   struct live_task *t)
{
	struct watched *g = arg;

	g->rescued = stuck;
	note(g, "rescue%u ", t->core.task.id);
}

static void over(void *arg, struct live_task *t)
{
	struct watched *g = arg;

	note(g, "over%u ", t->core.task.id);
	engine_remove(&g->engine, t->core.task.id);
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
static void start(struct watched *g, unsigned spares)
{
	const struct recovery_config cfg = {
		.places = 1,
		.workers = 1,
		.spares = spares,
		.limit = LIMIT,
		.client = { context_new, context_free, context_for, rescue,
			    over, found, g },
	};
	struct live_config live;

	memset(g, 0, sizeof(*g));
	live = engine_config(&g->engine, TASKS, cr_sched_fallback, 1);
	live.client.worker_up = up;
	live.client.worker_down = down;
	assert_int_equal(recovery_open(&g->r, &cfg), 0);
	engine_open(&g->engine, &live);
	recovery_of(g->r, g->engine.live);
	assert_string_equal(g->events, "put ");
	g->events[0] = '\0';
}

static void finish(struct watched *g)
{
	atomic_store(&g->engine.hold, 0);
	engine_close(&g->engine);
	recovery_close(g->r);
	recovery_close(NULL); /* as of a node that did not come so far */
	assert_int_equal(g->made, 0);
}

static void rounds_until(struct watched *g, const char *event)
{
	while (!strstr(g->events, event)) {
		recovery_round(g->r, clock_now());
		(void)sched_yield();
	}
}

static void nothing_is_found_where_all_advance(void **state)
{
	struct watched g;

	start(&g, 1);
	for (uint64_t k = 1; k <= 50; k++) {
		for (unsigned i = 0; i < TASKS; i++)
			engine_frame(&g.engine, i);
		for (unsigned i = 0; i < TASKS; i++) {
			engine_wait_done(&g.engine, i, k);
			recovery_task(g.r, &g.watch[i], &g.engine.s[i].task,
				      false, k);
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
	struct watched g;

	start(&g, 1);
	engine_frame(&g.engine, 1); /* its thread has started */
	engine_wait_done(&g.engine, 1, 1);
	first = recovery_context(g.r, 0);
	engine_get_stuck(&g.engine, 0);
	rounds_until(&g, "over");
	assert_string_equal(g.events, "stuck0 rescue0 put over0 ");
	assert_ptr_equal(g.rescued, first);
	assert_ptr_equal(g.before, first);
	assert_ptr_equal(g.put, recovery_context(g.r, 0));
	assert_ptr_not_equal(g.put, first);
	assert_int_equal(recovery_counts(g.r).hung, 1);
	assert_int_equal(recovery_counts(g.r).away, 1);
	assert_int_equal(recovery_counts(g.r).lost, 0);
	engine_frame(&g.engine, 1); /* the others go on */
	engine_wait_done(&g.engine, 1, 2);
	assert_int_equal(g.engine.s[0].gone, 0);
	atomic_store(&g.engine.hold, 0);
	while (recovery_counts(g.r).away)
		recovery_round(g.r, clock_now());
	assert_int_equal(g.engine.s[0].gone, 1);
	assert_ptr_equal(recovery_used(g.r, 0), first); /* its sums count */
	assert_string_equal(g.events, "stuck0 rescue0 put over0 ");
	engine_get_stuck(&g.engine, 2); /* what came back is a spare again */
	rounds_until(&g, "over2");
	assert_ptr_equal(recovery_context(g.r, 0), first);
	assert_int_equal(g.made, 2);
	finish(&g);
}

static void without_a_spare_nothing_is_done(void **state)
{
	struct watched g;

	start(&g, 1);
	engine_get_stuck(&g.engine, 0);
	rounds_until(&g, "over0");
	engine_get_stuck(&g.engine, 1);
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
	struct watched g;

	start(&g, 1);
	engine_frame(&g.engine, 3);
	engine_wait_done(&g.engine, 3, 1);
	(void)source_push(&g.engine.s[3], clock_now()); /* without a wake-up */
	while (!recovery_counts(g.r).stalled) {
		recovery_round(g.r, clock_now());
		recovery_task(g.r, &g.watch[3], &g.engine.s[3].task, true, 1);
	}
	engine_wait_done(&g.engine, 3, 2);
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
