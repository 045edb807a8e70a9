/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CFS: least virtual runtime first (thesis 5.3.3; Linux 3.12).
 *
 * Virtual runtime is service divided by weight, so calls that always have
 * frames get CPU time in proportion to their weights. A call's weight is
 * Linux's table at its nice level (neighbours differ by 1.25) times its own
 * weight / 1024: nice is the operator's hand, weight the cost of the codec
 * (thesis 6.1), and neither hides the other. Classes and deadlines are ignored.
 *
 * A turn lasts the call's part of a period, at least the granularity. The
 * period is the latency, or the granularity times the calls per CPU if that is
 * longer. A call that slept starts half a latency before the least virtual
 * runtime, never earlier than where it was itself: that is all it may claim.
 * It displaces a running call that is a granularity ahead of it.
 *
 * Good: overload is shared, nobody starves, frames of light and heavy codecs
 * are lost alike when weights follow the cost. Bad: no deadline is respected,
 * and a period of n calls lasts n granularities.
 *
 * Several CPUs of one run queue share one order. A call heavier than one CPU
 * can serve, or bound to CPUs that others do not use, would collect arrears
 * (or a lead) for good: whoever is enqueued lies at most half a latency behind
 * the least virtual runtime, and at most its last turn ahead of it. Neither
 * limit can be met on one CPU without sleep, see bound().
 *
 * Live mode: no frame is cut; a decision is made after each. The long-term
 * shares stay, "within one turn" becomes "within one frame".
 *
 * Erratum: by (5.8) virtual runtime would grow faster for a heavier task; it
 * must grow slower. (5.10), 0.55/0.45 = 1.22, is what Linux makes 1.25.
 *
 * Arithmetic: exact, remainders are carried. Virtual runtime is a uint64_t
 * that wraps and is compared by signed difference. Weights are 2^10 .. 2^32,
 * neutral is 2^20, one turn counts at most 2^42 ns (73 minutes): a turn's
 * product is < 2^63, its virtual time <= 2^52, and bound() keeps all that is
 * queued within 2^53 of the least. So no difference ever reaches 2^63.
 */
#include "schedulers/nice_weight.h"
#include "schedulers/policies.h"
#include "cr/tree.h"

#define LONGEST_TURN (INT64_C(1) << 42)
#define LONGEST_PERIOD (INT64_C(1) << 43)

struct cfs_task {
	RB_ENTRY(cfs_task) node;
	uint64_t vruntime;
	uint64_t rest;	 /* of the last division by weight */
	uint64_t weight; /* constant */
	uint64_t turn;	 /* virtual time of its last turn */
};

RB_HEAD(cfs_tree, cfs_task);

struct cfs_rq {
	struct cfs_tree queue;
	uint64_t least;	   /* virtual runtime; never goes back */
	uint64_t weight;   /* of the calls queued or picked */
	unsigned runnable; /* their number */
};

struct cfs_opts {
	int64_t latency, granularity;
};

static const struct cr_opt cfs_options[] = {
	{ .name = "latency",
	  .help = "period in which every call has a turn, if they are few",
	  .kind = CR_OPT_TIME,
	  .offset = offsetof(struct cfs_opts, latency),
	  .min = CR_US,
	  .max = 10 * CR_SEC,
	  .dflt = 6 * CR_MS },
	{ .name = "granularity",
	  .help = "shortest turn",
	  .kind = CR_OPT_TIME,
	  .offset = offsetof(struct cfs_opts, granularity),
	  .min = 100,
	  .max = CR_SEC,
	  .dflt = 750 * CR_US },
	{ .name = NULL },
};

/* How far @a is ahead of @b. */
static int64_t lead(uint64_t a, uint64_t b)
{
	return (int64_t)(a - b);
}

/* @service times NEUTRAL: what a weight divides. */
static uint64_t cfs_product(cr_ns service)
{
	return (uint64_t)cr_ns_min(service, LONGEST_TURN) * NEUTRAL;
}

static int cfs_cmp(struct cfs_task *x, struct cfs_task *y)
{
	int64_t d = lead(x->vruntime, y->vruntime);

	return d ? cr_cmp(d, 0) : cr_cmp(cr_task_of(x)->id, cr_task_of(y)->id);
}

CR_TREE(cfs_tree, cfs_task, node, cfs_cmp)

/* --- displacing a running call --- */

/* Where @t stands at @now. Only a call just enqueued and running ones are
 * compared by this; the former must win by a granularity of its own. */
static uint64_t cfs_standing(const struct cr_task *t, cr_ns now)
{
	const struct cfs_task *x = CR_TASK_CONST(t, struct cfs_task);
	cr_ns extra = CR_OPTS(t->rq, struct cfs_opts)->granularity;

	if (t->state == CR_RUNNING)
		extra = now - t->rq->cpu[t->cpu].since;
	return x->vruntime + cfs_product(extra) / x->weight;
}

static bool cfs_before(const struct cr_task *a, const struct cr_task *b,
		       cr_ns now)
{
	int64_t d = lead(cfs_standing(a, now), cfs_standing(b, now));

	return d ? d < 0 : a->id < b->id;
}

/* --- the callbacks --- */

static void cfs_task_add(struct cr_rq *rq, struct cr_task *t, cr_ns now)
{
	struct cfs_task *x = CR_TASK(t, struct cfs_task);

	(void)now;
	x->weight = nice_weight(t);
	x->vruntime = CR_RQ(rq, struct cfs_rq)->least;
}

static void raise_least(struct cfs_rq *c, uint64_t vruntime)
{
	if (lead(vruntime, c->least) > 0)
		c->least = vruntime;
}

/* For a call that comes from sleep: the least of all that are runnable, those
 * that run included as far as they have come. */
static void cfs_catch_up(struct cr_rq *rq, cr_ns now)
{
	struct cfs_rq *c = CR_RQ(rq, struct cfs_rq);
	struct cfs_task *x = RB_MIN(cfs_tree, &c->queue);
	uint64_t least = x ? x->vruntime : 0;
	bool any = x != NULL;

	for (unsigned i = 0; i < rq->ncpu; i++) {
		const struct cr_task *r = rq->cpu[i].running;
		uint64_t v = r ? cfs_standing(r, now) : 0;

		if (r && (!any || lead(v, least) < 0))
			least = v;
		any |= r != NULL;
	}
	if (any)
		raise_least(c, least);
}

/*
 * Without masks pick() takes the first of the queue and makes its virtual
 * runtime the least, unless it was greater already. So whoever ran is at most
 * its turn ahead of the least. On one CPU, all others were behind nothing but
 * a sleeper's half latency: for them and for those that ran this changes
 * nothing.
 */
static void bound(const struct cr_rq *rq, struct cfs_task *x)
{
	uint64_t least = CR_RQ(rq, struct cfs_rq)->least;
	uint64_t lowest =
		least - (uint64_t)CR_OPTS(rq, struct cfs_opts)->latency / 2;

	if (lead(x->vruntime, lowest) < 0)
		x->vruntime = lowest;
	else if (lead(x->vruntime, least + x->turn) > 0)
		x->vruntime = least + x->turn;
}

static void cfs_enqueue(struct cr_rq *rq, struct cr_task *t, enum cr_enq why,
			cr_ns now)
{
	struct cfs_rq *c = CR_RQ(rq, struct cfs_rq);
	struct cfs_task *x = CR_TASK(t, struct cfs_task);
	bool comes = why == CR_ENQ_RELEASE || why == CR_ENQ_MIGRATE;

	if (comes)
		cfs_catch_up(rq, now);
	bound(rq, x);
	RB_INSERT(cfs_tree, &c->queue, x);
	c->weight += x->weight;
	c->runnable++;
	if (comes)
		cr_kick_worst(rq, t, cfs_before, now);
}

static void leave(struct cfs_rq *c, const struct cfs_task *x)
{
	c->weight -= x->weight;
	c->runnable--;
}

static void cfs_dequeue(struct cr_rq *rq, struct cr_task *t, cr_ns now)
{
	struct cfs_rq *c = CR_RQ(rq, struct cfs_rq);
	struct cfs_task *x = CR_TASK(t, struct cfs_task);

	(void)now;
	RB_REMOVE(cfs_tree, &c->queue, x);
	leave(c, x);
}

/* Its part of a period in which each CPU serves its share of the calls. */
static cr_ns cfs_slice_of(const struct cr_rq *rq, const struct cfs_task *x)
{
	const struct cfs_rq *c = CR_RQ(rq, struct cfs_rq);
	const struct cfs_opts *o = CR_OPTS(rq, struct cfs_opts);
	cr_ns each = (c->runnable + rq->ncpu - 1) / rq->ncpu;
	cr_ns period = cr_ns_min(cr_ns_max(o->latency, each * o->granularity),
				 LONGEST_PERIOD);
	uint64_t part = x->weight * rq->ncpu;

	if (part < c->weight) /* in units of 2^-20: no overflow */
		period = period * (cr_ns)((part << 20) / c->weight) >> 20;
	return cr_ns_max(period, o->granularity);
}

static struct cr_task *cfs_pick(struct cr_rq *rq, unsigned cpu, cr_ns now)
{
	struct cfs_rq *c = CR_RQ(rq, struct cfs_rq);
	struct cfs_task *x = RB_MIN(cfs_tree, &c->queue);

	(void)now;
	if (x)
		raise_least(c, x->vruntime);
	while (x && !cr_may_run(rq, cr_task_of(x), cpu))
		x = RB_NEXT(cfs_tree, &c->queue, x);
	if (!x)
		return NULL;
	RB_REMOVE(cfs_tree, &c->queue, x);
	cr_task_of(x)->slice = cfs_slice_of(rq, x);
	return cr_task_of(x);
}

static void cfs_stop(struct cr_rq *rq, unsigned cpu, struct cr_task *t,
		     cr_ns ran, enum cr_stop why, cr_ns now)
{
	struct cfs_rq *c = CR_RQ(rq, struct cfs_rq);
	struct cfs_task *x = CR_TASK(t, struct cfs_task);
	uint64_t sum = cfs_product(ran) + x->rest;

	(void)cpu, (void)why, (void)now;
	x->turn = sum / x->weight;
	x->rest = sum % x->weight;
	x->vruntime += x->turn;
	leave(c, x);
	if (!c->runnable)
		raise_least(c, x->vruntime);
}

static unsigned cfs_explain(const struct cr_task *t, struct cr_kv *kv,
			    unsigned max)
{
	const struct cfs_task *x = CR_TASK_CONST(t, struct cfs_task);
	const struct cfs_rq *c = CR_RQ(t->rq, struct cfs_rq);
	const struct cr_kv all[] = {
		{ "vruntime", (int64_t)x->vruntime, CR_KV_NS },
		{ "behind", lead(c->least, x->vruntime), CR_KV_NS },
		{ "weight", (int64_t)(x->weight >> 10), CR_KV_COUNT },
		{ "slice", t->slice, CR_KV_NS },
	};

	return CR_KV_COPY(kv, max, all);
}

/* Sorted, complete, nobody owed more than a sleeper, and the sums are those
 * of the queue and of at most a call per CPU. */
static bool cfs_check(const struct cr_rq *rq)
{
	struct cfs_rq *c = CR_RQ(rq, struct cfs_rq);
	int64_t owed = CR_OPTS(rq, struct cfs_opts)->latency / 2;
	struct cfs_task *x, *before = NULL;
	uint64_t weight = 0;
	unsigned n = 0;

	RB_FOREACH (x, cfs_tree, &c->queue) {
		if (before && cfs_cmp(before, x) >= 0)
			return false;
		if (cr_task_of(x)->state != CR_QUEUED ||
		    lead(c->least, x->vruntime) > owed)
			return false;
		weight += x->weight;
		before = x;
		n++;
	}
	return n == rq->nqueued && n <= c->runnable &&
	       c->runnable - n <= rq->ncpu && weight <= c->weight &&
	       (n < c->runnable || weight == c->weight);
}

const struct cr_sched_ops cr_sched_cfs = {
	.abi = CR_SCHED_ABI,
	.flags = CR_F_SLICED,
	.name = "cfs",
	.help = "weighted fair shares: least virtual runtime first",
	.rq_size = sizeof(struct cfs_rq),
	.task_size = sizeof(struct cfs_task),
	.opts_size = sizeof(struct cfs_opts),
	.opts = cfs_options,
	.task_add = cfs_task_add,
	.enqueue = cfs_enqueue,
	.dequeue = cfs_dequeue,
	.pick = cfs_pick,
	.stop = cfs_stop,
	.explain = cfs_explain,
	.check = cfs_check,
};
