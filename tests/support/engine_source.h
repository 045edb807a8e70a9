/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A backlog for engine tests: frames are bare sequence numbers in a bounded
 * drop-oldest queue, with exact counts of what became of them. One producer,
 * one consumer (under the run queue's lock), lock-free.
 */
#ifndef TESTS_ENGINE_SOURCE_H
#define TESTS_ENGINE_SOURCE_H

#include <stdatomic.h>

#include "engine/live.h"

#define SOURCE_SLOTS 4096u

struct source {
	struct live_task task;
	unsigned room;
	_Atomic uint64_t head, tail; /* frames [head, tail) wait */
	_Atomic cr_ns arrival[SOURCE_SLOTS];
	cr_ns rel_deadline;
	uint8_t importance; /* of every frame */
	bool must_keep;	    /* is every frame */
	struct shed_call shed_call;
	uint64_t dropped;	  /* producer's */
	_Atomic uint64_t done;	  /* client's run() */
	_Atomic uint64_t expired; /* of these, marked expired */
	_Atomic uint64_t shed[CR_NOUTCOMES];
	_Atomic uint64_t last_seq; /* 1 + last one done: order */
	_Atomic int running, gone;
};

static inline struct source *source_of(struct core_task *t)
{
	return CR_CONTAINER_OF(t, struct source, task.core);
}

static inline void source_init(struct source *s, uint32_t id, unsigned room,
			       unsigned ncpu)
{
	struct cr_task *t = &s->task.core.task;

	s->room = room;
	s->rel_deadline = 20 * CR_MS;
	t->id = id;
	t->cls = CR_SOFT;
	t->period = 20 * CR_MS;
	t->rel_deadline = 20 * CR_MS;
	t->cost = (struct cr_cost){ .mean = 100 * CR_US, .p99 = 150 * CR_US };
	t->weight = 1024;
	for (unsigned c = 0; c < ncpu; c++)
		cr_cpus_add(&t->cpus, c);
}

/* Producer. True: the oldest frame was dropped for it. */
static inline bool source_push(struct source *s, cr_ns arrival)
{
	uint64_t tail = atomic_load(&s->tail), head = atomic_load(&s->head);
	bool dropped = false;

	if (tail - head >= s->room &&
	    atomic_compare_exchange_strong(&s->head, &head, head + 1)) {
		s->dropped++;
		dropped = true;
	}
	atomic_store(&s->arrival[tail % SOURCE_SLOTS], arrival);
	atomic_store(&s->tail, tail + 1);
	return dropped;
}

static inline bool source_peek(struct core_task *t, struct cr_job *job)
{
	struct source *s = source_of(t);
	uint64_t head = atomic_load(&s->head);

	if (head >= atomic_load(&s->tail))
		return false;
	job->seq = head;
	job->arrival = atomic_load(&s->arrival[head % SOURCE_SLOTS]);
	job->eligible = job->arrival;
	job->importance = s->importance;
	job->must_keep = s->must_keep;
	job->deadline = cr_ns_add(job->arrival, s->rel_deadline);
	return true;
}

static inline bool source_claim(struct core_task *t, uint64_t seq)
{
	return atomic_compare_exchange_strong(&source_of(t)->head, &seq,
					      seq + 1);
}

static inline void source_shed(struct core_task *t, const struct cr_job *job,
			       enum cr_outcome why, cr_ns now)
{
	(void)job, (void)now;
	atomic_fetch_add(&source_of(t)->shed[why], 1);
}

static const struct core_backlog source_backlog = { source_peek, source_claim,
						    source_shed };

/* Frames that came out one way or another, and those still waiting. */
static inline uint64_t source_accounted(struct source *s)
{
	uint64_t n = s->dropped + s->done;

	for (unsigned i = 0; i < CR_NOUTCOMES; i++)
		n += s->shed[i];
	return n + (s->tail - s->head);
}

#endif
