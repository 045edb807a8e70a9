/* SPDX-License-Identifier: Apache-2.0 */
/*
 * EDF with deadlines for best effort, too: as edf.c for calls, while
 * best-effort jobs get deadlines as early as what calls leave allows. They no
 * longer wait for an instant without calls, and no call is late for it
 * (be_server.h; Chakraborty, Gries and Thiele).
 *
 * One best-effort job has a deadline at a time, the next of a weighted fair
 * queue (be_queue.h), counted from when its frame came; a job for which calls
 * leave nothing goes last, and so do all under the rule background. Only where
 * a run queue is one CPU: no theory says what best effort may take of several
 * at what time.
 *
 * Good: conversions beside calls end sooner, and as predictably as calls leave
 * room. Bad: a decision costs more, and calls lose their head start over best
 * effort: what they may send is taken for what they do send.
 *
 * A dropped frame gives up its key, until a task lost two in a row (drops.h).
 *
 * Live mode: no frame is cut, so a longer frame of anybody may block.
 *
 * Admission: by density and blocking (deadline_admit.h).
 */
#include "schedulers/be_queue.h"
#include "schedulers/be_server.h"
#include "schedulers/deadline_admit.h"
#include "schedulers/drops.h"
#include "schedulers/key_queue.h"
#include "schedulers/policies.h"

struct served_task {
	struct keyed keyed; /* first: see key_queue.h */
	unsigned lost;	    /* frames dropped since one was done */
	bool rest;	    /* residual_del() needs it */
	union be_part part; /* best effort: among its like */
	struct deadline_task admitted;
};

_Static_assert(sizeof(struct served_task) <= CR_TASK_PRIV, "room in a task");

struct served_rq {
	struct deadline_rq admitted; /* first: see deadline_admit.h */
	struct key_queue queue;
	struct served_task *front; /* best effort with a deadline: in the
				    * queue, or running */
	struct be_queue waiting;   /* the others of best effort */
	struct residual left;
	bool outdated; /* calls have changed since the server's curve */
	cr_ns stopped;
	struct be_server server;
};

struct served_opts {
	struct deadline_opts admit; /* first: see deadline_admit.h */
	int64_t rule;
	int64_t begin; /* ns */
	int64_t slope; /* ppm */
	int64_t queue;
};

static const char *const rules[] = { "tbs",	 "line",
				     "two-line", "two-line-approx",
				     "exact",	 "background",
				     NULL };
static const char *const queues[] = { "start-time", "wfq", NULL };

static const struct cr_opt served_options[] = {
	DEADLINE_OPT_BOUND,
	{ .name = "rule",
	  .help = "how deadlines of best-effort jobs follow from what calls "
		  "leave",
	  .kind = CR_OPT_ENUM,
	  .offset = offsetof(struct served_opts, rule),
	  .max = BE_BACKGROUND,
	  .dflt = BE_TWO_LINE,
	  .names = rules },
	{ .name = "begin",
	  .help = "rule=line: the line leaves 0 here, or where what calls "
		  "leave begins, if that is later",
	  .kind = CR_OPT_TIME,
	  .offset = offsetof(struct served_opts, begin),
	  .max = 10 * CR_SEC },
	{ .name = "slope",
	  .help = "rule=line: its slope, a share of the CPU; 0, and more than "
		  "calls leave: the steepest that they do",
	  .kind = CR_OPT_PPM,
	  .offset = offsetof(struct served_opts, slope),
	  .max = CR_PPM },
	{ .name = "queue",
	  .help = "which best-effort job gets the next deadline: fair by what "
		  "was served (start-time), or by finish times on a CPU "
		  "without calls",
	  .kind = CR_OPT_ENUM,
	  .offset = offsetof(struct served_opts, queue),
	  .max = BE_WFQ,
	  .dflt = BE_START_TIME,
	  .names = queues },
	{ .name = NULL },
};

static struct served_task *served_task_of(void *part)
{
	return CR_CONTAINER_OF(part, struct served_task, part);
}

static int served_rq_init(struct cr_rq *rq)
{
	struct served_rq *e = CR_RQ(rq, struct served_rq);
	const struct served_opts *o = CR_OPTS(rq, struct served_opts);

	e->server.rule = (enum be_rule)o->rule;
	e->server.request.begin = o->begin;
	e->server.request.slope = o->slope * CURVE_ONE / CR_PPM;
	e->waiting.rule = (enum be_queue_rule)o->queue;
	return 0;
}

static void served_task_add(struct cr_rq *rq, struct cr_task *t, cr_ns now)
{
	struct served_rq *e = CR_RQ(rq, struct served_rq);
	struct served_task *x = CR_TASK(t, struct served_task);

	(void)now;
	deadline_add(&e->admitted, t, &x->admitted);
	e->outdated = true;
	if (t->cls != CR_BE)
		x->rest = residual_add(&e->left, t);
}

static void served_task_del(struct cr_rq *rq, struct cr_task *t, cr_ns now)
{
	struct served_rq *e = CR_RQ(rq, struct served_rq);
	struct served_task *x = CR_TASK(t, struct served_task);

	(void)now;
	deadline_del(&e->admitted, t, &x->admitted);
	e->outdated = true;
	if (t->cls != CR_BE)
		residual_del(&e->left, t, x->rest);
	else
		be_queue_forget(&e->waiting, &x->part);
}

/* --- the server --- */

/* The first to come after an instant at which nothing waited? What came while
 * the last job ran, or with its end, does not count as such. */
static bool after_idle(const struct cr_rq *rq, enum cr_enq why, cr_ns now)
{
	return rq->nqueued == 1 && why == CR_ENQ_RELEASE &&
	       !rq->cpu[0].running &&
	       now > CR_RQ(rq, struct served_rq)->stopped;
}

/* The server's curve, if calls have come or gone since it was made. */
static void refresh(struct cr_rq *rq)
{
	struct served_rq *e = CR_RQ(rq, struct served_rq);

	if (e->outdated)
		be_server_curve(&e->server, &e->left,
				rq->sched->preemptible
					? 0
					: deadline_longest(&e->admitted),
				deadline_shortest_be(&e->admitted));
	e->outdated = false;
}

/* Is it a best-effort job's turn to get a deadline? In the background it is
 * when nothing else waits, or runs. */
static bool is_next(const struct cr_rq *rq)
{
	const struct served_rq *e = CR_RQ(rq, struct served_rq);

	if (e->server.rule == BE_BACKGROUND &&
	    (rq->cpu[0].running || !RB_EMPTY(&e->queue)))
		return false;
	return !e->front;
}

/* The next best-effort job gets its deadline, if none has one. */
static struct cr_task *promote(struct cr_rq *rq, cr_ns now)
{
	struct served_rq *e = CR_RQ(rq, struct served_rq);
	struct cr_task *t;
	union be_part *p;

	if (!is_next(rq))
		return NULL;
	p = be_queue_take(&e->waiting, now);
	if (!p)
		return NULL;
	refresh(rq);
	e->front = served_task_of(p);
	t = cr_task_of(e->front);
	e->front->keyed.key =
		be_server_promise(&e->server, t->job.arrival, cr_task_worst(t));
	key_queue_insert(&e->queue, t);
	return t;
}

/* @t's job, which had the deadline, leaves; it may not have run at all. */
static void leave_front(struct served_rq *e, const struct cr_task *t)
{
	if (!t->job.ran && e->front->keyed.key != CR_NEVER)
		be_server_refund(&e->server);
	e->front = NULL;
}

/* --- the queue --- */

static void enqueue_best_effort(struct cr_rq *rq, struct cr_task *t, cr_ns now)
{
	struct served_rq *e = CR_RQ(rq, struct served_rq);
	struct served_task *x = CR_TASK(t, struct served_task);

	if (x == e->front) { /* preempted */
		key_queue_insert(&e->queue, t);
		return;
	}
	be_queue_put(&e->waiting, &x->part, t, now);
	/* else pick() does, when all that come now are there */
	t = rq->cpu[0].running ? promote(rq, now) : NULL;
	if (t)
		cr_kick_worst(rq, t, key_before, now);
}

static void served_enqueue(struct cr_rq *rq, struct cr_task *t, enum cr_enq why,
			   cr_ns now)
{
	struct served_rq *e = CR_RQ(rq, struct served_rq);
	struct served_task *x = CR_TASK(t, struct served_task);

	if (after_idle(rq, why, now))
		be_server_reset(&e->server, now);
	if (t->cls == CR_BE) {
		enqueue_best_effort(rq, t, now);
		return;
	}
	x->keyed.key = drops_key(x->keyed.key, x->lost, t, why);
	key_queue_insert(&e->queue, t);
	if (why != CR_ENQ_REQUEUE)
		cr_kick_worst(rq, t, key_before, now);
}

static void served_dequeue(struct cr_rq *rq, struct cr_task *t, cr_ns now)
{
	struct served_rq *e = CR_RQ(rq, struct served_rq);
	struct served_task *x = CR_TASK(t, struct served_task);

	(void)now;
	if (t->cls == CR_BE && x != e->front) {
		be_queue_remove(&e->waiting, &x->part);
		return;
	}
	key_queue_remove(&e->queue, t);
	if (x != e->front)
		return;
	be_queue_done(&e->waiting, &x->part, t);
	leave_front(e, t);
}

static struct cr_task *served_pick(struct cr_rq *rq, unsigned cpu, cr_ns now)
{
	struct cr_task *t;

	(void)promote(rq, now);
	t = key_queue_pick(rq, &CR_RQ(rq, struct served_rq)->queue, cpu);
	if (t)
		t->slice = CR_NEVER;
	return t;
}

static void served_stop(struct cr_rq *rq, unsigned cpu, struct cr_task *t,
			cr_ns ran, enum cr_stop why, cr_ns now)
{
	struct served_rq *e = CR_RQ(rq, struct served_rq);
	struct served_task *x = CR_TASK(t, struct served_task);
	cr_ns over = t->job.ran - cr_task_worst(t);

	(void)cpu, (void)ran;
	drops_count(&x->lost, why);
	e->stopped = now;
	if (why == CR_STOP_DONE && over > 0) {
		refresh(rq); /* best effort may not have asked yet */
		be_server_charge(&e->server, now, over);
	}
	if (t->cls != CR_BE || (why != CR_STOP_DROP && why != CR_STOP_DONE))
		return;
	be_queue_done(&e->waiting, &x->part, t);
	if (x == e->front)
		leave_front(e, t);
}

/* --- to look at --- */

/* Best effort: the deadline it was given, if it has one now. */
static unsigned served_explain(const struct cr_task *t, struct cr_kv *kv,
			       unsigned max)
{
	const struct served_task *x = CR_TASK_CONST(t, struct served_task);
	const struct served_rq *e =
		t->rq ? CR_RQ(t->rq, struct served_rq) : NULL;
	bool front = e && x == e->front;
	const struct cr_kv all[] = {
		{ "deadline", front ? x->keyed.key : t->job.deadline,
		  CR_KV_CLOCK_NS },
		{ "density", x->admitted.util, CR_KV_PPM },
	};

	return CR_KV_COPY(kv, max, all);
}

/* Do all of them wait, and for a deadline? */
static bool check_waiting(struct served_rq *e)
{
	struct be_flow *f;
	unsigned n = 0;

	if (e->waiting.rule == BE_WFQ)
		return wfq_check(&e->waiting.wfq);
	RB_FOREACH (f, be_flows, &e->waiting.share.waiting) {
		struct served_task *x = served_task_of(f);

		if (cr_task_of(x)->state != CR_QUEUED || x == e->front)
			return false;
		n++;
	}
	return n == e->waiting.share.n;
}

/* The sum is that of all tasks, so not below that of those queued; of best
 * effort one has a deadline, or it is about to get one from pick(). */
static bool served_check(const struct cr_rq *rq)
{
	struct served_rq *e = CR_RQ(rq, struct served_rq);
	struct keyed *p;
	int64_t util = 0;

	RB_FOREACH (p, key_queue, &e->queue)
		util += CR_TASK(cr_task_of(p), struct served_task)
				->admitted.util;
	return check_waiting(e) && util <= e->admitted.util &&
	       key_queue_check(&e->queue,
			       rq->nqueued - be_queue_length(&e->waiting)) &&
	       be_server_check(&e->server);
}

const struct cr_sched_ops cr_sched_edf_be = {
	.abi = CR_SCHED_ABI,
	.flags = CR_F_GUARANTEE | CR_F_ONE_CPU,
	.name = "edf-be",
	.help = "earliest deadline first, best effort by deadlines from what "
		"calls leave",
	.rq_size = sizeof(struct served_rq),
	.task_size = sizeof(struct served_task),
	.opts_size = sizeof(struct served_opts),
	.opts = served_options,
	.rq_init = served_rq_init,
	.admit = deadline_admit,
	.task_add = served_task_add,
	.task_del = served_task_del,
	.enqueue = served_enqueue,
	.dequeue = served_dequeue,
	.pick = served_pick,
	.stop = served_stop,
	.explain = served_explain,
	.promise = deadline_promise,
	.check = served_check,
};
