/* SPDX-License-Identifier: Apache-2.0 */
/*
 * DWA: deadline-workahead (Anderson 1993; the 1996 paper's four levels, see
 * levels.h). Critical jobs of guaranteed calls, then of statistical ones, then
 * all that has no deadline, then workahead: jobs before their logical arrival,
 * l(i) = max(arrival, l(i-1) + 1/R). Earliest deadline first in a level; ties
 * go to the smaller task id.
 *
 * Good: no burst of anybody delays a call that keeps its contract; what is
 * admitted as guaranteed depends on no other class. Bad: a statistical call
 * with the closer deadline waits for a guaranteed one, so only the sum of the
 * averages speaks for it (the paper's own drawback); as edf on several CPUs.
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
 * workahead=run also one that came early, with workahead=hold never.
 *
 * Admission (deadline_admit.h, by class): guaranteed calls by the worst case,
 * against each other; statistical ones by the average, in what is left.
 */
#include "schedulers/deadline_admit.h"
#include "schedulers/drops.h"
#include "schedulers/levels.h"
#include "schedulers/policies.h"

struct dwa_task {
	struct level_task place; /* rank: the deadline */
	struct deadline_task admitted;
	unsigned lost; /* frames dropped since one was done */
};

_Static_assert(sizeof(struct dwa_task) <= CR_TASK_PRIV, "room in a task");

struct dwa_rq {
	struct deadline_rq admitted; /* first: see deadline_admit.h */
	struct levels levels;
};

struct dwa_opts {
	struct deadline_opts admit; /* first: see deadline_admit.h */
	int64_t workahead;
};

static const char *const workahead_names[] = { WORKAHEAD_NAMES };

static const struct cr_opt dwa_options[] = {
	DEADLINE_OPT_BOUND,
	WORKAHEAD_OPT(offsetof(struct dwa_opts, workahead), workahead_names),
	{ .name = NULL },
};

static struct levels *levels_of(struct cr_rq *rq)
{
	return &CR_RQ(rq, struct dwa_rq)->levels;
}

static int dwa_rq_init(struct cr_rq *rq)
{
	CR_RQ(rq, struct dwa_rq)->admitted.by_class = true;
	levels_init(levels_of(rq), offsetof(struct dwa_task, place),
		    CR_OPTS(rq, struct dwa_opts)->workahead);
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

/* What orders @t in its level, now that it is queued for @why. */
static cr_ns rank_of(const struct cr_task *t, enum cr_enq why)
{
	const struct dwa_task *x = CR_TASK_CONST(t, struct dwa_task);

	if (t->cls == CR_BE)
		return t->job.arrival;
	return drops_place(x->place.rank, x->lost, t, why);
}

static void dwa_enqueue(struct cr_rq *rq, struct cr_task *t, enum cr_enq why,
			cr_ns now)
{
	CR_TASK(t, struct dwa_task)->place.rank = rank_of(t, why);
	levels_insert(rq, levels_of(rq), t, now);
}

static void dwa_dequeue(struct cr_rq *rq, struct cr_task *t, cr_ns now)
{
	(void)now;
	levels_remove(levels_of(rq), t);
}

static struct cr_task *dwa_pick(struct cr_rq *rq, unsigned cpu, cr_ns now)
{
	return levels_pick(rq, levels_of(rq), cpu, now);
}

static void dwa_stop(struct cr_rq *rq, unsigned cpu, struct cr_task *t,
		     cr_ns ran, enum cr_stop why, cr_ns now)
{
	(void)rq, (void)cpu, (void)ran, (void)now;
	drops_count(&CR_TASK(t, struct dwa_task)->lost, why);
}

static void dwa_tick(struct cr_rq *rq, cr_ns now)
{
	levels_promote(rq, levels_of(rq), now);
}

static unsigned dwa_explain(const struct cr_task *t, struct cr_kv *kv,
			    unsigned max)
{
	const struct dwa_task *x = CR_TASK_CONST(t, struct dwa_task);
	const struct cr_kv all[] = {
		{ "level", (int64_t)x->place.level },
		{ "window_begin_ns", t->job.eligible },
		{ "deadline_ns", t->job.deadline },
		{ "density_ppm", x->admitted.util },
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
	.promise = deadline_promise,
	.check = dwa_check,
};
