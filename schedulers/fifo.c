/* SPDX-License-Identifier: Apache-2.0 */
/*
 * FIFO: the call whose frame has been waiting longest runs first, to the end
 * of that frame (thesis 5.1). A call with more frames waiting goes to the tail
 * after each, as a thread does that yields. A call whose waiting frame was
 * dropped under it keeps its place: it has waited no less.
 *
 * Good: least work per decision, fewest frames lost, and loss spread evenly
 * over calls in overload. Bad: blind to deadlines, so short-period codecs
 * suffer with long-period ones.
 * The order in which releases are handed over is total: it is the order.
 * Live mode: the same, it never preempts.
 */
#include "schedulers/list.h"
#include "schedulers/policies.h"

struct fifo_task {
	struct list_node node; /* first: list.h sees a list_node */
	bool keeps_place;
};

static int fifo_rq_init(struct cr_rq *rq)
{
	TAILQ_INIT(CR_RQ(rq, struct list_head));
	return 0;
}

static void fifo_enqueue(struct cr_rq *rq, struct cr_task *t, enum cr_enq why,
			 cr_ns now)
{
	struct list_head *list = CR_RQ(rq, struct list_head);
	struct fifo_task *f = CR_TASK(t, struct fifo_task);

	(void)now;
	if (why == CR_ENQ_REQUEUE || f->keeps_place)
		TAILQ_INSERT_HEAD(list, &f->node, link);
	else
		TAILQ_INSERT_TAIL(list, &f->node, link);
	f->keeps_place = false;
}

static void fifo_dequeue(struct cr_rq *rq, struct cr_task *t, cr_ns now)
{
	(void)now;
	TAILQ_REMOVE(CR_RQ(rq, struct list_head),
		     &CR_TASK(t, struct fifo_task)->node, link);
}

static struct cr_task *fifo_pick(struct cr_rq *rq, unsigned cpu, cr_ns now)
{
	struct cr_task *t = list_first(rq, CR_RQ(rq, struct list_head), cpu);

	if (!t)
		return NULL;
	fifo_dequeue(rq, t, now);
	t->slice = CR_NEVER;
	return t;
}

static void fifo_stop(struct cr_rq *rq, unsigned cpu, struct cr_task *t,
		      cr_ns ran, enum cr_stop why, cr_ns now)
{
	(void)rq, (void)cpu, (void)ran, (void)now;
	CR_TASK(t, struct fifo_task)->keeps_place = why == CR_STOP_DROP;
}

static bool fifo_check(const struct cr_rq *rq)
{
	return list_check(rq, CR_RQ(rq, struct list_head));
}

const struct cr_sched_ops cr_sched_fifo = {
	.abi = CR_SCHED_ABI,
	.name = "fifo",
	.help = "longest waiting frame first",
	.rq_size = sizeof(struct list_head),
	.task_size = sizeof(struct fifo_task),
	.rq_init = fifo_rq_init,
	.enqueue = fifo_enqueue,
	.dequeue = fifo_dequeue,
	.pick = fifo_pick,
	.stop = fifo_stop,
	.check = fifo_check,
};
