/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The core: life cycle of tasks and jobs on run queues, for both drivers.
 *
 * It owns the state machine drawn in cr/sched.h, checks it, and talks to the
 * policy and to the tasks' backlogs. It has no threads, no locks and no clock:
 * the live driver calls it with the run queue's lock held, the simulator from
 * its one thread. No scheduling logic lives here.
 *
 * Lock order of the live driver: run queues by rising id; nothing else is
 * taken below a run-queue lock, and nothing there blocks.
 */
#ifndef ENGINE_CORE_H
#define ENGINE_CORE_H

#include "cr/error.h"
#include "cr/sched.h"
#include "cr/trace.h"

struct core_task;

/** What to do with a frame that is too old when its turn comes. */
enum core_stale {
	CORE_STALE_SHED,   /**< drop it here, count it, pick again           */
	CORE_STALE_CONCEAL /**< hand it out marked stale: the driver's client
				sends NO_DATA or concealment instead          */
};

/** The backlog of a task, as its owner (a call, a workload model) sees it. */
struct core_backlog {
	/** Describe the oldest waiting frame: seq, arrival, eligible and
	 * deadline of @job. False: nothing waits. */
	bool (*peek)(struct core_task *t, struct cr_job *job);
	/** Take frame @seq out, which was the oldest. False: it is gone. */
	bool (*claim)(struct core_task *t, uint64_t seq);
	/** Frame @job was claimed and then shed (CR_OUT_STALE) or cancelled
	 * at @now. May be NULL. */
	void (*shed)(struct core_task *t, const struct cr_job *job,
		     enum cr_outcome why, cr_ns now);
};

/** A task with what the core needs around it. Embed it; zero, fill, add. */
struct core_task {
	struct cr_task task; /**< owner fills the constant part */
	const struct core_backlog *backlog;
	bool stale; /**< the running job is too old (CORE_STALE_CONCEAL) */
};

static inline struct core_task *core_task_of(struct cr_task *t)
{
	return (struct core_task *)(void *)((unsigned char *)t -
					    offsetof(struct core_task, task));
}

/** What an engine is made of. */
struct core_config {
	const struct cr_sched_ops *ops;
	const char *opts;     /**< "key=value,key=value" or NULL           */
	unsigned ncpu;	      /**< 1..CR_MAX_CPUS                          */
	unsigned cpus_per_rq; /**< 0: all (global); 1: partitioned; else
				   clustered, the last domain may be smaller */
	bool preemptible;
	bool admission;	      /**< false: core_admit() never says ENOSPC    */
	int64_t capacity_ppm; /**< guard per CPU for policies without admit;
				   0: CR_PPM                               */
	cr_ns max_age[CR_NCLASSES]; /**< 0: frames never get too old          */
	enum core_stale stale[CR_NCLASSES];
};

#endif
