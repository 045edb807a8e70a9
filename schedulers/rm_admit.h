/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Admission for fixed priorities: class first, then period, then id; the
 * tests of rm. Tasks count by cr_task_demand(), best effort only as what
 * blocks.
 *
 * exact         Every task's longest response is at most min(D, T). One CPU:
 *               the critical instant (Joseph and Pandya 1986); where frames
 *               are not cut, blocked by the longest of lower priority, for all
 *               jobs of the busy period (Davis, Burns, Bril, Lukkien 2007).
 *               Necessary and sufficient for sporadic tasks. M CPUs: there is
 *               no critical instant (Dhall), so all work of higher priority is
 *               shared out, with a job of each carried in, which is sufficient:
 *               R = C + (sum of (ceil(R / T) + 1) * C) / M.
 * liu-layland   sum U + B / Tmin <= n (2^(1/n) - 1), the 1996 paper's
 * hyperbolic    product of (U + 1), times (1 + B / Tmin), <= 2 (Bini, Buttazzo)
 *
 * The last two are for one CPU and deadlines not before the next release; they
 * speak about hard and soft tasks together as long as periods order them, and
 * as class comes first they are taken twice: over the hard tasks, with B the
 * longest of any other class, and over all. The second keeps soft tasks in
 * time when no hard one with a longer period is there.
 *
 * A hard task must be allowed on every CPU of its run queue, which the tests
 * take for granted; of others they speak by averages, whatever their CPU mask.
 */
#ifndef SCHEDULERS_RM_ADMIT_H
#define SCHEDULERS_RM_ADMIT_H

#include "cr/sched.h"
#include "cr/tree.h"

enum rm_test { RM_EXACT, RM_LIU_LAYLAND, RM_HYPERBOLIC };

/** All tasks of one class and period. */
struct rm_level {
	RB_ENTRY(rm_level) node;
	enum cr_class cls;
	cr_ns period, cost; /**< sum of costs */
};

RB_HEAD(rm_levels, rm_level);

/** A task among those of its run queue. */
struct rm_member {
	RB_ENTRY(rm_member) node;
	struct rm_level level; /**< in the tree for the first of its level */
};

RB_HEAD(rm_members, rm_member);

/** First member of the run queue's memory; starts zeroed. */
struct rm_admitted {
	struct rm_members members; /**< by priority */
	struct rm_levels levels;
};

/** First member of the options. */
struct rm_admit_opts {
	int64_t test;
};

/** The cost that @t is tested with; also rm_member's level.cost. */
cr_ns rm_cost(const struct cr_task *t);

/** An admit() callback: the run queue with the least load that passes. */
int rm_admit(const struct cr_sched *s, const struct cr_task *t,
	     struct cr_verdict *v);

/** A promise() callback: by the exact test, of those that are there now. */
void rm_promise(const struct cr_task *t, struct cr_promise *p);

/** For task_add() and task_del(). The member is the first of @t's private
 * memory. */
void rm_join(struct rm_admitted *a, struct cr_task *t);
void rm_leave(struct rm_admitted *a, struct cr_task *t);

/** For check(). */
bool rm_admitted_check(const struct rm_admitted *a);

#endif
