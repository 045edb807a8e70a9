/* SPDX-License-Identifier: Apache-2.0 */
/*
 * RSDL, the rotating staircase deadline scheduler: the highest level runs; both
 * calls and levels have quotas, and who has none left goes down (thesis 5.3.2).
 *
 * A call begins on the level of its nice value, its base, and may run for a
 * quantum on each level from there to the lowest; then it waits for the next
 * rotation, which begins when no runnable call has anything left, and gives
 * all quotas anew. A level has a quota of its own per rotation, whoever uses
 * it. When that has run out, the level is closed: all calls that are left there
 * go down to the next open one, with what they have left of their quantum.
 *
 * The thesis does not say where in the line there. Here ahead of those that
 * have had a turn above it, so that closing does not disturb whose turn it is:
 * equal calls go round in a ring, and a higher one never gets less than a lower
 * one. As long as no level closes, backlogged calls share as (levels - base).
 *
 * Whatever happens above it, the lowest level is reached after at most
 * (levels - 1) * quota of CPU time, and everybody on it gets a turn before the
 * next rotation: n calls wait at most twice (levels - 1) * quota + n * quantum
 * for one. The lowest level is never closed, as there is nothing below: its own
 * quota, said by the thesis to be one of all, would only send calls into the
 * next rotation that have had nothing in this one.
 *
 * A call that sleeps and wakes within a rotation finds what it left. A
 * rotation in which nobody can run is over.
 *
 * Good: latency of low calls bounded without looking at them; O(1). Bad: blind
 * to deadlines; many calls of one nice value close their level early and are
 * then served round robin below it, beside lesser ones. With several CPUs all
 * may use the last of a quota at once, so it may be exceeded by a quantum for
 * each but one.
 *
 * Live mode: no frame is cut, so a level may be exceeded by a frame. What a
 * frame takes beyond the call's quantum is charged to its next levels, and as
 * far as the lowest of the next rotation; the rest is forgiven.
 */
#include "schedulers/policies.h"
#include "schedulers/stairs.h"

struct rsdl_opts {
	int64_t levels, quantum, quota;
};

struct rsdl_rq {
	struct stairs stairs; /* first: stairs.h sees it */
	uint64_t rotation;    /* that the quotas below are of */
	uint64_t closed;      /* bit n: level n has no quota left */
	uint64_t touched;     /* bit n: spent[n] counts */
	cr_ns spent[STAIRS_LEVELS];
};

struct rsdl_task {
	struct stairs_task stairs; /* first: stairs.h sees it */
	unsigned level;		   /* its own; lower while that is closed */
	cr_ns used;		   /* of its quantum on that level */
};

static const struct cr_opt rsdl_options[] = {
	{ .name = "levels",
	  .help = "levels that the 40 nice values are spread over",
	  .kind = CR_OPT_INT,
	  .offset = offsetof(struct rsdl_opts, levels),
	  .min = 1,
	  .max = STAIRS_LEVELS,
	  .dflt = STAIRS_NICES },
	{ .name = "quantum",
	  .help = "CPU time of a call on one level and rotation",
	  .kind = CR_OPT_TIME,
	  .offset = offsetof(struct rsdl_opts, quantum),
	  .min = 1000,
	  .max = 10 * CR_SEC,
	  .dflt = CR_MS },
	{ .name = "quota",
	  .help = "CPU time of one level and rotation",
	  .kind = CR_OPT_TIME,
	  .offset = offsetof(struct rsdl_opts, quota),
	  .min = 1000,
	  .max = 10 * CR_SEC,
	  .dflt = 4 * CR_MS },
	{ .name = NULL },
};

static const struct rsdl_opts *rsdl_opts_of(const struct cr_rq *rq)
{
	return CR_OPTS(rq, struct rsdl_opts);
}

/* The next level from @level down that is open; the lowest always is. */
static unsigned open_level(const struct rsdl_rq *q, unsigned level)
{
	return (unsigned)__builtin_ctzll(~q->closed >> level << level);
}

static unsigned rsdl_level_of(const struct cr_task *t)
{
	const struct rsdl_rq *q = CR_RQ(t->rq, struct rsdl_rq);
	const struct rsdl_task *x = CR_TASK_CONST(t, struct rsdl_task);

	return x->stairs.round > q->stairs.round ? x->level
						 : open_level(q, x->level);
}

static bool rsdl_before(const struct cr_task *a, const struct cr_task *b,
			cr_ns now)
{
	(void)now;
	return stairs_before(
		&CR_RQ(a->rq, struct rsdl_rq)->stairs,
		CR_TASK_CONST(a, struct stairs_task), rsdl_level_of(a),
		CR_TASK_CONST(b, struct stairs_task), rsdl_level_of(b));
}

static int rsdl_rq_init(struct cr_rq *rq)
{
	stairs_init(&CR_RQ(rq, struct rsdl_rq)->stairs);
	return 0;
}

static void rsdl_task_add(struct cr_rq *rq, struct cr_task *t, cr_ns now)
{
	struct rsdl_task *x = CR_TASK(t, struct rsdl_task);

	(void)now;
	stairs_join(&CR_RQ(rq, struct rsdl_rq)->stairs, t,
		    (unsigned)rsdl_opts_of(rq)->levels);
	x->level = x->stairs.base;
}

/* --- the levels' quotas --- */

/* If a rotation has begun, all levels have theirs again. */
static void rsdl_refill(struct rsdl_rq *q)
{
	if (q->rotation == q->stairs.round)
		return;
	q->rotation = q->stairs.round;
	q->closed = 0;
	q->touched = 0;
}

static cr_ns spent_on(const struct rsdl_rq *q, unsigned level)
{
	return q->touched >> level & 1 ? q->spent[level] : 0;
}

/* No more of @level in this rotation: all who wait there go down, to the head
 * of the next open one. */
static void close_level(struct rsdl_rq *q, unsigned level)
{
	struct flight *f = stairs_flight(&q->stairs, q->stairs.round);
	unsigned below;

	q->closed |= UINT64_C(1) << level;
	if (!(f->occupied >> level & 1))
		return;
	below = open_level(q, level);
	TAILQ_CONCAT(&f->level[level], &f->level[below], link);
	TAILQ_CONCAT(&f->level[below], &f->level[level], link);
	f->occupied &= ~(UINT64_C(1) << level);
	f->occupied |= UINT64_C(1) << below;
}

static void rsdl_charge(struct cr_rq *rq, unsigned level, cr_ns ran)
{
	struct rsdl_rq *q = CR_RQ(rq, struct rsdl_rq);

	q->spent[level] = cr_ns_add(spent_on(q, level), ran);
	q->touched |= UINT64_C(1) << level;
	if (q->spent[level] >= rsdl_opts_of(rq)->quota &&
	    level + 1 < (unsigned)rsdl_opts_of(rq)->levels)
		close_level(q, level);
}

/* Longest turn on @level: what is left of its quota. */
static cr_ns rsdl_room_on(const struct cr_rq *rq, unsigned level)
{
	if (level + 1 == (unsigned)rsdl_opts_of(rq)->levels)
		return CR_NEVER;
	return rsdl_opts_of(rq)->quota -
	       spent_on(CR_RQ(rq, struct rsdl_rq), level);
}

/* --- the calls --- */

/* Rotations have begun without @x: it has all its quotas again. */
static void rsdl_deal(struct rsdl_task *x, uint64_t rotation)
{
	x->level = x->stairs.base;
	x->used = 0;
	x->stairs.round = rotation;
	x->stairs.turn_over = true;
}

static void rsdl_enqueue(struct cr_rq *rq, struct cr_task *t, enum cr_enq why,
			 cr_ns now)
{
	struct rsdl_rq *q = CR_RQ(rq, struct rsdl_rq);
	struct rsdl_task *x = CR_TASK(t, struct rsdl_task);

	if (why == CR_ENQ_RELEASE)
		stairs_wake(&q->stairs);
	rsdl_refill(q);
	if (x->stairs.round < q->rotation)
		rsdl_deal(x, q->rotation);
	if (x->stairs.round > q->rotation) /* ran ahead, where masks let it */
		x->stairs.round = q->rotation + 1;
	x->level = rsdl_level_of(t);
	stairs_put(&q->stairs, &x->stairs, x->level,
		   stairs_goes_on(&x->stairs, why));
	if (why != CR_ENQ_REQUEUE)
		cr_kick_worst(rq, t, rsdl_before, now);
}

static void rsdl_dequeue(struct cr_rq *rq, struct cr_task *t, cr_ns now)
{
	(void)now;
	stairs_take(&CR_RQ(rq, struct rsdl_rq)->stairs,
		    CR_TASK(t, struct stairs_task), rsdl_level_of(t));
}

static struct cr_task *rsdl_pick(struct cr_rq *rq, unsigned cpu, cr_ns now)
{
	struct rsdl_rq *q = CR_RQ(rq, struct rsdl_rq);
	struct cr_task *t = stairs_first(rq, &q->stairs, cpu);
	struct rsdl_task *x;

	rsdl_refill(q);
	if (!t)
		return NULL;
	rsdl_dequeue(rq, t, now);
	q->stairs.running++;
	x = CR_TASK(t, struct rsdl_task);
	x->level = rsdl_level_of(t);
	t->slice = rsdl_opts_of(rq)->quantum - x->used;
	if (x->stairs.round == q->rotation)
		t->slice = cr_ns_min(t->slice, rsdl_room_on(rq, x->level));
	return t;
}

static void rsdl_stop(struct cr_rq *rq, unsigned cpu, struct cr_task *t,
		      cr_ns ran, enum cr_stop why, cr_ns now)
{
	struct rsdl_rq *q = CR_RQ(rq, struct rsdl_rq);
	struct rsdl_task *x = CR_TASK(t, struct rsdl_task);
	uint64_t levels = (uint64_t)rsdl_opts_of(rq)->levels;
	cr_ns used = x->used + ran;
	uint64_t level =
		x->level + (uint64_t)(used / rsdl_opts_of(rq)->quantum);

	(void)cpu, (void)why, (void)now;
	q->stairs.running--;
	if (x->stairs.round == q->rotation)
		rsdl_charge(rq, x->level, ran);
	x->stairs.turn_over = level > x->level;
	x->used = used % rsdl_opts_of(rq)->quantum;
	if (level >= levels) {
		x->stairs.round++;
		level -= levels - x->stairs.base;
	}
	x->level = (unsigned)(level < levels ? level : levels - 1);
}

static unsigned rsdl_explain(const struct cr_task *t, struct cr_kv *kv,
			     unsigned max)
{
	const struct rsdl_task *x = CR_TASK_CONST(t, struct rsdl_task);
	unsigned level = rsdl_level_of(t);
	const struct cr_kv all[] = {
		{ "level", level, CR_KV_COUNT },
		{ "base_level", x->stairs.base, CR_KV_COUNT },
		{ "quantum_left", rsdl_opts_of(t->rq)->quantum - x->used,
		  CR_KV_NS },
		{ "level_spent", spent_on(CR_RQ(t->rq, struct rsdl_rq), level),
		  CR_KV_NS },
		{ "rotation", (int64_t)x->stairs.round, CR_KV_COUNT },
	};

	return CR_KV_COPY(kv, max, all);
}

static bool rsdl_check(const struct cr_rq *rq)
{
	struct rsdl_rq *q = CR_RQ(rq, struct rsdl_rq);
	unsigned levels = (unsigned)rsdl_opts_of(rq)->levels;

	if (q->rotation != q->stairs.round)
		return false;
	for (unsigned level = 0; level < levels; level++) {
		bool spent = spent_on(q, level) >= rsdl_opts_of(rq)->quota;
		bool closed = q->closed >> level & 1;

		if (closed != (spent && level + 1 < levels))
			return false;
	}
	return stairs_check(rq, &q->stairs, rsdl_level_of);
}

const struct cr_sched_ops cr_sched_rsdl = {
	.abi = CR_SCHED_ABI,
	.flags = CR_F_SLICED,
	.name = "rsdl",
	.help = "staircase with a quota on every level, which bounds latency",
	.rq_size = sizeof(struct rsdl_rq),
	.task_size = sizeof(struct rsdl_task),
	.opts_size = sizeof(struct rsdl_opts),
	.opts = rsdl_options,
	.rq_init = rsdl_rq_init,
	.task_add = rsdl_task_add,
	.enqueue = rsdl_enqueue,
	.dequeue = rsdl_dequeue,
	.pick = rsdl_pick,
	.stop = rsdl_stop,
	.explain = rsdl_explain,
	.check = rsdl_check,
};
