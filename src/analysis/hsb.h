/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The analysis of EDF-HSB: hard tasks partitioned on top, one budget server
 * for each soft task and some for best effort under global EDF below them.
 * Sections, theorems and constraints are those of Kenna, Herman, Brandenburg,
 * Mills and Anderson, "Soft Real-Time on Multiprocessors: Are Analysis-Based
 * Schedulers Really Worth It?" (RTSS 2011).
 *
 * Times are in ns and shares of one CPU in 1.0, both as double: this is
 * arithmetic for people; the policy (schedulers/edf_hsb.c) has its own in
 * integers.
 *
 * Thread rule: pure functions of their arguments; any thread.
 */
#ifndef ANALYSIS_HSB_H
#define ANALYSIS_HSB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cr/sched.h"
#include "schedulers/edf_hsb_opts.h"

/** So many equal tasks. */
struct hsb_flow {
	uint64_t count;	 /**< >= 1                                        */
	double period;	 /**< > 0                                         */
	double deadline; /**< relative, > 0                               */
	double worst;	 /**< of a job; soft: only where frames are whole */
	double mean, sd; /**< soft: of independent jobs                   */
	double budget;	 /**< soft: of its servers; 0: hsb_budgets() says */
};

/** The servers of best-effort work. */
struct hsb_best_effort {
	uint64_t servers;
	double budget, period;
};

struct hsb_system {
	unsigned ncpu;
	const struct hsb_flow *hard; /**< [nhard] */
	size_t nhard;
	struct hsb_flow *soft; /**< [nsoft] */
	size_t nsoft;
	struct hsb_best_effort be;
	/** The longest frame of anybody, where frames are not cut (live); 0:
	 * they are, as in the paper. */
	double frame;
};

/** One of the paper's constraints: value <= (3 and 4: <) limit. */
struct hsb_constraint {
	double value, limit;
	bool met;
};

/** The load of the tasks on the CPUs. */
struct hsb_partition {
	double load[CR_MAX_CPUS];   /**< sum of C / min(D, T)             */
	double util[CR_MAX_CPUS];   /**< sum of C / T                     */
	double demand[CR_MAX_CPUS]; /**< sum of C, the paper's w          */
};

/** All that is known about a system once its budgets are. */
struct hsb_report {
	struct hsb_partition partition;
	double capacity; /**< c: CPUs less what hard tasks use */
	/** 1: the fullest CPU's hard load; 2: all that is reserved; 3: the
	 * largest share of a server (limit: infinite on one CPU); 4: the
	 * largest mean / budget. */
	struct hsb_constraint constraint[4];
	bool schedulable;     /**< all four are met */
	double be_throughput; /**< CPUs that best effort gets at least */
};

/** The bounds of a soft flow. Infinite where a constraint is not met. */
struct hsb_bound {
	double deterministic; /**< Theorem 2: its server is late by at most */
	/** Theorem 3: and its jobs on average by so much more; 0 where every
	 * job is alike and fits the budget. */
	double stochastic;
	double tardiness; /**< Corollary 1: the sum                     */
	double lateness;  /**< behind the jobs' own deadlines, >= 0     */
	double frames;	  /**< equation (4): buffer, in periods, >= 1   */
	double buffer;	  /**< the same as a time                       */
};

/**
 * Fill the budgets of all soft flows by the largest-feasible-budget rule: mean
 * times the largest factor, the same for all, that Constraint 2 allows and that
 * keeps every share @epsilon (of a CPU) below Constraint 3's limit. For equal
 * flows this is equation (3). Never above the period. Returns the factor; below
 * or at 1 Constraint 4 cannot be met.
 */
double hsb_budgets(struct hsb_system *s, double epsilon);

/** The servers that the policy has with options @o on a run queue of @ncpu. */
struct hsb_best_effort hsb_best_effort_of(const struct hsb_opts *o,
					  unsigned ncpu);

/** Everything about the system; budgets are filled. */
struct hsb_report hsb_analyse(const struct hsb_system *s);

/** Theorem 2: a server of @budget is late by at most this, whole frames
 * counted. Infinite where constraint 2 or 3 is not met. */
double hsb_server_tardiness(const struct hsb_system *s,
			    const struct hsb_report *r, double budget);

/** The bound of soft flow @i of @s, of which @r is the report. */
struct hsb_bound hsb_bound_of(const struct hsb_system *s,
			      const struct hsb_report *r, size_t i);

#endif
