/* SPDX-License-Identifier: Apache-2.0 */
/*
 * EDF: earliest absolute deadline first (thesis 5.1), in order of key_queue.h.
 * Best effort has no deadline: it comes after all others, and shares what they
 * leave by weight (be_share.h). edf_be.c gives it deadlines, too.
 *
 * Good: optimal on one CPU, keeps delay within the deadline and jitter small
 * up to full load. Bad: in overload it does not choose whom to fail, and on
 * several CPUs a few heavy tasks can be late at low load (Dhall's effect).
 *
 * A dropped frame gives up its key, until a task lost two in a row (drops.h).
 *
 * Live mode: no frame is cut, so a longer frame of anybody may block.
 *
 * Admission: by density and blocking (deadline_admit.h).
 */
#include "schedulers/drops.h"
#include "schedulers/edf.h"
#include "schedulers/policies.h"

/* Here begin the keys of best effort, in virtual time: behind all deadlines.
 */
#define BEHIND (INT64_C(1) << 62)

void edf_task_add(struct cr_rq *rq, struct cr_task *t, cr_ns now)
{
	(void)now;
	deadline_add(&CR_RQ(rq, struct edf_rq)->admitted, t,
		     &CR_TASK(t, struct edf_task)->admitted);
}

void edf_task_del(struct cr_rq *rq, struct cr_task *t, cr_ns now)
{
	(void)now;
	deadline_del(&CR_RQ(rq, struct edf_rq)->admitted, t,
		     &CR_TASK(t, struct edf_task)->admitted);
}

void edf_enqueue(struct cr_rq *rq, struct cr_task *t, enum cr_enq why,
		 cr_ns now)
{
	struct edf_rq *e = CR_RQ(rq, struct edf_rq);
	struct edf_task *x = CR_TASK(t, struct edf_task);

	if (t->job.deadline < BEHIND)
		x->keyed.key = drops_key(x->keyed.key, x->lost, t, why);
	else if (why != CR_ENQ_REQUEUE)
		x->keyed.key = BEHIND + be_share_start(&e->share, &x->flow);
	key_queue_insert(&e->queue, t);
	if (why != CR_ENQ_REQUEUE)
		cr_kick_worst(rq, t, key_before, now);
}

void edf_dequeue(struct cr_rq *rq, struct cr_task *t, cr_ns now)
{
	(void)now;
	key_queue_remove(&CR_RQ(rq, struct edf_rq)->queue, t);
}

struct cr_task *edf_pick(struct cr_rq *rq, unsigned cpu, cr_ns now)
{
	struct edf_rq *e = CR_RQ(rq, struct edf_rq);
	struct cr_task *t = key_queue_pick(rq, &e->queue, cpu);

	(void)now;
	if (!t)
		return NULL;
	if (CR_TASK(t, struct edf_task)->keyed.key >= BEHIND)
		be_share_serve(&e->share, &CR_TASK(t, struct edf_task)->flow);
	t->slice = CR_NEVER;
	return t;
}

void edf_stop(struct cr_rq *rq, unsigned cpu, struct cr_task *t, cr_ns ran,
	      enum cr_stop why, cr_ns now)
{
	struct edf_task *x = CR_TASK(t, struct edf_task);

	(void)rq, (void)cpu, (void)ran, (void)now;
	drops_count(&x->lost, why);
	if (x->keyed.key >= BEHIND &&
	    (why == CR_STOP_DONE || why == CR_STOP_DROP))
		be_share_done(&x->flow, t->weight, t->job.ran);
}

unsigned edf_explain(const struct cr_task *t, struct cr_kv *kv, unsigned max)
{
	const struct edf_task *x = CR_TASK_CONST(t, struct edf_task);
	const struct cr_kv all[] = {
		{ "deadline", t->job.deadline, CR_KV_CLOCK_NS },
		{ "density", x->admitted.util, CR_KV_PPM },
	};

	return CR_KV_COPY(kv, max, all);
}

/* The sum is that of all tasks, so not below that of those queued. */
bool edf_check(const struct cr_rq *rq)
{
	struct edf_rq *e = CR_RQ(rq, struct edf_rq);
	struct keyed *x;
	int64_t util = 0;

	RB_FOREACH (x, key_queue, &e->queue)
		util += CR_TASK(cr_task_of(x), struct edf_task)->admitted.util;
	return util <= e->admitted.util &&
	       key_queue_check(&e->queue, rq->nqueued);
}

const struct cr_sched_ops cr_sched_edf = {
	EDF_OPS,
	.name = "edf",
	.help = "earliest deadline first",
	.promise = deadline_promise,
};
