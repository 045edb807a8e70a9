/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The run queue of the Pfair policies: eligible subtasks in the policy's order,
 * those that wait for their windows, and best-effort tasks. For pfair.c only:
 * inline, because a policy's object needs nothing from outside.
 */
#ifndef SCHEDULERS_PFAIR_QUEUE_H
#define SCHEDULERS_PFAIR_QUEUE_H

#include <sys/queue.h>

#include "cr/sched.h"
#include "schedulers/pfair_order.h"
#include "schedulers/pfair_share.h"
#include "cr/tree.h"

enum pfair_mode { MODE_PFAIR, MODE_ERFAIR, MODE_MIXED };

struct pfair_task {
	RB_ENTRY(pfair_task) node;    /* of ready or held */
	TAILQ_ENTRY(pfair_task) link; /* of background    */
	struct pfair_weight w;
	struct pfair_share share; /* its part of pfair_rq.total */
	struct pfair_chain chain; /* of the subtask it has next */
	struct pfair_key key;	  /* of that subtask            */
	int64_t begin;		  /* first slot of its window   */
	int64_t bound;		  /* first slot it may leave at */
	enum pfair_rule rule;
	bool held;
};

RB_HEAD(ready_tree, pfair_task); /* eligible, by rule        */
RB_HEAD(held_tree, pfair_task);	 /* not yet, by begin        */
TAILQ_HEAD(background, pfair_task);

struct pfair_rq {
	struct ready_tree ready;
	struct held_tree held;
	struct background background; /* best effort */
	struct pfair_share total;
	struct pfair_share leaving; /* of total: of tasks that have gone */
	int64_t gone;		    /* the slot when they are forgotten  */
	unsigned misfits;	    /* tasks that no proof is about */
};

struct pfair_opts {
	int64_t quantum, mode;
};

static inline int id_cmp(struct pfair_task *x, struct pfair_task *y)
{
	return cr_cmp(cr_task_of(x)->id, cr_task_of(y)->id);
}

static inline int ready_cmp(struct pfair_task *x, struct pfair_task *y)
{
	int first = pfair_first(x->rule, &x->key, &y->key);

	return first ? -first : id_cmp(x, y);
}

static inline int held_cmp(struct pfair_task *x, struct pfair_task *y)
{
	return x->begin != y->begin ? cr_cmp(x->begin, y->begin) : id_cmp(x, y);
}

CR_TREE(ready_tree, pfair_task, node, ready_cmp)
CR_TREE(held_tree, pfair_task, node, held_cmp)

/* --- slots --- */

static inline cr_ns quantum_of(const struct cr_rq *rq)
{
	return CR_OPTS(rq, struct pfair_opts)->quantum;
}

/* May @t be served before its windows? */
static inline bool early_release(const struct cr_rq *rq,
				 const struct cr_task *t)
{
	int64_t mode = CR_OPTS(rq, struct pfair_opts)->mode;

	return mode == MODE_ERFAIR || (mode == MODE_MIXED && t->nice <= 0);
}

/* The first slot that begins at @at or later. */
static inline int64_t slot_up(const struct cr_rq *rq, cr_ns at)
{
	return pfair_div_up(cr_ns_max(at, 0), quantum_of(rq));
}

/* The begin of @slot. */
static inline cr_ns slot_time(const struct cr_rq *rq, int64_t slot)
{
	cr_ns at;

	if (__builtin_mul_overflow(slot, quantum_of(rq), &at))
		return CR_NEVER - 1; /* a tick can still be set for it */
	return at;
}

/* When a subtask whose window begins with @slot may start. */
static inline cr_ns eligible_at(const struct cr_rq *rq, int64_t slot)
{
	if (rq->sched->preemptible)
		return slot_time(rq, slot);
	return slot > 0 ? cr_ns_add(slot_time(rq, slot - 1), 1) : 0;
}

/* Subtasks that a turn of @ran up to @now was: the slots that began in it, or
 * live the quanta it took. */
static inline int64_t served(const struct cr_rq *rq, cr_ns ran, cr_ns now)
{
	if (!rq->sched->preemptible)
		return slot_up(rq, ran);
	return slot_up(rq, now) - slot_up(rq, now - ran);
}

/* --- the queue --- */

/* Queue the next subtask of @x where it belongs at @now. */
static inline void queue_place(struct cr_rq *rq, struct pfair_task *x,
			       cr_ns now)
{
	struct pfair_rq *p = CR_RQ(rq, struct pfair_rq);
	cr_ns at;

	x->key = pfair_key(&x->chain, x->w);
	x->begin = x->chain.base + pfair_begin(x->w, x->chain.subtask);
	at = eligible_at(rq, x->begin);
	x->held = !early_release(rq, cr_task_of(x)) && now < at;
	if (!x->held) {
		RB_INSERT(ready_tree, &p->ready, x);
		return;
	}
	RB_INSERT(held_tree, &p->held, x);
	rq->next_tick = cr_ns_min(rq->next_tick, at);
}

/* Weights whose time has come are given back; a tick for those that wait. */
static inline void queue_forget(struct cr_rq *rq, cr_ns now)
{
	struct pfair_rq *p = CR_RQ(rq, struct pfair_rq);
	cr_ns at = slot_time(rq, p->gone);

	if (!p->leaving.parts)
		return;
	if (now < at) {
		rq->next_tick = cr_ns_min(rq->next_tick, at);
		return;
	}
	p->total.parts -= p->leaving.parts;
	p->leaving.parts = 0;
}

/* Windows that have begun; the tick for the first that has not. */
static inline void queue_promote(struct cr_rq *rq, cr_ns now)
{
	struct pfair_rq *p = CR_RQ(rq, struct pfair_rq);
	struct pfair_task *x;

	while ((x = RB_MIN(held_tree, &p->held)) != NULL) {
		cr_ns at = eligible_at(rq, x->begin);

		if (now < at) {
			rq->next_tick = cr_ns_min(rq->next_tick, at);
			return;
		}
		RB_REMOVE(held_tree, &p->held, x);
		x->held = false;
		RB_INSERT(ready_tree, &p->ready, x);
	}
}

static inline void queue_remove(struct cr_rq *rq, struct cr_task *t)
{
	struct pfair_rq *p = CR_RQ(rq, struct pfair_rq);
	struct pfair_task *x = CR_TASK(t, struct pfair_task);

	if (t->cls == CR_BE)
		TAILQ_REMOVE(&p->background, x, link);
	else if (x->held)
		RB_REMOVE(held_tree, &p->held, x);
	else
		RB_REMOVE(ready_tree, &p->ready, x);
}

/* The first that may run, or NULL. Within a slot (@late) only those that are
 * released early may begin: *@missed, if another one would have been. */
static inline struct cr_task *queue_first_ready(struct cr_rq *rq, unsigned cpu,
						bool late, bool *missed)
{
	struct pfair_task *x;

	RB_FOREACH (x, ready_tree, &CR_RQ(rq, struct pfair_rq)->ready) {
		struct cr_task *t = cr_task_of(x);

		if (!cr_may_run(rq, t, cpu))
			continue;
		if (!late || early_release(rq, t))
			return t;
		*missed = true;
	}
	return NULL;
}

static inline struct cr_task *queue_first_background(struct cr_rq *rq,
						     unsigned cpu)
{
	struct pfair_task *x;

	TAILQ_FOREACH (x, &CR_RQ(rq, struct pfair_rq)->background, link)
		if (cr_may_run(rq, cr_task_of(x), cpu))
			return cr_task_of(x);
	return NULL;
}

/* A queued task whose key is that of its next subtask. */
static inline bool sound(const struct cr_rq *rq, struct pfair_task *x)
{
	struct pfair_key k = pfair_key(&x->chain, x->w);
	const struct cr_task *t = cr_task_of(x);

	return t->state == CR_QUEUED && t->rq == rq && t->cls != CR_BE &&
	       x->chain.subtask >= 1 && x->chain.subtask <= x->w.cost &&
	       k.end == x->key.end && k.overlap == x->key.overlap &&
	       k.group == x->key.group && x->begin < k.end;
}

/* All queued tasks are in one place, in order, and their weights are summed. */
static inline bool queue_check(const struct cr_rq *rq)
{
	struct pfair_rq *p = CR_RQ(rq, struct pfair_rq);
	struct pfair_share sum = { 0 };
	struct pfair_task *x, *last = NULL;
	unsigned n = 0;

	RB_FOREACH (x, ready_tree, &p->ready) {
		if (!sound(rq, x) || x->held ||
		    (last && ready_cmp(last, x) >= 0))
			return false;
		sum.parts += x->share.parts;
		last = x;
		n++;
	}
	last = NULL;
	RB_FOREACH (x, held_tree, &p->held) {
		if (!sound(rq, x) || !x->held ||
		    early_release(rq, cr_task_of(x)) ||
		    (last && held_cmp(last, x) >= 0))
			return false;
		sum.parts += x->share.parts;
		last = x;
		n++;
	}
	TAILQ_FOREACH (x, &p->background, link)
		n++;
	return n == rq->nqueued &&
	       sum.parts + p->leaving.parts <= p->total.parts;
}

#endif
