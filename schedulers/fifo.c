/* SPDX-License-Identifier: Apache-2.0 */
/*
 * FIFO: the frame that has been waiting longest runs first, to its end: the
 * global FIFO of the literature (Leontyev and Anderson, "Tardiness bounds for
 * FIFO scheduling on multiprocessors", 2007). A frame's place is its arrival,
 * so a call that has more frames waiting comes back at the place of the next
 * one, and as long as the load fits, no delay grows without bound. Frames that
 * came at one instant go by when their turn in their call came, then by the
 * task's id. The place of a dropped frame passes to the next of its call: no
 * other waits longer for that than if nothing had been dropped, and in overload
 * no call is always the one that meets the age limit.
 *
 * order=call: the call that has been waiting longest since its last turn (the
 * FIFO of the thesis, 5.1). One with more frames waiting goes behind all others
 * after each, as a thread does that yields. A burst of one call delays others
 * by a frame only; but short frames fall behind long ones, for good, at loads
 * that fit.
 *
 * Good: next to no work per decision; all frames wait equally long, and in
 * overload all calls lose the same share of theirs. Bad: blind to deadlines and
 * costs, so short-period codecs suffer with long-period ones, and cheap codecs
 * lose as much as the costly ones that fill the machine.
 *
 * Live mode: the same, it never preempts.
 */
#include "schedulers/lane_queue.h"
#include "schedulers/policies.h"

enum fifo_order { BY_FRAME, BY_CALL };

struct fifo_opts {
	int64_t order;
};

struct fifo_task {
	struct laned laned; /* key: arrival; or the number of the turn */
	bool dropped;	    /* the last frame was */
};

struct fifo_rq {
	struct lane_queue queue;
	cr_ns turns;
};

static const char *const fifo_orders[] = { "frame", "call", NULL };

static const struct cr_opt fifo_options[] = {
	{ .name = "order",
	  .help = "who has waited longest: the frame, since it came; or the "
		  "call, since its last turn",
	  .kind = CR_OPT_ENUM,
	  .offset = offsetof(struct fifo_opts, order),
	  .max = BY_CALL,
	  .dflt = BY_FRAME,
	  .names = fifo_orders },
	{ .name = NULL },
};

static int fifo_rq_init(struct cr_rq *rq)
{
	lane_queue_init(&CR_RQ(rq, struct fifo_rq)->queue);
	return 0;
}

static void fifo_enqueue(struct cr_rq *rq, struct cr_task *t, enum cr_enq why,
			 cr_ns now)
{
	struct fifo_rq *q = CR_RQ(rq, struct fifo_rq);
	struct fifo_task *f = CR_TASK(t, struct fifo_task);
	bool keeps_place =
		why == CR_ENQ_REQUEUE || (why == CR_ENQ_NEXT && f->dropped);

	(void)now;
	if (!keeps_place)
		f->laned.key = CR_OPTS(rq, struct fifo_opts)->order == BY_FRAME
				       ? t->job.arrival
				       : ++q->turns;
	lane_queue_insert(&q->queue, t);
}

static void fifo_dequeue(struct cr_rq *rq, struct cr_task *t, cr_ns now)
{
	(void)now;
	lane_queue_remove(&CR_RQ(rq, struct fifo_rq)->queue, t);
}

static struct cr_task *fifo_pick(struct cr_rq *rq, unsigned cpu, cr_ns now)
{
	struct cr_task *t =
		lane_queue_pick(rq, &CR_RQ(rq, struct fifo_rq)->queue, cpu);

	(void)now;
	if (t)
		t->slice = CR_NEVER;
	return t;
}

static void fifo_stop(struct cr_rq *rq, unsigned cpu, struct cr_task *t,
		      cr_ns ran, enum cr_stop why, cr_ns now)
{
	(void)rq, (void)cpu, (void)ran, (void)now;
	CR_TASK(t, struct fifo_task)->dropped = why == CR_STOP_DROP;
}

static bool fifo_check(const struct cr_rq *rq)
{
	return lane_queue_check(&CR_RQ(rq, struct fifo_rq)->queue, rq->nqueued);
}

const struct cr_sched_ops cr_sched_fifo = {
	.abi = CR_SCHED_ABI,
	.name = "fifo",
	.help = "longest waiting frame first",
	.rq_size = sizeof(struct fifo_rq),
	.task_size = sizeof(struct fifo_task),
	.opts_size = sizeof(struct fifo_opts),
	.opts = fifo_options,
	.rq_init = fifo_rq_init,
	.enqueue = fifo_enqueue,
	.dequeue = fifo_dequeue,
	.pick = fifo_pick,
	.stop = fifo_stop,
	.check = fifo_check,
};
