/* SPDX-License-Identifier: Apache-2.0 */
/*
 * RM: fixed priorities, a shorter period before a longer (Liu and Layland
 * 1973); class first, as the 1996 paper's levels have it: guaranteed, then
 * statistical, then all that has no deadline, longest waiting first. Ties go
 * to the smaller task id. The paper's fourth level, workahead, is dwa's.
 *
 * Good: in overload the longest periods of the lowest class fail, nobody else;
 * a priority never changes. Bad: up to U = 1 only with harmonic periods, 0.69
 * in the worst case; on several CPUs Dhall's effect; a statistical task with
 * the closer deadline waits for a guaranteed one (the paper's own drawback).
 *
 * Live mode: no frame is cut, so a longer frame of anybody may block; the
 * admission tests (rm_admit.h) count it.
 */
#include "schedulers/policies.h"
#include "schedulers/rm_admit.h"

struct rm_task {
	struct rm_member member; /* first: see rm_admit.h */
	RB_ENTRY(rm_task) node;
	cr_ns rank; /* in its class: the period; best effort: the arrival */
};

_Static_assert(sizeof(struct rm_task) <= CR_TASK_PRIV, "room in a task");

RB_HEAD(rm_tree, rm_task);

struct rm_rq {
	struct rm_admitted admitted; /* first: see rm_admit.h */
	struct rm_tree queue;
};

static const char *const test_names[] = {
	[RM_EXACT] = "exact",
	[RM_LIU_LAYLAND] = "liu-layland",
	[RM_HYPERBOLIC] = "hyperbolic",
	NULL,
};

static const struct cr_opt rm_options[] = {
	{ .name = "test",
	  .help = "what a task must pass to join",
	  .kind = CR_OPT_ENUM,
	  .offset = offsetof(struct rm_admit_opts, test),
	  .min = 0,
	  .max = RM_HYPERBOLIC,
	  .dflt = RM_EXACT,
	  .names = test_names },
	{ .name = NULL },
};

static bool rm_before(const struct cr_task *a, const struct cr_task *b,
		      cr_ns now)
{
	cr_ns x = CR_TASK_CONST(a, struct rm_task)->rank;
	cr_ns y = CR_TASK_CONST(b, struct rm_task)->rank;

	(void)now;
	if (a->cls != b->cls)
		return a->cls < b->cls;
	return x != y ? x < y : a->id < b->id;
}

static int rm_cmp(struct rm_task *x, struct rm_task *y)
{
	const struct cr_task *a = cr_task_of(x), *b = cr_task_of(y);

	return a == b ? 0 : rm_before(a, b, 0) ? -1 : 1;
}

CR_TREE(rm_tree, rm_task, node, rm_cmp)

static void rm_task_add(struct cr_rq *rq, struct cr_task *t, cr_ns now)
{
	(void)now;
	CR_TASK(t, struct rm_task)->rank = t->cls == CR_BE ? 0 : t->period;
	rm_join(&CR_RQ(rq, struct rm_rq)->admitted, t);
}

static void rm_task_del(struct cr_rq *rq, struct cr_task *t, cr_ns now)
{
	(void)now;
	rm_leave(&CR_RQ(rq, struct rm_rq)->admitted, t);
}

static void rm_enqueue(struct cr_rq *rq, struct cr_task *t, enum cr_enq why,
		       cr_ns now)
{
	struct rm_task *x = CR_TASK(t, struct rm_task);

	if (t->cls == CR_BE)
		x->rank = t->job.arrival;
	RB_INSERT(rm_tree, &CR_RQ(rq, struct rm_rq)->queue, x);
	if (why != CR_ENQ_REQUEUE)
		cr_kick_worst(rq, t, rm_before, now);
}

static void rm_dequeue(struct cr_rq *rq, struct cr_task *t, cr_ns now)
{
	(void)now;
	RB_REMOVE(rm_tree, &CR_RQ(rq, struct rm_rq)->queue,
		  CR_TASK(t, struct rm_task));
}

static struct cr_task *rm_pick(struct cr_rq *rq, unsigned cpu, cr_ns now)
{
	struct rm_task *x;

	RB_FOREACH (x, rm_tree, &CR_RQ(rq, struct rm_rq)->queue) {
		struct cr_task *t = cr_task_of(x);

		if (!cr_may_run(rq, t, cpu))
			continue;
		rm_dequeue(rq, t, now);
		t->slice = CR_NEVER;
		return t;
	}
	return NULL;
}

static void rm_stop(struct cr_rq *rq, unsigned cpu, struct cr_task *t,
		    cr_ns ran, enum cr_stop why, cr_ns now)
{
	(void)rq, (void)cpu, (void)t, (void)ran, (void)why, (void)now;
}

static unsigned rm_explain(const struct cr_task *t, struct cr_kv *kv,
			   unsigned max)
{
	const struct cr_kv all[] = {
		{ "level", (int64_t)t->cls },
		{ "rank_ns", CR_TASK_CONST(t, struct rm_task)->rank },
		{ "tested_cost_ns", rm_cost(t) },
	};
	unsigned n = 0;

	for (; n < 3 && n < max; n++)
		kv[n] = all[n];
	return n;
}

/* Sorted and complete, and a level's cost is that of its members. */
static bool rm_check(const struct cr_rq *rq)
{
	struct rm_rq *r = CR_RQ(rq, struct rm_rq);
	struct rm_task *x, *before = NULL;
	unsigned n = 0;

	RB_FOREACH (x, rm_tree, &r->queue) {
		if (before && rm_cmp(before, x) >= 0)
			return false;
		if (cr_task_of(x)->state != CR_QUEUED ||
		    cr_task_of(x)->rq != rq)
			return false;
		before = x;
		n++;
	}
	return n == rq->nqueued && rm_admitted_check(&r->admitted);
}

const struct cr_sched_ops cr_sched_rm = {
	.abi = CR_SCHED_ABI,
	.flags = CR_F_GUARANTEE,
	.name = "rm",
	.help = "fixed priority by class, then by period",
	.rq_size = sizeof(struct rm_rq),
	.task_size = sizeof(struct rm_task),
	.opts_size = sizeof(struct rm_admit_opts),
	.opts = rm_options,
	.admit = rm_admit,
	.task_add = rm_task_add,
	.task_del = rm_task_del,
	.enqueue = rm_enqueue,
	.dequeue = rm_dequeue,
	.pick = rm_pick,
	.stop = rm_stop,
	.explain = rm_explain,
	.check = rm_check,
};
