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
 * Frames come in order, and so do the next frames of calls of one period: each
 * goes to the end of a lane, the one whose end it fits best. Those that fit
 * none (jitter, more kinds of calls than lanes, kept places) are in a tree.
 *
 * Live mode: the same, it never preempts.
 */
#include "cr/list.h"
#include "schedulers/policies.h"
#include "cr/tree.h"

enum { LANES = 2 };
enum fifo_order { BY_FRAME, BY_CALL };

struct fifo_opts {
	int64_t order;
};

struct fifo_task {
	struct cr_list_node node; /* first: list.h sees a cr_list_node */
	RB_ENTRY(fifo_task) entry;
	cr_ns place;   /* arrival; or the number of the turn */
	unsigned lane; /* or LANES: in the tree */
	bool dropped;  /* the last frame was */
};

RB_HEAD(fifo_tree, fifo_task);

struct fifo_rq {
	struct cr_list lane[LANES];
	struct fifo_tree others;
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

static int fifo_cmp(struct fifo_task *x, struct fifo_task *y)
{
	const struct cr_task *a = cr_task_of(x), *b = cr_task_of(y);

	if (x->place != y->place)
		return x->place < y->place ? -1 : 1;
	if (a->job.release != b->job.release)
		return a->job.release < b->job.release ? -1 : 1;
	return cr_cmp(a->id, b->id);
}

CR_TREE(fifo_tree, fifo_task, entry, fifo_cmp)

static struct fifo_task *of_node(struct cr_list_node *n)
{
	return (struct fifo_task *)(void *)n;
}

static bool is_before(struct fifo_task *x, struct fifo_task *y)
{
	return fifo_cmp(x, y) < 0;
}

static int fifo_rq_init(struct cr_rq *rq)
{
	for (unsigned i = 0; i < LANES; i++)
		TAILQ_INIT(&CR_RQ(rq, struct fifo_rq)->lane[i]);
	return 0;
}

static cr_ns place_of(struct cr_rq *rq, const struct cr_task *t,
		      enum cr_enq why)
{
	const struct fifo_task *f = CR_TASK_CONST(t, struct fifo_task);

	if (why == CR_ENQ_REQUEUE || (why == CR_ENQ_NEXT && f->dropped))
		return f->place;
	if (CR_OPTS(rq, struct fifo_opts)->order == BY_FRAME)
		return t->job.arrival;
	return ++CR_RQ(rq, struct fifo_rq)->turns;
}

/* The lane that ends the least before @f, an empty one, or LANES. */
static unsigned lane_for(struct fifo_rq *q, struct fifo_task *f)
{
	struct fifo_task *end = NULL;
	unsigned lane = LANES;

	for (unsigned i = 0; i < LANES; i++) {
		struct cr_list_node *n = TAILQ_LAST(&q->lane[i], cr_list);

		if (!n) {
			lane = end ? lane : i;
		} else if (is_before(of_node(n), f) &&
			   (!end || is_before(end, of_node(n)))) {
			end = of_node(n);
			lane = i;
		}
	}
	return lane;
}

static void fifo_enqueue(struct cr_rq *rq, struct cr_task *t, enum cr_enq why,
			 cr_ns now)
{
	struct fifo_rq *q = CR_RQ(rq, struct fifo_rq);
	struct fifo_task *f = CR_TASK(t, struct fifo_task);

	(void)now;
	f->place = place_of(rq, t, why);
	f->lane = lane_for(q, f);
	if (f->lane == LANES)
		RB_INSERT(fifo_tree, &q->others, f);
	else
		TAILQ_INSERT_TAIL(&q->lane[f->lane], &f->node, link);
}

static void fifo_dequeue(struct cr_rq *rq, struct cr_task *t, cr_ns now)
{
	struct fifo_rq *q = CR_RQ(rq, struct fifo_rq);
	struct fifo_task *f = CR_TASK(t, struct fifo_task);

	(void)now;
	if (f->lane == LANES)
		RB_REMOVE(fifo_tree, &q->others, f);
	else
		TAILQ_REMOVE(&q->lane[f->lane], &f->node, link);
}

/* The first of the tree that may run on cpu[@cpu], or NULL. */
static struct fifo_task *first_other(struct cr_rq *rq, unsigned cpu)
{
	struct fifo_task *f;

	RB_FOREACH (f, fifo_tree, &CR_RQ(rq, struct fifo_rq)->others)
		if (cr_may_run(rq, cr_task_of(f), cpu))
			return f;
	return NULL;
}

static struct cr_task *fifo_pick(struct cr_rq *rq, unsigned cpu, cr_ns now)
{
	struct fifo_rq *q = CR_RQ(rq, struct fifo_rq);
	struct fifo_task *first = first_other(rq, cpu);
	struct cr_task *t;

	for (unsigned i = 0; i < LANES; i++) {
		t = cr_list_first(rq, &q->lane[i], cpu);
		if (t &&
		    (!first || is_before(CR_TASK(t, struct fifo_task), first)))
			first = CR_TASK(t, struct fifo_task);
	}
	if (!first)
		return NULL;
	t = cr_task_of(first);
	fifo_dequeue(rq, t, now);
	t->slice = CR_NEVER;
	return t;
}

static void fifo_stop(struct cr_rq *rq, unsigned cpu, struct cr_task *t,
		      cr_ns ran, enum cr_stop why, cr_ns now)
{
	(void)rq, (void)cpu, (void)ran, (void)now;
	CR_TASK(t, struct fifo_task)->dropped = why == CR_STOP_DROP;
}

/* How many stand in lane @i; -1: not in order. */
static int lane_check(struct fifo_rq *q, unsigned i)
{
	struct fifo_task *before = NULL;
	struct cr_list_node *n;
	int count = 0;

	TAILQ_FOREACH (n, &q->lane[i], link) {
		struct fifo_task *f = of_node(n);

		if (f->lane != i || cr_task_of(f)->state != CR_QUEUED ||
		    (before && !is_before(before, f)))
			return -1;
		before = f;
		count++;
	}
	return count;
}

static bool fifo_check(const struct cr_rq *rq)
{
	struct fifo_rq *q = CR_RQ(rq, struct fifo_rq);
	struct fifo_task *f, *before = NULL;
	unsigned count = 0;

	RB_FOREACH (f, fifo_tree, &q->others) {
		if (f->lane != LANES || cr_task_of(f)->state != CR_QUEUED ||
		    (before && !is_before(before, f)))
			return false;
		before = f;
		count++;
	}
	for (unsigned i = 0; i < LANES; i++) {
		int n = lane_check(q, i);

		if (n < 0)
			return false;
		count += (unsigned)n;
	}
	return count == rq->nqueued;
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
