/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Weighted fair queuing by virtual finish times (Demers, Keshav and Shenker
 * 1989; as PGPS: Parekh and Gallager, "A generalized processor sharing approach
 * to flow control in integrated services networks: the single-node case",
 * 1993).
 *
 * Generalized processor sharing, GPS, serves all flows that have jobs at once,
 * each in proportion to its weight. It is played here in the background, on a
 * CPU that has nothing else to do. In its virtual time V, which grows by one
 * over the sum of weights that are served, job k of a flow that comes at a and
 * takes C
 *
 *     starts at S(k) = max(F(k-1), V(a))   and ends at   F(k) = S(k) + C / w,
 *
 * and whoever would end first there, of those that wait here, is next. If the
 * CPU does serve these jobs and nothing else, none ends later than in GPS by
 * more than the longest job (theorem 1).
 *
 * A policy sees a flow's next job when the last one is over, and by then GPS
 * may have had it for long. So GPS is not played beyond the end of a job that
 * has not ended here: only then is it known whether its flow goes on. Whoever
 * comes later than that in GPS has no F yet, but it would be greater than that
 * of the job that GPS stands at, which is therefore the next one, or runs. So
 * the order is the same as if all arrivals had been known.
 *
 * What a job takes is known when it is over. Until then it is an estimate; then
 * its F is made what it should have been. GPS may be beyond that by then, which
 * the flow's next job does not lose: if it has come, it starts at that F.
 *
 * Arithmetic: V is a uint64_t that wraps and is compared by signed difference;
 * at weight NEUTRAL 256 are a ns. An hour at the lightest weight is 2^60. What
 * a division leaves is kept: V loses nothing as time goes by. F is rounded up.
 */
#ifndef SCHEDULERS_WFQ_QUEUE_H
#define SCHEDULERS_WFQ_QUEUE_H

#include "cr/sched.h"
#include "cr/tree.h"
#include "schedulers/nice_weight.h"

enum wfq_job {
	WFQ_NONE,
	WFQ_COMING, /* came at an instant that GPS has not reached */
	WFQ_KNOWN   /* has its S and F, and is not over            */
};

/** A task's part; zero when it joins. */
struct wfq_flow {
	RB_ENTRY(wfq_flow) wait;   /* coming or ready */
	RB_ENTRY(wfq_flow) served; /* by GPS */
	uint64_t finish;	   /* of its job, or its last one */
	uint64_t weight;
	union {
		uint64_t start; /* known: in virtual time */
		cr_ns ended;	/* else GPS stood here as the last was over */
	};
	cr_ns at, cost; /* coming */
	uint32_t id;
	uint8_t job;	 /* enum wfq_job */
	bool in_service; /* by GPS, or about to be */
};

RB_HEAD(wfq_coming, wfq_flow);
RB_HEAD(wfq_ready, wfq_flow);
RB_HEAD(wfq_served, wfq_flow);

/** Zero is empty. */
struct wfq_queue {
	struct wfq_coming coming;
	struct wfq_ready ready; /* known, and not taken */
	struct wfq_served served;
	unsigned n;   /* those coming and ready */
	cr_ns now;    /* GPS has come to here, on its clock */
	cr_ns behind; /* time less GPS's clock; never falls */
	uint64_t virtual;
	uint64_t rest;	 /* service that is not in V yet, times WFQ_SCALE */
	uint64_t weight; /* of those served */
};

/** Virtual time that a ns of service is at weight 1. */
#define WFQ_SCALE (NEUTRAL << 8)

/** How far @a is ahead of @b. */
static inline int64_t wfq_lead(uint64_t a, uint64_t b)
{
	return (int64_t)(a - b);
}

/** Flow @f, of @t, has a job; it came at @at. */
void wfq_put(struct wfq_queue *q, struct wfq_flow *f, const struct cr_task *t,
	     cr_ns at);

/** A job that was taken waits again. */
void wfq_put_back(struct wfq_queue *q, struct wfq_flow *f);

/** @f, which waits with a job, waits no longer; the job is gone after @ran of
 * service. */
void wfq_remove(struct wfq_queue *q, struct wfq_flow *f, cr_ns ran);

/** Play GPS up to @now, no earlier than any arrival, as far as it is known. */
void wfq_play(struct wfq_queue *q, cr_ns now);

/** After wfq_play(): the next one, which stays; NULL: none waits. */
static inline struct wfq_flow *wfq_first(struct wfq_queue *q);

/** One of those ready, as a walk from wfq_first() finds it, is taken out to be
 * served. */
void wfq_take(struct wfq_queue *q, struct wfq_flow *f);

/** The job of @f that was taken is over after @ran of service. */
void wfq_done(struct wfq_queue *q, struct wfq_flow *f, cr_ns ran);

/** The task of @f, which has no job, leaves. */
void wfq_forget(struct wfq_queue *q, struct wfq_flow *f);

/** Do the invariants hold? */
bool wfq_check(struct wfq_queue *q);

static inline int wfq_ready_cmp(const struct wfq_flow *a,
				const struct wfq_flow *b)
{
	int64_t d = wfq_lead(a->finish, b->finish);

	return d ? cr_cmp(d, 0) : cr_cmp(a->id, b->id);
}

CR_TREE(wfq_ready, wfq_flow, wait, wfq_ready_cmp)

static inline struct wfq_flow *wfq_first(struct wfq_queue *q)
{
	return RB_MIN(wfq_ready, &q->ready);
}

#endif
