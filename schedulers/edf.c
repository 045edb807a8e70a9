/* SPDX-License-Identifier: Apache-2.0 */
/*
 * EDF: earliest absolute deadline first (thesis 5.1), in order of places.h.
 * Best effort has no deadline: it comes after all others, and shares what they
 * leave by weight (be_share.h). edf_be.c gives it deadlines, too.
 *
 * Good: optimal on one CPU, keeps delay within the deadline and jitter small
 * up to full load. Bad: in overload it does not choose whom to fail, and on
 * several CPUs a few heavy tasks can be late at low load (Dhall's effect).
 *
 * A dropped frame gives up its place, until a task lost two in a row (drops.h).
 *
 * Live mode: no frame is cut, so a longer frame of anybody may block.
 *
 * Admission: by density and blocking (deadline_admit.h).
 *
 * edf-steal is the same for several run queues: a CPU that has nothing to do
 * takes the latest of the longest queue, which has most time to lose by coming
 * to cold caches, and which stays with it. So as long as somebody waits who
 * may run there, no CPU idles, and partitions cost no more than the frame that
 * another queue's CPU is at. The price: frames come into a queue late in their
 * windows, where admission counts whole ones. That is why hard tasks stay where
 * they were admitted, only best effort comes to them, if it fits, and no soft
 * task is promised anything.
 */
#include "schedulers/be_share.h"
#include "schedulers/deadline_admit.h"
#include "schedulers/drops.h"
#include "schedulers/places.h"
#include "schedulers/policies.h"

/* Here begin the places of best effort, in virtual time: behind all deadlines.
 */
#define BEHIND (INT64_C(1) << 62)

struct edf_task {
	struct place place;  /* first: see places.h */
	unsigned lost;	     /* frames dropped since one was done */
	struct be_flow flow; /* best effort: what it has had */
	struct deadline_task admitted;
};

struct edf_rq {
	struct deadline_rq admitted; /* first: see deadline_admit.h */
	struct places queue;
	struct be_share share;
};

static const struct cr_opt edf_options[] = {
	DEADLINE_OPT_BOUND,
	{ .name = NULL },
};

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
	struct edf_rq *e = CR_RQ(rq, struct edf_rq);
	struct edf_task *x = CR_TASK(t, struct edf_task);

	if (t->job.deadline < BEHIND)
		x->place.at = drops_place(x->place.at, x->lost, t, why);
	else if (why != CR_ENQ_REQUEUE)
		x->place.at = BEHIND + be_share_start(&e->share, &x->flow);
	places_insert(&e->queue, t);
	if (why != CR_ENQ_REQUEUE)
		cr_kick_worst(rq, t, place_before, now);
}

static void edf_dequeue(struct cr_rq *rq, struct cr_task *t, cr_ns now)
{
	(void)now;
	places_remove(&CR_RQ(rq, struct edf_rq)->queue, t);
}

static struct cr_task *edf_pick(struct cr_rq *rq, unsigned cpu, cr_ns now)
{
	struct edf_rq *e = CR_RQ(rq, struct edf_rq);
	struct cr_task *t = places_take(rq, &e->queue, cpu);

	(void)now;
	if (!t)
		return NULL;
	if (CR_TASK(t, struct edf_task)->place.at >= BEHIND)
		be_share_serve(&e->share, &CR_TASK(t, struct edf_task)->flow);
	t->slice = CR_NEVER;
	return t;
}

static void edf_stop(struct cr_rq *rq, unsigned cpu, struct cr_task *t,
		     cr_ns ran, enum cr_stop why, cr_ns now)
{
	struct edf_task *x = CR_TASK(t, struct edf_task);

	(void)rq, (void)cpu, (void)ran, (void)now;
	drops_count(&x->lost, why);
	if (x->place.at >= BEHIND &&
	    (why == CR_STOP_DONE || why == CR_STOP_DROP))
		be_share_done(&x->flow, t->weight, t->job.ran);
}

static unsigned edf_explain(const struct cr_task *t, struct cr_kv *kv,
			    unsigned max)
{
	const struct edf_task *x = CR_TASK_CONST(t, struct edf_task);
	const struct cr_kv all[] = {
		{ "deadline_ns", t->job.deadline },
		{ "density_ppm", x->admitted.util },
	};

	return CR_KV_COPY(kv, max, all);
}

/* The sum is that of all tasks, so not below that of those queued. */
static bool edf_check(const struct cr_rq *rq)
{
	struct edf_rq *e = CR_RQ(rq, struct edf_rq);
	struct place *x;
	int64_t util = 0;

	RB_FOREACH (x, places, &e->queue)
		util += CR_TASK(cr_task_of(x), struct edf_task)->admitted.util;
	return util <= e->admitted.util && places_check(&e->queue, rq->nqueued);
}

/* --- stealing --- */

/* Is what was promised to hard tasks kept if @t comes to @to? */
static bool may_come(const struct cr_rq *to, const struct cr_task *t)
{
	if (t->cls == CR_HARD)
		return false;
	return !deadline_has_hard(to) ||
	       (t->cls == CR_BE && deadline_fits(to, t));
}

static struct cr_task *edf_steal(struct cr_rq *from, struct cr_rq *to,
				 unsigned cpu, cr_ns now)
{
	struct edf_rq *e = CR_RQ(from, struct edf_rq);
	struct place *x;

	(void)now;
	RB_FOREACH_REVERSE (x, places, &e->queue) {
		struct cr_task *t = cr_task_of(x);

		if (!cr_may_run(to, t, cpu) || !may_come(to, t))
			continue;
		RB_REMOVE(places, &e->queue, x);
		deadline_move(from, to, t,
			      &CR_TASK(t, struct edf_task)->admitted);
		/* the virtual time there is another one */
		CR_TASK(t, struct edf_task)->flow.start = 0;
		return t;
	}
	return NULL;
}

static void edf_steal_promise(const struct cr_task *t, struct cr_promise *p)
{
	p->rule = "CPUs take frames from other queues; class hard has a bound";
	if (t->cls == CR_HARD)
		deadline_promise(t, p);
}

/* What both have. */
#define EDF_OPS                                                                \
	.abi = CR_SCHED_ABI, .flags = CR_F_GUARANTEE,                          \
	.rq_size = sizeof(struct edf_rq),                                      \
	.task_size = sizeof(struct edf_task),                                  \
	.opts_size = sizeof(struct deadline_opts), .opts = edf_options,        \
	.admit = deadline_admit, .task_add = edf_task_add,                     \
	.task_del = edf_task_del, .enqueue = edf_enqueue,                      \
	.dequeue = edf_dequeue, .pick = edf_pick, .stop = edf_stop,            \
	.explain = edf_explain, .check = edf_check

const struct cr_sched_ops cr_sched_edf = {
	EDF_OPS,
	.name = "edf",
	.help = "earliest deadline first",
	.promise = deadline_promise,
};

const struct cr_sched_ops cr_sched_edf_steal = {
	EDF_OPS,
	.name = "edf-steal",
	.help = "edf on several run queues: idle CPUs take from the longest",
	.steal = edf_steal,
	.promise = edf_steal_promise,
};
