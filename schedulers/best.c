/* SPDX-License-Identifier: Apache-2.0 */
/*
 * BEST: earliest deadline first with deadlines that it finds itself (BEST
 * paper, 3.3). It looks neither at the period nor at the deadline that a task
 * declares; it watches when the task wakes up.
 *
 *   wake-up     P = (Pest + w P) / (1 + w), Pest the time since the wake-up
 *               before, at most max-period; deadline = now + P. The deadline
 *               timer, CPU time, is P when the task is well-behaved, else 0.
 *   confidence  |Pest mod P - P/2|, as 0..16: 16 when Pest is a multiple of
 *               P; above the threshold a task is well-behaved.
 *   turn        ends with the quantum, when a task with an earlier deadline
 *               wakes up (not within the last moments of the quantum), or when
 *               the task sleeps. A task whose timer has run out by then gets
 *               the deadline now + max-period + offset: behind all who have a
 *               period, in turns with its like.
 *
 * A task without a history is taken to have first-period, until an interval
 * has been seen: the paper starts processes as if they were periodic, without
 * a number. It must be long enough for a first job (a task that is put behind
 * before it ever slept shows no period), and short enough that the first jobs
 * of fast tasks are in time. Equal deadlines: smaller id.
 *
 * Good: periodic work is served like edf as long as it fits, though nobody
 * declares it, and nobody starves. Bad: a task that is late does not sleep,
 * so that its period is no longer seen; in overload whoever computes longest
 * without sleeping is put behind, and misses most.
 * Live mode: no frame is cut, so turns end with the frame that reaches the
 * quantum. Frames that find others waiting are no wake-ups.
 *
 * The paper's default threshold lets every confidence pass, hence 0 is let
 * through at threshold 0.
 */
#include "schedulers/policies.h"
#include "cr/tree.h"

#define BEST_CONFIDENT 16 /* Pest is a multiple of P */
#define NICE_STEPS 20

struct best_task {
	RB_ENTRY(best_task) node;
	cr_ns deadline; /* what orders it                            */
	cr_ns period;	/* P; 0: not yet known                       */
	cr_ns woken;	/* the last wake-up                          */
	cr_ns timer;	/* service until it is put behind            */
	cr_ns used;	/* of the quantum                            */
	int64_t confidence;
	bool placed;	/* has a deadline                            */
	bool has_woken; /* @woken is known                           */
};

RB_HEAD(best_tree, best_task);

struct best_opts {
	int64_t max_period, offset, weight, threshold, quantum, hold;
	int64_t first_period;
};

static const struct cr_opt best_options[] = {
	{ .name = "max-period",
	  .help = "longer periods are taken for this",
	  .kind = CR_OPT_TIME,
	  .offset = offsetof(struct best_opts, max_period),
	  .min = CR_MS,
	  .max = CR_TASK_LONGEST,
	  .dflt = 5120 * CR_MS },
	{ .name = "offset",
	  .help = "how far beyond it tasks without a period are put",
	  .kind = CR_OPT_TIME,
	  .offset = offsetof(struct best_opts, offset),
	  .min = 0,
	  .max = CR_TASK_LONGEST,
	  .dflt = 100 * CR_MS },
	{ .name = "w",
	  .help = "weight of the period so far against the last interval",
	  .kind = CR_OPT_PPM,
	  .offset = offsetof(struct best_opts, weight),
	  .min = 0,
	  .max = 100 * CR_PPM,
	  .dflt = CR_PPM / 3 },
	{ .name = "threshold",
	  .help = "confidence (0..16) from which a task is well-behaved",
	  .kind = CR_OPT_INT,
	  .offset = offsetof(struct best_opts, threshold),
	  .min = 0,
	  .max = BEST_CONFIDENT + 1,
	  .dflt = 0 },
	{ .name = "quantum",
	  .help = "CPU time of a turn at nice 0",
	  .kind = CR_OPT_TIME,
	  .offset = offsetof(struct best_opts, quantum),
	  .min = 1000,
	  .max = 10 * CR_SEC,
	  .dflt = 100 * CR_MS },
	{ .name = "hold",
	  .help = "no preemption when so little of the quantum is left",
	  .kind = CR_OPT_TIME,
	  .offset = offsetof(struct best_opts, hold),
	  .min = 0,
	  .max = 10 * CR_SEC,
	  .dflt = 10 * CR_MS },
	{ .name = "first-period",
	  .help = "period of a task until one has been seen",
	  .kind = CR_OPT_TIME,
	  .offset = offsetof(struct best_opts, first_period),
	  .min = 1000,
	  .max = CR_TASK_LONGEST,
	  .dflt = 300 * CR_MS },
	{ .name = NULL },
};

static const struct best_opts *best_opts_of(const struct cr_task *t)
{
	return CR_OPTS(t->rq, struct best_opts);
}

/* The paper's 0.005 s to 0.2 s for the default. */
static cr_ns best_quantum_of(const struct cr_task *t)
{
	cr_ns q =
		best_opts_of(t)->quantum * (NICE_STEPS - t->nice) / NICE_STEPS;

	return cr_ns_max(q, 1);
}

/* --- deadlines --- */

/* (Pest + w P) / (1 + w) without a product that could overflow. */
static cr_ns average(cr_ns seen, cr_ns period, int64_t w)
{
	cr_ns step = seen - period, all = CR_PPM + w;

	return period + step / all * CR_PPM + step % all * CR_PPM / all;
}

static int64_t confidence_in(cr_ns seen, cr_ns period)
{
	cr_ns off = seen % period - period / 2;

	if (off < 0)
		off = -off;
	return cr_ns_min(off * 2 * BEST_CONFIDENT / period, BEST_CONFIDENT);
}

/* A wake-up, @seen after the one before. */
static void learn(struct cr_task *t, cr_ns seen)
{
	struct best_task *x = CR_TASK(t, struct best_task);

	seen = cr_ns_max(cr_ns_min(seen, best_opts_of(t)->max_period), 1);
	if (x->period)
		x->period = average(seen, x->period, best_opts_of(t)->weight);
	else
		x->period = seen;
	x->period = cr_ns_max(x->period, 1);
	x->confidence = confidence_in(seen, x->period);
}

static void place(struct cr_task *t, cr_ns now)
{
	struct best_task *x = CR_TASK(t, struct best_task);
	cr_ns period = x->period ? x->period : best_opts_of(t)->first_period;
	bool behaved =
		!x->period || x->confidence >= best_opts_of(t)->threshold;

	x->deadline = cr_ns_add(now, period);
	x->timer = behaved ? period : 0;
	x->used = 0;
	x->placed = true;
}

static void best_wake(struct cr_task *t, cr_ns now)
{
	struct best_task *x = CR_TASK(t, struct best_task);

	if (x->has_woken)
		learn(t, now - x->woken);
	x->woken = now;
	x->has_woken = true;
	place(t, now);
}

/* The turn is over, the task is not: without a timer it goes behind. */
static void end_turn(struct cr_task *t, cr_ns now)
{
	struct best_task *x = CR_TASK(t, struct best_task);

	if (x->timer <= 0)
		x->deadline = cr_ns_add(now, best_opts_of(t)->max_period +
						     best_opts_of(t)->offset);
	if (x->used >= best_quantum_of(t))
		x->used = 0;
}

/* --- order --- */

/* Nobody is before a task whose quantum is about to end anyway. */
static bool holds_cpu(const struct cr_task *t, cr_ns now)
{
	cr_ns ran;

	if (t->state != CR_RUNNING)
		return false;
	ran = now - t->rq->cpu[t->cpu].since;
	return best_quantum_of(t) - CR_TASK_CONST(t, struct best_task)->used -
		       ran <
	       best_opts_of(t)->hold;
}

static bool best_before(const struct cr_task *a, const struct cr_task *b,
			cr_ns now)
{
	cr_ns x = CR_TASK_CONST(a, struct best_task)->deadline;
	cr_ns y = CR_TASK_CONST(b, struct best_task)->deadline;
	bool a_holds = holds_cpu(a, now), b_holds = holds_cpu(b, now);

	if (a_holds != b_holds)
		return a_holds;
	return x != y ? x < y : a->id < b->id;
}

static int best_cmp(struct best_task *x, struct best_task *y)
{
	return x->deadline != y->deadline
		       ? cr_cmp(x->deadline, y->deadline)
		       : cr_cmp(cr_task_of(x)->id, cr_task_of(y)->id);
}

CR_TREE(best_tree, best_task, node, best_cmp)

/* --- the contract --- */

static void best_enqueue(struct cr_rq *rq, struct cr_task *t, enum cr_enq why,
			 cr_ns now)
{
	struct best_task *x = CR_TASK(t, struct best_task);

	if (why == CR_ENQ_RELEASE)
		best_wake(t, now);
	else if (!x->placed)
		place(t, now);
	else if (why == CR_ENQ_REQUEUE || x->used >= best_quantum_of(t))
		end_turn(t, now);
	RB_INSERT(best_tree, CR_RQ(rq, struct best_tree), x);
	if (why != CR_ENQ_REQUEUE)
		cr_kick_worst(rq, t, best_before, now);
}

static void best_dequeue(struct cr_rq *rq, struct cr_task *t, cr_ns now)
{
	(void)now;
	RB_REMOVE(best_tree, CR_RQ(rq, struct best_tree),
		  CR_TASK(t, struct best_task));
}

static struct cr_task *best_pick(struct cr_rq *rq, unsigned cpu, cr_ns now)
{
	struct best_task *x;

	RB_FOREACH (x, best_tree, CR_RQ(rq, struct best_tree)) {
		struct cr_task *t = cr_task_of(x);

		if (!cr_may_run(rq, t, cpu))
			continue;
		best_dequeue(rq, t, now);
		t->slice = best_quantum_of(t) - x->used;
		return t;
	}
	return NULL;
}

static void best_stop(struct cr_rq *rq, unsigned cpu, struct cr_task *t,
		      cr_ns ran, enum cr_stop why, cr_ns now)
{
	struct best_task *x = CR_TASK(t, struct best_task);

	(void)rq, (void)cpu, (void)why, (void)now;
	x->used += ran;
	x->timer -= cr_ns_min(ran, x->timer);
}

static unsigned best_explain(const struct cr_task *t, struct cr_kv *kv,
			     unsigned max)
{
	const struct best_task *x = CR_TASK_CONST(t, struct best_task);
	const struct cr_kv all[] = {
		{ "period_found", x->period, CR_KV_NS },
		{ "confidence_16", x->confidence, CR_KV_COUNT },
		{ "deadline_found", x->deadline, CR_KV_CLOCK_NS },
		{ "deadline_timer", x->timer, CR_KV_NS },
		{ "turn_used", x->used, CR_KV_NS },
	};

	return CR_KV_COPY(kv, max, all);
}

static bool is_sound(const struct cr_task *t)
{
	const struct best_task *x = CR_TASK_CONST(t, struct best_task);

	return x->placed && x->timer >= 0 && x->used >= 0 &&
	       x->used < best_quantum_of(t) && x->period >= 0 &&
	       x->period <= best_opts_of(t)->max_period && x->confidence >= 0 &&
	       x->confidence <= BEST_CONFIDENT;
}

static bool best_check(const struct cr_rq *rq)
{
	struct best_task *x, *before = NULL;
	unsigned n = 0;

	RB_FOREACH (x, best_tree, CR_RQ(rq, struct best_tree)) {
		const struct cr_task *t = cr_task_of(x);

		if (before && best_cmp(before, x) >= 0)
			return false;
		if (t->state != CR_QUEUED || t->rq != rq || !is_sound(t))
			return false;
		before = x;
		n++;
	}
	return n == rq->nqueued;
}

const struct cr_sched_ops cr_sched_best = {
	.abi = CR_SCHED_ABI,
	.flags = CR_F_SLICED,
	.name = "best",
	.help = "earliest deadline first, periods and deadlines found by "
		"itself",
	.rq_size = sizeof(struct best_tree),
	.task_size = sizeof(struct best_task),
	.opts_size = sizeof(struct best_opts),
	.opts = best_options,
	.enqueue = best_enqueue,
	.dequeue = best_dequeue,
	.pick = best_pick,
	.stop = best_stop,
	.explain = best_explain,
	.check = best_check,
};
