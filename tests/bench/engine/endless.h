/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls whose next frame always waits, for benchmarks: with @n of them, jobs
 * of ENDLESS_JOB and half of the calls three times as fast as the others, one
 * CPU is exactly busy, so deadlines keep up with time.
 */
#ifndef BENCH_ENGINE_ENDLESS_H
#define BENCH_ENGINE_ENDLESS_H

#include <stdatomic.h>
#include <stdlib.h>

#include "engine/live.h"

/* CPU time of a job: a turn of every policy that has turns of 1 ms. */
#define ENDLESS_JOB CR_MS

struct endless {
	struct live_task task;
	const struct endless_clock *clock;
	uint64_t next;
	cr_ns phase;
};

/** What all of them look at. */
struct endless_clock {
	cr_ns now; /* no frame arrives in the future; CR_NEVER: free run */
	atomic_bool dry; /* a measurement ends by nothing waiting any more */
};

static inline struct endless *endless_of(struct core_task *t)
{
	return (struct endless *)(void *)((unsigned char *)t -
					  offsetof(struct endless, task.core));
}

static inline bool endless_peek(struct core_task *t, struct cr_job *job)
{
	struct endless *x = endless_of(t);

	if (atomic_load_explicit(&x->clock->dry, memory_order_relaxed))
		return false;
	job->seq = x->next;
	job->arrival = cr_ns_min(x->phase + (cr_ns)x->next * t->task.period,
				 x->clock->now);
	job->eligible = job->arrival;
	job->deadline = job->arrival + t->task.rel_deadline;
	return true;
}

static inline bool endless_claim(struct core_task *t, uint64_t seq)
{
	endless_of(t)->next = seq + 1;
	return true;
}

static const struct core_backlog endless_backlog = { endless_peek,
						     endless_claim, NULL };

/** @n of them on engine CPU 0, ids from 0, not yet added; free() them. */
static inline struct endless *endless_tasks(unsigned n,
					    const struct endless_clock *clock)
{
	struct endless *x = calloc(n, sizeof(*x));

	for (unsigned i = 0; x && i < n; i++) {
		struct cr_task *t = &x[i].task.core.task;

		x[i].task.core.backlog = &endless_backlog;
		x[i].clock = clock;
		t->id = i;
		t->cls = CR_SOFT;
		t->period = 2 * (cr_ns)n * ENDLESS_JOB / (i % 2 ? 3 : 1);
		t->rel_deadline = t->period;
		t->cost.mean = t->cost.p99 = ENDLESS_JOB;
		t->weight = 1024;
		cr_cpus_add(&t->cpus, 0);
		x[i].phase =
			(cr_ns)(i * UINT64_C(2654435761) % (uint64_t)t->period);
	}
	return x;
}

#endif
