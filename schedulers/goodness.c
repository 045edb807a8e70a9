/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Goodness: the time-sharing policy of Linux 2.2 (BEST paper, 3.2). A task has
 * a counter of ticks. Running takes from it; among waiting tasks with ticks
 * left the one with the highest counter + nice ticks runs. When nobody who
 * waits has any left, every task, also one that sleeps, gets
 *
 *     counter = counter / 2 + nice ticks
 *
 * so that a sleeper comes back with up to twice the ticks of the others, and
 * displaces them. Nice ticks are the quantum in ticks, scaled by (20 - nice) /
 * 20: 0.4 s to 0.01 s, 0.2 s for nice 0. Equals: the one that woke up last, as
 * in the kernel's list, then the smaller id.
 *
 * A turn goes on over the end of a job while the task does not sleep and has
 * ticks. A task that wakes up with at least as much as one that runs displaces
 * it, and gets its CPU although others may wait with more: with the kernel's
 * look at all of them the paper's figures for short periods do not come out
 * (campaigns/best/README.md).
 *
 * Good: nobody starves, short jobs of tasks that mostly sleep come first.
 * Bad: blind to deadlines. A task that needs more than an equal share is late
 * however important it is, and the shorter its period, the more often a quantum
 * of somebody else hits it.
 * Live mode: no frame is cut. A turn ends with the frame that takes the last
 * tick, and what it took beyond is forgotten, as the kernel does; who displaces
 * waits for the frame's end.
 *
 * The recalculation touches nobody: it swaps the trees of tasks with and
 * without ticks, and counts. A task catches up with the recalculations it has
 * missed when it is enqueued or picked. counter / 2 + n goes to its fixed
 * point in log2(counter) steps, so this is short, however long it slept.
 *
 * Differences from the kernel: service is measured, not sampled at ticks; no
 * bonus for the same address space (each call is its own) or CPU; with CPU
 * masks, a task without ticks runs where nobody with ticks may run, on a new
 * quantum of its own instead of a recalculation for all.
 */
#include "schedulers/policies.h"
#include "cr/tree.h"

/* The factor of nice: nice 20 would be nothing. */
#define NICE_STEPS 20
/* Keys before all others: whose turn goes on; who takes a CPU from somebody. */
#define KEY_GOES_ON (INT64_MAX - 1)
#define KEY_DISPLACES INT64_MAX

struct goodness_task {
	RB_ENTRY(goodness_task) node;
	int64_t counter; /* ticks left, as of @epoch              */
	uint64_t epoch;	 /* recalculations it has seen            */
	cr_ns rest;	 /* service in the tick begun, < tick     */
	cr_ns charged;	 /* of the turn in progress, already taken */
	int64_t key;	 /* queued: its goodness there, or KEY_*  */
	uint64_t woken;	 /* when, in wake-ups of the queue        */
};

RB_HEAD(goodness_tree, goodness_task);

struct goodness_rq {
	struct goodness_tree tree[2];
	unsigned active; /* the tree of those with ticks left */
	uint64_t epoch;	 /* recalculations so far */
	uint64_t wakes;	 /* wake-ups so far */
};

struct goodness_opts {
	int64_t tick, quantum;
};

static const struct cr_opt goodness_options[] = {
	{ .name = "tick",
	  .help = "the unit that counters count",
	  .kind = CR_OPT_TIME,
	  .offset = offsetof(struct goodness_opts, tick),
	  .min = 1000,
	  .max = CR_SEC,
	  .dflt = CR_SEC / 800 },
	{ .name = "quantum",
	  .help = "CPU time of a turn at nice 0",
	  .kind = CR_OPT_TIME,
	  .offset = offsetof(struct goodness_opts, quantum),
	  .min = 1000,
	  .max = 10 * CR_SEC,
	  .dflt = CR_SEC / 5 },
	{ .name = NULL },
};

static cr_ns tick_of(const struct cr_task *t)
{
	return CR_OPTS(t->rq, struct goodness_opts)->tick;
}

static int64_t nice_ticks(const struct cr_task *t)
{
	int64_t ticks = CR_OPTS(t->rq, struct goodness_opts)->quantum *
			(NICE_STEPS - t->nice) / NICE_STEPS / tick_of(t);

	return ticks > 0 ? ticks : 1;
}

/* --- the counter --- */

/* The counter after the recalculations that @t has missed. */
static int64_t counter_now(const struct cr_task *t)
{
	const struct goodness_task *x = CR_TASK_CONST(t, struct goodness_task);
	uint64_t missed = CR_RQ(t->rq, struct goodness_rq)->epoch - x->epoch;
	int64_t counter = x->counter;

	for (; missed; missed--) {
		int64_t next = counter / 2 + nice_ticks(t);

		if (next == counter)
			break;
		counter = next;
	}
	return counter;
}

static void goodness_catch_up(struct cr_task *t)
{
	struct goodness_task *x = CR_TASK(t, struct goodness_task);

	x->counter = counter_now(t);
	x->epoch = CR_RQ(t->rq, struct goodness_rq)->epoch;
}

static void goodness_charge(struct cr_task *t, cr_ns ran)
{
	struct goodness_task *x = CR_TASK(t, struct goodness_task);
	cr_ns used = x->rest + ran, tick = tick_of(t);

	if (used / tick < x->counter) {
		x->counter -= used / tick;
		x->rest = used % tick;
	} else {
		x->counter = 0;
		x->rest = 0;
	}
}

static cr_ns uncharged(const struct cr_task *t, cr_ns now)
{
	return now - t->rq->cpu[t->cpu].since -
	       CR_TASK_CONST(t, struct goodness_task)->charged;
}

/* Tasks that run have seen the counters change before: take their service so
 * far at the old rate of exchange. */
static void settle_running(struct cr_rq *rq, cr_ns now)
{
	for (unsigned c = 0; c < rq->ncpu; c++) {
		struct cr_task *t = rq->cpu[c].running;
		cr_ns ran;

		if (!t)
			continue;
		ran = uncharged(t, now);
		goodness_charge(t, ran);
		CR_TASK(t, struct goodness_task)->charged += ran;
	}
}

/* Only while no task with ticks waits: those that wait, with none, become
 * those that have some, and their order stays. */
static void recalculate(struct cr_rq *rq, cr_ns now)
{
	struct goodness_rq *g = CR_RQ(rq, struct goodness_rq);

	settle_running(rq, now);
	g->epoch++;
	g->active = !g->active;
	for (unsigned c = 0; c < rq->ncpu; c++)
		if (rq->cpu[c].running)
			goodness_catch_up(rq->cpu[c].running);
}

/* --- order --- */

static int goodness_cmp(struct goodness_task *x, struct goodness_task *y)
{
	if (x->key != y->key)
		return cr_cmp(y->key, x->key);
	if (x->woken != y->woken)
		return x->woken > y->woken ? -1 : 1;
	return cr_cmp(cr_task_of(x)->id, cr_task_of(y)->id);
}

CR_TREE(goodness_tree, goodness_task, node, goodness_cmp)

/* Counter + nice ticks; 0 when the counter is spent. */
static int64_t goodness(const struct cr_task *t, cr_ns now)
{
	const struct goodness_task *x = CR_TASK_CONST(t, struct goodness_task);
	int64_t counter = counter_now(t);

	if (t->state == CR_RUNNING)
		counter -= (x->rest + uncharged(t, now)) / tick_of(t);
	return counter > 0 ? counter + nice_ticks(t) : 0;
}

/* Among equals who waits is before who runs. */
static bool goodness_before(const struct cr_task *a, const struct cr_task *b,
			    cr_ns now)
{
	int64_t x = goodness(a, now), y = goodness(b, now);

	if (x != y)
		return x > y;
	if (a->state != b->state)
		return a->state != CR_RUNNING && x > 0;
	return a->id < b->id;
}

/* May @t, which woke up, take a CPU from one that runs, or from one whose turn
 * would go on at this instant? */
static bool displaces(struct cr_rq *rq, const struct cr_task *t, cr_ns now)
{
	struct goodness_rq *g = CR_RQ(rq, struct goodness_rq);
	struct goodness_task *top = RB_MIN(goodness_tree, &g->tree[g->active]);

	if (top && top->key == KEY_GOES_ON &&
	    goodness(t, now) >= goodness(cr_task_of(top), now))
		return true;
	for (unsigned c = 0; c < rq->ncpu; c++) {
		const struct cr_task *r = rq->cpu[c].running;

		if (r && cr_may_run(rq, t, c) && goodness_before(t, r, now))
			return true;
	}
	return false;
}

/* Where @t, queued with the counter that it has, belongs. */
static int64_t goodness_key_of(struct cr_rq *rq, const struct cr_task *t,
			       enum cr_enq why, cr_ns now)
{
	const struct goodness_task *x = CR_TASK_CONST(t, struct goodness_task);

	if (!x->counter)
		return 2 * nice_ticks(t);
	if (why == CR_ENQ_NEXT)
		return KEY_GOES_ON;
	if (why == CR_ENQ_RELEASE && displaces(rq, t, now))
		return KEY_DISPLACES;
	return x->counter + nice_ticks(t);
}

/* The first in the tree that may run on cpu[@cpu], still in it; or NULL. */
static struct cr_task *first(struct cr_rq *rq, struct goodness_tree *tree,
			     unsigned cpu)
{
	struct goodness_task *x;

	RB_FOREACH (x, goodness_tree, tree)
		if (cr_may_run(rq, cr_task_of(x), cpu))
			return cr_task_of(x);
	return NULL;
}

/* The tree a queued task is in: one that has yet to see the recalculation that
 * made its tree the active one has ticks, too. */
static struct goodness_tree *tree_of(struct goodness_rq *g,
				     const struct goodness_task *x)
{
	bool has_ticks = x->counter || x->epoch != g->epoch;

	return &g->tree[has_ticks ? g->active : !g->active];
}

/* --- the contract --- */

static void goodness_task_add(struct cr_rq *rq, struct cr_task *t, cr_ns now)
{
	struct goodness_task *x = CR_TASK(t, struct goodness_task);

	(void)now;
	x->counter = nice_ticks(t);
	x->epoch = CR_RQ(rq, struct goodness_rq)->epoch;
}

static void goodness_enqueue(struct cr_rq *rq, struct cr_task *t,
			     enum cr_enq why, cr_ns now)
{
	struct goodness_rq *g = CR_RQ(rq, struct goodness_rq);
	struct goodness_task *x = CR_TASK(t, struct goodness_task);

	goodness_catch_up(t);
	if (why == CR_ENQ_RELEASE)
		x->woken = ++g->wakes;
	x->key = goodness_key_of(rq, t, why, now);
	RB_INSERT(goodness_tree, tree_of(g, x), x);
	if (x->counter && why != CR_ENQ_REQUEUE)
		cr_kick_worst(rq, t, goodness_before, now);
}

static void goodness_dequeue(struct cr_rq *rq, struct cr_task *t, cr_ns now)
{
	struct goodness_rq *g = CR_RQ(rq, struct goodness_rq);
	struct goodness_task *x = CR_TASK(t, struct goodness_task);

	(void)now;
	RB_REMOVE(goodness_tree, tree_of(g, x), x);
}

static struct cr_task *goodness_pick(struct cr_rq *rq, unsigned cpu, cr_ns now)
{
	struct goodness_rq *g = CR_RQ(rq, struct goodness_rq);
	struct cr_task *t = first(rq, &g->tree[g->active], cpu);
	struct goodness_task *x;

	if (!t) {
		t = first(rq, &g->tree[!g->active], cpu);
		if (!t)
			return NULL;
		if (RB_EMPTY(&g->tree[g->active]))
			recalculate(rq, now);
	}
	goodness_dequeue(rq, t, now);
	goodness_catch_up(t);
	x = CR_TASK(t, struct goodness_task);
	if (!x->counter)
		x->counter = nice_ticks(t);
	x->charged = 0;
	t->slice = x->counter * tick_of(t) - x->rest;
	return t;
}

static void goodness_stop(struct cr_rq *rq, unsigned cpu, struct cr_task *t,
			  cr_ns ran, enum cr_stop why, cr_ns now)
{
	struct goodness_task *x = CR_TASK(t, struct goodness_task);

	(void)rq, (void)cpu, (void)why, (void)now;
	goodness_charge(t, ran - x->charged);
	x->charged = 0;
}

static unsigned goodness_explain(const struct cr_task *t, struct cr_kv *kv,
				 unsigned max)
{
	int64_t counter = counter_now(t);
	const struct cr_kv all[] = {
		{ "counter_ticks", counter, CR_KV_COUNT },
		{ "nice_ticks", nice_ticks(t), CR_KV_COUNT },
		{ "goodness", counter ? counter + nice_ticks(t) : 0,
		  CR_KV_COUNT },
	};

	return CR_KV_COPY(kv, max, all);
}

/* How many are in @tree if it is sorted and all of them belong there, or -1. */
static int64_t goodness_count(const struct cr_rq *rq,
			      struct goodness_tree *tree)
{
	struct goodness_rq *g = CR_RQ(rq, struct goodness_rq);
	struct goodness_task *x, *before = NULL;
	int64_t n = 0;

	RB_FOREACH (x, goodness_tree, tree) {
		const struct cr_task *t = cr_task_of(x);

		if (before && goodness_cmp(before, x) >= 0)
			return -1;
		if (t->state != CR_QUEUED || t->rq != rq ||
		    tree_of(g, x) != tree)
			return -1;
		if (x->key <= nice_ticks(t))
			return -1;
		if (x->counter < 0 || x->rest < 0 || x->rest >= tick_of(t))
			return -1;
		before = x;
		n++;
	}
	return n;
}

static bool goodness_check(const struct cr_rq *rq)
{
	struct goodness_rq *g = CR_RQ(rq, struct goodness_rq);
	int64_t some = goodness_count(rq, &g->tree[0]),
		others = goodness_count(rq, &g->tree[1]);

	return some >= 0 && others >= 0 && some + others == rq->nqueued;
}

const struct cr_sched_ops cr_sched_goodness = {
	.abi = CR_SCHED_ABI,
	.flags = CR_F_SLICED,
	.name = "goodness",
	.help = "Linux 2.2: most ticks left first, renewed when all are spent",
	.rq_size = sizeof(struct goodness_rq),
	.task_size = sizeof(struct goodness_task),
	.opts_size = sizeof(struct goodness_opts),
	.opts = goodness_options,
	.task_add = goodness_task_add,
	.enqueue = goodness_enqueue,
	.dequeue = goodness_dequeue,
	.pick = goodness_pick,
	.stop = goodness_stop,
	.explain = goodness_explain,
	.check = goodness_check,
};
