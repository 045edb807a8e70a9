/* SPDX-License-Identifier: Apache-2.0 */
/*
 * EDF: earliest absolute deadline first (thesis 5.1); best-effort calls, whose
 * deadline is CR_NEVER, after all others; ties go to the smaller task id.
 *
 * Good: optimal on one CPU, keeps delay within the deadline and jitter small
 * up to full load. Bad: in overload it does not choose whom to fail, and on
 * several CPUs a few heavy tasks can be late at low load (Dhall's effect).
 *
 * A dropped frame gives up its place: its task is ordered by the next one. But
 * a task that lost two in a row keeps the place of the second, until a frame
 * of it is done. By the rule alone it would go behind frames as old as the age
 * limit, meet that limit again a period later, and so on: in lasting overload
 * the same calls would lose every frame.
 *
 * Live mode: no frame is cut, so a longer frame of anybody may block.
 *
 * Admission, per run queue of M CPUs, all in ppm and rounded against the task:
 *
 *     sum of C / min(D, T)  +  B / Dmin  <=  room
 *
 *   C     hard tasks: the worst case (contract.largest, else p99, else mean);
 *         soft tasks: the mean; best effort: 0
 *   B     the longest frame of anybody, 0 where frames are preempted
 *   Dmin  the shortest relative deadline of a hard or soft task
 *   room  M * bound; with hard tasks at most M - (M - 1) * umax, where umax is
 *         the largest C / min(D, T) of one of them (Goossens, Funk, Baruah)
 *
 * For one CPU this is sufficient (Liu and Layland's sum by density, with the
 * blocking of non-preemptive jobs charged to the tightest deadline). Global
 * EDF keeps hard deadlines by the second bound, soft ones late by at most a
 * constant (Devi and Anderson).
 */
#include <errno.h>

#include "schedulers/policies.h"
#include "schedulers/tree.h"

/* So many drops without a frame done, and a task keeps its place. */
#define LOST_IN_A_ROW 2u

/* One task's entry in a tree that knows the largest of some value. */
struct extreme {
	RB_ENTRY(extreme) node;
	int64_t value;
	uint32_t id;
};

RB_HEAD(extremes, extreme);

struct edf_task {
	RB_ENTRY(edf_task) node;
	cr_ns place;		 /* the deadline that orders it; beside node,
				  * as a walk reads both */
	struct extreme frame;	 /* longest frame            */
	struct extreme deadline; /* minus relative deadline  */
	struct extreme density;	 /* hard tasks: C / min(D,T) */
	int64_t util;		 /* its part of edf_rq.util  */
	unsigned lost;		 /* frames dropped since one was done */
};

RB_HEAD(edf_tree, edf_task);

struct edf_rq {
	struct edf_tree queue;
	struct extremes frames, deadlines, densities;
	int64_t util;
};

struct edf_opts {
	int64_t bound;
};

static const struct cr_opt edf_options[] = {
	{ .name = "bound",
	  .help = "admit up to this share of every CPU",
	  .kind = CR_OPT_PPM,
	  .offset = offsetof(struct edf_opts, bound),
	  .min = 0,
	  .max = CR_PPM,
	  .dflt = CR_PPM },
	{ .name = NULL },
};

static int extreme_cmp(const struct extreme *a, const struct extreme *b)
{
	return a->value != b->value ? cr_cmp(a->value, b->value)
				    : cr_cmp(a->id, b->id);
}

CR_TREE(extremes, extreme, node, extreme_cmp)

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

/* --- admission --- */

static int64_t worst_case(const struct cr_task *t)
{
	if (t->contract.largest > 0)
		return t->contract.largest;
	return cr_ns_max(t->cost.p99, t->cost.mean);
}

static int64_t ppm_up(int64_t part, int64_t whole)
{
	return (part * CR_PPM + whole - 1) / whole;
}

static int64_t density(const struct cr_task *t)
{
	if (t->cls == CR_BE)
		return 0;
	return ppm_up(t->cls == CR_HARD ? worst_case(t) : t->cost.mean,
		      cr_ns_min(t->period, t->rel_deadline));
}

static int64_t largest(const struct extremes *tree, int64_t none)
{
	const struct extreme *x = RB_MAX(extremes, (struct extremes *)tree);

	return x ? x->value : none;
}

/* What is left of @rq's room after @t has joined; below 0: it does not fit. */
static int64_t room_with(const struct cr_rq *rq, const struct cr_task *t)
{
	const struct edf_rq *e = CR_RQ(rq, struct edf_rq);
	int64_t m = rq->ncpu;
	int64_t room = m * CR_OPTS(rq, struct edf_opts)->bound;
	int64_t frame = cr_ns_max(largest(&e->frames, 0), worst_case(t));
	int64_t dmin = -largest(&e->deadlines, -CR_NEVER);
	int64_t umax = largest(&e->densities, 0);

	if (t->cls == CR_HARD)
		umax = cr_ns_max(umax, density(t));
	if (umax)
		room = cr_ns_min(room, m * CR_PPM - (m - 1) * umax);
	if (t->cls != CR_BE)
		dmin = cr_ns_min(dmin, t->rel_deadline);
	if (!rq->sched->preemptible && dmin != CR_NEVER)
		room -= ppm_up(frame, dmin);
	return room - e->util - density(t);
}

static bool allowed(const struct cr_rq *rq, const struct cr_task *t)
{
	for (unsigned i = 0; i < rq->ncpu; i++)
		if (cr_may_run(rq, t, i))
			return true;
	return false;
}

/* A best-effort task in a queue without deadlines breaks nothing. */
static bool nothing_to_guard(const struct cr_rq *rq, const struct cr_task *t)
{
	return t->cls == CR_BE &&
	       RB_EMPTY(&CR_RQ(rq, struct edf_rq)->deadlines);
}

/* Worst fit: the run queue that has most room left per CPU. */
static int edf_admit(const struct cr_sched *s, const struct cr_task *t,
		     struct cr_verdict *v)
{
	int64_t best_room = 0;
	int best = -1;

	v->need_ppm = density(t);
	v->rule = "its CPU mask has a CPU of a run queue";
	for (unsigned i = 0; i < s->nrq; i++) {
		const struct cr_rq *rq = &s->rq[i];
		int64_t room = room_with(rq, t);

		if (!allowed(rq, t))
			continue;
		if (nothing_to_guard(rq, t) && room < 0)
			room = 0;
		if (best >= 0 &&
		    room * s->rq[best].ncpu <= best_room * rq->ncpu)
			continue;
		best = (int)i;
		best_room = room;
	}
	if (best < 0)
		return -EINVAL;
	v->rule = "sum C / min(D, T) + longest frame / shortest D <= bound";
	v->bound_ppm = s->rq[best].ncpu *
		       CR_OPTS(&s->rq[best], struct edf_opts)->bound;
	v->free_ppm = best_room + v->need_ppm;
	return best_room >= 0 ? best : -ENOSPC;
}

static void remember(struct extremes *tree, struct extreme *x, uint32_t id,
		     int64_t value)
{
	x->value = value;
	x->id = id;
	RB_INSERT(extremes, tree, x);
}

static void edf_task_add(struct cr_rq *rq, struct cr_task *t, cr_ns now)
{
	struct edf_rq *e = CR_RQ(rq, struct edf_rq);
	struct edf_task *x = CR_TASK(t, struct edf_task);

	(void)now;
	x->util = density(t);
	e->util += x->util;
	remember(&e->frames, &x->frame, t->id, worst_case(t));
	if (t->cls != CR_BE)
		remember(&e->deadlines, &x->deadline, t->id, -t->rel_deadline);
	if (t->cls == CR_HARD)
		remember(&e->densities, &x->density, t->id, x->util);
}

static void edf_task_del(struct cr_rq *rq, struct cr_task *t, cr_ns now)
{
	struct edf_rq *e = CR_RQ(rq, struct edf_rq);
	struct edf_task *x = CR_TASK(t, struct edf_task);

	(void)now;
	e->util -= x->util;
	RB_REMOVE(extremes, &e->frames, &x->frame);
	if (t->cls != CR_BE)
		RB_REMOVE(extremes, &e->deadlines, &x->deadline);
	if (t->cls == CR_HARD)
		RB_REMOVE(extremes, &e->densities, &x->density);
}

/* --- order --- */

static void edf_enqueue(struct cr_rq *rq, struct cr_task *t, enum cr_enq why,
			cr_ns now)
{
	struct edf_task *x = CR_TASK(t, struct edf_task);

	if (why == CR_ENQ_NEXT && x->lost >= LOST_IN_A_ROW)
		x->place = cr_ns_min(x->place, t->job.deadline);
	else if (why != CR_ENQ_REQUEUE)
		x->place = t->job.deadline;
	RB_INSERT(edf_tree, &CR_RQ(rq, struct edf_rq)->queue, x);
	if (why != CR_ENQ_REQUEUE)
		cr_kick_worst(rq, t, edf_before, now);
}

static void edf_dequeue(struct cr_rq *rq, struct cr_task *t, cr_ns now)
{
	(void)now;
	RB_REMOVE(edf_tree, &CR_RQ(rq, struct edf_rq)->queue,
		  CR_TASK(t, struct edf_task));
}

static struct cr_task *edf_pick(struct cr_rq *rq, unsigned cpu, cr_ns now)
{
	struct edf_task *x;

	RB_FOREACH (x, edf_tree, &CR_RQ(rq, struct edf_rq)->queue) {
		struct cr_task *t = cr_task_of(x);

		if (!cr_may_run(rq, t, cpu))
			continue;
		edf_dequeue(rq, t, now);
		t->slice = CR_NEVER;
		return t;
	}
	return NULL;
}

static void edf_stop(struct cr_rq *rq, unsigned cpu, struct cr_task *t,
		     cr_ns ran, enum cr_stop why, cr_ns now)
{
	(void)rq, (void)cpu, (void)ran, (void)now;
	if (why == CR_STOP_DROP)
		CR_TASK(t, struct edf_task)->lost++;
	else if (why == CR_STOP_DONE)
		CR_TASK(t, struct edf_task)->lost = 0;
}

static unsigned edf_explain(const struct cr_task *t, struct cr_kv *kv,
			    unsigned max)
{
	const struct cr_kv all[] = {
		{ "deadline_ns", t->job.deadline },
		{ "density_ppm", CR_TASK_CONST(t, struct edf_task)->util },
	};
	unsigned n = 0;

	for (; n < 2 && n < max; n++)
		kv[n] = all[n];
	return n;
}

/* Sorted, complete, and the sum is the sum of the parts of those queued. */
static bool edf_check(const struct cr_rq *rq)
{
	struct edf_rq *e = CR_RQ(rq, struct edf_rq);
	struct edf_task *x, *before = NULL;
	int64_t util = 0;
	unsigned n = 0;

	RB_FOREACH (x, edf_tree, &e->queue) {
		if (before && edf_cmp(before, x) >= 0)
			return false;
		if (cr_task_of(x)->state != CR_QUEUED)
			return false;
		util += x->util;
		before = x;
		n++;
	}
	return n == rq->nqueued && util <= e->util && e->util >= 0;
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
	.admit = edf_admit,
	.task_add = edf_task_add,
	.task_del = edf_task_del,
	.enqueue = edf_enqueue,
	.dequeue = edf_dequeue,
	.pick = edf_pick,
	.stop = edf_stop,
	.explain = edf_explain,
	.check = edf_check,
};
