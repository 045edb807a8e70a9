/* SPDX-License-Identifier: Apache-2.0 */
/*
 * BFS: earliest virtual deadline first, and among calls whose virtual deadline
 * has passed the one that queues longest (thesis 5.3.4; Kolivas).
 *
 *     virtual deadline = now + rr_interval * 1.1^(nice + 20) * 1024 / weight
 *
 * computed when a call joins and whenever it has used up rr_interval of CPU
 * time; kept over preemption and sleep, with what is left of the interval.
 * Weight divides as (5.11) divides by the priority. Real-time deadlines and
 * classes are ignored.
 *
 * "Expired deadline: first found wins": the original scans a list, to whose
 * tail a call goes when it is enqueued, and stops at the first deadline that
 * lies before now. Here the list is a tree by place in it, every node knowing
 * the least deadline below itself, so both searches are one descent: to the
 * first in the list with a deadline <= max(least of all, now - 1). A call that
 * did not sleep keeps its place while its interval lasts: its frames are one
 * turn. Left out: the original's bonus for a warm cache.
 *
 * Good: simple, and a bound on waiting that needs no admission: with n calls
 * on a CPU, a call queues at most its offset and n - 1 intervals. Bad: the
 * ratio of two shares is 1.1^d, d levels apart, only where the intervals of
 * all calls just fit their offsets, sum 1.1^-(nice + 20) = 1. With fewer calls
 * the turns come earlier for all by about the same time, the ratio is greater;
 * with more it shrinks, and when n - 1 intervals exceed the longest offset all
 * deadlines pass and bfs is a plain ring. Offsets are long: 40 ms at nice 0.
 *
 * Live mode: no frame is cut, so a turn may be longer by one frame. A call of
 * speech needs seconds to use up an interval; its deadline has passed all the
 * time, and bfs is close to fifo.
 *
 * Erratum: the thesis has t_RR / priority without a unit of priority; it is
 * the ratio above, 1 at nice -20.
 */
#include "schedulers/policies.h"

struct bfs_task;
static void bfs_carry(struct bfs_task *x);

/* tree.h calls this for nodes whose children it has changed. */
#define RB_AUGMENT(x) bfs_carry(x)
#include "cr/tree.h"

struct bfs_task {
	RB_ENTRY(bfs_task) node;
	uint64_t place; /* in the list; 0: none to go back to */
	cr_ns deadline; /* virtual */
	cr_ns least;	/* deadline in the subtree */
	cr_ns used;	/* of the interval */
};

RB_HEAD(bfs_tree, bfs_task);

struct bfs_rq {
	struct bfs_tree queue;
	uint64_t tail; /* the last place given away */
};

struct bfs_opts {
	int64_t rr_interval;
};

static const struct cr_opt bfs_options[] = {
	{ .name = "rr_interval",
	  .help = "CPU time until a new virtual deadline is given",
	  .kind = CR_OPT_TIME,
	  .offset = offsetof(struct bfs_opts, rr_interval),
	  .min = CR_US,
	  .max = 10 * CR_SEC,
	  .dflt = 6 * CR_MS },
	{ .name = NULL },
};

/* 1.1^(nice + 20) in ppm. */
static const int64_t nice_ratio[40] = {
	1000000,  1100000,  1210000,  1331000,	1464100,  1610510,  1771561,
	1948717,  2143589,  2357948,  2593742,	2853117,  3138428,  3452271,
	3797498,  4177248,  4594973,  5054470,	5559917,  6115909,  6727500,
	7400250,  8140275,  8954302,  9849733,	10834706, 11918177, 13109994,
	14420994, 15863093, 17449402, 19194342, 21113777, 23225154, 25547670,
	28102437, 30912681, 34003949, 37404343, 41144778,
};

static cr_ns interval_of(const struct cr_rq *rq)
{
	return CR_OPTS(rq, struct bfs_opts)->rr_interval;
}

/* Below 2^49 after the first division, so nothing overflows. */
static cr_ns offset_of(const struct cr_rq *rq, const struct cr_task *t)
{
	cr_ns offset = interval_of(rq) * nice_ratio[t->nice + 20] / CR_PPM;

	return offset * 1024 / t->weight;
}

/* --- the list, as a tree --- */

static int bfs_cmp(struct bfs_task *x, struct bfs_task *y)
{
	if (x->place != y->place)
		return x->place < y->place ? -1 : 1;
	return cr_cmp(cr_task_of(x)->id, cr_task_of(y)->id);
}

CR_TREE(bfs_tree, bfs_task, node, bfs_cmp)

static cr_ns least_of(const struct bfs_task *x)
{
	return x ? x->least : CR_NEVER;
}

static cr_ns least_below(const struct bfs_task *x)
{
	return cr_ns_min(x->deadline, cr_ns_min(least_of(x->node.rbe_left),
						least_of(x->node.rbe_right)));
}

static void bfs_carry(struct bfs_task *x)
{
	x->least = least_below(x);
}

static void carry_up(struct bfs_task *x)
{
	for (; x; x = RB_PARENT(x, node))
		bfs_carry(x);
}

static void bfs_insert(struct cr_rq *rq, struct bfs_task *x)
{
	x->least = x->deadline;
	RB_INSERT(bfs_tree, &CR_RQ(rq, struct bfs_rq)->queue, x);
	carry_up(x);
}

/* tree.h carries up from the node that takes the place of one with two
 * children, but not from below another one. */
static void bfs_take_out(struct cr_rq *rq, struct bfs_task *x)
{
	struct bfs_task *parent = RB_PARENT(x, node);
	bool two = RB_LEFT(x, node) && RB_RIGHT(x, node);

	RB_REMOVE(bfs_tree, &CR_RQ(rq, struct bfs_rq)->queue, x);
	if (!two)
		carry_up(parent);
}

/* The first in the list with a deadline <= @limit; there is one. */
static struct bfs_task *first_due(struct bfs_task *x, cr_ns limit)
{
	for (;;) {
		if (RB_LEFT(x, node) && RB_LEFT(x, node)->least <= limit)
			x = RB_LEFT(x, node);
		else if (x->deadline <= limit)
			return x;
		else
			x = RB_RIGHT(x, node);
	}
}

/* The same with a CPU mask in the way: the original's scan. */
static struct bfs_task *bfs_scan(const struct cr_rq *rq, unsigned cpu,
				 cr_ns now)
{
	struct bfs_task *x, *best = NULL;

	RB_FOREACH (x, bfs_tree, &CR_RQ(rq, struct bfs_rq)->queue) {
		if (!cr_may_run(rq, cr_task_of(x), cpu))
			continue;
		if (x->deadline < now)
			return x;
		if (!best || x->deadline < best->deadline)
			best = x;
	}
	return best;
}

/* --- the callbacks --- */

/* Among running calls, the larger id is the first to go; but nobody goes for
 * his equal. */
static bool bfs_before(const struct cr_task *a, const struct cr_task *b,
		       cr_ns now)
{
	cr_ns x = CR_TASK_CONST(a, struct bfs_task)->deadline;
	cr_ns y = CR_TASK_CONST(b, struct bfs_task)->deadline;

	(void)now;
	return x != y ? x < y : a->state == b->state && a->id < b->id;
}

static void bfs_renew(const struct cr_rq *rq, struct cr_task *t, cr_ns now)
{
	struct bfs_task *x = CR_TASK(t, struct bfs_task);

	x->deadline = cr_ns_add(now, offset_of(rq, t));
	x->used = 0;
	x->place = 0;
}

static void bfs_task_add(struct cr_rq *rq, struct cr_task *t, cr_ns now)
{
	bfs_renew(rq, t, now);
}

static void bfs_enqueue(struct cr_rq *rq, struct cr_task *t, enum cr_enq why,
			cr_ns now)
{
	struct bfs_task *x = CR_TASK(t, struct bfs_task);

	if (why != CR_ENQ_NEXT || !x->place)
		x->place = ++CR_RQ(rq, struct bfs_rq)->tail;
	bfs_insert(rq, x);
	if (why == CR_ENQ_RELEASE || why == CR_ENQ_MIGRATE)
		cr_kick_worst(rq, t, bfs_before, now);
}

static void bfs_dequeue(struct cr_rq *rq, struct cr_task *t, cr_ns now)
{
	(void)now;
	bfs_take_out(rq, CR_TASK(t, struct bfs_task));
}

static struct cr_task *bfs_pick(struct cr_rq *rq, unsigned cpu, cr_ns now)
{
	struct bfs_task *x = RB_ROOT(&CR_RQ(rq, struct bfs_rq)->queue);

	if (!x)
		return NULL;
	x = first_due(x, cr_ns_max(x->least, now - 1));
	if (!cr_may_run(rq, cr_task_of(x), cpu))
		x = bfs_scan(rq, cpu, now);
	if (!x)
		return NULL;
	bfs_take_out(rq, x);
	cr_task_of(x)->slice = interval_of(rq) - x->used;
	return cr_task_of(x);
}

static void bfs_stop(struct cr_rq *rq, unsigned cpu, struct cr_task *t,
		     cr_ns ran, enum cr_stop why, cr_ns now)
{
	struct bfs_task *x = CR_TASK(t, struct bfs_task);

	(void)cpu, (void)why;
	x->used += ran;
	if (x->used >= interval_of(rq))
		bfs_renew(rq, t, now);
}

static unsigned bfs_explain(const struct cr_task *t, struct cr_kv *kv,
			    unsigned max)
{
	const struct bfs_task *x = CR_TASK_CONST(t, struct bfs_task);
	const struct cr_kv all[] = {
		{ "virtual_deadline", x->deadline, CR_KV_CLOCK_NS },
		{ "offset", offset_of(t->rq, t), CR_KV_NS },
		{ "interval_used", x->used, CR_KV_NS },
	};

	return CR_KV_COPY(kv, max, all);
}

/* Sorted, complete, intervals not overdrawn, every least is one. */
static bool bfs_check(const struct cr_rq *rq)
{
	struct bfs_rq *b = CR_RQ(rq, struct bfs_rq);
	struct bfs_task *x, *before = NULL;
	unsigned n = 0;

	RB_FOREACH (x, bfs_tree, &b->queue) {
		if (before && bfs_cmp(before, x) >= 0)
			return false;
		if (cr_task_of(x)->state != CR_QUEUED || !x->place ||
		    x->place > b->tail)
			return false;
		if (x->used < 0 || x->used >= interval_of(rq) ||
		    x->least != least_below(x))
			return false;
		before = x;
		n++;
	}
	return n == rq->nqueued;
}

const struct cr_sched_ops cr_sched_bfs = {
	.abi = CR_SCHED_ABI,
	.flags = CR_F_SLICED,
	.name = "bfs",
	.help = "earliest virtual deadline first, a ring when they have passed",
	.rq_size = sizeof(struct bfs_rq),
	.task_size = sizeof(struct bfs_task),
	.opts_size = sizeof(struct bfs_opts),
	.opts = bfs_options,
	.task_add = bfs_task_add,
	.enqueue = bfs_enqueue,
	.dequeue = bfs_dequeue,
	.pick = bfs_pick,
	.stop = bfs_stop,
	.explain = bfs_explain,
	.check = bfs_check,
};
