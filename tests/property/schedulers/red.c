/* SPDX-License-Identifier: Apache-2.0 */
/*
 * red: up to full load it is edf; of jobs that come together, in order of their
 * deadlines, as many are in time as can be, and nearly as many in any order;
 * and in overload it collects more value than edf.
 */
#include <stdlib.h>

#include "schedulers/policies.h"
#include "task_set_rig.h"

enum { HYPER = 240, FEW = 8 };
#define SETS TEST_TRIES(300)

/* --- up to full load --- */

static bool too_much(const struct task_set *set)
{
	cr_ns whole = task_set_hyper(set, 2 * HYPER);
	int64_t sum = 0;

	for (unsigned i = 0; i < set->n; i++)
		sum += set->task[i].cost * (whole / set->task[i].period);
	return whole == 2 * HYPER || sum > whole;
}

static bool differs_from_edf(const struct task_set *set, void *arg)
{
	struct sim_rig *a, *b;
	bool same = true;

	(void)arg;
	if (too_much(set))
		return false;
	a = rig_new(&cr_sched_red, NULL, 1, TASK_SET_MAX);
	b = rig_new(&cr_sched_edf, NULL, 1, TASK_SET_MAX);
	(void)rig_add_set(a, set);
	(void)rig_add_set(b, set);
	for (cr_ns now = 0; now < HYPER && same; now++) {
		sim_run(a->sim, now + 1);
		sim_run(b->sim, now + 1);
		same = rig_running(a, 0) == rig_running(b, 0);
	}
	rig_free(a);
	rig_free(b);
	return !same;
}

static void up_to_full_load_it_is_edf(void **state)
{
	static const struct task_set_shape shape = { .tasks = { 1, 12 },
						     .util_ppm = CR_PPM,
						     .period = { 2, 60 },
						     .hyper = HYPER,
						     .full = true };
	struct task_set_property p = { "red is edf up to U = 1",
				       differs_from_edf, NULL };

	task_set_try(SETS, &shape, &p);
}

/* --- jobs that come together --- */

struct jobs {
	unsigned n;
	struct sim_job job[FEW];
};

static void be_a_job(struct rig_task *r)
{
	r->job = r->rig->user;
	r->njobs = 1;
}

static unsigned in_time(const struct jobs *set)
{
	struct sim_rig *rig = rig_new(&cr_sched_red, NULL, 1, FEW);
	unsigned n = 0;

	for (unsigned i = 0; i < set->n; i++) {
		rig->user = &set->job[i];
		(void)rig_add_with(rig, 1000, set->job[i].cost, be_a_job);
	}
	sim_run(rig->sim, 1000);
	for (unsigned i = 0; i < set->n; i++)
		n += rig->task[i].done && !rig->task[i].missed;
	rig_free(rig);
	return n;
}

/* Do the jobs of @chosen, by deadline, end in time? */
static bool fit(const struct jobs *set, unsigned chosen)
{
	for (unsigned i = 0; i < set->n; i++) {
		cr_ns work = 0;

		if (!(chosen >> i & 1))
			continue;
		for (unsigned k = 0; k < set->n; k++)
			if (chosen >> k & 1 &&
			    set->job[k].deadline <= set->job[i].deadline)
				work += set->job[k].cost;
		if (work > set->job[i].deadline)
			return false;
	}
	return true;
}

static unsigned most_that_fit(const struct jobs *set)
{
	unsigned best = 0;

	for (unsigned chosen = 0; chosen < 1u << set->n; chosen++) {
		unsigned n = (unsigned)__builtin_popcount(chosen);

		if (n > best && fit(set, chosen))
			best = n;
	}
	return best;
}

static int by_deadline(const void *a, const void *b)
{
	cr_ns x = ((const struct sim_job *)a)->deadline;
	cr_ns y = ((const struct sim_job *)b)->deadline;

	return (x > y) - (x < y);
}

static struct jobs draw_jobs(uint64_t *seed)
{
	struct jobs set = { .n = 2 + test_below(seed, FEW - 1) };

	for (unsigned i = 0; i < set.n; i++) {
		cr_ns cost = 1 + test_below(seed, 20);

		set.job[i] = (struct sim_job){ 0, cost,
					       cost + test_below(seed, 30) };
	}
	return set;
}

static void print_jobs(const struct jobs *set)
{
	for (unsigned i = 0; i < set->n; i++)
		print_message("(cost %lld deadline %lld) ",
			      (long long)set->job[i].cost,
			      (long long)set->job[i].deadline);
}

static void of_jobs_by_deadline_most_are_in_time(void **state)
{
	uint64_t seed = test_seed();
	unsigned lost = 0;

	for (unsigned k = 0; k < SETS; k++) {
		struct jobs set = draw_jobs(&seed);
		unsigned got, most = most_that_fit(&set);

		qsort(set.job, set.n, sizeof(set.job[0]), by_deadline);
		got = in_time(&set);
		lost += most < set.n;
		if (got == most)
			continue;
		print_jobs(&set);
		fail_msg("CR_SEED=%" PRIu64 ": %u in time, %u can be",
			 test_run_seed(), got, most);
	}
	assert_true(lost > SETS / 4);
}

/* In another order a job that gave way may be the one that fits better beside
 * what came after it. That is rare. */
static void of_jobs_in_any_order_nearly_most_are_in_time(void **state)
{
	/* the 16 that is due at 42 gives way, not that at 35: 9 and it fit */
	static const struct jobs one_less = { 8,
					      { { 0, 19, 32 },
						{ 0, 16, 35 },
						{ 0, 6, 8 },
						{ 0, 16, 42 },
						{ 0, 1, 6 },
						{ 0, 9, 15 },
						{ 0, 5, 6 },
						{ 0, 11, 35 } } };
	uint64_t seed = test_seed();
	unsigned fewer = 0;

	assert_int_equal(in_time(&one_less), 4);
	assert_int_equal(most_that_fit(&one_less), 5);
	for (unsigned k = 0; k < SETS; k++) {
		struct jobs set = draw_jobs(&seed);
		unsigned got = in_time(&set), most = most_that_fit(&set);

		if (got + 1 < most) {
			print_jobs(&set);
			fail_msg("CR_SEED=%" PRIu64 ": %u in time, %u can be",
				 test_run_seed(), got, most);
		}
		fewer += got < most;
	}
	assert_true(fewer <= 1 + SETS / 100);
}

/* --- overload --- */

/* What a run is worth: weights of the jobs done in time. */
struct worth {
	struct sim_rig *rig;
	int64_t sum;
};

static void note(void *arg, struct sim_task *t, unsigned cpu, cr_ns now)
{
	struct rig_task *r = rig_task_of(&t->core);
	const struct cr_task *task = &t->core.task;

	(void)arg, (void)cpu;
	if (now <= rig_job(r, task->job.seq).deadline)
		*(int64_t *)(uintptr_t)r->rig->user += task->weight;
}

struct dressing {
	int64_t sum; /* first: note() */
	const struct task_set *set;
	unsigned i;
	uint64_t seed;
	bool equal;
};

static void dress(struct rig_task *r)
{
	struct dressing *d = (struct dressing *)(uintptr_t)r->rig->user;

	r->st.core.task.weight =
		d->equal ? 1 : 1u << (test_random(&d->seed) >> 33) % 6;
	r->offset = set_between(&d->seed, 0, d->set->task[d->i].period - 1);
}

/* Late frames are dropped at @age; 0: never. */
static int64_t collected(const struct cr_sched_ops *ops,
			 const struct task_set *set, uint64_t seed, cr_ns age,
			 bool equal)
{
	struct sim_rig *rig = rig_new(ops, NULL, 1, TASK_SET_MAX);
	struct dressing d = { .set = set, .seed = seed, .equal = equal };

	rig->cfg.client.done = note;
	for (unsigned cls = 0; cls < CR_NCLASSES; cls++)
		rig->cfg.core.max_age[cls] = age;
	rig->user = &d;
	for (d.i = 0; d.i < set->n; d.i++)
		(void)rig_add_with(rig, set->task[d.i].period,
				   set->task[d.i].cost, dress);
	sim_run(rig->sim, 3000);
	rig_free(rig);
	return d.sum;
}

struct score {
	int64_t red, edf;
	unsigned better, worse;
};

static struct score compare(const struct task_set_shape *shape, cr_ns age,
			    bool equal)
{
	uint64_t seed = test_seed();
	struct score s = { 0 };

	for (unsigned k = 0; k < SETS; k++) {
		struct task_set set = task_set_draw(shape, &seed);
		uint64_t own = test_random(&seed);
		int64_t red, edf;

		if (!set.n)
			continue;
		red = collected(&cr_sched_red, &set, own, age, equal);
		edf = collected(&cr_sched_edf, &set, own, age, equal);
		s.red += red;
		s.edf += edf;
		s.better += red > edf;
		s.worse += red < edf;
	}
	print_message("load %lld ppm, age %lld, %s: red %lld, edf %lld; "
		      "better %u, worse %u\n",
		      (long long)shape->util_ppm, (long long)age,
		      equal ? "equal" : "weights", (long long)s.red,
		      (long long)s.edf, s.better, s.worse);
	return s;
}

/* No order is the best one for each set (see red.c): what is true of the sum is
 * asked of the sum. Twice: where late frames are run as others, and where
 * those whose deadline has passed are dropped, which is the best that can be
 * done for edf. */
static void in_overload_it_collects_more_than_edf(void **state)
{
	static const cr_ns one_period[] = { 60, 0 };

	for (int64_t load = 1100000; load <= 2000000; load += 300000)
		for (unsigned equal = 0; equal < 2; equal++) {
			struct task_set_shape any = { .tasks = { 4, 16 },
						      .util_ppm = load,
						      .period = { 20, 120 } };
			struct task_set_shape one = any;
			struct score s = compare(&any, 0, equal);

			one.list = one_period;
			assert_true(s.red > s.edf);
			s = compare(&one, 60, equal);
			assert_true(s.red > s.edf);
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(up_to_full_load_it_is_edf),
		cmocka_unit_test(of_jobs_by_deadline_most_are_in_time),
		cmocka_unit_test(of_jobs_in_any_order_nearly_most_are_in_time),
		cmocka_unit_test(in_overload_it_collects_more_than_edf),
	};

	return cmocka_run_group_tests_name("red", tests, NULL, NULL);
}
