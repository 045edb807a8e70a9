/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The queue of best effort before a server that gives deadlines to one of its
 * jobs at a time, by one of two rules of weighted fair queuing.
 *
 * start-time  be_share.h: from what was served, so that shares are fair
 * whatever calls take. Weights are the tasks' weights. wfq         wfq_queue.h,
 * as Chakraborty, Gries and Thiele have it: by finish times beside a CPU that
 * has no calls. It knows to which rate that of best effort will be in the end
 * as little as they do, so where best effort asks for more than calls leave,
 * who comes later waits for all that the other CPU would have served before.
 * Weights are those of the policy wfq.
 */
#ifndef SCHEDULERS_BE_QUEUE_H
#define SCHEDULERS_BE_QUEUE_H

#include "schedulers/be_share.h"
#include "schedulers/wfq_queue.h"

/** Values of the option. */
enum be_queue_rule { BE_START_TIME, BE_WFQ };

/** A task's part; zero when it joins. */
union be_part {
	struct be_flow share;
	struct wfq_flow wfq;
};

/** Zero, with a rule, is empty. */
struct be_queue {
	enum be_queue_rule rule;
	struct be_share share;
	struct wfq_queue wfq;
};

/** @t, whose part is @p, waits with a job. */
static inline void be_queue_put(struct be_queue *q, union be_part *p,
				const struct cr_task *t, cr_ns now)
{
	if (q->rule == BE_WFQ)
		wfq_put(&q->wfq, &p->wfq, t, cr_ns_min(t->job.arrival, now));
	else
		be_share_put(&q->share, &p->share, t->id);
}

/** It waits no longer. */
static inline void be_queue_remove(struct be_queue *q, union be_part *p)
{
	if (q->rule == BE_WFQ)
		wfq_remove(&q->wfq, &p->wfq, 0);
	else
		be_share_remove(&q->share, &p->share);
}

/** The next one, taken out; NULL: none waits. */
static inline union be_part *be_queue_take(struct be_queue *q, cr_ns now)
{
	struct wfq_flow *f;

	if (q->rule != BE_WFQ)
		return (union be_part *)(void *)be_share_take(&q->share);
	wfq_play(&q->wfq, now);
	f = wfq_first(&q->wfq);
	if (f)
		wfq_take(&q->wfq, f);
	return (union be_part *)(void *)f;
}

/** The job of @t that was taken is over, or will not be served. */
static inline void be_queue_done(struct be_queue *q, union be_part *p,
				 const struct cr_task *t)
{
	if (q->rule == BE_WFQ)
		wfq_done(&q->wfq, &p->wfq, t->job.ran);
	else
		be_share_done(&p->share, t->weight, t->job.ran);
}

/** A task that has no job leaves. */
static inline void be_queue_forget(struct be_queue *q, union be_part *p)
{
	if (q->rule == BE_WFQ)
		wfq_forget(&q->wfq, &p->wfq);
}

static inline unsigned be_queue_length(const struct be_queue *q)
{
	return q->rule == BE_WFQ ? q->wfq.n : q->share.n;
}

#endif
