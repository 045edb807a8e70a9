/* SPDX-License-Identifier: Apache-2.0 */
/*
 * DWA: deadline-workahead (Anderson 1993; the 1996 paper's four levels, see
 * levels.h). Critical jobs of guaranteed calls, then of statistical ones, then
 * all that has no deadline, then workahead: jobs before their logical arrival,
 * l(i) = max(arrival, l(i-1) + 1/R). Earliest deadline first in a level; ties
 * go to the smaller task id.
 *
 * classes=together is the paper's second scheme, which it left out for want of
 * a way to supervise execution times on AIX: critical calls are one class by
 * deadline, and a frame that has used up what its call specified (guaranteed:
 * the worst case; statistical: the average) goes on behind all that have not,
 * before what has no deadline. So a statistical call that keeps to its average
 * is in time as a guaranteed one is, and one that does not harms itself alone.
 * (The frame after it has its deadline no earlier than a window after that has
 * begun, and the deadlines of a call are a window apart: else frames that have
 * waited behind it would all be the most urgent at once. A call that has fallen
 * behind stays so until it pauses, and no drop brings it forward.) What a frame
 * did not use is lost: an account of CPU time as an LBAP's, with bursts, would
 * let a call take in one window what was admitted for several.
 *
 * Good: no burst of anybody delays a call that keeps its contract; what is
 * admitted as guaranteed depends on no other class. Bad: a statistical call
 * with the closer deadline waits for a guaranteed one, so only the sum of the
 * averages speaks for it (the paper's own drawback, for classes=apart); as edf
 * on several CPUs.
 *
 * workahead=run uses idle time. workahead=hold is the paper's standard: what a
 * call sends on is as even as its contract, but the frames of a sender whose
 * clock is fast wait ever longer, until its buffer is full and drops one now
 * and then.
 *
 * In lasting overload a task that lost two frames in a row keeps its place in
 * its level (drops.h).
 *
 * Live mode: no frame is cut, so a longer frame of anybody may block; with
 * workahead=run also one that came early, with workahead=hold never. Nor does
 * a frame that is not cut go behind when it has used up its time.
 *
 * Admission (deadline_admit.h): guaranteed calls by the worst case, statistical
 * ones by the average. With classes=apart guaranteed ones against each other,
 * the others in what is left; with classes=together all in one sum.
 */
#include "cr/promise.h"
#include "schedulers/deadline_admit.h"
#include "schedulers/drops.h"
#include "schedulers/levels.h"
#include "schedulers/policies.h"

struct dwa_task {
	struct level_task place; /* rank: the deadline */
	struct deadline_task admitted;
	unsigned lost; /* frames dropped since one was done */
	bool overran;  /* the job before this one was spent */
};

_Static_assert(sizeof(struct dwa_task) <= CR_TASK_PRIV, "room in a task");

struct dwa_rq {
	struct deadline_rq admitted; /* first: see deadline_admit.h */
	struct levels levels;
};

struct dwa_opts {
	struct deadline_opts admit; /* first: see deadline_admit.h */
	int64_t workahead, together;
};

static const char *const workahead_names[] = { WORKAHEAD_NAMES };
static const char *const class_names[] = { "apart", "together", NULL };

static const struct cr_opt dwa_options[] = {
	DEADLINE_OPT_BOUND,
	WORKAHEAD_OPT(offsetof(struct dwa_opts, workahead), workahead_names),
	{ .name = "classes",
	  .help = "guaranteed before statistical frames; or both by deadline, "
		  "and behind them those that have used up their time",
	  .kind = CR_OPT_ENUM,
	  .offset = offsetof(struct dwa_opts, together),
	  .max = true,
	  .names = class_names },
	{ .name = NULL },
};

static struct levels *dwa_levels_of(struct cr_rq *rq)
{
	return &CR_RQ(rq, struct dwa_rq)->levels;
}

static int dwa_rq_init(struct cr_rq *rq)
{
	const struct dwa_opts *o = CR_OPTS(rq, struct dwa_opts);
	struct dwa_rq *d = CR_RQ(rq, struct dwa_rq);

	levels_init(&d->levels, offsetof(struct dwa_task, place), o->workahead);
	d->levels.together = o->together;
	d->admitted.by_class = !o->together;
	d->admitted.isolated = o->together && rq->sched->preemptible;
	return 0;
}

static void dwa_task_add(struct cr_rq *rq, struct cr_task *t, cr_ns now)
{
	(void)now;
	deadline_add(&CR_RQ(rq, struct dwa_rq)->admitted, t,
		     &CR_TASK(t, struct dwa_task)->admitted);
}

static void dwa_task_del(struct cr_rq *rq, struct cr_task *t, cr_ns now)
{
	(void)now;
	deadline_del(&CR_RQ(rq, struct dwa_rq)->admitted, t,
		     &CR_TASK(t, struct dwa_task)->admitted);
}

/* With classes=together: its deadline, but no more of them at once than its
 * rate allows. */
static cr_ns rank_by_rate(const struct cr_task *t, enum cr_enq why, cr_ns now)
{
	const struct dwa_task *x = CR_TASK_CONST(t, struct dwa_task);
	cr_ns window = cr_ns_min(t->period, t->rel_deadline);
	cr_ns from = x->place.rank;

	if (why == CR_ENQ_REQUEUE)
		return from;
	if (x->overran)
		from = cr_ns_max(from, now);
	return from ? cr_ns_max(t->job.deadline, cr_ns_add(from, window))
		    : t->job.deadline;
}

/* The key of @t in its level, now that it is queued for @why. */
static cr_ns rank_of(const struct cr_rq *rq, const struct cr_task *t,
		     enum cr_enq why, cr_ns now)
{
	const struct dwa_task *x = CR_TASK_CONST(t, struct dwa_task);

	if (t->cls == CR_BE)
		return t->job.arrival;
	/* where frames are not cut, none goes behind, and a clock that is a
	 * little fast would put a call ever further back */
	if (CR_RQ(rq, struct dwa_rq)->levels.together && rq->sched->preemptible)
		return rank_by_rate(t, why, now);
	return drops_key(x->place.rank, x->lost, t, why);
}

/* The time of a job of @t before it goes behind; CR_NEVER: no limit. */
static cr_ns specified(struct cr_rq *rq, const struct cr_task *t)
{
	const struct dwa_rq *d = CR_RQ(rq, struct dwa_rq);

	if (!d->levels.together || t->cls == CR_BE || !rq->sched->preemptible)
		return CR_NEVER;
	return cr_ns_max(deadline_budget(&d->admitted, t), 1);
}

static void dwa_enqueue(struct cr_rq *rq, struct cr_task *t, enum cr_enq why,
			cr_ns now)
{
	struct level_task *x = &CR_TASK(t, struct dwa_task)->place;

	x->rank = rank_of(rq, t, why, now);
	x->spent = t->job.ran >= specified(rq, t);
	levels_insert(rq, dwa_levels_of(rq), t, now);
}

static void dwa_dequeue(struct cr_rq *rq, struct cr_task *t, cr_ns now)
{
	(void)now;
	levels_remove(dwa_levels_of(rq), t);
}

static cr_ns left_of(cr_ns time, const struct cr_task *t)
{
	return time == CR_NEVER ? time : time - t->job.ran;
}

static struct cr_task *dwa_pick(struct cr_rq *rq, unsigned cpu, cr_ns now)
{
	struct cr_task *t = levels_pick(rq, dwa_levels_of(rq), cpu, now);

	if (t && !CR_TASK(t, struct dwa_task)->place.spent)
		t->slice = left_of(specified(rq, t), t);
	return t;
}

static void dwa_stop(struct cr_rq *rq, unsigned cpu, struct cr_task *t,
		     cr_ns ran, enum cr_stop why, cr_ns now)
{
	struct dwa_task *x = CR_TASK(t, struct dwa_task);

	(void)rq, (void)cpu, (void)ran, (void)now;
	drops_count(&x->lost, why);
	if (why == CR_STOP_DONE || why == CR_STOP_DROP)
		x->overran = x->place.spent;
}

static void dwa_tick(struct cr_rq *rq, cr_ns now)
{
	levels_promote(rq, dwa_levels_of(rq), now);
}

static unsigned dwa_explain(const struct cr_task *t, struct cr_kv *kv,
			    unsigned max)
{
	const struct dwa_task *x = CR_TASK_CONST(t, struct dwa_task);
	const struct cr_kv all[] = {
		{ "level", (int64_t)x->place.level, CR_KV_COUNT },
		{ "window_begin", t->job.eligible, CR_KV_CLOCK_NS },
		{ "deadline", t->job.deadline, CR_KV_CLOCK_NS },
		{ "density", x->admitted.util, CR_KV_PPM },
	};

	return CR_KV_COPY(kv, max, all);
}

/* The levels are sound, and the sum is that of all, so not below those
 * queued. */
static bool dwa_check(const struct cr_rq *rq)
{
	struct dwa_rq *d = CR_RQ(rq, struct dwa_rq);
	struct level_task *x;
	int64_t util = 0;

	RB_FOREACH (x, level_ready, &d->levels.ready) {
		struct cr_task *t = level_owner(&d->levels, x);

		util += CR_TASK(t, struct dwa_task)->admitted.util;
	}
	return util <= d->admitted.util && levels_check(rq, &d->levels);
}

/* A frame takes the time beyond its specification behind others. */
static void dwa_promise(const struct cr_task *t, struct cr_promise *p)
{
	const struct dwa_rq *d = CR_RQ(t->rq, struct dwa_rq);

	if (!d->admitted.isolated ||
	    deadline_budget(&d->admitted, t) >= cr_task_worst(t))
		deadline_promise(t, p);
	else
		p->rule = "what it specified is below its worst case: class "
			  "hard has a bound";
}

const struct cr_sched_ops cr_sched_dwa = {
	.abi = CR_SCHED_ABI,
	.flags = CR_F_GUARANTEE | CR_F_IDLES,
	.name = "dwa",
	.help = "guaranteed, statistical, best effort, workahead; each by "
		"deadline",
	.rq_size = sizeof(struct dwa_rq),
	.task_size = sizeof(struct dwa_task),
	.opts_size = sizeof(struct dwa_opts),
	.opts = dwa_options,
	.rq_init = dwa_rq_init,
	.admit = deadline_admit,
	.task_add = dwa_task_add,
	.task_del = dwa_task_del,
	.enqueue = dwa_enqueue,
	.dequeue = dwa_dequeue,
	.pick = dwa_pick,
	.stop = dwa_stop,
	.tick = dwa_tick,
	.explain = dwa_explain,
	.promise = dwa_promise,
	.check = dwa_check,
};
