/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Best-effort jobs with deadlines under edf-be, in the simulator: no call is
 * late for them, whatever they do, their tasks share by weight, and they wait
 * less than under edf, last.
 */
#include <errno.h>

#include "schedulers/policies.h"
#include "task_set_rig.h"

enum { FLOWS = 3, JOBS = 400, LONGEST = 1500 };
#define SETS TEST_TRIES(500)

#define HYPER INT64_C(240000)

static const struct {
	const struct cr_sched_ops *ops;
	const char *opts;
} rules[] = {
	{ &cr_sched_edf, "" },
	{ &cr_sched_edf_be, "rule=tbs" },
	{ &cr_sched_edf_be, "rule=line" },
	{ &cr_sched_edf_be, "rule=two-line-approx" },
	{ &cr_sched_edf_be, "rule=two-line" },
	{ &cr_sched_edf_be, "rule=two-line,queue=wfq" },
	{ &cr_sched_edf_be, "rule=exact" },
};

enum { NRULES = sizeof(rules) / sizeof(rules[0]) };

static struct sim_rig *rig_of(unsigned rule, unsigned room)
{
	return rig_new(rules[rule].ops, rules[rule].opts, 1, room);
}

/** What is tried, and what came of it. */
struct trial {
	enum sim_preempt preempt;
	unsigned sets; /* that are schedulable by themselves */
	cr_ns wait[NRULES];
};

/* Calls released together, every deadline in two hyperperiods: the sum of what
 * is due, and the longest frame where frames are not cut. */
static bool is_schedulable(const struct task_set *set, cr_ns blocking)
{
	for (unsigned i = 0; i < set->n; i++)
		blocking =
			blocking ? cr_ns_max(blocking, set->task[i].cost) : 0;
	for (unsigned i = 0; i < set->n; i++)
		for (cr_ns t = set->task[i].deadline; t <= 2 * HYPER;
		     t += set->task[i].period) {
			cr_ns due = blocking;

			for (unsigned k = 0; k < set->n; k++) {
				const struct set_task *s = &set->task[k];

				if (t >= s->deadline)
					due += s->cost *
					       ((t - s->deadline) / s->period +
						1);
			}
			if (due > t)
				return false;
		}
	return true;
}

static void be_best_effort(struct rig_task *r)
{
	struct cr_task *t = &r->st.core.task;

	t->cls = CR_BE;
	t->cost.mean = t->cost.p99 = LONGEST;
}

/* Flows of best effort from nearly nothing to more than the machine. */
static void add_load(struct sim_rig *rig, struct sim_job job[FLOWS][JOBS],
		     uint64_t seed)
{
	for (unsigned f = 0; f < FLOWS; f++) {
		unsigned gap = 1 + test_below(&seed, 40000);
		cr_ns at = test_below(&seed, 5000);
		struct rig_task *r;

		for (unsigned j = 0; j < JOBS; j++) {
			job[f][j] = (struct sim_job){
				at, 1 + test_below(&seed, LONGEST), CR_NEVER
			};
			if (test_below(&seed, 3))
				at += test_below(&seed, gap);
		}
		r = rig_add_with(rig, CR_SEC, LONGEST, be_best_effort);
		assert_non_null(r);
		r->job = job[f];
		r->njobs = JOBS;
		sim_arrive_at(rig->sim, &r->st, job[f][0].at);
	}
}

/* How long best-effort jobs waited in all, those not done to the end. */
static cr_ns waited(const struct sim_rig *rig, cr_ns until)
{
	cr_ns sum = 0;

	for (unsigned i = rig->ntasks - FLOWS; i < rig->ntasks; i++)
		for (uint64_t k = rig->task[i].done; k < JOBS; k++)
			sum += cr_ns_max(0, until - rig->task[i].job[k].at);
	return sum;
}

static bool makes_a_call_late(const struct task_set *set, void *arg)
{
	static struct sim_job job[FLOWS][JOBS];
	struct trial *trial = arg;
	uint64_t late = 0;

	if (trial->sets == SETS ||
	    !is_schedulable(set, trial->preempt == SIM_FULL ? 0 : LONGEST))
		return false;
	trial->sets++;
	for (unsigned i = 0; i < NRULES; i++) {
		struct sim_rig *rig = rig_of(i, TASK_SET_MAX + FLOWS);

		rig->cfg.preempt = trial->preempt;
		assert_int_equal(rig_add_set(rig, set), set->n);
		add_load(rig, job, (uint64_t)set->task[0].cost + 1);
		/* looked at often enough, what waits is the sum of all waits */
		for (cr_ns at = HYPER / 40; at <= 2 * HYPER; at += HYPER / 40) {
			late += rig_late(rig, at);
			trial->wait[i] += waited(rig, at) / 1000;
		}
		rig_free(rig);
	}
	return late > 0;
}

static void never_late(struct trial *trial)
{
	const struct task_set_shape shape = {
		.tasks = { 1, 8 },
		.util_ppm = 750000,
		.period = { 6000, 120000 },
		.hyper = HYPER,
		.constrained = trial->preempt == SIM_FULL,
		.cls = CR_HARD,
	};
	const struct task_set_property p = { "no call is late for best effort",
					     makes_a_call_late, trial };

	for (unsigned i = 0; i < 100 && trial->sets < SETS; i++)
		task_set_try(200, &shape, &p);
	assert_int_equal(trial->sets, SETS);
	for (unsigned i = 0; i < NRULES; i++)
		print_message("%s,%s: waited %lld us\n", rules[i].ops->name,
			      rules[i].opts, (long long)trial->wait[i]);
}

static void no_call_is_late_for_any_best_effort_load(void **state)
{
	struct trial trial = { .preempt = SIM_FULL };

	never_late(&trial);
	for (unsigned i = 1; i < NRULES; i++)
		assert_true(trial.wait[i] < trial.wait[0]);
}

/* As in the daemon: a frame of anybody may be in the way. */
static void nor_where_frames_are_not_cut(void **state)
{
	struct trial trial = { .preempt = SIM_FRAME };

	never_late(&trial);
	for (unsigned i = 1; i < NRULES; i++)
		assert_true(trial.wait[i] < trial.wait[0]);
}

/* --- shares --- */

static void be_flow(struct rig_task *r)
{
	be_best_effort(r);
	r->st.core.task.weight = 512u << (r->st.core.task.id - 2);
}

/* One, two and four parts of what a call of a half leaves, within two jobs. */
static void flows_share_by_weight(enum sim_preempt preempt, unsigned rule)
{
	static struct sim_job job[FLOWS][20 * JOBS];
	struct sim_rig *rig = rig_of(rule, 1 + FLOWS);
	cr_ns had[FLOWS] = { 0 };

	rig->cfg.preempt = preempt;
	assert_non_null(rig_add(rig, 10000, 5000));
	for (unsigned f = 0; f < FLOWS; f++) {
		struct rig_task *r =
			rig_add_with(rig, CR_SEC, LONGEST, be_flow);

		for (unsigned j = 0; j < 20 * JOBS; j++)
			job[f][j] =
				(struct sim_job){ 0, 300 + 400 * f, CR_NEVER };
		r->job = job[f];
		r->njobs = 20 * JOBS;
		sim_arrive_at(rig->sim, &r->st, 0);
	}
	sim_run(rig->sim, 2000000);
	for (unsigned f = 0; f < FLOWS; f++)
		had[f] = (cr_ns)rig->task[1 + f].done * job[f][0].cost;
	assert_in_range(had[0] + had[1] + had[2], 990000, 1000000);
	assert_in_range(had[1], 2 * had[0] - 2 * LONGEST,
			2 * had[0] + 2 * LONGEST);
	assert_in_range(had[2], 4 * had[0] - 4 * LONGEST,
			4 * had[0] + 4 * LONGEST);
	rig_free(rig);
}

static void best_effort_flows_share_by_weight(void **state)
{
	for (unsigned i = 0; i < NRULES; i++) {
		flows_share_by_weight(SIM_FULL, i);
		flows_share_by_weight(SIM_FRAME, i);
	}
}

/* --- what it is for --- */

/* A job of 2 us beside a call of 5 in 10: a server of a half promises it in 4.
 */
static void a_job_does_not_wait_for_an_instant_without_calls(void **state)
{
	static const struct sim_job job[] = { { 0, 2000, CR_NEVER },
					      { 12000, 2000, CR_NEVER } };
	static const cr_ns longest[NRULES] = { 7000, 2000, 2000, 2000,
					       2000, 2000, 2000 };

	for (unsigned i = 0; i < NRULES; i++) {
		struct sim_rig *rig = rig_of(i, 2);
		struct rig_task *r;

		assert_non_null(rig_add(rig, 10000, 5000));
		r = rig_add_with(rig, CR_SEC, LONGEST, be_best_effort);
		r->job = job;
		r->njobs = 2;
		sim_arrive_at(rig->sim, &r->st, 0);
		sim_run(rig->sim, 50000);
		assert_int_equal(r->done, 2);
		assert_int_equal(r->response, longest[i]);
		assert_int_equal(rig_misses(rig), 0);
		rig_free(rig);
	}
}

/* The longest frame of anybody is in the way of a promise: with it the job asks
 * for more time than the call has, without it for less. */
static void the_longest_frame_counts_where_frames_are_not_cut(void **state)
{
	static const struct {
		enum sim_preempt preempt;
		cr_ns response;
	} want[] = { { SIM_FULL, 1500 }, { SIM_FRAME, 5500 } };
	static const struct sim_job job[] = { { 0, 1500, CR_NEVER } };

	for (unsigned i = 0; i < 2; i++) {
		struct sim_rig *rig = rig_of(NRULES - 1, 2);
		struct rig_task *r;

		rig->cfg.preempt = want[i].preempt;
		assert_non_null(rig_add(rig, 6000, 4000));
		r = rig_add_with(rig, CR_SEC, LONGEST, be_best_effort);
		r->job = job;
		r->njobs = 1;
		sim_arrive_at(rig->sim, &r->st, 0);
		sim_run(rig->sim, 50000);
		assert_int_equal(r->done, 1);
		assert_int_equal(r->response, want[i].response);
		rig_free(rig);
	}
}

static void several_cpus_in_a_run_queue_are_refused(void **state)
{
	struct core_config cfg = { .ops = &cr_sched_edf_be,
				   .opts = "rule=line",
				   .ncpu = 2 };
	struct cr_err e = { "" };
	struct core *c;

	assert_int_equal(core_open(&c, &cfg, 0, &e), -EINVAL);
	assert_non_null(strstr(e.text, "of one CPU, not of 2"));
	cfg.cpus_per_rq = 1;
	assert_int_equal(core_open(&c, &cfg, 0, &e), 0);
	core_close(c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(no_call_is_late_for_any_best_effort_load),
		cmocka_unit_test(nor_where_frames_are_not_cut),
		cmocka_unit_test(best_effort_flows_share_by_weight),
		cmocka_unit_test(
			a_job_does_not_wait_for_an_instant_without_calls),
		cmocka_unit_test(
			the_longest_frame_counts_where_frames_are_not_cut),
		cmocka_unit_test(several_cpus_in_a_run_queue_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
