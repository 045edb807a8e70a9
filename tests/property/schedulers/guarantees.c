/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What edf, gfl, llf and rm promise, over random task sets in the simulator: no
 * deadline is missed where theory says so, and an admitted hard task is never
 * late. A set that breaks a promise is shrunk before it is shown.
 */
#include "schedulers/policies.h"
#include "task_set_rig.h"

enum { HYPER = 240, HORIZON = 6000 };
#define SETS TEST_TRIES(1000)

/** Under what a set is looked at. */
struct setting {
	const struct cr_sched_ops *ops;
	const char *opts;
	unsigned ncpu;
	enum sim_preempt preempt;
	bool admission;
	int64_t util_ppm; /* the promise is for sets up to this */
	bool harmonic;	  /* ... and for harmonic periods only  */
	unsigned looked;  /* sets that it was kept or broken on */
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
	struct setting *s = arg;
	struct sim_rig *rig;
	uint64_t late;

	if (!fits(set, s->util_ppm) || (s->harmonic && !is_harmonic(set)))
		return false;
	s->looked++;
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
	assert_int_equal(s.looked, SETS);
}

static const struct task_set_shape full_load = { .tasks = { 1, 12 },
						 .util_ppm = CR_PPM,
						 .period = { 2, 60 },
						 .hyper = HYPER,
						 .full = true };

static void edf_meets_every_deadline_on_one_cpu_up_to_full_load(void **state)
{
	never_late("edf, one CPU, U = 1", &full_load,
		   (struct setting){ .ops = &cr_sched_edf });
}

static void llf_meets_every_deadline_on_one_cpu_up_to_full_load(void **state)
{
	static const char *const grains[] = { "granularity=1ns",
					      "granularity=3ns",
					      "granularity=20ns", NULL };

	for (unsigned i = 0; i < 4; i++)
		never_late("llf, one CPU, U = 1", &full_load,
			   (struct setting){ .ops = &cr_sched_llf,
					     .opts = grains[i] });
}

/* n (2^(1/n) - 1), rounded down, from n = 1. */
static void rm_meets_every_deadline_up_to_liu_and_laylands_bound(void **state)
{
	static const int64_t bound[] = { 1000000, 828427, 779763,
					 756828,  743491, 734772 };

	for (unsigned n = 1; n <= 6; n++) {
		struct task_set_shape shape = { .tasks = { n, n },
						.util_ppm = bound[n - 1],
						.period = { 2, 60 },
						.hyper = HYPER };

		never_late("rm, U <= n(2^(1/n) - 1)", &shape,
			   (struct setting){ .ops = &cr_sched_rm });
	}
}

static void rm_meets_every_harmonic_deadline_up_to_full_load(void **state)
{
	static const struct task_set_shape shape = { .tasks = { 1, 12 },
						     .util_ppm = CR_PPM,
						     .period = { 4, 300 },
						     .harmonic = true,
						     .full = true };

	never_late("rm, harmonic, U = 1", &shape,
		   (struct setting){ .ops = &cr_sched_rm });
}

/* --- rm: the exact test is exact, and the bounds never say more --- */

static unsigned admitted(const struct task_set *set, const char *opts)
{
	struct sim_rig *rig = rig_of(&(struct setting){ .ops = &cr_sched_rm,
							.opts = opts,
							.ncpu = 1,
							.preempt = SIM_FULL,
							.admission = true });
	unsigned n = rig_add_set(rig, set);

	rig_free(rig);
	return n;
}

/* All released together, as bad as it gets: the first jobs show it. */
static bool first_jobs_are_in_time(const struct task_set *set)
{
	struct sim_rig *rig = rig_of(&(struct setting){
		.ops = &cr_sched_rm, .ncpu = 1, .preempt = SIM_FULL });
	uint64_t late;

	(void)rig_add_set(rig, set);
	late = rig_late(rig, 200);
	rig_free(rig);
	return late == 0;
}

static bool exact_test_errs(const struct task_set *set, void *arg)
{
	(void)arg;
	return (admitted(set, NULL) == set->n) != first_jobs_are_in_time(set);
}

static bool bound_says_more(const struct task_set *set, void *arg)
{
	unsigned exact = admitted(set, NULL);
	unsigned hyperbolic = admitted(set, "test=hyperbolic");
	unsigned liu_layland = admitted(set, "test=liu-layland");

	(void)arg;
	return (hyperbolic == set->n && exact < set->n) ||
	       (liu_layland == set->n && hyperbolic < set->n);
}

static void rm_admits_exactly_what_is_in_time(void **state)
{
	struct task_set_shape shape = { .tasks = { 2, 8 },
					.period = { 4, 100 } };
	struct task_set_property exact = { "rm's exact test", exact_test_errs,
					   NULL };

	for (unsigned tight = 0; tight < 2; tight++)
		for (shape.util_ppm = 700000; shape.util_ppm <= 1000000;
		     shape.util_ppm += 100000) {
			shape.constrained = tight;
			shape.cls = tight ? CR_SOFT : CR_HARD;
			task_set_try(SETS, &shape, &exact);
		}
}

static void rms_bounds_admit_no_more_than_the_exact_test(void **state)
{
	static const struct task_set_shape shape = { .tasks = { 2, 6 },
						     .util_ppm = 800000,
						     .period = { 4, 100 } };
	struct task_set_property p = { "liu-layland <= hyperbolic <= exact",
				       bound_says_more, NULL };

	task_set_try(SETS, &shape, &p);
}

/* Experiment 6 of the BEST paper: U = 0.92, not harmonic. By response time
 * analysis the first job ends after 189.1 + 2 * 129 + 5 * 40.3 ms. */
static void rm_beyond_its_bound_fails_where_the_paper_does(void **state)
{
	static const struct task_set set = {
		3,
		{ { 610 * CR_MS, 1891 * CR_MS / 10, 610 * CR_MS, CR_HARD },
		  { 430 * CR_MS, 129 * CR_MS, 430 * CR_MS, CR_HARD },
		  { 130 * CR_MS, 403 * CR_MS / 10, 130 * CR_MS, CR_HARD } }
	};
	struct setting s = { .ops = &cr_sched_rm,
			     .ncpu = 1,
			     .preempt = SIM_FULL };
	struct sim_rig *rig = rig_of(&s);

	(void)rig_add_set(rig, &set);
	sim_run(rig->sim, CR_SEC);
	assert_int_equal(rig->task[0].response, 6486 * CR_MS / 10);
	assert_int_equal(rig->task[0].missed, 1);
	assert_true(rig_late(rig, 60 * CR_SEC) > 1);
	assert_int_equal(rig->task[1].missed, 0);
	assert_int_equal(rig->task[2].missed, 0);
	rig_free(rig);
	s.admission = true;
	rig = rig_of(&s);
	assert_int_equal(rig_add_set(rig, &set), 2);
	rig_free(rig);
	s.ops = &cr_sched_edf;
	rig = rig_of(&s);
	assert_int_equal(rig_add_set(rig, &set), 3);
	assert_int_equal(rig_late(rig, 60 * CR_SEC), 0);
	rig_free(rig);
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

/* @set on two CPUs for @until; the last of its three tasks is late @times
 * times, by at most @by, and the other two never. */
static void only_the_last_is_late(const struct cr_sched_ops *ops,
				  const struct task_set *set, cr_ns until,
				  uint64_t times, cr_ns by)
{
	struct sim_rig *rig = rig_of(&(struct setting){
		.ops = ops, .ncpu = 2, .preempt = SIM_FULL });

	assert_int_equal(rig_add_set(rig, set), 3);
	sim_run(rig->sim, until);
	assert_int_equal(rig->task[0].missed, 0);
	assert_int_equal(rig->task[1].missed, 0);
	assert_int_equal(rig->task[2].missed, times);
	assert_int_equal(rig->task[2].tardiness, by);
	rig_free(rig);
}

/* Twice in 110 ms the heavy one has to give up its CPU for 1 ms, with 0.5 ms to
 * spare: when the three are released together, and 10 ms before, where the
 * deadlines are equal and the lower number goes first. */
static void dhalls_set_fails_under_edf_and_not_under_llf(void **state)
{
	only_the_last_is_late(&cr_sched_edf, &dhall, 1101 * CR_MS, 20,
			      CR_MS / 2);
	assert_int_equal(late_on_two(&cr_sched_llf, NULL, &dhall, CR_SEC), 0);
}

/* The third waits for one of the others in every period, and ends at 4, 7, 10,
 * ... ms, a millisecond late. */
static void three_of_two_thirds_fail_under_fifo_and_not_under_llf(void **state)
{
	only_the_last_is_late(&cr_sched_fifo, &two_thirds, 301 * CR_MS + 1, 100,
			      CR_MS);
	only_the_last_is_late(&cr_sched_edf, &two_thirds, 301 * CR_MS + 1, 100,
			      CR_MS);
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

/* More is asked for than fits, of all classes, tight deadlines among them; or
 * less, in a way that several CPUs cannot serve by deadline or period. */
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
		{ .tasks = { 2, 6 },
		  .util_ppm = 400000,
		  .period = { 20, 40 },
		  .dhall = true,
		  .cls = CR_HARD },
	};
	struct setting s = { .ops = ops, .opts = opts, .admission = true };
	struct task_set_property p = { ops->name, hard_one_is_late, &s };

	for (s.ncpu = 1; s.ncpu <= 3; s.ncpu++)
		for (unsigned pre = 0; pre < 2; pre++)
			for (unsigned i = 0; i < 4; i++) {
				s.preempt = pre ? SIM_FULL : SIM_FRAME;
				task_set_try(SETS, &shapes[i], &p);
			}
}

static void edf_is_never_late_with_a_hard_task_it_admitted(void **state)
{
	admitted_means_in_time(&cr_sched_edf, NULL);
}

static void gfl_is_never_late_with_a_hard_task_it_admitted(void **state)
{
	admitted_means_in_time(&cr_sched_gfl, NULL);
}

static void llf_is_never_late_with_a_hard_task_it_admitted(void **state)
{
	admitted_means_in_time(&cr_sched_llf, "granularity=7ns");
}

static void rm_is_never_late_with_a_hard_task_it_admitted(void **state)
{
	admitted_means_in_time(&cr_sched_rm, NULL);
	admitted_means_in_time(&cr_sched_rm, "test=liu-layland");
	admitted_means_in_time(&cr_sched_rm, "test=hyperbolic");
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
			gfl_is_never_late_with_a_hard_task_it_admitted),
		cmocka_unit_test(
			llf_is_never_late_with_a_hard_task_it_admitted),
		cmocka_unit_test(rm_is_never_late_with_a_hard_task_it_admitted),
		cmocka_unit_test(
			rm_meets_every_deadline_up_to_liu_and_laylands_bound),
		cmocka_unit_test(
			rm_meets_every_harmonic_deadline_up_to_full_load),
		cmocka_unit_test(rm_admits_exactly_what_is_in_time),
		cmocka_unit_test(rms_bounds_admit_no_more_than_the_exact_test),
		cmocka_unit_test(
			rm_beyond_its_bound_fails_where_the_paper_does),
	};

	return cmocka_run_group_tests_name("guarantees", tests, NULL, NULL);
}
