/* SPDX-License-Identifier: Apache-2.0 */
/*
 * EDF: earliest absolute deadline first (thesis 5.1); best-effort calls, whose
 * deadline is CR_NEVER, after all others; ties go to the smaller task id.
 *
 * Good: optimal on one CPU, keeps delay within the deadline and jitter small
 * up to full load. Bad: in overload it does not choose whom to fail, and on
 * several CPUs a few heavy tasks can be late at low load (Dhall's effect).
 *
 * A dropped frame gives up its place: its task is ordered by the next one. But
 * a task that lost two in a row keeps the place of the second, until a frame
 * of it is done. By the rule alone it would go behind frames as old as the age
 * limit, meet that limit again a period later, and so on: in lasting overload
 * the same calls would lose every frame.
 *
 * Live mode: no frame is cut, so a longer frame of anybody may block.
 *
 * Admission: by density and blocking (deadline_admit.h).
 */
#include "schedulers/deadline_admit.h"
#include "schedulers/policies.h"

/* So many drops without a frame done, and a task keeps its place. */
#define LOST_IN_A_ROW 2u

struct edf_task {
	RB_ENTRY(edf_task) node;
	cr_ns place; /* the deadline that orders it; beside node, as a walk
		      * reads both */
	struct deadline_task admitted;
	unsigned lost; /* frames dropped since one was done */
};

RB_HEAD(edf_tree, edf_task);

struct edf_rq {
	struct deadline_rq admitted; /* first: see deadline_admit.h */
	struct edf_tree queue;
};

static const struct cr_opt edf_options[] = {
	DEADLINE_OPT_BOUND,
	{ .name = NULL },
};

static bool edf_before(const struct cr_task *a, const struct cr_task *b,
		       cr_ns now)
{
	cr_ns x = CR_TASK_CONST(a, struct edf_task)->place;
	cr_ns y = CR_TASK_CONST(b, struct edf_task)->place;

	(void)now;
	return x != y ? x < y : a->id < b->id;
}

static int edf_cmp(struct edf_task *x, struct edf_task *y)
{
	const struct cr_task *a = cr_task_of(x), *b = cr_task_of(y);

	return a == b ? 0 : edf_before(a, b, 0) ? -1 : 1;
}

CR_TREE(edf_tree, edf_task, node, edf_cmp)

static void edf_task_add(struct cr_rq *rq, struct cr_task *t, cr_ns now)
{
	(void)now;
	deadline_add(&CR_RQ(rq, struct edf_rq)->admitted, t,
		     &CR_TASK(t, struct edf_task)->admitted);
}

static void edf_task_del(struct cr_rq *rq, struct cr_task *t, cr_ns now)
{
	(void)now;
	deadline_del(&CR_RQ(rq, struct edf_rq)->admitted, t,
		     &CR_TASK(t, struct edf_task)->admitted);
}

static void edf_enqueue(struct cr_rq *rq, struct cr_task *t, enum cr_enq why,
			cr_ns now)
{
	struct edf_task *x = CR_TASK(t, struct edf_task);

	if (why == CR_ENQ_NEXT && x->lost >= LOST_IN_A_ROW)
		x->place = cr_ns_min(x->place, t->job.deadline);
	else if (why != CR_ENQ_REQUEUE)
		x->place = t->job.deadline;
	RB_INSERT(edf_tree, &CR_RQ(rq, struct edf_rq)->queue, x);
	if (why != CR_ENQ_REQUEUE)
		cr_kick_worst(rq, t, edf_before, now);
}

static void edf_dequeue(struct cr_rq *rq, struct cr_task *t, cr_ns now)
{
	(void)now;
	RB_REMOVE(edf_tree, &CR_RQ(rq, struct edf_rq)->queue,
		  CR_TASK(t, struct edf_task));
}

static struct cr_task *edf_pick(struct cr_rq *rq, unsigned cpu, cr_ns now)
{
	struct edf_task *x;

	RB_FOREACH (x, edf_tree, &CR_RQ(rq, struct edf_rq)->queue) {
		struct cr_task *t = cr_task_of(x);

		if (!cr_may_run(rq, t, cpu))
			continue;
		edf_dequeue(rq, t, now);
		t->slice = CR_NEVER;
		return t;
	}
	return NULL;
}

static void edf_stop(struct cr_rq *rq, unsigned cpu, struct cr_task *t,
		     cr_ns ran, enum cr_stop why, cr_ns now)
{
	(void)rq, (void)cpu, (void)ran, (void)now;
	if (why == CR_STOP_DROP)
		CR_TASK(t, struct edf_task)->lost++;
	else if (why == CR_STOP_DONE)
		CR_TASK(t, struct edf_task)->lost = 0;
}

static unsigned edf_explain(const struct cr_task *t, struct cr_kv *kv,
			    unsigned max)
{
	const struct cr_kv all[] = {
		{ "deadline_ns", t->job.deadline },
		{ "density_ppm",
		  CR_TASK_CONST(t, struct edf_task)->admitted.util },
	};
	unsigned n = 0;

	for (; n < 2 && n < max; n++)
		kv[n] = all[n];
	return n;
}

/* Sorted, complete, and the sum is the sum of the parts of those queued. */
static bool edf_check(const struct cr_rq *rq)
{
	struct edf_rq *e = CR_RQ(rq, struct edf_rq);
	struct edf_task *x, *before = NULL;
	int64_t util = 0;
	unsigned n = 0;

	RB_FOREACH (x, edf_tree, &e->queue) {
		if (before && edf_cmp(before, x) >= 0)
			return false;
		if (cr_task_of(x)->state != CR_QUEUED)
			return false;
		util += x->admitted.util;
		before = x;
		n++;
	}
	return n == rq->nqueued && util <= e->admitted.util;
}

const struct cr_sched_ops cr_sched_edf = {
	.abi = CR_SCHED_ABI,
	.flags = CR_F_GUARANTEE,
	.name = "edf",
	.help = "earliest deadline first",
	.rq_size = sizeof(struct edf_rq),
	.task_size = sizeof(struct edf_task),
	.opts_size = sizeof(struct deadline_opts),
	.opts = edf_options,
	.admit = deadline_admit,
	.task_add = edf_task_add,
	.task_del = edf_task_del,
	.enqueue = edf_enqueue,
	.dequeue = edf_dequeue,
	.pick = edf_pick,
	.stop = edf_stop,
	.explain = edf_explain,
	.check = edf_check,
};
