/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A policy that goes bad under worker threads, again and again: every frame
 * still comes out, exactly once, whether the workers share run queues or not.
 * Here debug builds (the sanitizers') go on, too.
 */
#include "engine_fixture.h"
#include "schedulers/policies.h"

enum { N = 40, WORKERS = 4, ROUNDS = 30, FRAMES = 4, HONEST = 25 };

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

static void note_fault(void *arg, const struct core_fault *fault)
{
	assert_string_equal(fault->policy, "bad");
	assert_string_equal(fault->callback, "pick");
	engine_faulty(arg, fault);
}

static void goes_bad_on(unsigned cpus_per_rq)
{
	const struct cr_sched_ops ops = bad();
	struct live_load load;
	struct engine_fixture g;
	struct live_config cfg = engine_config(&g, N, &cr_sched_fifo, WORKERS);

	cfg.core.cpus_per_rq = cpus_per_rq;
	cfg.core.lenient = true;
	cfg.client.faulty = note_fault;
	engine_open(&g, &cfg);
	for (uint64_t k = 1; k <= ROUNDS; k++) {
		assert_int_equal(live_switch(g.live, &ops, NULL, NULL), 0);
		for (unsigned n = 0; n < N * FRAMES; n++)
			engine_frame(&g, n % N);
		for (unsigned i = 0; i < N; i++)
			engine_wait_done(&g, i, k * FRAMES);
		while (!atomic_load(
			&g.faults)) /* N * FRAMES > HONEST * queues */
			(void)sched_yield();
		assert_int_equal(live_recover(g.live, NULL), 1);
		assert_string_equal(live_scheduler(g.live), "fifo");
		assert_int_equal(live_recover(g.live, NULL), 0);
		live_load(g.live, &load);
		while (atomic_load(&g.faults) < load.faults)
			(void)sched_yield();
		assert_int_equal(atomic_load(&g.faults), load.faults);
		assert_int_equal(load.queued, 0);
	}
	assert_true(load.faults >= ROUNDS);
	for (unsigned i = 0; i < N; i++)
		assert_int_equal(atomic_load(&g.s[i].done), ROUNDS * FRAMES);
	engine_close(&g);
}

static void one_run_queue_for_all_workers(void **state)
{
	goes_bad_on(0);
}

static void a_run_queue_for_two_workers_each(void **state)
{
	goes_bad_on(2);
}

static void a_run_queue_for_every_worker(void **state)
{
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
