/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What fair lateness is for: no job of gfl is later than its bound, on 1 to 8
 * CPUs that are full, and the bound, which is the same for all tasks, is at
 * most the largest that EDF has (support/compliant.h has the formulae).
 */
#include <math.h>

#include "compliant.h"
#include "schedulers/policies.h"
#include "task_set_rig.h"

enum { MOST_CPUS = 8, UNTIL = 4000 };
#define SETS TEST_TRIES(320 / MOST_CPUS)

/* Deadline less what the policy takes off: whole nanoseconds. */
static struct compliant fair(const struct task_set *set, unsigned ncpu)
{
	struct compliant c = { .set = set, .ncpu = ncpu };

	for (unsigned i = 0; i < set->n; i++)
		c.point[i] = (double)(set->task[i].deadline -
				      set->task[i].cost * (ncpu - 1) / ncpu);
	return c;
}

static struct compliant exactly_fair(const struct task_set *set, unsigned ncpu)
{
	struct compliant c = { .set = set, .ncpu = ncpu };

	for (unsigned i = 0; i < set->n; i++)
		c.point[i] = (double)set->task[i].deadline -
			     (double)set->task[i].cost * (ncpu - 1) / ncpu;
	return c;
}

static struct compliant by_deadline(const struct task_set *set, unsigned ncpu)
{
	struct compliant c = { .set = set, .ncpu = ncpu };

	for (unsigned i = 0; i < set->n; i++)
		c.point[i] = (double)set->task[i].deadline;
	return c;
}

static double largest_lateness(const struct compliant *c)
{
	double s = compliant_s(c), most = -HUGE_VAL;

	for (unsigned i = 0; i < c->set->n; i++) {
		double late = compliant_response(c, s, i) -
			      (double)c->set->task[i].deadline;

		most = late > most ? late : most;
	}
	return most;
}

/* --- the bound is kept --- */

struct trial {
	const struct cr_sched_ops *ops;
	struct compliant (*points)(const struct task_set *set, unsigned ncpu);
	unsigned ncpu;
	unsigned late; /* tasks that were late, within their bound */
};

static bool job_is_too_late(const struct rig_task *r, double response)
{
	cr_ns longest = r->response;

	if (r->done < r->arrived)
		longest = cr_ns_max(longest, UNTIL - rig_job(r, r->done).at);
	return (double)longest > floor(response + 1e-6);
}

static bool breaks_the_bound(const struct task_set *set, void *arg)
{
	struct trial *with = arg;
	struct compliant c = with->points(set, with->ncpu);
	struct sim_rig *rig;
	bool broken = false;
	double s;

	if (task_set_util(set) > with->ncpu * CR_PPM)
		return false; /* shrunk to what the theorem is not about */
	s = compliant_s(&c);
	rig = rig_new(with->ops, NULL, with->ncpu, TASK_SET_MAX);
	(void)rig_add_set(rig, set);
	sim_run(rig->sim, UNTIL);
	for (unsigned i = 0; i < set->n; i++) {
		with->late += rig->task[i].missed > 0;
		broken |= job_is_too_late(&rig->task[i],
					  compliant_response(&c, s, i));
	}
	rig_free(rig);
	return broken;
}

static struct task_set_shape full(unsigned ncpu)
{
	return (struct task_set_shape){ .tasks = { ncpu, ncpu * 3 + 2 },
					.util_ppm = ncpu * CR_PPM,
					.period = { 2, 120 },
					.hyper = 720720,
					.full = ncpu % 2 == 0 };
}

static void try_on_1_to_8_cpus(struct trial *with, const char *what)
{
	struct task_set_property p = { what, breaks_the_bound, with };

	for (with->ncpu = 1; with->ncpu <= MOST_CPUS; with->ncpu++) {
		struct task_set_shape shape = full(with->ncpu);

		task_set_try(SETS, &shape, &p);
		if (with->ncpu == 1)
			assert_int_equal(with->late, 0); /* it is EDF there */
	}
	assert_true(with->late > 0);
}

static void no_job_is_later_than_the_bound(void **state)
{
	struct trial with = { .ops = &cr_sched_gfl, .points = fair };

	try_on_1_to_8_cpus(&with, "gfl keeps its bound");
}

/* The same formulae hold for what they are compared with. */
static void edf_keeps_its_own_bound(void **state)
{
	struct trial with = { .ops = &cr_sched_edf, .points = by_deadline };

	try_on_1_to_8_cpus(&with, "edf keeps its bound");
}

/* --- the bound is the smaller one --- */

struct comparison {
	unsigned ncpu, sets, smaller;
};

static bool edf_has_the_smaller_bound(const struct task_set *set, void *arg)
{
	struct comparison *k = arg;
	struct compliant a = exactly_fair(set, k->ncpu);
	struct compliant b = by_deadline(set, k->ncpu);
	double ours = largest_lateness(&a), edf = largest_lateness(&b);

	if (task_set_util(set) > k->ncpu * CR_PPM)
		return false;
	k->sets++;
	k->smaller += ours < edf - 1e-6;
	return ours > edf + 1e-6;
}

/* Equal ones are those of tasks with the same cost. */
static void the_bound_is_smaller_than_edfs(void **state)
{
	struct comparison k = { .sets = 0 };
	struct task_set_property p = { "gfl's bound <= EDF's",
				       edf_has_the_smaller_bound, &k };

	for (k.ncpu = 2; k.ncpu <= MOST_CPUS; k.ncpu++) {
		struct task_set_shape shape = full(k.ncpu);

		task_set_try(SETS, &shape, &p);
	}
	assert_true(k.smaller > k.sets * 9 / 10);
}

static void all_tasks_have_the_same_bound(void **state)
{
	struct task_set_shape shape = full(4);
	uint64_t seed = test_seed();

	for (unsigned k = 0; k < SETS; k++) {
		struct task_set set = task_set_draw(&shape, &seed);
		struct compliant c = exactly_fair(&set, 4);
		double s = compliant_s(&c);

		for (unsigned i = 0; i < set.n; i++)
			assert_true(fabs(compliant_response(&c, s, i) -
					 (double)set.task[i].deadline - s / 4) <
				    1e-6);
	}
}

/* --- where it helps --- */

/* Two light tasks and one of nearly a CPU: EDF keeps the heavy one waiting
 * (guarantees.c). Its points lie 5.25 ms before its deadlines, theirs 0.5. */
static void dhalls_set_is_in_time(void **state)
{
	static const struct task_set dhall = {
		3,
		{ { 10 * CR_MS, CR_MS, 10 * CR_MS, CR_SOFT },
		  { 10 * CR_MS, CR_MS, 10 * CR_MS, CR_SOFT },
		  { 11 * CR_MS, 105 * CR_MS / 10, 11 * CR_MS, CR_SOFT } }
	};
	struct sim_rig *rig = rig_new(&cr_sched_gfl, NULL, 2, 3);

	(void)rig_add_set(rig, &dhall);
	assert_int_equal(rig_late(rig, CR_SEC), 0);
	rig_free(rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(no_job_is_later_than_the_bound),
		cmocka_unit_test(edf_keeps_its_own_bound),
		cmocka_unit_test(the_bound_is_smaller_than_edfs),
		cmocka_unit_test(all_tasks_have_the_same_bound),
		cmocka_unit_test(dhalls_set_is_in_time),
	};

	return cmocka_run_group_tests_name("gfl", tests, NULL, NULL);
}
