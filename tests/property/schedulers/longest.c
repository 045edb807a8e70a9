/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tasks at the bounds of what may be asked for, under every registered policy:
 * costs, periods and deadlines of CR_TASK_LONGEST, and the largest loads that
 * these can make. What is beyond is refused; within, sums and budgets hold
 * (under UBSan: nothing overflows).
 */
#include <errno.h>

#include "cr/promise.h"
#include "schedulers/policies.h"
#include "schedulers/registry.h"
#include "sim_rig.h"

#define LONGEST CR_TASK_LONGEST

enum { TURNS = 20, CROWD = 300 };

static cr_ns busy(const struct sim_rig *rig)
{
	return sim_cpu_stats(rig->sim, 0).busy;
}

static void of_class(struct rig_task *r, enum cr_class cls)
{
	struct cr_task *t = &r->st.core.task;

	t->cls = cls;
	t->contract.largest = t->cost.mean;
}

static void hard(struct rig_task *r)
{
	of_class(r, CR_HARD);
}

static void soft(struct rig_task *r)
{
	of_class(r, CR_SOFT);
}

static void best_effort(struct rig_task *r)
{
	of_class(r, CR_BE);
}

static void (*const classes[])(struct rig_task *) = { hard, soft, best_effort };

static struct sim_rig *rig_for(const struct cr_sched_ops *ops, const char *opts,
			       enum sim_preempt preempt, unsigned room)
{
	struct sim_rig *rig = rig_new(ops, opts, 1, room);

	rig->cfg.preempt = preempt;
	return rig;
}

/* --- what is asked for is what there is, or is refused --- */

static void longer_by(struct cr_task *t, unsigned which)
{
	cr_ns *all[] = { &t->period, &t->rel_deadline, &t->cost.mean,
			 &t->cost.p99, &t->contract.largest };

	*all[which] += 1;
}

static void a_ns_more_is_refused(void **state)
{
	static const char *const says[] = {
		"period > 0, up to a day", "relative deadline > 0, up to a day",
		"costs from 0 to an hour", "costs from 0 to an hour",
		"costs from 0 to an hour",
	};

	for (unsigned p = 0; cr_schedulers[p]; p++)
		for (unsigned i = 0; i < 5; i++) {
			struct core_config cfg = { .ops = cr_schedulers[p],
						   .ncpu = 1 };
			struct cr_task t = {
				.cls = CR_SOFT,
				.period = 24 * LONGEST,
				.rel_deadline = 24 * LONGEST,
				.cost = { .mean = LONGEST, .p99 = LONGEST },
				.contract = { .largest = LONGEST },
				.weight = 1024,
			};
			struct cr_verdict v;
			struct core *core;

			cr_cpus_add(&t.cpus, 0);
			assert_int_equal(core_open(&core, &cfg, 0, NULL), 0);
			assert_int_equal(core_admit(core, &t, &v), 0);
			longer_by(&t, i);
			assert_int_equal(core_admit(core, &t, &v), -EINVAL);
			assert_string_equal(v.rule, says[i]);
			core_close(core);
		}
}

static void no_option_is_longer(void **state)
{
	for (unsigned p = 0; cr_schedulers[p]; p++)
		for (const struct cr_opt *o = cr_schedulers[p]->opts;
		     o && o->name; o++)
			if (o->kind == CR_OPT_TIME && o->max > LONGEST)
				fail_msg("%s,%s", cr_schedulers[p]->name,
					 o->name);
}

/* --- the longest of each class, beside each other --- */

/* One of each class, until @until. */
static struct sim_rig *served(const struct cr_sched_ops *ops, const char *opts,
			      enum sim_preempt preempt, cr_ns until)
{
	struct sim_rig *rig = rig_for(ops, opts, preempt, 3);
	struct cr_promise promise = { 0 };
	struct cr_kv kv[16];

	for (unsigned i = 0; i < 3; i++)
		assert_non_null(
			rig_add_with(rig, LONGEST, LONGEST, classes[i]));
	assert_int_equal(core_rq(sim_core(rig->sim), 0)->load_ppm, 3 * CR_PPM);
	sim_run(rig->sim, until);
	for (unsigned i = 0; i < 3; i++) {
		(void)core_explain(&rig->task[i].st.core, kv, 16);
		core_promise(&rig->task[i].st.core, &promise);
	}
	return rig;
}

/* Some have a tick every ms, so this is the begin of the first turns only. */
static void an_hour_is_begun(void **state)
{
	for (unsigned p = 0; cr_schedulers[p]; p++)
		for (unsigned i = 0; i < 2; i++)
			rig_finish(served(cr_schedulers[p], NULL,
					  i ? SIM_FULL : SIM_FRAME, CR_SEC));
}

/* A turn counts when it is over. */
static void are_kept_busy(const struct cr_sched_ops *ops, const char *opts,
			  enum sim_preempt preempt)
{
	struct sim_rig *rig = served(ops, opts, preempt, TURNS * LONGEST + 1);
	uint64_t done = 0;

	for (unsigned i = 0; i < 3; i++)
		done += rig->task[i].done;
	assert_true(busy(rig) <= TURNS * LONGEST + 1);
	assert_true(done <= TURNS);
	if (!strstr(opts, "reserve=hard"))
		assert_true(busy(rig) >= (TURNS - 1) * LONGEST);
	rig_finish(rig);
}

static void servers_of_an_hour_are_kept(void **state)
{
	static const char *const opts[] = {
		"margin=0%",
		"margin=1000%",
		"reserve=hard",
		"reserve=hard,margin=1000%",
	};

	for (unsigned i = 0; i < 4; i++)
		for (unsigned k = 0; k < 2; k++) {
			enum sim_preempt preempt = k ? SIM_FULL : SIM_FRAME;

			are_kept_busy(&cr_sched_cbs, opts[i], preempt);
			are_kept_busy(&cr_sched_grub, opts[i], preempt);
		}
}

/* --- servers --- */

static int64_t reported(struct rig_task *r, const char *key)
{
	struct cr_kv kv[16];
	unsigned n = core_explain(&r->st.core, kv, 16);

	for (unsigned i = 0; i < n; i++)
		if (!strcmp(kv[i].key, key))
			return kv[i].value;
	fail_msg("it has no %s", key);
	return 0;
}

/* All of a CPU is the budget of one: each job is in time, and none of it is
 * left at its end. */
static void a_budget_of_an_hour_is_kept(void **state)
{
	static const struct cr_sched_ops *const ops[] = { &cr_sched_cbs,
							  &cr_sched_grub };

	for (unsigned i = 0; i < 4; i++) {
		struct sim_rig *rig = rig_for(
			ops[i / 2], i % 2 ? "reserve=hard" : NULL, SIM_FULL, 1);
		struct rig_task *r = rig_add_with(rig, LONGEST, LONGEST, hard);

		assert_int_equal(reported(r, "budget"), LONGEST);
		assert_int_equal(reported(r, "budget_left"), LONGEST);
		sim_run(rig->sim, TURNS * LONGEST + 1);
		assert_int_equal(r->done, TURNS);
		assert_int_equal(r->missed, 0);
		rig_finish(rig);
	}
}

/* A debt of what others would have had for an hour is paid, whatever @cost
 * runs beyond the budget of a ns. */
static void a_debt_of_an_hour_is_paid(void **state)
{
	static const struct sim_job jobs[] = {
		{ 0, LONGEST, CR_NEVER },
		{ 2 * LONGEST, LONGEST, CR_NEVER },
		{ 4 * LONGEST, LONGEST, CR_NEVER },
	};
	static const struct cr_sched_ops *const ops[] = { &cr_sched_cbs,
							  &cr_sched_grub };

	for (unsigned i = 0; i < 2; i++) {
		struct sim_rig *rig = rig_for(ops[i], NULL, SIM_FRAME, 1);
		struct rig_task *r = rig_add_jobs(rig, jobs, 3);

		sim_run(rig->sim, 6 * LONGEST);
		assert_int_equal(r->done, 3);
		assert_int_equal(busy(rig), 3 * LONGEST);
		rig_finish(rig);
	}
}

/* --- loads --- */

/* One job each: an hour of work every ns is more than any machine has. */
static void the_largest_loads_are_added_up(void **state)
{
	static const struct sim_job once[] = { { 0, 1, CR_NEVER } };

	for (unsigned p = 0; cr_schedulers[p]; p++) {
		struct sim_rig *rig =
			rig_for(cr_schedulers[p], NULL, SIM_FULL, CROWD);
		const struct cr_rq *rq;
		int64_t before = 0;

		for (unsigned i = 0; i < CROWD; i++) {
			struct rig_task *r =
				rig_add_with(rig, 1, LONGEST, classes[i % 3]);

			assert_non_null(r);
			r->job = once;
			r->njobs = 1;
			rq = core_rq(sim_core(rig->sim), 0);
			assert_true(rq->load_ppm >
				    before + CR_MAX_CPUS * CR_PPM);
			before = rq->load_ppm;
		}
		assert_true(before < INT64_MAX / CR_MAX_CPUS);
		rig_finish(rig);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_ns_more_is_refused),
		cmocka_unit_test(no_option_is_longer),
		cmocka_unit_test(an_hour_is_begun),
		cmocka_unit_test(servers_of_an_hour_are_kept),
		cmocka_unit_test(a_budget_of_an_hour_is_kept),
		cmocka_unit_test(a_debt_of_an_hour_is_paid),
		cmocka_unit_test(the_largest_loads_are_added_up),
	};

	return cmocka_run_group_tests_name("longest", tests, NULL, NULL);
}
