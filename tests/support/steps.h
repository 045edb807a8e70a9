/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A tiny stepping harness for policies: time goes in slots of one, jobs are
 * rows of a table, and the answer is a string with a letter per slot and CPU,
 * such as "AABBA.". It stops, enqueues, ticks and picks in the order that
 * cr/sched.h promises, and preempts at slices and kicks when asked to.
 */
#ifndef TESTS_STEPS_H
#define TESTS_STEPS_H

#include <stdlib.h>
#include <string.h>

#include "cmocka_cr.h"
#include "engine/core.h"

enum { STEPS_TASKS = 16, STEPS_CPUS = 4, STEPS_SLOTS = 4096 };

/** One job; a task's jobs are in order of @at. */
struct step_job {
	cr_ns at, cost, deadline; /* deadline is absolute */
};

struct step_task {
	struct core_task core;
	const struct step_job *job;
	unsigned njobs, arrived, claimed;
};

struct steps {
	const struct cr_sched_ops *ops;
	const char *opts;
	unsigned ncpu, ntasks;
	bool preemptible;
	cr_ns max_age; /* older jobs are shed; 0: none */
	struct step_task task[STEPS_TASKS];
	/* results */
	char line[STEPS_CPUS][STEPS_SLOTS + 1];
	unsigned misses, completed;
};

static inline struct step_task *step_task_of(struct core_task *t)
{
	return (struct step_task *)(void *)t;
}

static inline bool steps_peek(struct core_task *t, struct cr_job *job)
{
	struct step_task *s = step_task_of(t);

	if (s->claimed == s->arrived)
		return false;
	job->seq = s->claimed;
	job->arrival = job->eligible = s->job[s->claimed].at;
	job->deadline = s->job[s->claimed].deadline;
	return true;
}

static inline bool steps_claim(struct core_task *t, uint64_t seq)
{
	struct step_task *s = step_task_of(t);

	assert_int_equal(seq, s->claimed);
	s->claimed++;
	return true;
}

static const struct core_backlog steps_backlog = { steps_peek, steps_claim,
						   NULL };

static inline struct step_task *steps_add(struct steps *s, enum cr_class cls,
					  const struct step_job *job,
					  unsigned njobs)
{
	struct step_task *t = &s->task[s->ntasks];
	struct cr_task *c = &t->core.task;

	t->job = job;
	t->njobs = njobs;
	t->core.backlog = &steps_backlog;
	c->id = s->ntasks++;
	c->cls = cls;
	c->period = c->rel_deadline = 1000;
	c->weight = 1024;
	for (unsigned cpu = 0; cpu < s->ncpu; cpu++)
		cr_cpus_add(&c->cpus, cpu);
	return t;
}

/* The job that the task's claim was for. */
static inline const struct step_job *steps_job(const struct core_task *t)
{
	return &((const struct step_task *)(const void *)t)
			->job[t->task.job.seq];
}

/* Stops are delivered first, the enqueues they lead to after all of them. */
static inline void steps_stop(struct steps *s, struct core *c, cr_ns now)
{
	struct cr_rq *rq = core_rq(c, 0);
	struct core_task *again[STEPS_CPUS];
	unsigned n = 0;

	for (unsigned cpu = 0; cpu < s->ncpu; cpu++) {
		struct cr_task *t = rq->cpu[cpu].running;
		cr_ns ran = t ? now - rq->cpu[cpu].since : 0;
		enum cr_stop why = CR_STOP_DONE;

		if (!t)
			continue;
		if (t->job.ran + ran < steps_job(core_task_of(t))->cost) {
			if (!s->preemptible)
				continue;
			if (cr_cpus_has(&rq->kick, cpu))
				why = CR_STOP_PREEMPT;
			else if (t->slice != CR_NEVER && ran >= t->slice)
				why = CR_STOP_SLICE;
			else
				continue;
		}
		if (why == CR_STOP_DONE) {
			s->completed++;
			s->misses += now > steps_job(core_task_of(t))->deadline;
		}
		again[n++] = core_stop(c, rq, cpu, ran, why, now);
	}
	for (unsigned i = 0; i < n; i++)
		(void)core_again(c, again[i], now);
}

static inline void steps_release(struct steps *s, struct core *c, cr_ns now)
{
	for (unsigned i = 0; i < s->ntasks; i++) {
		struct step_task *t = &s->task[i];

		while (t->arrived < t->njobs && t->job[t->arrived].at == now)
			t->arrived++;
		if (t->core.task.state == CR_IDLE)
			(void)core_release(c, &t->core, now);
	}
}

static inline void steps_pick(struct steps *s, struct core *c, cr_ns now)
{
	struct cr_rq *rq = core_rq(c, 0);

	for (unsigned cpu = 0; cpu < s->ncpu; cpu++) {
		if (!rq->cpu[cpu].running)
			(void)core_pick(c, rq, cpu, now);
		s->line[cpu][now] = '.';
		if (rq->cpu[cpu].running)
			s->line[cpu][now] =
				(char)('A' + rq->cpu[cpu].running->id);
	}
}

/** Run @slots slots from time 0. */
static inline void steps_run(struct steps *s, cr_ns slots)
{
	struct core_config cfg = { .ops = s->ops,
				   .opts = s->opts,
				   .ncpu = s->ncpu,
				   .preemptible = s->preemptible,
				   .max_age = { s->max_age, s->max_age,
						s->max_age } };
	struct core *c;
	struct cr_err e = { "" };

	assert_true(slots <= STEPS_SLOTS);
	if (core_open(&c, &cfg, 0, &e))
		fail_msg("%s", e.text);
	for (unsigned i = 0; i < s->ntasks; i++)
		core_add(c, &s->task[i].core, 0, 0);
	for (cr_ns now = 0; now < slots; now++) {
		steps_stop(s, c, now);
		steps_release(s, c, now);
		(void)core_tick(c, core_rq(c, 0), now);
		/* an enqueue may have kicked: stop those, then pick */
		steps_stop(s, c, now);
		steps_pick(s, c, now);
	}
	for (unsigned cpu = 0; cpu < s->ncpu; cpu++) {
		s->line[cpu][slots] = '\0';
		if (core_rq(c, 0)->cpu[cpu].running)
			(void)core_stop(c, core_rq(c, 0), cpu, 0,
					CR_STOP_PREEMPT, slots);
	}
	for (unsigned i = 0; i < s->ntasks; i++)
		core_del(c, &s->task[i].core, slots);
	core_close(c);
}

#endif
