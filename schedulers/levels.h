/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The run queue of the policies with the levels of the 1996 paper (Wolf, Burke,
 * Vogt), each in order of a rank that the policy gives, then of the task id:
 *
 *     guaranteed   critical jobs of hard tasks
 *     statistical  critical jobs of soft tasks
 *     other        best effort, longest waiting first
 *     workahead    jobs of hard and soft tasks before their logical arrival,
 *                  which is job.eligible; held back, or run last
 *
 * or, by the paper's second scheme, where hard and soft tasks are one class:
 *
 *     guaranteed   critical jobs
 *     statistical  critical jobs that have used up what their task specified
 *
 * A workahead job becomes critical at its logical arrival: a tick moves it, and
 * it displaces whoever it now comes before. So a call that sends ahead of time
 * takes nothing from others that it would not have taken in time.
 *
 * Inline, because a policy's object needs nothing from outside.
 */
#ifndef SCHEDULERS_LEVELS_H
#define SCHEDULERS_LEVELS_H

#include "cr/sched.h"
#include "cr/tree.h"

enum level {
	LEVEL_GUARANTEED,
	LEVEL_STATISTICAL,
	LEVEL_OTHER,
	LEVEL_WORKAHEAD
};

enum workahead { WORKAHEAD_HOLD, WORKAHEAD_RUN };

/** Names of the option's values. */
#define WORKAHEAD_NAMES                                                        \
	[WORKAHEAD_HOLD] = "hold", [WORKAHEAD_RUN] = "run", [2] = NULL

/** The row of an option table for the int64_t at @at. */
/* clang-format off */
#define WORKAHEAD_OPT(at, values)                                              \
	{ .name = "workahead",                                                 \
	  .help = "frames before their logical arrival: held until "           \
		  "then, or run after all others",                             \
	  .kind = CR_OPT_ENUM,                                                 \
	  .offset = (at),                                                      \
	  .min = WORKAHEAD_HOLD,                                               \
	  .max = WORKAHEAD_RUN,                                                \
	  .dflt = WORKAHEAD_RUN,                                               \
	  .names = (values) }
/* clang-format on */

/** In a task's private memory, at levels.offset. */
struct level_task {
	RB_ENTRY(level_task) node;   /* of ready */
	RB_ENTRY(level_task) sooner; /* of early, while it is workahead */
	cr_ns rank;		     /* the policy's, set before it is queued */
	cr_ns eligible;
	uint32_t id;
	enum level level; /* where it was queued */
	bool spent;	  /* the policy's: its job has used up its time */
};

RB_HEAD(level_ready, level_task); /* what may be picked              */
RB_HEAD(level_early, level_task); /* workahead, by logical arrival   */

struct levels {
	struct level_ready ready;
	struct level_early early;
	size_t offset;	 /* of the level_task in a task's private memory */
	unsigned nearly; /* tasks in early */
	enum workahead workahead;
	bool together; /* hard and soft tasks are one class */
};

static inline void levels_init(struct levels *q, size_t offset,
			       int64_t workahead)
{
	q->offset = offset;
	q->workahead = (enum workahead)workahead;
}

static inline struct level_task *level_of(const struct levels *q,
					  const struct cr_task *t)
{
	return (struct level_task *)(void *)((uintptr_t)t->priv + q->offset);
}

static inline struct cr_task *level_owner(const struct levels *q,
					  struct level_task *x)
{
	return cr_task_of((unsigned char *)x - q->offset);
}

/* --- order --- */

/** The level of @t's job at @now. */
static inline enum level level_now(const struct levels *q,
				   const struct cr_task *t, cr_ns now)
{
	bool first = q->together ? !level_of(q, t)->spent : t->cls == CR_HARD;

	if (t->cls == CR_BE)
		return LEVEL_OTHER;
	if (t->job.eligible > now)
		return LEVEL_WORKAHEAD;
	return first ? LEVEL_GUARANTEED : LEVEL_STATISTICAL;
}

static inline int level_ready_cmp(const struct level_task *x,
				  const struct level_task *y)
{
	if (x->level != y->level)
		return cr_cmp(x->level, y->level);
	return x->rank != y->rank ? cr_cmp(x->rank, y->rank)
				  : cr_cmp(x->id, y->id);
}

static inline int level_early_cmp(const struct level_task *x,
				  const struct level_task *y)
{
	return x->eligible != y->eligible ? cr_cmp(x->eligible, y->eligible)
					  : cr_cmp(x->id, y->id);
}

CR_TREE(level_ready, level_task, node, level_ready_cmp)
CR_TREE(level_early, level_task, sooner, level_early_cmp)

/* Is @a before @b, both by their levels at @now? Neither need be queued. */
static inline bool level_before(const struct levels *q, const struct cr_task *a,
				const struct cr_task *b, cr_ns now)
{
	enum level x = level_now(q, a, now), y = level_now(q, b, now);
	cr_ns r = level_of(q, a)->rank, s = level_of(q, b)->rank;

	if (x != y)
		return x < y;
	return r != s ? r < s : a->id < b->id;
}

/* --- the queue --- */

/* Queued tasks that want a CPU. */
static inline unsigned levels_nready(const struct cr_rq *rq,
				     const struct levels *q)
{
	return rq->nqueued - (q->workahead == WORKAHEAD_HOLD ? q->nearly : 0);
}

/* As cr_kick_worst(), but those held back want no idle CPU. */
static inline void levels_kick(struct cr_rq *rq, const struct levels *q,
			       const struct cr_task *t, cr_ns now)
{
	const struct cr_task *worst = NULL;
	unsigned idle = 0;

	if (!rq->sched->preemptible)
		return;
	for (unsigned c = 0; c < rq->ncpu; c++) {
		const struct cr_task *r = rq->cpu[c].running;

		if (!cr_may_run(rq, t, c) || cr_cpus_has(&rq->kick, c))
			continue;
		if (!r) {
			if (++idle >= levels_nready(rq, q))
				return;
			continue;
		}
		if (!worst || level_before(q, worst, r, now))
			worst = r;
	}
	if (worst && level_before(q, t, worst, now))
		cr_cpus_add(&rq->kick, (unsigned)worst->cpu);
}

/** Queue @t, whose rank is set, and displace who is behind it. */
static inline void levels_insert(struct cr_rq *rq, struct levels *q,
				 struct cr_task *t, cr_ns now)
{
	struct level_task *x = level_of(q, t);

	x->id = t->id;
	x->eligible = t->job.eligible;
	x->level = level_now(q, t, now);
	if (x->level == LEVEL_WORKAHEAD) {
		RB_INSERT(level_early, &q->early, x);
		q->nearly++;
		rq->next_tick = cr_ns_min(rq->next_tick, x->eligible);
		if (q->workahead == WORKAHEAD_HOLD)
			return;
	}
	RB_INSERT(level_ready, &q->ready, x);
	levels_kick(rq, q, t, now);
}

static inline void levels_remove(struct levels *q, struct cr_task *t)
{
	struct level_task *x = level_of(q, t);

	if (x->level == LEVEL_WORKAHEAD) {
		RB_REMOVE(level_early, &q->early, x);
		q->nearly--;
		if (q->workahead == WORKAHEAD_HOLD)
			return;
	}
	RB_REMOVE(level_ready, &q->ready, x);
}

/** Workahead whose time has come is critical; a tick for the next. */
static inline void levels_promote(struct cr_rq *rq, struct levels *q, cr_ns now)
{
	struct level_task *x;

	while ((x = RB_MIN(level_early, &q->early)) && x->eligible <= now) {
		struct cr_task *t = level_owner(q, x);

		levels_remove(q, t);
		levels_insert(rq, q, t, now);
	}
	if (x)
		rq->next_tick = cr_ns_min(rq->next_tick, x->eligible);
}

/** A pick() callback's work: the first that may run on cpu[@cpu]. */
static inline struct cr_task *levels_pick(struct cr_rq *rq, struct levels *q,
					  unsigned cpu, cr_ns now)
{
	struct level_task *x;

	levels_promote(rq, q, now);
	RB_FOREACH (x, level_ready, &q->ready) {
		struct cr_task *t = level_owner(q, x);

		if (!cr_may_run(rq, t, cpu))
			continue;
		levels_remove(q, t);
		t->slice = CR_NEVER;
		return t;
	}
	return NULL;
}

/* --- to look at --- */

/* A queued task that is where its level says. */
static inline bool level_sound(const struct cr_rq *rq, const struct levels *q,
			       struct level_task *x)
{
	const struct cr_task *t = level_owner(q, x);

	return t->state == CR_QUEUED && t->rq == rq && x->id == t->id &&
	       x->eligible == t->job.eligible &&
	       (x->level == LEVEL_WORKAHEAD
			? t->cls != CR_BE
			: x->level == level_now(q, t, CR_NEVER));
}

/** For check(): sorted, complete, and a tick is set for the first workahead. */
static inline bool levels_check(const struct cr_rq *rq, struct levels *q)
{
	struct level_task *x, *last = NULL;
	unsigned nready = 0, nearly = 0;

	RB_FOREACH (x, level_ready, &q->ready) {
		if (!level_sound(rq, q, x) ||
		    (last && level_ready_cmp(last, x) >= 0))
			return false;
		last = x;
		nready++;
	}
	last = NULL;
	RB_FOREACH (x, level_early, &q->early) {
		if (!level_sound(rq, q, x) || x->level != LEVEL_WORKAHEAD ||
		    rq->next_tick > x->eligible ||
		    (last && level_early_cmp(last, x) >= 0))
			return false;
		last = x;
		nearly++;
	}
	return nearly == q->nearly && nready == levels_nready(rq, q);
}

#endif
