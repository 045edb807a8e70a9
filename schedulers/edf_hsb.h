/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The common part of edf-hsb's files: servers, the run queue, the task.
 *
 *   edf_hsb.c         the order of all: pick, preemption, the contract
 *   edf_hsb_server.c  budgets, their renewal, slack; best effort's servers
 *   edf_hsb_admit.c   the constraints, the partition, the size of budgets
 *
 * A server is a budget every period. Those of tasks are in one tree at a time:
 *
 *            job comes, budget left                 budget used up
 *   OUT  ------------------------------> READY  -------------------+
 *     \                                    ^                       v
 *      +-- job comes, no budget left --> SPENT  <--- requeued -- (runs)
 *                                          |
 *                                          +-- its period ends: READY
 *
 * READY is the tree of its CPU for hard tasks and the run queue's for soft
 * ones. Best effort's servers are ACTIVE while they have budget and somebody
 * waits for it, SPENT otherwise, and in no tree while they serve.
 */
#ifndef SCHEDULERS_EDF_HSB_H
#define SCHEDULERS_EDF_HSB_H

#include <sys/queue.h>

#include "cr/sched.h"
#include "schedulers/edf_hsb_opts.h"
#include "cr/tree.h"
#include "schedulers/admission.h"

enum hsb_where { HSB_OUT, HSB_READY, HSB_SPENT };

struct hsb_server {
	RB_ENTRY(hsb_server) node;
	RB_ENTRY(hsb_server) slack_node;
	cr_ns rank;	/* orders node: a deadline, SPENT: the renewal       */
	cr_ns deadline; /* of its period, whose end renews the budget        */
	cr_ns left;	/* budget; below 0: overrun, to be paid back         */
	cr_ns slack;	/* what it gave away and nobody has used             */
	cr_ns spent_at; /* best effort's: when it last ran out of budget     */
	uint32_t id;
	uint8_t where; /* enum hsb_where */
	bool is_be, in_slack;
};

RB_HEAD(hsb_queue, hsb_server);	 /* by rank     */
RB_HEAD(hsb_slacks, hsb_server); /* by deadline */

struct hsb_task {
	struct hsb_server server; /* first: cr_task_of() */
	TAILQ_ENTRY(hsb_task) be; /* of those that wait                   */
	struct extreme frame;	  /* longest job; where jobs are not cut  */
	struct extreme size;	  /* soft: share; hard: minus the window  */
	int64_t util;		  /* ppm, as the constraints count it     */
	unsigned home;		  /* hard: its CPU                        */
	bool interrupted;	  /* by others, not by the end of a turn  */
};

_Static_assert(sizeof(struct hsb_task) <= CR_TASK_PRIV, "room in a task");

TAILQ_HEAD(hsb_be_queue, hsb_task);

/* On what a CPU's task runs. */
enum hsb_mode {
	HSB_IDLE, /* nothing that this policy has picked */
	HSB_HARD,
	HSB_OWN,	/* its own server's budget      */
	HSB_BE,		/* a best-effort server's       */
	HSB_SLACK,	/* what another has given away  */
	HSB_BACKGROUND, /* nobody's: the CPU was idle   */
};

struct hsb_cpu {
	struct hsb_queue hard;	    /* that wait, by deadline               */
	struct extremes windows;    /* of all its hard tasks, negative      */
	int64_t load;		    /* sum of C / min(D, T) of them, ppm    */
	enum hsb_mode mode;	    /* of what runs                         */
	cr_ns rank;		    /* its deadline in the global order     */
	struct hsb_server *charged; /* NULL: nobody (any more)              */
};

struct hsb_rq {
	struct hsb_queue ready, spent;	 /* soft tasks; hard ones: spent  */
	struct hsb_queue active, rested; /* best effort's servers         */
	struct hsb_slacks slack;
	struct hsb_be_queue be; /* best-effort tasks that wait */
	unsigned nbe, nbe_on_slack, nactive, nserver;
	unsigned nserving;  /* CPUs on hard tasks or on budgets          */
	cr_ns settled;	    /* up to here slack is drained               */
	cr_ns be_budget;    /* of each of the servers                    */
	int64_t hard, mean; /* sums of C / min(D, T) and of means, ppm   */
	unsigned nvarying;  /* soft tasks whose cost varies              */
	struct extremes frames, shares;
	struct hsb_cpu cpu[CR_MAX_CPUS];
	struct hsb_server server[CR_MAX_CPUS];
};

static inline struct hsb_rq *hsb_rq_of(const struct cr_rq *rq)
{
	return rq->priv;
}

static inline const struct hsb_opts *hsb_opts_of(const struct cr_rq *rq)
{
	return CR_OPTS(rq, struct hsb_opts);
}

/* By deadline, tasks before best effort, then by id. */
static inline int hsb_cmp(cr_ns x, const struct hsb_server *a, cr_ns y,
			  const struct hsb_server *b)
{
	if (x != y)
		return cr_cmp(x, y);
	return a->is_be != b->is_be ? cr_cmp(a->is_be, b->is_be)
				    : cr_cmp(a->id, b->id);
}

static inline int hsb_rank_cmp(struct hsb_server *a, struct hsb_server *b)
{
	/* analyzer: nodes of a tree are no NULL */
	return hsb_cmp(a->rank, a, b->rank, b);
}

static inline int hsb_slack_cmp(struct hsb_server *a, struct hsb_server *b)
{
	return hsb_cmp(a->deadline, a, b->deadline, b);
}

CR_TREE(hsb_queue, hsb_server, node, hsb_rank_cmp)
CR_TREE(hsb_slacks, hsb_server, slack_node, hsb_slack_cmp)

/* --- edf_hsb_server.c --- */

void hsb_servers_init(struct cr_rq *rq);

/** Time has come to @now: drain slack, renew, give best effort its servers. To
 * be called first in every callback. */
void hsb_settle(struct cr_rq *rq, cr_ns now);
/** Best-effort servers for those that wait, no more and no less. When all that
 * comes at @now is known. */
void hsb_match_be(struct cr_rq *rq, cr_ns now);
/** The next renewal for a task that waits; CR_NEVER: none. */
cr_ns hsb_next_renewal(const struct cr_rq *rq);

/** @t, which is in no tree, waits: READY or SPENT. */
void hsb_wait(struct cr_rq *rq, struct cr_task *t, enum cr_enq why, cr_ns now);
/** @t does not wait any longer. */
void hsb_unwait(struct cr_rq *rq, struct cr_task *t);

/** @ran of budget @s is used up, in its own period. */
void hsb_charge(struct cr_rq *rq, struct hsb_server *s, cr_ns ran);
/** A best-effort server has served for @ran. */
void hsb_be_served(struct cr_rq *rq, struct hsb_server *s, cr_ns ran,
		   cr_ns now);

/** The rest of @s's budget is for others until its period ends. */
void hsb_give_away(struct cr_rq *rq, struct hsb_server *s, cr_ns now);
/** The slack with the earliest deadline, or NULL; it stays. */
struct hsb_server *hsb_slack_first(const struct cr_rq *rq);
/** Take it for a CPU, and return what is left of it, if it is still there. */
void hsb_slack_take(struct cr_rq *rq, struct hsb_server *s);
void hsb_slack_return(struct cr_rq *rq, struct hsb_server *s, cr_ns ran,
		      cr_ns now);
/** There is no slack of @s any more. */
void hsb_slack_drop(struct cr_rq *rq, struct hsb_server *s);

/* --- edf_hsb_admit.c --- */

int hsb_admit(const struct cr_sched *s, const struct cr_task *t,
	      struct cr_verdict *v);
void hsb_join(struct cr_rq *rq, struct cr_task *t);
void hsb_leave(struct cr_rq *rq, struct cr_task *t);

/** Is no frame of @t late, as long as none takes longer than the worst case of
 * its task? Only of hard tasks. */
bool hsb_in_time(const struct cr_task *t);

/** The longest frame of any task in @rq, by its worst case; 0: no task. */
cr_ns hsb_longest(const struct cr_rq *rq);

/** The budget of @t's server in a period that begins now, > 0. */
cr_ns hsb_budget_of(const struct cr_rq *rq, const struct cr_task *t);
/** A best-effort server's: opts.be_share of opts.be_period. */
unsigned hsb_be_servers(const struct hsb_opts *o, unsigned ncpu);

#endif
