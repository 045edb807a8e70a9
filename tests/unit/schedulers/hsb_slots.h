/* SPDX-License-Identifier: Apache-2.0 */
/*
 * edf-hsb in slots of 100 ns: tasks of one job each, and schedules as strings.
 */
#ifndef TESTS_UNIT_SCHEDULERS_HSB_SLOTS_H
#define TESTS_UNIT_SCHEDULERS_HSB_SLOTS_H

#include "schedulers/policies.h"
#include "sim_rig.h"

#define SLOT INT64_C(100)
/* The paper's -NS; budgets are what tests call costs; one server, 2 of 10. */
#define NS "budget=1,reclaim=no,background=no,be-servers=1,be-period=1us,"
#define SLACK "budget=1,reclaim=yes,background=no,be-servers=1,be-period=1us,"

static inline struct sim_rig *rig_on(const char *opts, unsigned ncpu)
{
	return rig_new(&cr_sched_edf_hsb, opts, ncpu, 16);
}

/* Compare the schedule from 0 on with a string for each CPU. */
static inline void expect(struct sim_rig *rig, const char *cpu0,
			  const char *cpu1)
{
	char line[2][128];

	rig_trace(rig, SLOT, cpu1 ? 2 : 1, line, (unsigned)strlen(cpu0));
	assert_string_equal(line[0], cpu0);
	if (cpu1)
		assert_string_equal(line[1], cpu1);
	rig_free(rig);
}

static inline void hard(struct rig_task *r)
{
	r->st.core.task.cls = CR_HARD;
}

static inline void best_effort(struct rig_task *r)
{
	r->st.core.task.cls = CR_BE;
}

/* The jobs of a test, which outlive its rig. */
static struct sim_job jobs[16];

/* A task of @period and @budget (its mean) slots with one job of @cost slots,
 * at slot @at. */
static inline struct rig_task *one_job(struct sim_rig *rig, const cr_ns how[4],
				       void (*cls)(struct rig_task *r))
{
	struct sim_job *job = &jobs[rig->ntasks];
	struct rig_task *r =
		rig_add_with(rig, how[0] * SLOT, how[1] * SLOT, cls);

	assert_non_null(r);
	*job = (struct sim_job){ how[2] * SLOT, how[3] * SLOT,
				 (how[2] + how[0]) * SLOT };
	if (r->st.core.task.cls == CR_BE)
		job->deadline = CR_NEVER;
	r->job = job;
	r->njobs = 1;
	sim_arrive_at(rig->sim, &r->st, job->at);
	return r;
}

/* period, budget, arrival, cost */
#define JOB(rig, cls, ...) one_job(rig, (const cr_ns[4]){ __VA_ARGS__ }, cls)

/* A soft task of @period and @budget (its mean) slots with @n jobs. */
static inline void sends(struct sim_rig *rig, cr_ns period, cr_ns budget,
			 const struct sim_job *job, unsigned n)
{
	struct rig_task *r = rig_add(rig, period * SLOT, budget * SLOT);

	r->job = job;
	r->njobs = n;
}

/* --- admission --- */

/* The answer to a task of @cls: as core_admit(). */
static inline int ask(struct sim_rig *rig, enum cr_class cls, cr_ns period,
		      cr_ns cost, struct cr_verdict *v)
{
	struct cr_task t = { .id = 100,
			     .cls = cls,
			     .period = period,
			     .rel_deadline = period,
			     .cost = { .mean = cost, .p99 = cost },
			     .weight = 1024 };

	rig_start(rig);
	memset(&t.cpus, 0xff, sizeof(t.cpus));
	return core_admit(sim_core(rig->sim), &t, v);
}

/* A rig that admits. */
static inline struct sim_rig *market(const char *opts, unsigned ncpu)
{
	struct sim_rig *rig = rig_on(opts, ncpu);

	rig->cfg.core.admission = true;
	return rig;
}

/* The numbers of explain() about @r's server. */
static inline cr_ns budget_of(struct rig_task *r)
{
	struct cr_kv kv[8];
	unsigned n = cr_sched_edf_hsb.explain(&r->st.core.task, kv, 8);

	for (unsigned i = 0; i < n; i++)
		if (strcmp(kv[i].key, "budget") == 0)
			return kv[i].value;
	fail_msg("explain() has no budget");
	return 0;
}

#endif
