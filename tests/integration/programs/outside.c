/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A scheduler that only what is installed goes into: calls by deadline in a
 * tree, those without one in a list behind them.
 */
#include "cr/list.h"
#include "cr/tree.h"

struct outside_task {
	struct cr_list_node node; /* first: cr/list.h sees that */
	RB_ENTRY(outside_task) entry;
};

RB_HEAD(outside_tree, outside_task);

struct outside_rq {
	struct outside_tree calls;
	struct cr_list rest;
};

static int compare(struct outside_task *x, struct outside_task *y)
{
	const struct cr_task *a = cr_task_of(x), *b = cr_task_of(y);
	int by_deadline = cr_cmp(a->job.deadline, b->job.deadline);

	return by_deadline ? by_deadline : cr_cmp(a->id, b->id);
}

CR_TREE(outside_tree, outside_task, entry, compare)

static int outside_rq_init(struct cr_rq *rq)
{
	TAILQ_INIT(&CR_RQ(rq, struct outside_rq)->rest);
	return 0;
}

static void outside_enqueue(struct cr_rq *rq, struct cr_task *t,
			    enum cr_enq why, cr_ns now)
{
	struct outside_rq *q = CR_RQ(rq, struct outside_rq);
	struct outside_task *x = CR_TASK(t, struct outside_task);

	(void)why, (void)now;
	if (t->job.deadline == CR_NEVER)
		TAILQ_INSERT_TAIL(&q->rest, &x->node, link);
	else
		RB_INSERT(outside_tree, &q->calls, x);
}

static void outside_dequeue(struct cr_rq *rq, struct cr_task *t, cr_ns now)
{
	struct outside_rq *q = CR_RQ(rq, struct outside_rq);
	struct outside_task *x = CR_TASK(t, struct outside_task);

	(void)now;
	if (t->job.deadline == CR_NEVER)
		TAILQ_REMOVE(&q->rest, &x->node, link);
	else
		RB_REMOVE(outside_tree, &q->calls, x);
}

static struct cr_task *outside_pick(struct cr_rq *rq, unsigned cpu, cr_ns now)
{
	struct outside_rq *q = CR_RQ(rq, struct outside_rq);
	struct cr_task *t = cr_list_first(rq, &q->rest, cpu);
	struct outside_task *x;

	RB_FOREACH (x, outside_tree, &q->calls)
		if (cr_may_run(rq, cr_task_of(x), cpu)) {
			t = cr_task_of(x);
			break;
		}
	if (t) {
		outside_dequeue(rq, t, now);
		t->slice = CR_NEVER;
	}
	return t;
}

static void outside_stop(struct cr_rq *rq, unsigned cpu, struct cr_task *t,
			 cr_ns ran, enum cr_stop why, cr_ns now)
{
	(void)rq, (void)cpu, (void)t, (void)ran, (void)why, (void)now;
}

const struct cr_sched_ops cr_sched_plugin = {
	.abi = CR_SCHED_ABI,
	.name = "outside",
	.help = "by deadline, the rest behind",
	.rq_size = sizeof(struct outside_rq),
	.task_size = sizeof(struct outside_task),
	.rq_init = outside_rq_init,
	.enqueue = outside_enqueue,
	.dequeue = outside_dequeue,
	.pick = outside_pick,
	.stop = outside_stop,
};
