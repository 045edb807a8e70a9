/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shared by the parts of red: the jobs that are to be in time, and those that
 * gave way to them.
 *
 *   red.c        the policy
 *   red_queues.c the two queues, whether all accepted jobs are in time, and
 *                who is to give way if not
 *
 *	     comes		   gives way
 *   OUT -------------> ACCEPTED --------------> REJECTED
 *    ^			 |    ^	                  |    |
 *    +---- done --------+    +--- fits again ----+    |
 *    +---------- dropped, or run with time to spare --+
 *
 * Where jobs are cut, an accepted one stays in its queue while it runs; where
 * they are not, it is out, and what it still needs comes before all others.
 * Best effort is neither: it
 * waits BEHIND, by weight, and so does what gives way and may not be dropped.
 */
#ifndef SCHEDULERS_RED_H
#define SCHEDULERS_RED_H

#include "cr/sched.h"
#include "cr/tree.h"
#include "schedulers/be_share.h"
#include "schedulers/deadline_admit.h"

enum red_where {
	RED_OUT,
	RED_ACCEPTED,
	RED_REJECTED,
	RED_BEHIND,
	RED_HELD /* interrupted while accepted, and about to wait again */
};

/** In a task's private memory. */
struct red_task {
	RB_ENTRY(red_task) node; /* of accepted or rejected; first */
	union {
		struct {
			uint64_t value; /* see red_queues.c               */
			cr_ns rest;	/* what is left to do, when queued */
			union {
				struct { /* accepted; of it and all below it */
					cr_ns limit; /* its own: late after it
						      */
					cr_ns sum;  /* of what is left        */
					cr_ns late; /* most of: the jobs up to
						       one, less its limit  */
					struct red_task *cheapest;
				};
				struct {	     /* rejected */
					cr_ns start; /* after it, it is late */
					cr_ns soonest; /* of it or one below */
				};
			};
		};
		struct be_flow flow; /* behind */
	};
	cr_ns lost_at; /* its last job that was not accepted; or it joined */
	uint8_t where; /* enum red_where            */
	bool runs;     /* this policy has picked it */
	struct deadline_task admitted;
};

_Static_assert(sizeof(struct red_task) <= CR_TASK_PRIV, "room in a task");

RB_HEAD(red_accepted, red_task); /* by deadline                */
RB_HEAD(red_rejected, red_task); /* the most valuable first    */

struct red_rq {
	struct deadline_rq admitted; /* first: see deadline_admit.h */
	struct red_accepted accepted;
	struct red_rejected rejected;
	struct be_share share;
	cr_ns now; /* for what is left of the job that runs */
};

enum red_value { RED_FRAME, RED_TIME };

struct red_opts {
	struct deadline_opts admit; /* first: see deadline_admit.h */
	int64_t value, tolerance;
};

static inline struct red_rq *red_rq_of(const struct cr_rq *rq)
{
	return rq->priv;
}

static inline struct red_task *red_task_of(struct cr_task *t)
{
	return CR_TASK(t, struct red_task);
}

/** Time has come to @now; first in every callback. */
void red_look(struct cr_rq *rq, cr_ns now);

/** Into the queue of the accepted, and out of it. */
void red_accept(struct cr_rq *rq, struct cr_task *t);
void red_unaccept(struct cr_rq *rq, struct cr_task *t);

/** Into the queue of the rejected, and out of it. */
void red_reject(struct cr_rq *rq, struct cr_task *t);
void red_unreject(struct cr_rq *rq, struct cr_task *t);

/** The accepted job that is due first; the rejected one of most value, or the
 * next one after @t. NULL: none. */
struct cr_task *red_first(const struct cr_rq *rq);
struct cr_task *red_best(const struct cr_rq *rq);
struct cr_task *red_best_after(struct cr_task *t);

/** The job that gives way, so that others are in time; NULL: all are, or no job
 * can. */
struct cr_task *red_victim(struct cr_rq *rq);

/** Could @t be in time if it had the CPU from now on? */
bool red_has_time(const struct cr_rq *rq, struct cr_task *t);

/** A rejected job that has no time left; NULL: none. */
struct cr_task *red_hopeless(const struct cr_rq *rq);

/** Debug builds: are the queues in order, with @n that wait? */
bool red_queues_check(const struct cr_rq *rq, unsigned n);

#endif
