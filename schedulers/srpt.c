/* SPDX-License-Identifier: Apache-2.0 */
/*
 * SRPT: shortest remaining processing time first, for conversions (best
 * effort); calls go before them by earliest deadline, as under edf.
 *
 * Of all orders of jobs that are there or come on one CPU, none has a smaller
 * sum of turnaround times (Schrage 1968): two jobs with parts after one
 * another can only gain where the shorter rest goes first. That needs jobs
 * that may be cut, and their costs.
 *
 * The rest is the job's estimate less what it has run, 0 once it has run
 * longer; ties go to the smaller task id. A file that is converted piece by
 * piece has a job for each piece, and only that is known here: files of the
 * cheaper codec go first, one after the other in the order in which they came
 * where they cost the same, which is already better than taking turns.
 *
 * Good: files are ready soonest, on average; calls lose nothing by it. Bad: a
 * long job waits as long as shorter ones come; weights are not looked at;
 * without preemption a short job waits for the one that has begun. On several
 * CPUs it is a good rule, and not the best possible one.
 *
 * Live mode: no frame is cut, so this is shortest job first among pieces.
 *
 * Admission: as edf, by density and blocking (deadline_admit.h).
 */
#include "schedulers/deadline_admit.h"
#include "schedulers/drops.h"
#include "schedulers/key_queue.h"
#include "schedulers/policies.h"

/* Here begin the places of best effort: behind all deadlines. */
#define BEHIND (INT64_C(1) << 62)

struct srpt_task {
	struct keyed keyed; /* first: see key_queue.h; best effort: its rest */
	unsigned lost;	    /* frames dropped since one was done */
	struct deadline_task admitted;
};

struct srpt_rq {
	struct deadline_rq admitted; /* first: see deadline_admit.h */
	struct key_queue queue;
};

/* The rest of the job of @t at @now. */
static cr_ns srpt_rest_of(const struct cr_task *t, cr_ns now)
{
	return cr_ns_max(t->job.cost - cr_task_ran(t, now), 0);
}

/* Where @t stands at @now: a running job of best effort comes forward. */
static cr_ns srpt_standing(const struct cr_task *t, cr_ns now)
{
	if (t->cls == CR_BE)
		return BEHIND + srpt_rest_of(t, now);
	return CR_TASK_CONST(t, struct srpt_task)->keyed.key;
}

static bool srpt_before(const struct cr_task *a, const struct cr_task *b,
			cr_ns now)
{
	cr_ns x = srpt_standing(a, now), y = srpt_standing(b, now);

	return x != y ? x < y : a->id < b->id;
}

static void srpt_task_add(struct cr_rq *rq, struct cr_task *t, cr_ns now)
{
	(void)now;
	deadline_add(&CR_RQ(rq, struct srpt_rq)->admitted, t,
		     &CR_TASK(t, struct srpt_task)->admitted);
}

static void srpt_task_del(struct cr_rq *rq, struct cr_task *t, cr_ns now)
{
	(void)now;
	deadline_del(&CR_RQ(rq, struct srpt_rq)->admitted, t,
		     &CR_TASK(t, struct srpt_task)->admitted);
}

static void srpt_enqueue(struct cr_rq *rq, struct cr_task *t, enum cr_enq why,
			 cr_ns now)
{
	struct srpt_task *x = CR_TASK(t, struct srpt_task);

	if (t->cls == CR_BE)
		x->keyed.key = srpt_standing(t, now);
	else
		x->keyed.key = drops_key(x->keyed.key, x->lost, t, why);
	key_queue_insert(&CR_RQ(rq, struct srpt_rq)->queue, t);
	if (why != CR_ENQ_REQUEUE)
		cr_kick_worst(rq, t, srpt_before, now);
}

static void srpt_dequeue(struct cr_rq *rq, struct cr_task *t, cr_ns now)
{
	(void)now;
	key_queue_remove(&CR_RQ(rq, struct srpt_rq)->queue, t);
}

static struct cr_task *srpt_pick(struct cr_rq *rq, unsigned cpu, cr_ns now)
{
	struct cr_task *t =
		key_queue_pick(rq, &CR_RQ(rq, struct srpt_rq)->queue, cpu);

	(void)now;
	if (t)
		t->slice = CR_NEVER;
	return t;
}

static void srpt_stop(struct cr_rq *rq, unsigned cpu, struct cr_task *t,
		      cr_ns ran, enum cr_stop why, cr_ns now)
{
	(void)rq, (void)cpu, (void)ran, (void)now;
	drops_count(&CR_TASK(t, struct srpt_task)->lost, why);
}

static unsigned srpt_explain(const struct cr_task *t, struct cr_kv *kv,
			     unsigned max)
{
	const struct srpt_task *x = CR_TASK_CONST(t, struct srpt_task);
	const struct cr_kv all[] = {
		{ "deadline", t->job.deadline, CR_KV_CLOCK_NS },
		{ "rest", cr_ns_max(t->job.cost - t->job.ran, 0), CR_KV_NS },
		{ "density", x->admitted.util, CR_KV_PPM },
	};

	return CR_KV_COPY(kv, max, all);
}

/* The sum is that of all tasks, so not below that of those queued; and the
 * waiting do not move. */
static bool srpt_check(const struct cr_rq *rq)
{
	struct srpt_rq *q = CR_RQ(rq, struct srpt_rq);
	struct keyed *x;
	int64_t util = 0;

	RB_FOREACH (x, key_queue, &q->queue) {
		const struct cr_task *t = cr_task_of(x);

		if (x->key != srpt_standing(t, 0))
			return false;
		util += CR_TASK_CONST(t, struct srpt_task)->admitted.util;
	}
	return util <= q->admitted.util &&
	       key_queue_check(&q->queue, rq->nqueued);
}

const struct cr_sched_ops cr_sched_srpt = {
	.abi = CR_SCHED_ABI,
	.flags = CR_F_GUARANTEE,
	.name = "srpt",
	.help = "calls by deadline, then conversions by shortest remaining "
		"time",
	.rq_size = sizeof(struct srpt_rq),
	.task_size = sizeof(struct srpt_task),
	.opts_size = sizeof(struct deadline_opts),
	.opts = DEADLINE_OPTIONS,
	.admit = deadline_admit,
	.task_add = srpt_task_add,
	.task_del = srpt_task_del,
	.enqueue = srpt_enqueue,
	.dequeue = srpt_dequeue,
	.pick = srpt_pick,
	.stop = srpt_stop,
	.explain = srpt_explain,
	.promise = deadline_promise,
	.check = srpt_check,
};
