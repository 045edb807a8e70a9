/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Losses that dbp learns of, and when: frames that were dropped, that were
 * overwritten before their call was picked, that came too late, and that wait
 * too long. (3,5)-firm: two of five may be missed.
 */
#include <string.h>

#include "cmocka_cr.h"
#include "engine/core.h"
#include "schedulers/policies.h"

enum { PERIOD = 100, COST = 10, GRACE = 20, MOST = 16 };

/* Frames as they are found, one after the other. */
struct call {
	struct core_task core;
	uint64_t seq[MOST];
	bool gone[MOST]; /* dropped between the policy's choice and the claim */
	unsigned n, next;
};

static struct call *call_of(struct core_task *t)
{
	return (struct call *)(void *)t;
}

static bool peek(struct core_task *t, struct cr_job *job)
{
	const struct call *c = call_of(t);

	if (c->next == c->n)
		return false;
	job->seq = c->seq[c->next];
	job->arrival = job->eligible = (cr_ns)job->seq * PERIOD;
	job->deadline = job->arrival + PERIOD;
	return true;
}

static bool claim(struct core_task *t, uint64_t seq)
{
	struct call *c = call_of(t);

	assert_int_equal(seq, c->seq[c->next]);
	return !c->gone[c->next++];
}

static const struct core_backlog backlog = { peek, claim, NULL };

struct served_call {
	struct core *core;
	struct cr_rq *rq;
	struct call call;
};

static void open_under(struct served_call *g, const char *opts)
{
	struct core_config cfg = { .ops = &cr_sched_dbp,
				   .opts = opts,
				   .ncpu = 1 };
	struct cr_task *t = &g->call.core.task;

	*g = (struct served_call){ .core = NULL };
	t->id = 1;
	t->cls = CR_SOFT;
	t->period = t->rel_deadline = PERIOD;
	t->weight = 1024;
	cr_cpus_add(&t->cpus, 0);
	g->call.core.backlog = &backlog;
	assert_int_equal(core_open(&g->core, &cfg, 0, NULL), 0);
	g->rq = core_rq(g->core, 0);
	core_add(g->core, &g->call.core, 0, 0);
}

static void close_under(struct served_call *g)
{
	core_del(g->core, &g->call.core, INT64_C(1) << 40);
	core_close(g->core);
}

static int64_t shown(const struct served_call *g, const char *key)
{
	struct cr_kv kv[8];
	unsigned n = cr_sched_dbp.explain(&g->call.core.task, kv, 8);

	for (unsigned i = 0; i < n; i++)
		if (strcmp(kv[i].key, key) == 0)
			return kv[i].value;
	fail_msg("no %s", key);
	return 0;
}

static void is_queued(struct served_call *g, uint64_t seq, bool gone)
{
	struct call *c = &g->call;

	assert_true(c->n < MOST);
	c->seq[c->n] = seq;
	c->gone[c->n++] = gone;
}

static void release(struct served_call *g, cr_ns now)
{
	assert_true(core_release(g->core, &g->call.core, now));
}

/* Served from @now on: whatever is left of its frames goes on waiting. */
static void serve(struct served_call *g, cr_ns now)
{
	struct core_task *t = core_pick(g->core, g->rq, 0, now);

	assert_ptr_equal(t, &g->call.core);
	(void)core_stop(g->core, g->rq, 0, COST, CR_STOP_DONE, now + COST);
	(void)core_again(g->core, t, now + COST);
}

static void a_call_begins_as_if_it_had_missed_nothing(void **state)
{
	struct served_call g;

	open_under(&g, "m=3,k=5,grace=20ns");
	is_queued(&g, 0, false);
	release(&g, 0);
	assert_int_equal(shown(&g, "distance"), 3);
	assert_int_equal(shown(&g, "in_time_of_last"), 5);
	close_under(&g);
}

static void frames_done_in_time_keep_the_distance(void **state)
{
	struct served_call g;

	open_under(&g, "m=3,k=5,grace=20ns");
	for (uint64_t i = 0; i < 4; i++) {
		is_queued(&g, i, false);
		release(&g, (cr_ns)i * PERIOD + GRACE);
		serve(&g, (cr_ns)i * PERIOD + PERIOD + GRACE - COST);
	}
	is_queued(&g, 4, false);
	release(&g, 5 * PERIOD);
	assert_int_equal(shown(&g, "distance"), 3);
	close_under(&g);
}

/* A nanosecond later is too late. */
static void frames_done_too_late_are_missed(void **state)
{
	struct served_call g;

	open_under(&g, "m=3,k=5,grace=20ns");
	is_queued(&g, 0, false);
	is_queued(&g, 1, false);
	release(&g, 0);
	serve(&g, PERIOD + GRACE - COST + 1);
	assert_int_equal(shown(&g, "in_time_of_last"), 4);
	assert_int_equal(shown(&g, "distance"), 2);
	close_under(&g);
}

static void dropped_frames_are_missed(void **state)
{
	struct served_call g;

	open_under(&g, "m=3,k=5,grace=20ns");
	is_queued(&g, 0, true);
	is_queued(&g, 1, true);
	is_queued(&g, 2, false);
	is_queued(&g, 3, false);
	release(&g, 0);
	serve(&g, 50); /* the third: 1 1 1 0 0 1 */
	assert_int_equal(shown(&g, "in_time_of_last"), 3);
	assert_int_equal(shown(&g, "distance"), 1);
	close_under(&g);
}

/* 1 and 2 were overwritten in the call's buffer while 0 was served. */
static void gaps_in_the_numbers_are_missed(void **state)
{
	struct served_call g;

	open_under(&g, "m=3,k=5,grace=20ns");
	is_queued(&g, 0, false);
	is_queued(&g, 3, false);
	release(&g, 0);
	serve(&g, 50); /* 1 1 1 1 1 0 0 */
	assert_int_equal(shown(&g, "in_time_of_last"), 3);
	assert_int_equal(shown(&g, "distance"), 1);
	close_under(&g);
}

/* Of numbers before the first frame it sees it knows nothing. */
static void a_call_may_begin_with_any_number(void **state)
{
	struct served_call g;

	open_under(&g, "m=3,k=5,grace=20ns");
	is_queued(&g, 1000, false);
	release(&g, 1000 * PERIOD);
	assert_int_equal(shown(&g, "distance"), 3);
	close_under(&g);
}

/* Frame 0 is picked by another call's time: it waits until 2 periods after its
 * last moment, by which 0, 1 and 2 are missed. */
static void frames_that_wait_are_missed_as_time_goes_by(void **state)
{
	struct served_call g;

	open_under(&g, "m=3,k=5,grace=20ns");
	is_queued(&g, 0, false);
	release(&g, PERIOD + GRACE - 1);
	assert_int_equal(shown(&g, "distance"), 3);
	cr_sched_dbp.dequeue(g.rq, &g.call.core.task, PERIOD + GRACE - 1);
	cr_sched_dbp.enqueue(g.rq, &g.call.core.task, CR_ENQ_REQUEUE,
			     PERIOD + GRACE);
	assert_int_equal(shown(&g, "distance"), 2);
	cr_sched_dbp.dequeue(g.rq, &g.call.core.task, PERIOD + GRACE);
	cr_sched_dbp.enqueue(g.rq, &g.call.core.task, CR_ENQ_REQUEUE,
			     3 * PERIOD + GRACE);
	assert_int_equal(shown(&g, "overdue"), 3);
	assert_int_equal(shown(&g, "distance"), 0);
	close_under(&g);
}

static void more_of_fewer_is_all(void **state)
{
	struct served_call g;

	open_under(&g, "m=9,k=5");
	is_queued(&g, 0, false);
	release(&g, 0);
	assert_int_equal(shown(&g, "distance"), 1);
	close_under(&g);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_call_begins_as_if_it_had_missed_nothing),
		cmocka_unit_test(frames_done_in_time_keep_the_distance),
		cmocka_unit_test(frames_done_too_late_are_missed),
		cmocka_unit_test(dropped_frames_are_missed),
		cmocka_unit_test(gaps_in_the_numbers_are_missed),
		cmocka_unit_test(a_call_may_begin_with_any_number),
		cmocka_unit_test(frames_that_wait_are_missed_as_time_goes_by),
		cmocka_unit_test(more_of_fewer_is_all),
	};

	return cmocka_run_group_tests_name("dbp", tests, NULL, NULL);
}
