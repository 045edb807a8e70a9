/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shared by cbs and grub: a server for each task that has a deadline, and EDF
 * over servers.
 *
 *   cbs_server.c  budgets, deadlines, who waits for a budget, the queues
 *   cbs.c         constant-bandwidth servers: budget by time
 *   grub.c        reclaiming: budget by time and by who is active
 *
 * A server is a budget Q every period T, and has q of it left until its
 * deadline d. A task that waits is in one of two trees:
 *
 *                   q > 0
 *   (not queued) -----------> READY, at d
 *        |                      ^
 *        | q <= 0, hard         | its budget is renewed
 *        +-----------------> THROTTLED, at the time of that
 *
 * With soft reservations nobody is throttled: the budget is renewed at once,
 * and the deadline is a period later.
 */
#ifndef SCHEDULERS_CBS_H
#define SCHEDULERS_CBS_H

#include "cr/sched.h"
#include "schedulers/be_share.h"
#include "schedulers/deadline_admit.h"
#include "schedulers/key_queue.h"

/** Here begin the keys of best effort, in virtual time: behind all servers.
 */
#define CBS_BEHIND (INT64_C(1) << 62)

/** First in the task's private memory. */
struct cbs_task {
	struct keyed keyed; /* first: see key_queue.h */
	union {
		struct {
			cr_ns budget, period; /* Q, T; 0 < Q <= T; constant  */
			cr_ns deadline;	      /* d                           */
			int64_t left; /* q, in millionths of a ns; < 0: debt */
		};
		struct be_flow flow; /* best effort: what it has had        */
	};
	bool be;	/* best effort: no server                   */
	bool throttled; /* waits for its budget, not for a CPU      */
	uint8_t state;	/* grub's                                   */
	struct deadline_task admitted;
};

_Static_assert(sizeof(struct cbs_task) <= CR_TASK_PRIV, "room in a task");

/** First in the run queue's private memory. */
struct cbs_rq {
	struct deadline_rq admitted; /* first: see deadline_admit.h */
	struct key_queue ready, throttled;
	unsigned nthrottled;
	struct be_share share;
};

enum cbs_reserve { CBS_SOFT, CBS_HARD };

struct cbs_opts {
	struct deadline_opts admit; /* first: see deadline_admit.h */
	int64_t margin, reserve;
};

/** Names of the reservations. */
#define CBS_RESERVE_NAMES [CBS_SOFT] = "soft", [CBS_HARD] = "hard", [2] = NULL

/** The rows of an option table for cbs_opts. */
/* clang-format off */
#define CBS_OPT_ROWS(reserve_names)                                            \
	DEADLINE_OPT_BOUND,                                                    \
	{ .name = "margin",                                                    \
	  .help = "budgets are so much above the cost that a call is "         \
		  "admitted by: the worst case (hard) or the mean (soft)",     \
	  .kind = CR_OPT_PPM,                                                  \
	  .offset = offsetof(struct cbs_opts, margin),                         \
	  .min = 0,                                                            \
	  .max = 10 * CR_PPM,                                                  \
	  .dflt = 0 },                                                         \
	{ .name = "reserve",                                                   \
	  .help = "who has used up its budget goes on with a later deadline "  \
		  "(soft), or waits for its next period (hard)",               \
	  .kind = CR_OPT_ENUM,                                                 \
	  .offset = offsetof(struct cbs_opts, reserve),                        \
	  .min = CBS_SOFT,                                                     \
	  .max = CBS_HARD,                                                     \
	  .dflt = CBS_SOFT,                                                    \
	  .names = (reserve_names) }
/* clang-format on */

/** For the callbacks of these names. */
int cbs_rq_init(struct cr_rq *rq);
void cbs_task_add(struct cr_rq *rq, struct cr_task *t, cr_ns now);
void cbs_task_del(struct cr_rq *rq, struct cr_task *t, cr_ns now);
void cbs_dequeue(struct cr_rq *rq, struct cr_task *t, cr_ns now);
void cbs_tick(struct cr_rq *rq, cr_ns now);
void cbs_promise(const struct cr_task *t, struct cr_promise *p);
bool cbs_check(const struct cr_rq *rq);

/** The figures of @t's server, for explain(); returns how many, <= @max. */
unsigned cbs_explain(const struct cr_task *t, struct cr_kv *kv, unsigned max);

/** @t's server begins anew: all of its budget, for a period from @now on. */
void cbs_renew(struct cr_task *t, cr_ns now);

/** @t, whose server stands, waits. A budget below @least, > 0, is used up. */
void cbs_wait(struct cr_rq *rq, struct cr_task *t, enum cr_enq why,
	      int64_t least, cr_ns now);

/** The first that may run on cpu[@cpu], taken out; its slice is CR_NEVER. NULL:
 * none, and a tick is set if somebody is throttled. */
struct cr_task *cbs_take(struct cr_rq *rq, unsigned cpu);

/** @t has used budget for @ran at @rate: CR_PPM is as much as the time. */
void cbs_charge(struct cr_task *t, cr_ns ran, int64_t rate);

/** A job of best effort has left its CPU for @why. */
void cbs_stop_be(struct cr_task *t, enum cr_stop why);

/** Ask for a tick at @at, if not before. */
static inline void cbs_arm(struct cr_rq *rq, cr_ns at)
{
	rq->next_tick = cr_ns_min(rq->next_tick, at);
}

#endif
