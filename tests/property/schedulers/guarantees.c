/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What edf, llf and rm promise, over random task sets in the simulator: no
 * deadline is missed where theory says so, and an admitted hard task is never
 * late. A set that breaks a promise is shrunk before it is shown.
 */
#include "schedulers/policies.h"
#include "task_set_rig.h"

enum { SETS = 1000, HYPER = 240, HORIZON = 6000 };

/** Under what a set is looked at. */
struct setting {
	const struct cr_sched_ops *ops;
	const char *opts;
	unsigned ncpu;
	enum sim_preempt preempt;
	bool admission;
	int64_t util_ppm; /* the promise is for sets up to this */
	bool harmonic;	  /* ... and for harmonic periods only  */
};

static struct sim_rig *rig_of(const struct setting *s)
{
	struct sim_rig *rig = rig_new(s->ops, s->opts, s->ncpu, TASK_SET_MAX);

	rig->cfg.preempt = s->preempt;
	rig->cfg.core.admission = s->admission;
	return rig;
}

static bool is_harmonic(const struct task_set *set)
{
	for (unsigned i = 0; i < set->n; i++)
		for (unsigned k = 0; k < set->n; k++) {
			cr_ns a = set->task[i].period, b = set->task[k].period;

			if (a % b && b % a)
				return false;
		}
	return true;
}

/* Sum of cost / period <= ppm, exactly. */
static bool fits(const struct task_set *set, int64_t ppm)
{
	cr_ns whole = task_set_hyper(set, HORIZON);
	int64_t sum = 0;

	if (whole == HORIZON)
		return false;
	for (unsigned i = 0; i < set->n; i++)
		sum += set->task[i].cost * (whole / set->task[i].period);
	return sum * CR_PPM <= ppm * whole;
}

/* Released together, over two hyperperiods: late although it must not be. */
static bool misses(const struct task_set *set, void *arg)
{
	const struct setting *s = arg;
	struct sim_rig *rig;
	uint64_t late;

	if (!fits(set, s->util_ppm) || (s->harmonic && !is_harmonic(set)))
		return false;
	rig = rig_of(s);
	assert_int_equal(rig_add_set(rig, set), set->n);
	late = rig_late(rig, 2 * task_set_hyper(set, HORIZON));
	rig_free(rig);
	return late > 0;
}

static void never_late(const char *what, const struct task_set_shape *shape,
		       struct setting s)
{
	struct task_set_property p = { what, misses, &s };

	s.preempt = SIM_FULL;
	s.ncpu = 1;
	s.util_ppm = shape->util_ppm;
	s.harmonic = shape->harmonic;
	task_set_try(SETS, shape, &p);
}

static const struct task_set_shape full_load = { .tasks = { 1, 12 },
						 .util_ppm = CR_PPM,
						 .period = { 2, 60 },
						 .hyper = HYPER,
						 .full = true };

static void edf_meets_every_deadline_on_one_cpu_up_to_full_load(void **state)
{
	(void)state;
	never_late("edf, one CPU, U = 1", &full_load,
		   (struct setting){ .ops = &cr_sched_edf });
}

static void llf_meets_every_deadline_on_one_cpu_up_to_full_load(void **state)
{
	static const char *const grains[] = { "granularity=1ns",
					      "granularity=3ns",
					      "granularity=20ns", NULL };

	(void)state;
	for (unsigned i = 0; i < 4; i++)
		never_late("llf, one CPU, U = 1", &full_load,
			   (struct setting){ .ops = &cr_sched_llf,
					     .opts = grains[i] });
}

/* --- several CPUs: what edf and fifo cannot do, and llf can --- */

/* Late jobs of @set within @until on two CPUs. */
static uint64_t late_on_two(const struct cr_sched_ops *ops, const char *opts,
			    const struct task_set *set, cr_ns until)
{
	struct sim_rig *rig = rig_of(&(struct setting){
		.ops = ops, .opts = opts, .ncpu = 2, .preempt = SIM_FULL });
	uint64_t late;

	(void)rig_add_set(rig, set);
	late = rig_late(rig, until);
	rig_free(rig);
	return late;
}

/* Dhall's set: two light tasks with short periods, one of nearly a CPU. */
static const struct task_set dhall = {
	3,
	{ { 10 * CR_MS, CR_MS, 10 * CR_MS, CR_SOFT },
	  { 10 * CR_MS, CR_MS, 10 * CR_MS, CR_SOFT },
	  { 11 * CR_MS, 105 * CR_MS / 10, 11 * CR_MS, CR_SOFT } }
};

static const struct task_set two_thirds = {
	3,
	{ { 3 * CR_MS, 2 * CR_MS, 3 * CR_MS, CR_SOFT },
	  { 3 * CR_MS, 2 * CR_MS, 3 * CR_MS, CR_SOFT },
	  { 3 * CR_MS, 2 * CR_MS, 3 * CR_MS, CR_SOFT } }
};

static void dhalls_set_fails_under_edf_and_not_under_llf(void **state)
{
	(void)state;
	assert_int_not_equal(late_on_two(&cr_sched_edf, NULL, &dhall, CR_SEC),
			     0);
	assert_int_equal(late_on_two(&cr_sched_llf, NULL, &dhall, CR_SEC), 0);
}

static void three_of_two_thirds_fail_under_fifo_and_not_under_llf(void **state)
{
	(void)state;
	assert_int_not_equal(
		late_on_two(&cr_sched_fifo, NULL, &two_thirds, CR_SEC), 0);
	assert_int_not_equal(
		late_on_two(&cr_sched_edf, NULL, &two_thirds, CR_SEC), 0);
	assert_int_equal(late_on_two(&cr_sched_llf, NULL, &two_thirds, CR_SEC),
			 0);
	assert_int_equal(late_on_two(&cr_sched_llf, "granularity=1ms",
				     &two_thirds, CR_SEC),
			 0);
}

/* --- admission: a hard task that was let in is never late --- */

static bool hard_one_is_late(const struct task_set *set, void *arg)
{
	struct sim_rig *rig = rig_of(arg);
	uint64_t late = 0;

	(void)rig_add_set(rig, set);
	sim_run(rig->sim, HORIZON);
	for (unsigned i = 0; i < rig->ntasks; i++)
		if (rig->task[i].st.core.task.cls == CR_HARD)
			late += rig->task[i].missed;
	rig_free(rig);
	return late > 0;
}

/* More is asked for than fits, of all classes, tight deadlines among them. */
static void admitted_means_in_time(const struct cr_sched_ops *ops,
				   const char *opts)
{
	static const struct task_set_shape shapes[] = {
		{ .tasks = { 2, 12 },
		  .util_ppm = 1500000,
		  .period = { 20, 600 },
		  .mixed = true },
		{ .tasks = { 2, 12 },
		  .util_ppm = 1500000,
		  .period = { 20, 600 },
		  .constrained = true,
		  .mixed = true },
		{ .tasks = { 2, 12 },
		  .util_ppm = 2500000,
		  .period = { 20, 600 },
		  .cls = CR_HARD },
	};
	struct setting s = { .ops = ops, .opts = opts, .admission = true };
	struct task_set_property p = { ops->name, hard_one_is_late, &s };

	for (s.ncpu = 1; s.ncpu <= 3; s.ncpu++)
		for (unsigned pre = 0; pre < 2; pre++)
			for (unsigned i = 0; i < 3; i++) {
				s.preempt = pre ? SIM_FULL : SIM_FRAME;
				task_set_try(SETS, &shapes[i], &p);
			}
}

static void edf_is_never_late_with_a_hard_task_it_admitted(void **state)
{
	(void)state;
	admitted_means_in_time(&cr_sched_edf, NULL);
}

static void llf_is_never_late_with_a_hard_task_it_admitted(void **state)
{
	(void)state;
	admitted_means_in_time(&cr_sched_llf, "granularity=7ns");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			edf_meets_every_deadline_on_one_cpu_up_to_full_load),
		cmocka_unit_test(
			llf_meets_every_deadline_on_one_cpu_up_to_full_load),
		cmocka_unit_test(dhalls_set_fails_under_edf_and_not_under_llf),
		cmocka_unit_test(
			three_of_two_thirds_fail_under_fifo_and_not_under_llf),
		cmocka_unit_test(
			edf_is_never_late_with_a_hard_task_it_admitted),
		cmocka_unit_test(
			llf_is_never_late_with_a_hard_task_it_admitted),
	};

	return cmocka_run_group_tests_name("guarantees", tests, NULL, NULL);
}
