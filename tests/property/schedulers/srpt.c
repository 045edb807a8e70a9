/* SPDX-License-Identifier: Apache-2.0 */
/*
 * srpt: of all ways to run a set of jobs on one CPU, none has a smaller sum of
 * turnaround times. Against every order that there is, for small sets, and
 * against every other policy for larger ones.
 */
#include "schedulers/policies.h"
#include "schedulers/registry.h"
#include "seed.h"
#include "sim_rig.h"

enum { FEW = 5, MANY = 12, STATES = 7776 };
#define SETS TEST_TRIES(300)

struct jobs {
	unsigned n;
	struct sim_job job[MANY]; /* times in ms */
};

static struct jobs draw(uint64_t *seed, unsigned most, unsigned cost)
{
	struct jobs set = { .n = 2 + test_below(seed, most - 1) };

	for (unsigned i = 0; i < set.n; i++)
		set.job[i] = (struct sim_job){
			.at = test_below(seed, set.n * cost / 2),
			.cost = 1 + test_below(seed, cost),
			.deadline = CR_NEVER,
		};
	return set;
}

static void be_a_file(struct rig_task *r)
{
	const struct sim_job *job = r->rig->user;

	r->st.core.task.cls = CR_BE;
	r->job = job;
	r->njobs = 1;
}

/* Sum of turnaround times under @ops, in ms; each job is a task. */
static cr_ns turnaround(const struct cr_sched_ops *ops, const struct jobs *set)
{
	struct sim_rig *rig = rig_new(ops, NULL, 1, MANY);
	struct sim_job scaled[MANY];
	cr_ns sum = 0;

	for (unsigned i = 0; i < set->n; i++) {
		scaled[i] = set->job[i];
		scaled[i].at *= CR_MS;
		scaled[i].cost *= CR_MS;
		rig->user = &scaled[i];
		assert_non_null(
			rig_add_with(rig, CR_SEC, scaled[i].cost, be_a_file));
	}
	sim_run(rig->sim, 100 * CR_SEC);
	for (unsigned i = 0; i < set->n; i++) {
		if (rig->task[i].done != 1)
			fail_msg("%s: a job is not done", ops->name);
		sum += rig->task[i].response;
	}
	rig_free(rig);
	return sum / CR_MS;
}

static void print_jobs(const struct jobs *set)
{
	print_message("CR_SEED=%" PRIu64 ":", test_run_seed());
	for (unsigned i = 0; i < set->n; i++)
		print_message(" (at %lld cost %lld)", (long long)set->job[i].at,
			      (long long)set->job[i].cost);
	print_message("\n");
}

/* --- all schedules: who runs in each slot --- */

struct search {
	const struct jobs *set;
	cr_ns left[FEW];
	cr_ns best[STATES]; /* by what is left; < 0: not known */
};

/* Costs up to 5: six digits a job. */
static unsigned state_of(const struct search *s)
{
	unsigned state = 0;

	for (unsigned i = 0; i < s->set->n; i++)
		state = 6 * state + (unsigned)s->left[i];
	return state;
}

static cr_ns next_arrival(const struct search *s, cr_ns now)
{
	cr_ns next = CR_NEVER;

	for (unsigned i = 0; i < s->set->n; i++)
		if (s->left[i] && s->set->job[i].at > now)
			next = cr_ns_min(next, s->set->job[i].at);
	return next;
}

/* The least sum of ends from @now on. Nobody gains by idling, so the time
 * follows from what is left. */
static cr_ns least(struct search *s, cr_ns now)
{
	unsigned state = state_of(s);
	cr_ns found = CR_NEVER;

	if (!state)
		return 0;
	if (s->best[state] >= 0)
		return s->best[state];
	for (unsigned i = 0; i < s->set->n; i++) {
		cr_ns sum;

		if (!s->left[i] || s->set->job[i].at > now)
			continue;
		s->left[i]--;
		sum = least(s, now + 1) + (s->left[i] ? 0 : now + 1);
		s->left[i]++;
		found = cr_ns_min(found, sum);
	}
	if (found == CR_NEVER)
		found = least(s, next_arrival(s, now));
	s->best[state] = found;
	return found;
}

static cr_ns least_turnaround(const struct jobs *set)
{
	static struct search s;
	cr_ns arrivals = 0;

	s.set = set;
	memset(s.best, 0xff, sizeof(s.best));
	for (unsigned i = 0; i < set->n; i++) {
		s.left[i] = set->job[i].cost;
		arrivals += set->job[i].at;
	}
	return least(&s, 0) - arrivals;
}

static void srpt_is_as_good_as_the_best_of_all_schedules(void **state)
{
	uint64_t seed = test_seed();
	unsigned worse = 0;

	for (unsigned k = 0; k < SETS; k++) {
		struct jobs set = draw(&seed, FEW, 5);
		cr_ns best = least_turnaround(&set);

		if (turnaround(&cr_sched_srpt, &set) != best) {
			print_jobs(&set);
			fail_msg("the best sum is %lld", (long long)best);
		}
		worse += turnaround(&cr_sched_fifo, &set) > best;
	}
	assert_true(worse > SETS / 4); /* there was something to gain */
}

static void no_other_policy_is_better(void **state)
{
	uint64_t seed = test_seed();
	unsigned others = 0;

	while (cr_schedulers[others])
		others++;
	for (unsigned k = 0; k < SETS; k++) {
		struct jobs set = draw(&seed, MANY, 20);
		const struct cr_sched_ops *ops = cr_schedulers[k % others];
		cr_ns sum = turnaround(ops, &set);

		if (turnaround(&cr_sched_srpt, &set) > sum) {
			print_jobs(&set);
			fail_msg("%s has a sum of %lld", ops->name,
				 (long long)sum);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(srpt_is_as_good_as_the_best_of_all_schedules),
		cmocka_unit_test(no_other_policy_is_better),
	};

	return cmocka_run_group_tests_name("srpt", tests, NULL, NULL);
}
