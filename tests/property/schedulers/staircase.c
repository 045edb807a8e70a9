/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Staircase and RSDL on random task sets: shares by level, nobody starves, and
 * RSDL's wait at the bottom is bounded by its quotas. Times of a set are in
 * units of 100 us; a task's nice value follows from its period.
 */
#include "schedulers/policies.h"
#include "sim_rig.h"
#include "task_set.h"

#define UNIT (100 * CR_US)

/* How a property configures a policy. */
struct setup {
	const struct cr_sched_ops *ops;
	unsigned levels, ncpu;
	cr_ns quantum, quota; /* quota: rsdl */
};

static struct sim_rig *start(const struct setup *s, char *opts, size_t size)
{
	int n = snprintf(opts, size, "levels=%u,quantum=%lldns", s->levels,
			 (long long)s->quantum);

	if (s->ops == &cr_sched_rsdl)
		(void)snprintf(opts + n, size - (size_t)n, ",quota=%lldns",
			       (long long)s->quota);
	return rig_new(s->ops, opts, s->ncpu, TASK_SET_MAX + 1);
}

static int nice_of(const struct set_task *t)
{
	return (int)(t->period % 40) - 20;
}

/* Slices of a round: levels from its base down. */
static cr_ns slices_of(const struct setup *s, const struct rig_task *r)
{
	unsigned above = (unsigned)(r->st.core.task.nice + 20);

	return s->levels - above * (s->levels - 1) / 39;
}

/* All of @set as calls that never sleep. */
static struct sim_rig *hogs(const struct setup *s, const struct task_set *set,
			    char *opts, size_t size)
{
	struct sim_rig *rig = start(s, opts, size);

	for (unsigned i = 0; i < set->n; i++)
		(void)rig_add_nice(rig, nice_of(&set->task[i]), 10000 * CR_SEC,
				   1000 * CR_SEC);
	return rig;
}

static cr_ns service(const struct rig_task *r)
{
	return cr_task_ran(&r->st.core.task, sim_now(r->rig->sim));
}

static struct setup draw_setup(const struct cr_sched_ops *ops, uint64_t *seed)
{
	cr_ns quantum = UNIT * (1 + (cr_ns)test_below(seed, 8));

	return (struct setup){ .ops = ops,
			       .levels = 1 + test_below(seed, 8),
			       .ncpu = 1 + test_below(seed, 3),
			       .quantum = quantum,
			       .quota = quantum / 2 *
					(1 + test_below(seed, 8)) };
}

/* --- shares --- */

/* After every round, each has had one slice a level. */
static bool shares_are_wrong(const struct task_set *set, void *arg)
{
	const struct setup *s = arg;
	char opts[96];
	struct sim_rig *rig = hogs(s, set, opts, sizeof(opts));
	cr_ns all = 0;
	bool wrong = false;

	for (unsigned i = 0; i < set->n; i++)
		all += slices_of(s, &rig->task[i]) * s->quantum;
	for (unsigned round = 1; round <= 5; round++) {
		sim_run(rig->sim, round * all);
		for (unsigned i = 0; i < set->n; i++)
			wrong |= service(&rig->task[i]) !=
				 round * slices_of(s, &rig->task[i]) *
					 s->quantum;
	}
	rig_free(rig);
	return wrong;
}

static void try_shares(const struct cr_sched_ops *ops)
{
	static const struct task_set_shape shape = { .tasks = { 2, 20 },
						     .util_ppm = CR_PPM,
						     .period = { 1, 80 } };
	struct setup s;
	struct task_set_property p = {
		.what = "every round gives a slice a level",
		.fails = shares_are_wrong,
		.arg = &s
	};
	uint64_t seed = test_seed();

	for (unsigned i = 0; i < 20; i++) {
		s = draw_setup(ops, &seed);
		s.ncpu = 1;
		s.quota = s.quantum * TASK_SET_MAX; /* no level closes */
		task_set_try(50, &shape, &p);
	}
}

static void staircase_shares_by_level(void **state)
{
	try_shares(&cr_sched_staircase);
}

static void rsdl_shares_by_level_while_none_closes(void **state)
{
	try_shares(&cr_sched_rsdl);
}

/* However early levels close, a higher call is never behind a lower one. */
static bool the_lower_gets_more(const struct task_set *set, void *arg)
{
	const struct setup *s = arg;
	char opts[96];
	struct sim_rig *rig = hogs(s, set, opts, sizeof(opts));
	bool wrong = false;

	for (unsigned step = 1; step <= 50; step++) {
		sim_run(rig->sim, step * 7 * s->quantum);
		for (unsigned i = 0; i < set->n; i++)
			for (unsigned k = 0; k < set->n; k++)
				wrong |= slices_of(s, &rig->task[i]) >
						 slices_of(s, &rig->task[k]) &&
					 service(&rig->task[i]) <
						 service(&rig->task[k]);
	}
	rig_free(rig);
	return wrong;
}

static void rsdl_never_favours_the_lower(void **state)
{
	static const struct task_set_shape shape = { .tasks = { 2, 20 },
						     .util_ppm = CR_PPM,
						     .period = { 1, 80 } };
	struct setup s;
	struct task_set_property p = { .what = "the higher gets no less",
				       .fails = the_lower_gets_more,
				       .arg = &s };
	uint64_t seed = test_seed();

	for (unsigned i = 0; i < 20; i++) {
		s = draw_setup(&cr_sched_rsdl, &seed);
		s.ncpu = 1;
		task_set_try(50, &shape, &p);
	}
}

/* --- latency --- */

/* A rotation is at most all levels' quotas but the lowest's, and there a
 * quantum for everybody. */
static cr_ns rotation_of(const struct setup *s, unsigned calls)
{
	return (s->levels - 1) * s->quota + calls * s->quantum;
}

/* A call at the bottom that needs a quantum once in a while, among periodic
 * ones that ask for twice the CPU. */
static bool the_bottom_waits_too_long(const struct task_set *set, void *arg)
{
	const struct setup *s = arg;
	char opts[96];
	struct sim_rig *rig = start(s, opts, sizeof(opts));
	cr_ns bound = rotation_of(s, set->n + 1);
	struct rig_task *low;
	bool wrong;

	low = rig_add_nice(rig, 19, 2 * bound + UNIT, s->quantum);
	low->offset = bound / 3;
	sim_arrive_at(rig->sim, &low->st, low->offset);
	for (unsigned i = 0; i < set->n; i++)
		(void)rig_add_nice(rig, nice_of(&set->task[i]),
				   set->task[i].period * UNIT,
				   set->task[i].cost * UNIT);
	sim_run(rig->sim, 8 * (2 * bound + UNIT));
	wrong = low->done < 7 || low->response > bound;
	rig_free(rig);
	return wrong;
}

static void rsdl_bounds_the_wait_at_the_bottom(void **state)
{
	static const struct task_set_shape shape = { .tasks = { 4, 24 },
						     .util_ppm = 2 * CR_PPM,
						     .period = { 4, 60 } };
	struct setup s;
	struct task_set_property p = {
		.what = "(levels - 1) * quota + calls * quantum at the most",
		.fails = the_bottom_waits_too_long,
		.arg = &s
	};
	uint64_t seed = test_seed();

	for (unsigned i = 0; i < 20; i++) {
		s = draw_setup(&cr_sched_rsdl, &seed);
		s.ncpu = 1;
		task_set_try(50, &shape, &p);
	}
}

/* --- starvation --- */

/* Calls that always want more, on the CPUs that their numbers' bits say. A job
 * is at most a quantum: it is done within two rounds of its own. */
static struct sim_rig *crowd(const struct setup *s, const struct task_set *set,
			     char *opts, size_t size)
{
	struct sim_rig *rig = start(s, opts, size);

	for (unsigned i = 0; i < set->n; i++) {
		cr_ns cost = cr_ns_min(set->task[i].cost * UNIT, s->quantum);
		unsigned mask = (unsigned)set->task[i].cost | 1u << i % s->ncpu;
		struct rig_task *r =
			rig_add_nice(rig, nice_of(&set->task[i]), cost, cost);

		for (unsigned c = 0; c < s->ncpu; c++)
			if (!(mask >> c & 1))
				cr_cpus_del(&r->st.core.task.cpus, c);
	}
	return rig;
}

static bool somebody_starves(const struct task_set *set, void *arg)
{
	const struct setup *s = arg;
	char opts[96];
	struct sim_rig *rig = crowd(s, set, opts, sizeof(opts));
	cr_ns round = (set->n * s->levels + 1) * s->quantum;
	uint64_t done[TASK_SET_MAX] = { 0 };
	bool wrong = false;

	for (unsigned window = 1; window <= 2; window++) {
		sim_run(rig->sim, window * 3 * round);
		for (unsigned i = 0; i < set->n; i++) {
			wrong |= rig->task[i].done == done[i];
			done[i] = rig->task[i].done;
		}
	}
	rig_free(rig);
	return wrong;
}

static void nobody_starves(void **state)
{
	static const struct task_set_shape shape = { .tasks = { 1, 12 },
						     .util_ppm = 3 * CR_PPM,
						     .period = { 4, 60 } };
	struct setup s;
	struct task_set_property p = { .what = "all are served in every round",
				       .fails = somebody_starves,
				       .arg = &s };
	uint64_t seed = test_seed();

	for (unsigned i = 0; i < 20; i++) {
		s = draw_setup(i % 2 ? &cr_sched_rsdl : &cr_sched_staircase,
			       &seed);
		task_set_try(50, &shape, &p);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(staircase_shares_by_level),
		cmocka_unit_test(rsdl_shares_by_level_while_none_closes),
		cmocka_unit_test(rsdl_never_favours_the_lower),
		cmocka_unit_test(rsdl_bounds_the_wait_at_the_bottom),
		cmocka_unit_test(nobody_starves),
	};

	return cmocka_run_group_tests_name("staircase", tests, NULL, NULL);
}
