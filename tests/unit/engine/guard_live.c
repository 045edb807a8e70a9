/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A policy that goes bad under worker threads, again and again: every frame
 * still comes out, exactly once, whether the workers share run queues or not.
 * Here debug builds (the sanitizers') go on, too.
 */
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "cmocka_cr.h"
#include "engine_source.h"
#include "schedulers/policies.h"

enum { N = 40, WORKERS = 4, ROUNDS = 30, FRAMES = 4, HONEST = 25 };

struct rig {
	struct live *live;
	struct source *s;     /* [N] */
	atomic_uint reported; /* calls of faulty() */
};

/* --- fifo for HONEST picks, then one of three faults --- */

/* Behind what fifo's callbacks see of a run queue. */
struct bad_rq {
	unsigned picks;
	struct cr_task *last;
};

static struct bad_rq *bad_of(struct cr_rq *rq)
{
	return (struct bad_rq *)(void *)((unsigned char *)rq->priv +
					 cr_sched_fifo.rq_size);
}

static struct cr_task *bad_pick(struct cr_rq *rq, unsigned cpu, cr_ns now)
{
	struct bad_rq *b = bad_of(rq);
	struct cr_task *t = cr_sched_fifo.pick(rq, cpu, now);

	if (b->picks++ < HONEST || !t) {
		b->last = t ? t : b->last;
		return t;
	}
	switch (b->last->id % 3) {
	case 0: /* lose @t and the rest */
		return NULL;
	case 1: /* twice */
		return b->last;
	default: /* lose @t alone */
		return cr_sched_fifo.pick(rq, cpu, now);
	}
}

static struct cr_sched_ops bad(void)
{
	struct cr_sched_ops ops = cr_sched_fifo;

	ops.name = "bad";
	ops.rq_size += sizeof(struct bad_rq);
	ops.pick = bad_pick;
	ops.check = NULL; /* found out by what it hands out */
	return ops;
}

/* --- */

static void run(void *arg, struct live_task *t, const struct live_run *r)
{
	struct source *s = source_of(&t->core);

	(void)arg, (void)r;
	assert_int_equal(atomic_exchange(&s->running, 1), 0);
	assert_true(t->core.task.job.seq >= atomic_load(&s->last_seq));
	atomic_store(&s->last_seq, t->core.task.job.seq + 1);
	atomic_store(&s->running, 0);
	atomic_fetch_add(&s->done, 1);
}

static void gone(void *arg, struct live_task *t)
{
	(void)arg;
	atomic_store(&source_of(&t->core)->gone, 1);
}

static void faulty(void *arg, const struct core_fault *fault)
{
	struct rig *g = arg;

	assert_string_equal(fault->policy, "bad");
	assert_string_equal(fault->callback, "pick");
	atomic_fetch_add(&g->reported, 1);
}

static void open_rig(struct rig *g, unsigned cpus_per_rq)
{
	struct live_config cfg = {
		.core = { .ops = &cr_sched_fifo,
			  .ncpu = WORKERS,
			  .cpus_per_rq = cpus_per_rq,
			  .lenient = true },
		.client = { .backlog = source_backlog,
			    .run = run,
			    .gone = gone,
			    .faulty = faulty,
			    .arg = g },
	};
	struct cr_verdict v;
	struct cr_err e = { "" };

	*g = (struct rig){ .s = calloc(N, sizeof(*g->s)) };
	assert_non_null(g->s);
	if (live_open(&g->live, &cfg, NULL, &e))
		fail_msg("%s", e.text);
	for (unsigned i = 0; i < N; i++) {
		source_init(&g->s[i], i, SOURCE_SLOTS, WORKERS);
		assert_int_equal(live_add(g->live, &g->s[i].task, &v), 0);
	}
}

static void close_rig(struct rig *g)
{
	for (unsigned i = 0; i < N; i++) {
		live_remove(g->live, &g->s[i].task);
		while (!atomic_load(&g->s[i].gone))
			(void)sched_yield();
	}
	live_close(g->live);
	free(g->s);
}

static void send_frames(struct rig *g)
{
	for (unsigned k = 0; k < FRAMES; k++) {
		for (unsigned i = 0; i < N; i++) {
			struct live_task *t = &g->s[i].task;

			(void)source_push(&g->s[i], clock_now());
			if (live_task_wake(t))
				live_release(g->live, &t, 1);
		}
	}
}

static void wait_done(struct rig *g, uint64_t each)
{
	for (unsigned i = 0; i < N; i++)
		while (atomic_load(&g->s[i].done) < each)
			(void)sched_yield();
}

static void goes_bad_on(unsigned cpus_per_rq)
{
	const struct cr_sched_ops ops = bad();
	struct live_load load;
	struct rig g;

	open_rig(&g, cpus_per_rq);
	for (uint64_t k = 1; k <= ROUNDS; k++) {
		assert_int_equal(live_switch(g.live, &ops, NULL, NULL), 0);
		send_frames(&g);
		wait_done(&g, k * FRAMES);
		while (!atomic_load(
			&g.reported)) /* N * FRAMES > HONEST * queues */
			(void)sched_yield();
		assert_int_equal(live_recover(g.live, NULL), 1);
		assert_string_equal(live_scheduler(g.live), "fifo");
		assert_int_equal(live_recover(g.live, NULL), 0);
		live_load(g.live, &load);
		while (atomic_load(&g.reported) < load.faults)
			(void)sched_yield();
		assert_int_equal(atomic_load(&g.reported), load.faults);
		assert_int_equal(load.queued, 0);
	}
	assert_true(load.faults >= ROUNDS);
	for (unsigned i = 0; i < N; i++)
		assert_int_equal(atomic_load(&g.s[i].done), ROUNDS * FRAMES);
	close_rig(&g);
}

static void one_run_queue_for_all_workers(void **state)
{
	(void)state;
	goes_bad_on(0);
}

static void a_run_queue_for_two_workers_each(void **state)
{
	(void)state;
	goes_bad_on(2);
}

static void a_run_queue_for_every_worker(void **state)
{
	(void)state;
	goes_bad_on(1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_run_queue_for_all_workers),
		cmocka_unit_test(a_run_queue_for_two_workers_each),
		cmocka_unit_test(a_run_queue_for_every_worker),
	};

	return cmocka_run_group_tests_name("guard_live", tests, NULL, NULL);
}
