/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A workload for simulator tests: tasks that release a job of known cost every
 * period, or at given times, with unbounded backlogs; every turn is noted, so
 * that a schedule can be compared with a golden string, and misses, lateness
 * and service are counted per task.
 */
#ifndef TESTS_SIM_RIG_H
#define TESTS_SIM_RIG_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmocka_cr.h"
#include "sim/sim.h"

struct sim_job {
	cr_ns at, cost, deadline; /* deadline is absolute */
};

struct sim_rig;

/** A task: either periodic (task.period, @cost) or @job[@njobs]. */
struct rig_task {
	struct sim_task st;
	struct sim_rig *rig;
	const struct sim_job *job;
	unsigned njobs;
	cr_ns offset, cost;
	uint64_t arrived, claimed, done;
	/* results */
	uint64_t missed; /* jobs done late */
	cr_ns tardiness; /* the most */
	cr_ns response;	 /* the longest, arrival to end */
	uint64_t cancelled;
	bool gone;
};

struct sim_rig {
	struct sim_config cfg;
	struct sim *sim;
	struct rig_task *task; /* [ntasks] */
	unsigned ntasks, room;
	const void *user; /* the test's, for rig_add_with()'s @change */
};

static inline struct rig_task *rig_task_of(struct core_task *t)
{
	return CR_CONTAINER_OF(t, struct rig_task, st.core);
}

static inline struct sim_job rig_job(const struct rig_task *r, uint64_t k)
{
	const struct cr_task *t = &r->st.core.task;
	struct sim_job j;

	if (r->job)
		return r->job[k];
	j.at = r->offset + (cr_ns)k * t->period;
	j.cost = r->cost;
	j.deadline = cr_ns_add(j.at, t->rel_deadline);
	return j;
}

static inline bool rig_peek(struct core_task *t, struct cr_job *job)
{
	struct rig_task *r = rig_task_of(t);
	struct sim_job j;

	if (r->claimed == r->arrived)
		return false;
	j = rig_job(r, r->claimed);
	job->seq = r->claimed;
	job->arrival = job->eligible = j.at;
	job->deadline = j.deadline;
	return true;
}

/* Deadlines are counted from logical arrivals, so they show those. */
static inline bool rig_peek_logical(struct core_task *t, struct cr_job *job)
{
	if (!rig_peek(t, job))
		return false;
	job->eligible = job->deadline - t->task.rel_deadline;
	return true;
}

static inline bool rig_claim(struct core_task *t, uint64_t seq)
{
	struct rig_task *r = rig_task_of(t);

	assert_int_equal(seq, r->claimed);
	r->claimed++;
	return true;
}

static inline void rig_shed(struct core_task *t, const struct cr_job *job,
			    enum cr_outcome why, cr_ns now)
{
	(void)job, (void)why, (void)now;
	rig_task_of(t)->cancelled++;
}

static inline cr_ns rig_arrive(void *arg, struct sim_task *t, cr_ns now)
{
	struct rig_task *r = rig_task_of(&t->core);

	(void)arg;
	do
		r->arrived++;
	while ((!r->job || r->arrived < r->njobs) &&
	       rig_job(r, r->arrived).at <= now);
	if (r->job && r->arrived == r->njobs)
		return CR_NEVER;
	return rig_job(r, r->arrived).at;
}

static inline cr_ns rig_cost(void *arg, struct sim_task *t)
{
	struct rig_task *r = rig_task_of(&t->core);

	(void)arg;
	return rig_job(r, r->claimed - 1).cost;
}

static inline void rig_done(void *arg, struct sim_task *t, unsigned cpu,
			    cr_ns now)
{
	struct rig_task *r = rig_task_of(&t->core);
	struct sim_job j = rig_job(r, r->done++);

	(void)arg;
	assert_true(cr_cpus_has(&t->core.task.cpus, cpu));
	r->missed += now > j.deadline;
	r->tardiness = cr_ns_max(r->tardiness,
				 j.deadline == CR_NEVER ? 0 : now - j.deadline);
	r->response = cr_ns_max(r->response, now - j.at);
}

static inline void rig_gone(void *arg, struct sim_task *t)
{
	(void)arg;
	rig_task_of(&t->core)->gone = true;
}

/** Get ready for up to @room tasks under @ops on @ncpu CPUs, one run queue,
 * full preemption, no overheads, no admission; change rig->cfg before the first
 * rig_add() to have it otherwise. */
static inline struct sim_rig *rig_new(const struct cr_sched_ops *ops,
				      const char *opts, unsigned ncpu,
				      unsigned room)
{
	struct sim_rig *rig = calloc(1, sizeof(*rig));

	assert_non_null(rig);
	rig->cfg = (struct sim_config){
		.core = { .ops = ops, .opts = opts, .ncpu = ncpu },
		.preempt = SIM_FULL,
		.client = { .backlog = { rig_peek, rig_claim, rig_shed },
			    .arrive = rig_arrive,
			    .cost = rig_cost,
			    .done = rig_done,
			    .gone = rig_gone,
			    .arg = rig },
	};
	rig->room = room;
	rig->task = calloc(room, sizeof(*rig->task));
	assert_non_null(rig->task);
	return rig;
}

static inline void rig_start(struct sim_rig *rig)
{
	struct cr_err e = { 0 };

	if (!rig->sim && sim_open(&rig->sim, &rig->cfg, 0, &e))
		fail_msg("%s", e.text);
}

/** A task of the next id, CR_SOFT, all CPUs, period @period, @cost a job; what
 * @change (may be NULL) does to it comes before admission. Returns it, or NULL
 * when it was refused. */
static inline struct rig_task *rig_add_with(struct sim_rig *rig, cr_ns period,
					    cr_ns cost,
					    void (*change)(struct rig_task *r))
{
	struct rig_task *r = &rig->task[rig->ntasks];
	struct cr_task *t = &r->st.core.task;
	struct cr_verdict v;

	rig_start(rig);
	assert_true(rig->ntasks < rig->room);
	*r = (struct rig_task){ .rig = rig, .cost = cost };
	t->id = rig->ntasks + 1;
	t->cls = CR_SOFT;
	t->period = t->rel_deadline = period;
	t->cost = (struct cr_cost){ .mean = cost, .p99 = cost };
	t->weight = 1024;
	memset(&t->cpus, 0xff, sizeof(t->cpus));
	if (change)
		change(r);
	if (sim_add(rig->sim, &r->st, &v))
		return NULL;
	rig->ntasks++;
	sim_arrive_at(rig->sim, &r->st, rig_job(r, 0).at);
	return r;
}

static inline struct rig_task *rig_add(struct sim_rig *rig, cr_ns period,
				       cr_ns cost)
{
	return rig_add_with(rig, period, cost, NULL);
}

static inline void rig_set_nice(struct rig_task *r)
{
	const int *nice = r->rig->user;

	r->st.core.task.nice = *nice;
}

/** As rig_add() with a nice value; a refusal fails the test. */
static inline struct rig_task *rig_add_nice(struct sim_rig *rig, int nice,
					    cr_ns period, cr_ns cost)
{
	struct rig_task *r;

	rig->user = &nice;
	r = rig_add_with(rig, period, cost, rig_set_nice);
	rig->user = NULL;
	assert_non_null(r);
	return r;
}

/** A task with the jobs @job[@n], in order of arrival; they must outlive it. */
static inline struct rig_task *rig_add_jobs(struct sim_rig *rig,
					    const struct sim_job *job,
					    unsigned n)
{
	struct rig_task *r = rig_add(rig, CR_SEC, 1);

	assert_non_null(r);
	r->job = job;
	r->njobs = n;
	sim_arrive_at(rig->sim, &r->st, job[0].at);
	return r;
}

/** Which task runs on engine CPU @cpu now: 'A' for the first; '.': none. */
static inline char rig_running(struct sim_rig *rig, unsigned cpu)
{
	struct cr_rq *rq = core_rq_of(sim_core(rig->sim), cpu);
	const struct cr_task *t = rq->cpu[cpu - rq->first_cpu].running;

	return t ? (char)('A' + (t->id - 1)) : '.';
}

/** The schedule of @cpu's next slots of @slot ns each, as many as @out (a
 * string) is long: who runs in the middle of the slot. Other CPUs go on. */
static inline void rig_trace(struct sim_rig *rig, cr_ns slot, unsigned ncpu,
			     char out[][128], unsigned slots)
{
	rig_start(rig);
	for (unsigned i = 0; i < slots; i++) {
		cr_ns at = sim_now(rig->sim);

		sim_run(rig->sim, at + slot / 2 + 1);
		for (unsigned c = 0; c < ncpu; c++) {
			out[c][i] = rig_running(rig, c);
			out[c][i + 1] = 0;
		}
		sim_run(rig->sim, at + slot);
	}
}

static inline uint64_t rig_misses(const struct sim_rig *rig)
{
	uint64_t n = 0;

	for (unsigned i = 0; i < rig->ntasks; i++)
		n += rig->task[i].missed;
	return n;
}

static inline void rig_free(struct sim_rig *rig)
{
	for (unsigned i = 0; i < rig->ntasks; i++)
		if (!rig->task[i].gone)
			sim_abandon(rig->sim, &rig->task[i].st);
	sim_close(rig->sim);
	free(rig->task);
	free(rig);
}

/** The end of a run: fifo did not have to stand in. */
static inline void rig_finish(struct sim_rig *rig)
{
	struct core *core = sim_core(rig->sim);

	for (unsigned i = 0; i < core_nrq(core); i++)
		if (core_counts(core, core_rq(core, i)).faults)
			fail_msg("%s,%s breaks its contract",
				 rig->cfg.core.ops->name,
				 rig->cfg.core.opts ? rig->cfg.core.opts : "");
	rig_free(rig);
}

#endif
