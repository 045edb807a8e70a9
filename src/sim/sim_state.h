/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the simulated driver is made of; for sim.c, sim_open.c and sim_steal.c
 * only.
 */
#ifndef SIM_SIM_STATE_H
#define SIM_SIM_STATE_H

#include <stdalign.h>

#include "sim/pool.h"
#include "sim/event_queue.h"
#include "sim/event_row.h"
#include "sim/sim.h"

/* Aligned: neighbours may belong to run queues of two threads. */
struct sim_cpu {
	alignas(64) const struct sim_task *last; /**< ran here before; may be
						      gone: only compared */
	uint32_t last_id;
	cr_ns overhead; /**< at the begin of the turn in progress */
	struct sim_cpu_stats stats;
};

/** A run queue with its events and its time. */
struct sim_rq {
	alignas(64) struct cr_rq *rq;
	unsigned part;
	struct event_row ends; /**< by rq->cpu[]: the job there, or its slice,
				     ends */
	struct event_queue arrivals; /**< by slot */
	struct sim_cpu *cpu;	     /**< [rq->ncpu] */
	struct sim_task **task;	     /**< [slots], NULL: free */
	uint32_t *vacant;	     /**< [nvacant] slots to be used again */
	uint32_t slots, nvacant, room;
	cr_ns now;
	cr_ns unlocked;		 /**< the lock is held until then */
	cr_ns look;		 /**< at kicks and idle CPUs; CR_NEVER */
	struct cr_cpus idle;	 /**< rq->cpu[] indexes */
	struct core_task **todo; /**< [rq->ncpu] stopped, to be enqueued
				      again */
	unsigned ntodo;
};

struct sim {
	struct sim_config cfg;
	uint16_t line[64]; /**< [nlines] where in a task is what every job
				needs; in fours */
	unsigned nlines;
	size_t added; /**< tasks, ever */
	struct core *core;
	struct sim_rq *rq; /**< [nrq] */
	unsigned nrq, nparts;
	struct sim_cpu *cpus; /**< [core.ncpu], shared out to the run queues */
	cr_ns now, until;     /**< until: of the sim_run() under way */
	struct pool *pool;
	struct event_heap next; /**< by run queue, while they run jointly */
};

/** When something happens in @q. */
cr_ns sim_next(const struct sim_rq *q);
/** All that happens in @q at q->now. */
void sim_instant(struct sim *s, struct sim_rq *q);
/** Idle CPUs of @q pick. */
void sim_pick(struct sim *s, struct sim_rq *q);

/** Room for one more task in @q. 0 or -ENOMEM. */
int sim_make_room(struct sim_rq *q);

/** Does the policy steal from one run queue for another? */
bool sim_steals(const struct sim *s);
/** Run all run queues up to s->until as one, idle CPUs stealing. */
void sim_run_jointly(struct sim *s);

#endif
