/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A policy that goes bad in the simulator: fifo goes on at the same instant,
 * so the schedule is the one fifo alone makes.
 */
#include "schedulers/policies.h"
#include "sim_rig.h"

enum { HONEST = 7, SLOTS = 60 };

static unsigned picks, reported;
static cr_ns reported_at;
static unsigned reported_rq;

static struct cr_task *stalling_pick(struct cr_rq *rq, unsigned cpu, cr_ns now)
{
	return picks++ < HONEST ? cr_sched_fifo.pick(rq, cpu, now) : NULL;
}

static void note_fault(void *arg, const struct core_fault *f, cr_ns now)
{
	(void)arg;
	assert_string_equal(f->policy, "stalling");
	reported++;
	reported_at = now;
	reported_rq = f->rq;
}

static struct cr_sched_ops stalling(void)
{
	struct cr_sched_ops ops = cr_sched_fifo;

	ops.name = "stalling";
	ops.pick = stalling_pick;
	ops.check = NULL;
	picks = reported = 0;
	return ops;
}

/* Three tasks on each of @ncpu CPUs' worth, in slots of 5. */
static struct sim_rig *play(const struct cr_sched_ops *ops, unsigned ncpu,
			    unsigned cpus_per_rq, char line[][128])
{
	struct sim_rig *rig = rig_new(ops, NULL, ncpu, 3 * ncpu);

	rig->cfg.core.cpus_per_rq = cpus_per_rq;
	rig->cfg.core.lenient = true;
	rig->cfg.client.faulty = note_fault;
	for (unsigned i = 0; i < 3 * ncpu; i++)
		rig_add(rig, 100 + 10 * (cr_ns)i, 20 + 5 * (cr_ns)(i % 3));
	rig_trace(rig, 5, ncpu, line, SLOTS);
	return rig;
}

static void goes_on_as_fifo(unsigned ncpu, unsigned cpus_per_rq)
{
	const struct cr_sched_ops ops = stalling();
	char bad[2][128], good[2][128];
	struct sim_rig *rig = play(&ops, ncpu, cpus_per_rq, bad);

	assert_int_equal(reported, 1);
	assert_true(reported_at > 0 && reported_at < sim_now(rig->sim));
	assert_ptr_equal(core_sched(sim_core(rig->sim))->ops, &cr_sched_fifo);
	assert_false(core_replaced(sim_core(rig->sim)));
	rig_free(rig);
	rig_free(play(&cr_sched_fifo, ncpu, cpus_per_rq, good));
	for (unsigned c = 0; c < ncpu; c++)
		assert_string_equal(bad[c], good[c]);
	assert_int_equal(reported, 1);
}

static void the_schedule_is_fifos(void **state)
{
	goes_on_as_fifo(1, 0);
	goes_on_as_fifo(2, 0);
}

/* The other run queue is switched, too, when its time has come as far. */
static void the_schedule_is_fifos_on_every_run_queue(void **state)
{
	goes_on_as_fifo(2, 1);
	assert_in_range(reported_rq, 0, 1);
}

/* --- a CPU that has to wait --- */

static struct cr_task *waiting_pick(struct cr_rq *rq, unsigned cpu, cr_ns now)
{
	(void)now;
	rq->next_tick = cpu ? CR_NEVER : now + CR_SEC;
	return NULL; /* legal for CPU 0, a broken contract on CPU 1 */
}

static void a_cpu_that_waited_for_a_tick_works_at_once(void **state)
{
	struct cr_sched_ops ops = stalling();
	struct sim_rig *rig;

	ops.pick = waiting_pick;
	rig = rig_new(&ops, NULL, 2, 2);
	rig->cfg.core.lenient = true;
	rig_add(rig, 100, 50);
	rig_add(rig, 100, 50);
	sim_run(rig->sim, 90);
	assert_int_equal(rig->task[0].response, 50);
	assert_int_equal(rig->task[1].response, 50);
	rig_free(rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_schedule_is_fifos),
		cmocka_unit_test(the_schedule_is_fifos_on_every_run_queue),
		cmocka_unit_test(a_cpu_that_waited_for_a_tick_works_at_once),
	};

	return cmocka_run_group_tests_name("guard_sim", tests, NULL, NULL);
}
