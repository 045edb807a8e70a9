/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The simulated driver: the order of things at one instant, preemption by kind,
 * overheads, run queues, tasks that come and go.
 */
#include <errno.h>

#include "schedulers/policies.h"
#include "sim_rig.h"

static void expect(struct sim_rig *rig, cr_ns slot, const char *cpu0,
		   const char *cpu1)
{
	char line[2][128];

	rig_trace(rig, slot, cpu1 ? 2 : 1, line, (unsigned)strlen(cpu0));
	assert_string_equal(line[0], cpu0);
	if (cpu1)
		assert_string_equal(line[1], cpu1);
}

#define JOBS(rig, ...)                                                         \
	rig_add_jobs((rig), (const struct sim_job[]){ __VA_ARGS__ },           \
		     sizeof((const struct sim_job[]){ __VA_ARGS__ }) /         \
			     sizeof(struct sim_job))

static void late_start(struct rig_task *r)
{
	r->offset = 20;
}

/* A: 10 of every 40, B: 25 of every 100 from 20 on. */
static struct sim_rig *two_tasks(enum sim_preempt preempt, cr_ns quantum)
{
	struct sim_rig *rig = rig_new(&cr_sched_edf, NULL, 1, 2);

	rig->cfg.preempt = preempt;
	rig->cfg.quantum = quantum;
	rig_add(rig, 40, 10);
	rig_add_with(rig, 100, 25, late_start);
	return rig;
}

static void a_kick_preempts_at_once(void **state)
{
	struct sim_rig *rig = two_tasks(SIM_FULL, 0);

	expect(rig, 5, "AA..BBBBAAB.....AA..", NULL);
	assert_int_equal(sim_cpu_stats(rig->sim, 0).preemptions, 1);
	assert_int_equal(rig->task[1].response, 35);
	rig_free(rig);
}

static void a_frame_is_never_cut(void **state)
{
	struct sim_rig *rig = two_tasks(SIM_FRAME, 0);

	expect(rig, 5, "AA..BBBBBAA.....AA..", NULL);
	assert_int_equal(sim_cpu_stats(rig->sim, 0).preemptions, 0);
	rig_free(rig);
}

/* The kick at 40 waits for the grid of 15: 45 is when B is done anyway, so a
 * longer B is needed to see it. */
static void a_quantum_is_a_grid(void **state)
{
	struct sim_rig *rig = rig_new(&cr_sched_edf, NULL, 1, 2);

	rig->cfg.preempt = SIM_QUANTUM;
	rig->cfg.quantum = 15;
	rig_add(rig, 40, 10);
	rig_add_with(rig, 100, 30, late_start);
	expect(rig, 5, "AA..BBBBBAAB....AA..", NULL);
	rig_free(rig);
}

static void jobs_of_one_instant_are_seen_together(void **state)
{
	struct sim_rig *rig = rig_new(&cr_sched_edf, NULL, 1, 3);

	/* the last one added has the earliest deadline */
	JOBS(rig, { 0, 10, 90 });
	JOBS(rig, { 0, 10, 80 });
	JOBS(rig, { 0, 10, 70 });
	expect(rig, 10, "CBA.", NULL);
	rig_free(rig);
}

static void two_cpus_share_a_queue(void **state)
{
	struct sim_rig *rig = rig_new(&cr_sched_fifo, NULL, 2, 3);

	rig_add(rig, 60, 30);
	rig_add(rig, 60, 20);
	rig_add(rig, 60, 20);
	expect(rig, 10, "AAA...AAA...", "BBCC..BBCC..");
	rig_free(rig);
}

static void partitions_do_not_share(void **state)
{
	struct sim_rig *rig = rig_new(&cr_sched_fifo, NULL, 2, 3);

	rig->cfg.core.cpus_per_rq = 1;
	rig_add(rig, 60, 30); /* 0.50 */
	rig_add(rig, 60, 20); /* 0.33 */
	rig_add(rig, 60, 10); /* worst fit: beside the second */
	expect(rig, 10, "AAA...AAA...", "BBC...BBC...");
	rig_free(rig);
}

static void a_slice_ends_a_turn(void **state)
{
	struct sim_rig *rig = rig_new(&cr_sched_rr, "quantum=1us", 1, 2);

	rig_add(rig, 10000, 3000);
	rig_add(rig, 10000, 1500);
	expect(rig, 500, "AABBAABAA...........AABB", NULL);
	assert_int_equal(sim_cpu_stats(rig->sim, 0).preemptions, 4);
	rig_free(rig);
}

/* Decision 1, context switch 2, release 4 ns: a first job of 10 takes 17, its
 * successor, in a row on the same CPU, 10 + 1 + 4. */
static void overheads_lengthen_turns(void **state)
{
	struct sim_rig *rig = rig_new(&cr_sched_fifo, NULL, 1, 2);
	struct rig_task *a;

	rig->cfg.overhead = (struct sim_overhead){
		.decision = 1, .context = 2, .migration = 8, .release = 4
	};
	a = rig_add(rig, 100, 10);
	sim_run(rig->sim, 50);
	assert_int_equal(a->response, 17);
	sim_run(rig->sim, 201);
	assert_int_equal(sim_cpu_stats(rig->sim, 0).busy, 17 + 15);
	assert_int_equal(sim_cpu_stats(rig->sim, 0).overhead, 7 + 5);
	assert_int_equal(sim_cpu_stats(rig->sim, 0).switches, 1);
	rig_free(rig);
}

static void a_move_is_charged(void **state)
{
	struct sim_rig *rig = rig_new(&cr_sched_edf, NULL, 2, 3);

	rig->cfg.overhead.migration = 3;
	JOBS(rig, { 0, 20, 900 });  /* CPU 1, displaced */
	JOBS(rig, { 0, 15, 100 });  /* CPU 0 until 15 */
	JOBS(rig, { 10, 40, 110 }); /* displaces A at 10 */
	sim_run(rig->sim, 200);
	/* A: 10 on CPU 1, waits 5, 3 to move, 10 on CPU 0 */
	assert_int_equal(rig->task[0].response, 10 + 5 + 3 + 10);
	assert_int_equal(sim_cpu_stats(rig->sim, 0).migrations, 1);
	rig_free(rig);
}

/* Three CPUs pick at one instant: they wait for the lock in turn. */
static void a_lock_is_held_by_one(void **state)
{
	struct sim_rig *rig = rig_new(&cr_sched_fifo, NULL, 3, 3);

	rig->cfg.overhead.lock = 4;
	for (unsigned i = 0; i < 3; i++)
		rig_add(rig, 1000, 100);
	sim_run(rig->sim, 500);
	assert_int_equal(rig->task[0].response, 104);
	assert_int_equal(rig->task[1].response, 108);
	assert_int_equal(rig->task[2].response, 112);
	rig_free(rig);
}

static void a_task_leaves_after_its_frame(void **state)
{
	struct sim_rig *rig = rig_new(&cr_sched_fifo, NULL, 1, 2);
	struct rig_task *a = rig_add(rig, 100, 30), *b = rig_add(rig, 100, 30);

	sim_run(rig->sim, 10);
	sim_remove(rig->sim, &a->st); /* runs */
	sim_remove(rig->sim, &b->st); /* waits */
	assert_false(a->gone);
	assert_true(b->gone);
	assert_int_equal(b->cancelled, 1);
	sim_run(rig->sim, 500);
	assert_true(a->gone);
	assert_int_equal(a->done, 1);
	assert_int_equal(b->done, 0);
	rig_free(rig);
}

static void an_abandoned_task_leaves_its_cpu_to_others(void **state)
{
	struct sim_rig *rig = rig_new(&cr_sched_fifo, NULL, 1, 2);

	JOBS(rig, { 0, 100, 200 });
	JOBS(rig, { 10, 20, 200 });
	expect(rig, 10, "AAAAA", NULL);
	sim_abandon(rig->sim, &rig->task[0].st);
	assert_int_equal(sim_cpu_stats(rig->sim, 0).preemptions, 0);
	expect(rig, 10, "BB..", NULL);
	assert_int_equal(rig->task[1].response, 60);
	rig_free(rig);
}

static void a_switch_keeps_every_job(void **state)
{
	struct sim_rig *rig = rig_new(&cr_sched_fifo, NULL, 1, 3);
	struct cr_err e;

	JOBS(rig, { 0, 30, 90 });
	JOBS(rig, { 0, 10, 80 });
	JOBS(rig, { 0, 10, 70 });
	sim_run(rig->sim, 10);
	assert_int_equal(sim_switch(rig->sim, &cr_sched_edf, NULL, &e), 0);
	/* A runs on, unknown to the new policy; then by deadline */
	expect(rig, 10, "AACB.", NULL);
	rig_free(rig);
}

static void hard(struct rig_task *r)
{
	r->st.core.task.cls = CR_HARD;
}

/* Two run queues of two CPUs. A and B, 0.8 each, share the first: more than
 * edf promises there, and while they run they cannot move. */
static void a_switch_counts_a_running_task_where_it_runs(void **state)
{
	struct sim_rig *rig = rig_new(&cr_sched_fifo, NULL, 4, 3);
	struct rig_task *c;
	struct cr_err e;

	rig->cfg.preempt = SIM_FULL;
	rig->cfg.core.cpus_per_rq = 2;
	rig->cfg.core.admission = true;
	rig_add_with(rig, 100, 80, hard);
	c = rig_add(rig, 100, 90);
	rig_add_with(rig, 100, 80, hard);
	sim_run(rig->sim, 10);
	sim_abandon(rig->sim, &c->st);
	assert_int_equal(sim_switch(rig->sim, &cr_sched_edf, NULL, &e),
			 -ENOSPC);
	assert_non_null(strstr(e.text, "task 3: no-capacity"));
	sim_run(rig->sim, 90); /* nobody runs */
	assert_int_equal(sim_switch(rig->sim, &cr_sched_edf, NULL, &e), 0);
	assert_true(rig->task[0].st.core.task.rq !=
		    rig->task[2].st.core.task.rq);
	rig_free(rig);
}

/* Same input, same course, to the last counter. */
/* The CPU notes that each job got, in the order of their begins. */
static struct {
	uint64_t others[16];
	unsigned n;
} reported;

static cr_ns cost_and_note(void *arg, struct sim_task *t)
{
	assert_true(reported.n < 16);
	reported.others[reported.n++] = t->others;
	return rig_cost(arg, t);
}

static void check_reported(struct sim_rig *rig, const uint64_t *want,
			   unsigned n)
{
	sim_run(rig->sim, 1000);
	assert_int_equal(reported.n, n);
	for (unsigned i = 0; i < n; i++)
		assert_int_equal(reported.others[i], want[i]);
	rig_free(rig);
}

/* A A B A C C B */
static void turns_of_others_are_counted_from_the_last_own(void **state)
{
	static const uint64_t want[] = { SIM_COLD, 0, SIM_COLD, 1,
					 SIM_COLD, 0, 3 };
	struct sim_rig *rig = rig_new(&cr_sched_fifo, NULL, 1, 3);

	reported.n = 0;
	rig->cfg.client.cost = cost_and_note;
	JOBS(rig, { 0, 5, 900 }, { 10, 5, 900 }, { 30, 5, 900 });
	JOBS(rig, { 20, 5, 900 }, { 60, 5, 900 });
	JOBS(rig, { 40, 5, 900 }, { 50, 5, 900 });
	check_reported(rig, want, 7);
}

/* A on CPU 0, B on CPU 1; then B alone, on CPU 0, twice. */
static void a_task_from_another_cpu_is_cold(void **state)
{
	static const uint64_t want[] = { SIM_COLD, SIM_COLD, SIM_COLD, 0 };
	struct sim_rig *rig = rig_new(&cr_sched_fifo, NULL, 2, 2);

	reported.n = 0;
	rig->cfg.client.cost = cost_and_note;
	JOBS(rig, { 0, 5, 900 });
	JOBS(rig, { 0, 5, 900 }, { 10, 5, 900 }, { 20, 5, 900 });
	check_reported(rig, want, 4);
}

static void two_runs_are_one(void **state)
{
	struct sim_cpu_stats stats[2];

	for (unsigned i = 0; i < 2; i++) {
		struct sim_rig *rig = rig_new(&cr_sched_edf, NULL, 2, 8);

		for (unsigned k = 0; k < 8; k++)
			rig_add(rig, 100 + 7 * k, 20 + k);
		sim_run(rig->sim, 100000);
		stats[i] = sim_cpu_stats(rig->sim, 1);
		rig_free(rig);
	}
	assert_memory_equal(&stats[0], &stats[1], sizeof(stats[0]));
	assert_true(stats[0].picks > 1000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_kick_preempts_at_once),
		cmocka_unit_test(a_frame_is_never_cut),
		cmocka_unit_test(a_quantum_is_a_grid),
		cmocka_unit_test(jobs_of_one_instant_are_seen_together),
		cmocka_unit_test(two_cpus_share_a_queue),
		cmocka_unit_test(partitions_do_not_share),
		cmocka_unit_test(a_slice_ends_a_turn),
		cmocka_unit_test(overheads_lengthen_turns),
		cmocka_unit_test(a_move_is_charged),
		cmocka_unit_test(a_lock_is_held_by_one),
		cmocka_unit_test(a_task_leaves_after_its_frame),
		cmocka_unit_test(an_abandoned_task_leaves_its_cpu_to_others),
		cmocka_unit_test(a_switch_keeps_every_job),
		cmocka_unit_test(a_switch_counts_a_running_task_where_it_runs),
		cmocka_unit_test(turns_of_others_are_counted_from_the_last_own),
		cmocka_unit_test(a_task_from_another_cpu_is_cold),
		cmocka_unit_test(two_runs_are_one),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
