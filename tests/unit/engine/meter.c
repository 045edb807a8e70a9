/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The charge of a live job: the time it took, unless its thread was away.
 */
#include <sched.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "cmocka_cr.h"
#include "engine/meter.h"
#include "engine_source.h"
#include "schedulers/policies.h"

/* Readings at 1000 and 100; the job ended at 1000 + @later. */
static cr_ns charged(cr_ns took, cr_ns plausible, cr_ns later, cr_ns cpu)
{
	struct meter m;
	cr_ns service;

	meter_read(&m, 1000, 100);
	service = meter_service(&m, took, plausible, 1000 + later, 100 + cpu);
	assert_int_equal(m.wall, 1000 + later);
	assert_int_equal(m.cpu, 100 + cpu);
	return service;
}

static void time_away_is_no_service(void **state)
{
	struct meter m;

	/* all of it was CPU time */
	assert_int_equal(charged(500, 40, 600, 600), 500);
	/* away for 300 of the 600 since the last reading */
	assert_int_equal(charged(500, 40, 600, 300), 200);
	/* also before the job: what is plausible is charged */
	assert_int_equal(charged(500, 40, 900, 300), 40);
	/* the rest may have been sleep */
	meter_read(&m, 1000, 100);
	m.slept = 250;
	assert_int_equal(meter_service(&m, 500, 40, 1600, 400), 450);
	assert_int_equal(m.slept, 0);
	/* the CPU clock is ahead: it was read a little earlier */
	assert_int_equal(charged(500, 40, 600, 700), 500);
}

static void plausible_is_a_multiple_of_the_worst_case(void **state)
{
	assert_int_equal(
		meter_plausible(&(struct cr_cost){ .mean = 3, .p99 = 10 }), 40);
	assert_int_equal(meter_plausible(&(struct cr_cost){ .mean = 3 }), 12);
	assert_int_equal(meter_plausible(&(struct cr_cost){ .mean = 0 }), 0);
}

/* --- live --- */

static struct {
	struct live *live;
	struct source s;
	bool works;   /* else it sleeps */
	cr_ns ran[2]; /* of the last jobs, as the policy heard */
	cr_ns before; /* of the job before the last, as run() heard */
} rig;

static void run(void *arg, struct live_task *t, const struct live_run *r)
{
	const struct timespec nap = { .tv_nsec = 50 * CR_MS };
	cr_ns begin = clock_thread_cpu();

	(void)arg;
	rig.before = r->charged;
	if (!rig.works)
		(void)nanosleep(&nap, NULL);
	while (rig.works && clock_thread_cpu() - begin < 50 * CR_MS)
		;
	atomic_fetch_add(&source_of(&t->core)->done, 1);
}

static void gone(void *arg, struct live_task *t)
{
	(void)arg;
	atomic_store(&source_of(&t->core)->gone, 1);
}

static void note_stop(struct cr_rq *rq, unsigned cpu, struct cr_task *t,
		      cr_ns ran, enum cr_stop why, cr_ns now)
{
	rig.ran[0] = rig.ran[1];
	rig.ran[1] = ran;
	cr_sched_fifo.stop(rq, cpu, t, ran, why, now);
}

/* The second of two jobs of a millisecond at most, it was said, that take 50.
 */
static cr_ns charged_live(bool works, bool poll)
{
	struct cr_sched_ops ops = cr_sched_fifo;
	struct live_config cfg = {
		.core = { .ops = &ops, .ncpu = 1 },
		.poll = poll,
		.client = { .backlog = source_backlog,
			    .run = run,
			    .gone = gone },
	};
	struct live_task *t = &rig.s.task;
	struct live_worker_stats st;
	struct cr_verdict v;

	memset(&rig, 0, sizeof(rig));
	ops.stop = note_stop;
	rig.works = works;
	source_init(&rig.s, 0, 8, 1);
	t->core.task.cost = (struct cr_cost){ .mean = CR_MS, .p99 = CR_MS };
	assert_int_equal(live_open(&rig.live, &cfg, NULL, NULL), 0);
	assert_int_equal(live_add(rig.live, t, &v), 0);
	(void)source_push(&rig.s, clock_now());
	(void)source_push(&rig.s, clock_now());
	assert_true(live_task_wake(t));
	live_release(rig.live, &t, 1);
	while (atomic_load(&rig.s.done) < 2)
		(void)sched_yield();
	live_remove(rig.live, t);
	while (!rig.s.gone)
		(void)sched_yield();
	live_worker_stats(rig.live, 0, &st);
	assert_true(st.busy >= 100 * CR_MS);
	live_close(rig.live);
	assert_int_equal(rig.before, rig.ran[0]);
	return rig.ran[1];
}

static void a_job_is_charged_for_work_and_not_for_sleep(void **state)
{
	for (unsigned poll = 0; poll < 2; poll++) {
		assert_int_equal(charged_live(false, poll), 4 * CR_MS);
		assert_true(charged_live(true, poll) > 4 * CR_MS);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(time_away_is_no_service),
		cmocka_unit_test(plausible_is_a_multiple_of_the_worst_case),
		cmocka_unit_test(a_job_is_charged_for_work_and_not_for_sleep),
	};

	return cmocka_run_group_tests_name("meter", tests, NULL, NULL);
}
