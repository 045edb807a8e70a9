/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The simulated driver: the core under a virtual clock, with preemption and
 * with the overheads of a machine. No workload in here: when frames come, what
 * they cost and what becomes of them is the client's.
 *
 * Every run queue has its own events and its own course of time between two
 * calls of sim_run(): nothing one does reaches another. So several threads may
 * run them, and it makes no difference. At one instant of a run queue happen,
 * in this order: all stops, all enqueues (those stopped, then arrivals by
 * task), the tick, preemptions, and the picks by rising CPU.
 *
 * Unless the policy steals. Then all run queues go through time together, in
 * one thread, and at the end of every instant each CPU that is idle still, by
 * rising number, is offered the queues of others, the longest first.
 *
 * Overheads lengthen the turn in which they occur and count as its service,
 * as on a machine.
 *
 * Thread rule: one thread. In sim_run() callbacks of the client may come from
 * several, those of one part (sim_part_of()) from one at a time.
 */
#ifndef SIM_SIM_H
#define SIM_SIM_H

#include "engine/core.h"

struct sim;

/** When a running job can be interrupted. */
enum sim_preempt {
	SIM_FRAME,   /**< never: as live workers do                           */
	SIM_QUANTUM, /**< on a grid of sim_config.quantum                     */
	SIM_FULL     /**< at any instant                                      */
};

/** In place of the turns of others on a CPU: the task did not run there before,
 * or elsewhere since. */
#define SIM_COLD UINT64_MAX

/** A task under the simulator. Embed it; zero before sim_add(). */
struct sim_task {
	struct core_task core;

	/* the simulator's */
	uint32_t slot;	 /**< its number in its run queue                 */
	uint32_t rq;	 /**< index of its run queue                      */
	cr_ns left;	 /**< CPU time its claimed job still needs        */
	cr_ns first;	 /**< when that job was first picked              */
	cr_ns pending;	 /**< release overhead not yet charged            */
	cr_ns stolen;	 /**< of what cost() said, which may set it: no service
			      of the job, for something else had the CPU  */
	int cpu;	 /**< rq->cpu[] index where it last ran, or -1    */
	unsigned moves;	 /**< times that job changed the CPU              */
	unsigned splits; /**< times it was interrupted                    */
	uint64_t seq;	 /**< of that job                                 */
	uint64_t turn;	 /**< of its CPU, its last one there              */
	uint64_t others; /**< turns of others on its CPU since then, or
			      SIM_COLD; for cost()                        */
	bool started;	 /**< @left is known                              */
	bool leaving;	 /**< sim_remove() while it ran                   */
};

/** CPU time that the machine takes for itself, ns each. */
struct sim_overhead {
	cr_ns decision;	 /**< one pick                                    */
	cr_ns context;	 /**< the CPU goes over to another task           */
	cr_ns migration; /**< the task comes from another CPU             */
	cr_ns release;	 /**< a job becomes ready                         */
	cr_ns lock;	 /**< a pick holds its run queue's lock so long;
			      CPUs that want it meanwhile wait their turn  */
};

/** The client: the workload. */
struct sim_client {
	struct core_backlog backlog;
	/** The time that was set for @t has come: put what arrives into its
	 * backlog, and return when it is to be called next (> @now), or
	 * CR_NEVER. */
	cr_ns (*arrive)(void *arg, struct sim_task *t, cr_ns now);
	/** CPU time that the claimed job of @t takes in all, > 0; it is about
	 * to begin, @t->others turns after the one before it. */
	cr_ns (*cost)(void *arg, struct sim_task *t);
	/** The job of @t is complete; it was last on engine CPU @cpu. The
	 * client may sim_arrive_at(). */
	void (*done)(void *arg, struct sim_task *t, unsigned cpu, cr_ns now);
	/** @t has left after sim_remove(). */
	void (*gone)(void *arg, struct sim_task *t);
	/** The policy broke its contract at @now: the fallback goes on in that
	 * run queue, and in all of them when sim_run() returns. May be NULL. */
	void (*faulty)(void *arg, const struct core_fault *fault, cr_ns now);
	void *arg;
	/** Cache lines of the memory behind a struct sim_task that every job
	 * needs, as sim_lines(); 0: nothing. The simulator fetches it into the
	 * cache in good time. */
	uint64_t lines;
};

/** The cache lines of bytes @from..@to - 1 of something: bit n is its n-th.
 * @from < @to <= 4096. */
static inline uint64_t sim_lines(size_t from, size_t to)
{
	return UINT64_MAX << from / 64 & UINT64_MAX >> (63 - (to - 1) / 64);
}

struct sim_config {
	struct core_config core; /**< preemptible is set by @preempt     */
	enum sim_preempt preempt;
	cr_ns quantum; /**< SIM_QUANTUM: grid, > 0                       */
	struct sim_overhead overhead;
	struct sim_client client;
	unsigned threads; /**< to run in, the caller's included; 0: 1        */
};

/** Statistics of one CPU. */
struct sim_cpu_stats {
	cr_ns busy;	   /**< running jobs, overheads included            */
	cr_ns overhead;	   /**< of it                                       */
	uint64_t picks;	   /**< turns                                       */
	uint64_t switches; /**< turns of another task than the last one's   */
	uint64_t migrations;
	uint64_t preemptions; /**< turns ended before the job               */
};

/** Start at time @now (>= 0). 0 and *@s; -EINVAL or -ENOMEM with @e. */
int sim_open(struct sim **s, const struct sim_config *cfg, cr_ns now,
	     struct cr_err *e);
/** All tasks must have gone. NULL is fine. */
void sim_close(struct sim *s);

/** Admit @t, whose constant part the caller has filled, at sim_now(). Returns
 * 0, or -ENOSPC, -EINVAL, -ENOMEM with @v as core_admit() filled it. */
int sim_add(struct sim *s, struct sim_task *t, struct cr_verdict *v);

/** @t leaves, at once or at the end of the job it runs; then gone() is called.
 */
void sim_remove(struct sim *s, struct sim_task *t);

/** @t leaves at once, between two calls of sim_run(). A job under way stays
 * undone (t->started is true in gone()), what waits is shed as
 * CR_OUT_CANCELLED. Others get its CPU in the next sim_run(). */
void sim_abandon(struct sim *s, struct sim_task *t);

/** Call arrive() for @t at @at (>= now of its run queue), not at the time set
 * before; CR_NEVER: not at all. */
void sim_arrive_at(struct sim *s, struct sim_task *t, cr_ns at);

/**
 * Let everything happen that is due before @until (excluded), in each run queue
 * for itself, and set every clock to @until. The farther away @until, the
 * longer a run queue's tasks stay in the cache.
 */
void sim_run(struct sim *s, cr_ns until);

/**
 * The run queues, and so the tasks, are dealt out to parts, neighbours to the
 * same one: what part a task that was added belongs to, and how many there are
 * (64 at most, however many threads). Any thread.
 */
unsigned sim_parts(const struct sim *s);
unsigned sim_part_of(const struct sim *s, const struct sim_task *t);

/** Have the threads of @s do @work(@arg, i) for every i below @n, in any order;
 * return when all is done. Not within sim_run(). */
void sim_share_out(struct sim *s, unsigned n,
		   void (*work)(void *arg, unsigned i), void *arg);

/** The time reached by the last sim_run(). */
cr_ns sim_now(const struct sim *s);

/** Replace the policy now; see core_switch_commit(). */
int sim_switch(struct sim *s, const struct cr_sched_ops *ops, const char *opts,
	       struct cr_err *e);

/** Let @t go on by other terms in its run queue; core_change(), between two
 * calls of sim_run(). */
int sim_change(struct sim *s, struct sim_task *t, const struct core_terms *to,
	       struct cr_verdict *v);

/** The core in it, to look at. */
struct core *sim_core(struct sim *s);

/** Of engine CPU @cpu, up to the last event. */
struct sim_cpu_stats sim_cpu_stats(const struct sim *s, unsigned cpu);

#endif
