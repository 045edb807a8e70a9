/* SPDX-License-Identifier: Apache-2.0 */
/*
 * EDF: earliest absolute deadline first (thesis 5.1); best-effort calls, whose
 * deadline is CR_NEVER, after all others, where they share by weight
 * (be_share.h); other ties go to the smaller task id.
 *
 * With the option be, best-effort jobs get deadlines of their own, as early as
 * what calls leave allows: they no longer wait for an instant without calls,
 * and no call is late for it (be_server.h). One of them has a deadline at a
 * time, the next of the weighted fair queue, counted from when its frame came;
 * jobs for which calls leave nothing go last, as without the option. Only where
 * a run queue is one CPU.
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
 */
#include <errno.h>

#include "schedulers/be_server.h"
#include "schedulers/be_share.h"
#include "schedulers/deadline_admit.h"
#include "schedulers/drops.h"
#include "schedulers/policies.h"

/* From here on are the places of best effort without a deadline: its start in
 * virtual time, behind all deadlines. */
#define BEHIND (INT64_C(1) << 62)

struct edf_task {
	RB_ENTRY(edf_task) node;
	cr_ns place;   /* the deadline that orders it; beside node, as a walk
			* reads both */
	unsigned lost; /* frames dropped since one was done */
	bool rest;     /* residual_del() needs it */
	/* what frames of calls do not need comes last */
	struct be_flow flow; /* best effort: among its like */
	struct deadline_task admitted;
};

RB_HEAD(edf_tree, edf_task);

struct edf_rq {
	struct deadline_rq admitted; /* first: see deadline_admit.h */
	struct edf_tree queue;
	bool serves; /* best effort has deadlines: the rest is in use */
	struct edf_task *front; /* has one: in the queue, or running */
	struct be_share share;	/* the others that wait */
	struct residual left;
	bool stale; /* calls have changed since the server's curve */
	cr_ns stopped;
	struct be_server server;
};

struct edf_opts {
	struct deadline_opts admit; /* first: see deadline_admit.h */
	int64_t be;
};

static const char *const be_rules[] = {
	"background",	   "tbs",   "line", "two-line",
	"two-line-approx", "exact", NULL
};

static const struct cr_opt edf_options[] = {
	DEADLINE_OPT_BOUND,
	{ .name = "be",
	  .help = "deadlines of best-effort jobs, from what calls leave "
		  "(run queues of one CPU)",
	  .kind = CR_OPT_ENUM,
	  .offset = offsetof(struct edf_opts, be),
	  .max = BE_EXACT,
	  .dflt = BE_BACKGROUND,
	  .names = be_rules },
	{ .name = NULL },
};

/* Out of the way of the callbacks that run for every frame. */
#define RARE __attribute__((noinline, cold))

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

static struct edf_task *edf_task_of(struct be_flow *f)
{
	return (struct edf_task *)(void *)((unsigned char *)f -
					   offsetof(struct edf_task, flow));
}

/* No theory says what best-effort jobs may take of several CPUs at what time.
 */
static int edf_rq_init(struct cr_rq *rq)
{
	struct edf_rq *e = CR_RQ(rq, struct edf_rq);

	e->server.rule = (enum be_rule)CR_OPTS(rq, struct edf_opts)->be;
	e->serves = e->server.rule != BE_BACKGROUND;
	return e->serves && rq->ncpu > 1 ? -EINVAL : 0;
}

static void edf_task_add(struct cr_rq *rq, struct cr_task *t, cr_ns now)
{
	struct edf_rq *e = CR_RQ(rq, struct edf_rq);
	struct edf_task *x = CR_TASK(t, struct edf_task);

	(void)now;
	deadline_add(&e->admitted, t, &x->admitted);
	e->stale = true;
	if (e->serves && t->cls != CR_BE)
		x->rest = residual_add(&e->left, t);
}

static void edf_task_del(struct cr_rq *rq, struct cr_task *t, cr_ns now)
{
	struct edf_rq *e = CR_RQ(rq, struct edf_rq);
	struct edf_task *x = CR_TASK(t, struct edf_task);

	(void)now;
	deadline_del(&e->admitted, t, &x->admitted);
	e->stale = true;
	if (e->serves && t->cls != CR_BE)
		residual_del(&e->left, t, x->rest);
}

/* --- best effort with deadlines --- */

/* The first to come after an instant at which nothing waited? What came while
 * the last job ran, or with its end, does not count as such. */
static bool after_idle(const struct cr_rq *rq, enum cr_enq why, cr_ns now)
{
	return rq->nqueued == 1 && why == CR_ENQ_RELEASE &&
	       !rq->cpu[0].running && now > CR_RQ(rq, struct edf_rq)->stopped;
}

/* The server's curve, if calls have come or gone since it was made. */
static void refresh(struct cr_rq *rq)
{
	struct edf_rq *e = CR_RQ(rq, struct edf_rq);

	if (e->stale)
		be_server_curve(&e->server, &e->left,
				rq->sched->preemptible
					? 0
					: deadline_longest(&e->admitted),
				deadline_shortest_be(&e->admitted));
	e->stale = false;
}

/* The next best-effort job gets its deadline, if none has one. */
static struct cr_task *promote(struct cr_rq *rq)
{
	struct edf_rq *e = CR_RQ(rq, struct edf_rq);
	struct be_flow *f = e->front ? NULL : be_share_take(&e->share);
	struct cr_task *t;

	if (!f)
		return NULL;
	refresh(rq);
	e->front = edf_task_of(f);
	t = cr_task_of(e->front);
	e->front->place =
		be_server_promise(&e->server, t->job.arrival, cr_task_worst(t));
	RB_INSERT(edf_tree, &e->queue, e->front);
	return t;
}

/* @t's job, which had the deadline, leaves; it may not have run at all. */
static void leave_front(struct edf_rq *e, const struct cr_task *t)
{
	if (!t->job.ran && e->front->place != CR_NEVER)
		be_server_refund(&e->server);
	e->front = NULL;
}

static void enqueue_served(struct cr_rq *rq, struct cr_task *t, cr_ns now)
{
	struct edf_rq *e = CR_RQ(rq, struct edf_rq);
	struct edf_task *x = CR_TASK(t, struct edf_task);

	if (x == e->front) { /* preempted */
		RB_INSERT(edf_tree, &e->queue, x);
		return;
	}
	be_share_put(&e->share, &x->flow, t->id);
	t = promote(rq);
	if (t)
		cr_kick_worst(rq, t, edf_before, now);
}

static void place_call(struct edf_task *x, const struct cr_task *t,
		       enum cr_enq why)
{
	x->place = drops_place(x->place, x->lost, t, why);
}

static void insert(struct cr_rq *rq, struct cr_task *t, enum cr_enq why,
		   cr_ns now)
{
	RB_INSERT(edf_tree, &CR_RQ(rq, struct edf_rq)->queue,
		  CR_TASK(t, struct edf_task));
	if (why != CR_ENQ_REQUEUE)
		cr_kick_worst(rq, t, edf_before, now);
}

/* Best effort, or a call beside best effort with deadlines. */
RARE static void enqueue_other(struct cr_rq *rq, struct cr_task *t,
			       enum cr_enq why, cr_ns now)
{
	struct edf_rq *e = CR_RQ(rq, struct edf_rq);
	struct edf_task *x = CR_TASK(t, struct edf_task);

	if (e->serves && after_idle(rq, why, now))
		be_server_reset(&e->server, now);
	if (t->cls == CR_BE && e->serves) {
		enqueue_served(rq, t, now);
		return;
	}
	if (t->cls != CR_BE)
		place_call(x, t, why);
	else if (why != CR_ENQ_REQUEUE)
		x->place = BEHIND + be_share_start(&e->share, &x->flow);
	insert(rq, t, why, now);
}

/* The same for a job that is over or has been interrupted. */
RARE static void stop_more(struct cr_rq *rq, struct cr_task *t,
			   enum cr_stop why, cr_ns now)
{
	struct edf_rq *e = CR_RQ(rq, struct edf_rq);
	struct edf_task *x = CR_TASK(t, struct edf_task);
	cr_ns over = t->job.ran - cr_task_worst(t);

	e->stopped = now;
	if (e->serves && why == CR_STOP_DONE && over > 0) {
		refresh(rq); /* best effort may not have asked yet */
		be_server_charge(&e->server, now, over);
	}
	if (t->cls != CR_BE || (why != CR_STOP_DROP && why != CR_STOP_DONE))
		return;
	be_share_done(&x->flow, t->weight, t->job.ran);
	if (x == e->front)
		leave_front(e, t);
}

/* --- the queue --- */

/* Calls without best effort beside them are to pay for nothing of it. */
static bool is_plain(const struct edf_rq *e, cr_ns deadline)
{
	return __builtin_expect(deadline < BEHIND && !e->serves, 1);
}

static void edf_enqueue(struct cr_rq *rq, struct cr_task *t, enum cr_enq why,
			cr_ns now)
{
	if (!is_plain(CR_RQ(rq, struct edf_rq), t->job.deadline)) {
		enqueue_other(rq, t, why, now);
		return;
	}
	place_call(CR_TASK(t, struct edf_task), t, why);
	insert(rq, t, why, now);
}

static void edf_dequeue(struct cr_rq *rq, struct cr_task *t, cr_ns now)
{
	struct edf_rq *e = CR_RQ(rq, struct edf_rq);
	struct edf_task *x = CR_TASK(t, struct edf_task);

	(void)now;
	if (t->cls == CR_BE && e->serves && x != e->front) {
		be_share_remove(&e->share, &x->flow);
		return;
	}
	RB_REMOVE(edf_tree, &e->queue, x);
	if (t->cls == CR_BE && x == e->front)
		leave_front(e, t);
}

static struct cr_task *first_that_may(struct cr_rq *rq, unsigned cpu)
{
	struct edf_rq *e = CR_RQ(rq, struct edf_rq);
	struct edf_task *x;

	RB_FOREACH (x, edf_tree, &e->queue) {
		struct cr_task *t = cr_task_of(x);

		if (!cr_may_run(rq, t, cpu))
			continue;
		RB_REMOVE(edf_tree, &e->queue, x);
		if (x->place >= BEHIND)
			be_share_serve(&e->share, &x->flow);
		t->slice = CR_NEVER;
		return t;
	}
	return NULL;
}

RARE static struct cr_task *pick_served(struct cr_rq *rq, unsigned cpu)
{
	(void)promote(rq);
	return first_that_may(rq, cpu);
}

static struct cr_task *edf_pick(struct cr_rq *rq, unsigned cpu, cr_ns now)
{
	(void)now;
	if (CR_RQ(rq, struct edf_rq)->serves)
		return pick_served(rq, cpu);
	return first_that_may(rq, cpu);
}

static void edf_stop(struct cr_rq *rq, unsigned cpu, struct cr_task *t,
		     cr_ns ran, enum cr_stop why, cr_ns now)
{
	struct edf_rq *e = CR_RQ(rq, struct edf_rq);
	struct edf_task *x = CR_TASK(t, struct edf_task);

	(void)cpu, (void)ran;
	drops_count(&x->lost, why);
	if (!is_plain(e, x->place))
		stop_more(rq, t, why, now);
}

/* Best effort: the deadline it was given, if it has one now. */
static unsigned edf_explain(const struct cr_task *t, struct cr_kv *kv,
			    unsigned max)
{
	const struct edf_task *x = CR_TASK_CONST(t, struct edf_task);
	const struct edf_rq *e = t->rq ? CR_RQ(t->rq, struct edf_rq) : NULL;
	bool front = e && x == e->front;
	const struct cr_kv all[] = {
		{ "deadline_ns", front ? x->place : t->job.deadline },
		{ "density_ppm", x->admitted.util },
	};

	return CR_KV_COPY(kv, max, all);
}

/* One has a deadline, or it is about to get one from pick(). */
static bool served_check(const struct edf_rq *e)
{
	const struct edf_task *x = e->front;
	struct be_flow *f;
	unsigned n = 0;

	RB_FOREACH (f, be_flows, (struct be_flows *)&e->share.waiting) {
		if (cr_task_of(edf_task_of(f))->state != CR_QUEUED ||
		    edf_task_of(f) == x)
			return false;
		n++;
	}
	return n == e->share.n && be_server_check(&e->server);
}

/* Sorted, complete, and the sum is the sum of the parts of those queued. */
static bool edf_check(const struct cr_rq *rq)
{
	struct edf_rq *e = CR_RQ(rq, struct edf_rq);
	struct edf_task *x, *before = NULL;
	int64_t util = 0;
	unsigned n = e->share.n;

	RB_FOREACH (x, edf_tree, &e->queue) {
		if (before && edf_cmp(before, x) >= 0)
			return false;
		if (cr_task_of(x)->state != CR_QUEUED)
			return false;
		util += x->admitted.util;
		before = x;
		n++;
	}
	return n == rq->nqueued && util <= e->admitted.util && served_check(e);
}

const struct cr_sched_ops cr_sched_edf = {
	.abi = CR_SCHED_ABI,
	.flags = CR_F_GUARANTEE,
	.name = "edf",
	.help = "earliest deadline first",
	.rq_size = sizeof(struct edf_rq),
	.task_size = sizeof(struct edf_task),
	.opts_size = sizeof(struct edf_opts),
	.opts = edf_options,
	.rq_init = edf_rq_init,
	.admit = deadline_admit,
	.task_add = edf_task_add,
	.task_del = edf_task_del,
	.enqueue = edf_enqueue,
	.dequeue = edf_dequeue,
	.pick = edf_pick,
	.stop = edf_stop,
	.explain = edf_explain,
	.promise = deadline_promise,
	.check = edf_check,
};
