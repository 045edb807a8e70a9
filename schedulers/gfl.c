/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Global fair lateness (Erickson and Anderson, "Fair lateness scheduling:
 * reducing maximum lateness in G-EDF-like scheduling", 2012): earliest priority
 * point first, and with M CPUs the point of a job lies before its deadline by
 *
 *     (M - 1) / M * C,	C the longest that a job of its task takes
 *
 * On one CPU that is EDF. On several, EDF is late by up to a constant even if
 * the load fits, and the bound is the larger the longer a task's jobs are. Here
 * all tasks have the same bound, and it is at most the largest of EDF's. With
 *
 *     Y_i = D_i - (M - 1) / M * C_i	(at least 0)
 *     S_i = C_i * max(0, 1 - Y_i / T_i)
 *     x_i = (s - C_i) / M		a compliant vector, for the least s of
 *     s   = sum of S_i + sum of the M - 1 largest (x_i U_i + C_i - S_i)
 *
 * a job ends within Y_i + x_i + C_i of its release, so s / M after its deadline
 * at the latest, if all jobs are preempted at once, may run on every CPU and
 * have sum U <= M. (EDF has Y_i = D_i and the bound (s + (M - 1) C_i) / M.)
 *
 * Good: like EDF up to full load, with less lateness on several CPUs, above all
 * of costly codecs; Dhall's set is in time. Bad: C must be known; cheap codecs
 * pay what costly ones gain; in overload it does not choose whom to fail.
 *
 * Best effort comes last, by weight (be_share.h). A dropped frame gives up its
 * place, until a task lost two in a row (drops.h).
 *
 * Live mode: no frame is cut, so a longer frame of anybody may block, and the
 * bound above is not promised.
 *
 * Admission: a job that meets an earlier deadline Y meets D, too. So hard tasks
 * are admitted as under EDF with windows shorter by C, which is no longer than
 * Y (deadline_admit.h); soft ones by their average, as the bound needs it.
 */
#include "schedulers/be_share.h"
#include "schedulers/deadline_admit.h"
#include "schedulers/drops.h"
#include "schedulers/key_queue.h"
#include "schedulers/policies.h"

/* Here begin the keys of best effort, in virtual time: behind all points. */
#define BEHIND (INT64_C(1) << 62)

struct gfl_task {
	struct keyed keyed;  /* first: see key_queue.h */
	unsigned lost;	     /* frames dropped since one was done */
	struct be_flow flow; /* best effort: what it has had */
	struct deadline_task admitted;
};

_Static_assert(sizeof(struct gfl_task) <= CR_TASK_PRIV, "room in a task");

struct gfl_rq {
	struct deadline_rq admitted; /* first: see deadline_admit.h */
	struct key_queue queue;
	struct be_share share;
};

static int gfl_rq_init(struct cr_rq *rq)
{
	CR_RQ(rq, struct gfl_rq)->admitted.to_start = rq->ncpu > 1;
	return 0;
}

static void gfl_task_add(struct cr_rq *rq, struct cr_task *t, cr_ns now)
{
	(void)now;
	deadline_add(&CR_RQ(rq, struct gfl_rq)->admitted, t,
		     &CR_TASK(t, struct gfl_task)->admitted);
}

static void gfl_task_del(struct cr_rq *rq, struct cr_task *t, cr_ns now)
{
	(void)now;
	deadline_del(&CR_RQ(rq, struct gfl_rq)->admitted, t,
		     &CR_TASK(t, struct gfl_task)->admitted);
}

/* So long before deadlines lie the points of @t. */
static cr_ns earlier(const struct cr_task *t)
{
	return cr_task_worst(t) * (t->rq->ncpu - 1) / t->rq->ncpu;
}

/* drops.h speaks of deadlines: all of one task are its points, later by the
 * same time. */
static cr_ns point_of(const struct cr_task *t, enum cr_enq why)
{
	const struct gfl_task *x = CR_TASK_CONST(t, struct gfl_task);
	cr_ns by = earlier(t);

	return drops_key(x->keyed.key + by, x->lost, t, why) - by;
}

static void gfl_enqueue(struct cr_rq *rq, struct cr_task *t, enum cr_enq why,
			cr_ns now)
{
	struct gfl_rq *g = CR_RQ(rq, struct gfl_rq);
	struct gfl_task *x = CR_TASK(t, struct gfl_task);

	if (t->job.deadline < BEHIND)
		x->keyed.key = point_of(t, why);
	else if (why != CR_ENQ_REQUEUE)
		x->keyed.key = BEHIND + be_share_start(&g->share, &x->flow);
	key_queue_insert(&g->queue, t);
	if (why != CR_ENQ_REQUEUE)
		cr_kick_worst(rq, t, key_before, now);
}

static void gfl_dequeue(struct cr_rq *rq, struct cr_task *t, cr_ns now)
{
	(void)now;
	key_queue_remove(&CR_RQ(rq, struct gfl_rq)->queue, t);
}

static struct cr_task *gfl_pick(struct cr_rq *rq, unsigned cpu, cr_ns now)
{
	struct gfl_rq *g = CR_RQ(rq, struct gfl_rq);
	struct cr_task *t = key_queue_pick(rq, &g->queue, cpu);

	(void)now;
	if (!t)
		return NULL;
	if (CR_TASK(t, struct gfl_task)->keyed.key >= BEHIND)
		be_share_serve(&g->share, &CR_TASK(t, struct gfl_task)->flow);
	t->slice = CR_NEVER;
	return t;
}

static void gfl_stop(struct cr_rq *rq, unsigned cpu, struct cr_task *t,
		     cr_ns ran, enum cr_stop why, cr_ns now)
{
	struct gfl_task *x = CR_TASK(t, struct gfl_task);

	(void)rq, (void)cpu, (void)ran, (void)now;
	drops_count(&x->lost, why);
	if (x->keyed.key >= BEHIND &&
	    (why == CR_STOP_DONE || why == CR_STOP_DROP))
		be_share_done(&x->flow, t->weight, t->job.ran);
}

static unsigned gfl_explain(const struct cr_task *t, struct cr_kv *kv,
			    unsigned max)
{
	const struct gfl_task *x = CR_TASK_CONST(t, struct gfl_task);
	const struct cr_kv all[] = {
		{ "deadline", t->job.deadline, CR_KV_CLOCK_NS },
		{ "earlier_by", earlier(t), CR_KV_NS },
		{ "density", x->admitted.util, CR_KV_PPM },
	};

	return CR_KV_COPY(kv, max, all);
}

static bool gfl_check(const struct cr_rq *rq)
{
	struct gfl_rq *g = CR_RQ(rq, struct gfl_rq);
	struct keyed *p;
	int64_t util = 0;

	RB_FOREACH (p, key_queue, &g->queue) {
		const struct cr_task *t = cr_task_of(p);
		const struct gfl_task *x = CR_TASK_CONST(t, struct gfl_task);

		util += x->admitted.util;
		if (p->key < BEHIND && p->key > t->job.deadline - earlier(t))
			return false;
	}
	return util <= g->admitted.util &&
	       key_queue_check(&g->queue, rq->nqueued);
}

const struct cr_sched_ops cr_sched_gfl = {
	.abi = CR_SCHED_ABI,
	.flags = CR_F_GUARANTEE,
	.name = "gfl",
	.help = "global fair lateness: deadlines earlier by the cost first",
	.rq_size = sizeof(struct gfl_rq),
	.task_size = sizeof(struct gfl_task),
	.opts_size = sizeof(struct deadline_opts),
	.opts = DEADLINE_OPTIONS,
	.rq_init = gfl_rq_init,
	.admit = deadline_admit,
	.task_add = gfl_task_add,
	.task_del = gfl_task_del,
	.enqueue = gfl_enqueue,
	.dequeue = gfl_dequeue,
	.pick = gfl_pick,
	.stop = gfl_stop,
	.explain = gfl_explain,
	.promise = deadline_promise,
	.check = gfl_check,
};
