/* SPDX-License-Identifier: Apache-2.0 */
/*
 * WFQ: weighted fair queuing by virtual finish times (wfq_queue.h; Demers,
 * Keshav and Shenker 1989, Parekh and Gallager 1993), with calls as flows and
 * frames as packets. Weights are those of cfs (nice_weight.h). Classes and
 * deadlines of frames are ignored.
 *
 * Good: where the cost of a frame is known before, it ends at most one longest
 * frame later than if its call had a CPU of its own, as fast as its share,
 * whatever the others send, and no frame is interrupted for it. What a call did
 * not use in its pauses is not held against the others. Bad: live, costs are
 * not known: the mean of the call counts until a frame is done, and a frame may
 * be later by many; a heavy call that has a backlog may be served many frames
 * ahead of its share, in a row, which then wait for all others (Bennett and
 * Zhang 1996, "WF2Q"); no deadline is respected.
 *
 * Only where a run queue is one CPU: a call that is served by two at a time has
 * no GPS to compare with.
 *
 * GPS has a CPU that serves frames and nothing else. The real one also
 * switches, and its worker may be displaced. What it did not serve while
 * somebody waited is taken from GPS's clock: else GPS would be ahead for good,
 * and who comes would wait for all that it has served in advance.
 */
#include "schedulers/policies.h"
#include "schedulers/wfq_queue.h"

struct wfq_task {
	struct wfq_flow flow; /* first: wfq_task_of() */
};

struct wfq_rq {
	struct wfq_queue queue;
	cr_ns since; /* it was counted up to here       */
	bool busy;   /* a task waits, or is served */
};

_Static_assert(sizeof(struct wfq_task) <= CR_TASK_PRIV, "room in a task");

static struct cr_task *wfq_task_of(struct wfq_flow *f)
{
	return cr_task_of(f);
}

static struct wfq_flow *flow_of(struct cr_task *t)
{
	return &CR_TASK(t, struct wfq_task)->flow;
}

/* Up to @now, of which @served were service: the rest was not. */
static void wfq_count(struct wfq_rq *w, cr_ns served, cr_ns now)
{
	if (w->busy)
		w->queue.behind += cr_ns_max(now - w->since - served, 0);
	w->since = now;
}

static void wfq_task_del(struct cr_rq *rq, struct cr_task *t, cr_ns now)
{
	(void)now;
	wfq_forget(&CR_RQ(rq, struct wfq_rq)->queue, flow_of(t));
}

static void wfq_enqueue(struct cr_rq *rq, struct cr_task *t, enum cr_enq why,
			cr_ns now)
{
	struct wfq_rq *w = CR_RQ(rq, struct wfq_rq);
	struct wfq_flow *f = flow_of(t);

	if (!w->busy)
		w->since = now;
	w->busy = true;
	if (why == CR_ENQ_REQUEUE)
		wfq_put_back(&w->queue, f);
	else
		wfq_put(&w->queue, f, t, cr_ns_min(t->job.arrival, now));
}

static void wfq_dequeue(struct cr_rq *rq, struct cr_task *t, cr_ns now)
{
	struct wfq_rq *w = CR_RQ(rq, struct wfq_rq);

	(void)now;
	wfq_remove(&w->queue, flow_of(t), t->job.ran);
	w->busy = w->queue.n > 0 || rq->cpu[0].running;
}

static struct cr_task *wfq_pick(struct cr_rq *rq, unsigned cpu, cr_ns now)
{
	struct wfq_rq *w = CR_RQ(rq, struct wfq_rq);
	struct wfq_flow *f;

	wfq_count(w, 0, now);
	wfq_play(&w->queue, now);
	f = wfq_first(&w->queue);
	while (f && !cr_may_run(rq, wfq_task_of(f), cpu))
		f = RB_NEXT(wfq_ready, &w->queue.ready, f);
	w->busy = f != NULL;
	if (!f)
		return NULL;
	wfq_take(&w->queue, f);
	wfq_task_of(f)->slice = CR_NEVER;
	return wfq_task_of(f);
}

static void wfq_stop(struct cr_rq *rq, unsigned cpu, struct cr_task *t,
		     cr_ns ran, enum cr_stop why, cr_ns now)
{
	struct wfq_rq *w = CR_RQ(rq, struct wfq_rq);
	struct wfq_flow *f = flow_of(t);

	(void)cpu;
	wfq_count(w, ran, now);
	w->busy = w->queue.n > 0;
	if (why == CR_STOP_DONE || why == CR_STOP_DROP)
		wfq_done(&w->queue, f, t->job.ran);
}

static unsigned wfq_explain(const struct cr_task *t, struct cr_kv *kv,
			    unsigned max)
{
	const struct wfq_flow *f = &CR_TASK_CONST(t, struct wfq_task)->flow;
	const struct wfq_rq *w = CR_RQ(t->rq, struct wfq_rq);
	int64_t lead =
		f->in_service ? wfq_lead(f->finish, w->queue.virtual) : 0;
	const struct cr_kv all[] = {
		{ "to_finish", lead / 256, CR_KV_NS },
		{ "weight", (int64_t)(nice_weight(t) >> 10), CR_KV_COUNT },
	};

	return CR_KV_COPY(kv, max, all);
}

static bool wfq_rq_check(const struct cr_rq *rq)
{
	struct wfq_rq *w = CR_RQ(rq, struct wfq_rq);

	return w->queue.n == rq->nqueued && wfq_check(&w->queue);
}

const struct cr_sched_ops cr_sched_wfq = {
	.abi = CR_SCHED_ABI,
	.flags = CR_F_ONE_CPU,
	.name = "wfq",
	.help = "weighted fair shares: earliest finish in a fluid that serves "
		"all at once",
	.rq_size = sizeof(struct wfq_rq),
	.task_size = sizeof(struct wfq_task),
	.task_del = wfq_task_del,
	.enqueue = wfq_enqueue,
	.dequeue = wfq_dequeue,
	.pick = wfq_pick,
	.stop = wfq_stop,
	.explain = wfq_explain,
	.check = wfq_rq_check,
};
