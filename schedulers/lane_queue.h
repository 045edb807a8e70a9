/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The queue of a policy whose tasks mostly come in the order that they go in:
 * by key, then by release, then by task id. Each
 * goes to the end of a lane, the one whose end it fits best. Those that fit
 * none (jitter, more kinds of calls than lanes, keys that are kept) are in a
 * tree. A struct laned is to be the first member of the tasks' private memory.
 *
 * Inline, because a policy's object needs nothing from outside.
 */
#ifndef SCHEDULERS_LANE_QUEUE_H
#define SCHEDULERS_LANE_QUEUE_H

#include "cr/list.h"
#include "cr/tree.h"

enum { LANES = 2 };

/** The order of a task; set @key before it is queued. */
struct laned {
	struct cr_list_node node; /* first: list.h sees a cr_list_node */
	RB_ENTRY(laned) entry;
	cr_ns key;
	unsigned lane; /* or LANES: in the tree */
};

RB_HEAD(lane_tree, laned);

struct lane_queue {
	struct cr_list lane[LANES];
	struct lane_tree others;
};

static inline int laned_cmp(struct laned *x, struct laned *y)
{
	const struct cr_task *a = cr_task_of(x), *b = cr_task_of(y);

	if (x->key != y->key)
		return x->key < y->key ? -1 : 1;
	if (a->job.release != b->job.release)
		return a->job.release < b->job.release ? -1 : 1;
	return cr_cmp(a->id, b->id);
}

CR_TREE(lane_tree, laned, entry, laned_cmp)

static inline struct laned *laned_of(struct cr_list_node *n)
{
	return (struct laned *)(void *)n;
}

static inline bool laned_is_before(struct laned *x, struct laned *y)
{
	return laned_cmp(x, y) < 0;
}

static inline void lane_queue_init(struct lane_queue *q)
{
	for (unsigned i = 0; i < LANES; i++)
		TAILQ_INIT(&q->lane[i]);
}

static inline void lane_queue_insert(struct lane_queue *q, struct cr_task *t)
{
	struct laned *x = CR_TASK(t, struct laned), *end = NULL;

	/* the lane that ends the least before @x, or an empty one */
	x->lane = LANES;
	for (unsigned i = 0; i < LANES; i++) {
		struct cr_list_node *n = TAILQ_LAST(&q->lane[i], cr_list);

		if (!n) {
			x->lane = end ? x->lane : i;
		} else if (laned_is_before(laned_of(n), x) &&
			   (!end || laned_is_before(end, laned_of(n)))) {
			end = laned_of(n);
			x->lane = i;
		}
	}
	if (x->lane == LANES)
		RB_INSERT(lane_tree, &q->others, x);
	else
		TAILQ_INSERT_TAIL(&q->lane[x->lane], &x->node, link);
}

static inline void lane_queue_remove(struct lane_queue *q, struct cr_task *t)
{
	struct laned *x = CR_TASK(t, struct laned);

	if (x->lane == LANES)
		RB_REMOVE(lane_tree, &q->others, x);
	else
		TAILQ_REMOVE(&q->lane[x->lane], &x->node, link);
}

/** Take out the first that may run on cpu[@cpu] of @rq; NULL: none. */
static inline struct cr_task *lane_queue_pick(struct cr_rq *rq,
					      struct lane_queue *q,
					      unsigned cpu)
{
	struct laned *x;
	struct cr_task *first = NULL;

	RB_FOREACH (x, lane_tree, &q->others)
		if (cr_may_run(rq, cr_task_of(x), cpu)) {
			first = cr_task_of(x);
			break;
		}
	for (unsigned i = 0; i < LANES; i++) {
		struct cr_task *t = cr_list_first(rq, &q->lane[i], cpu);

		if (t &&
		    (!first || laned_is_before(CR_TASK(t, struct laned),
					       CR_TASK(first, struct laned))))
			first = t;
	}
	if (first)
		lane_queue_remove(q, first);
	return first;
}

/** For check(): all in order, and @n tasks that wait. */
static inline bool lane_queue_check(struct lane_queue *q, unsigned n)
{
	struct laned *x, *before = NULL;
	struct cr_list_node *node;
	unsigned count = 0;

	RB_FOREACH (x, lane_tree, &q->others) {
		if (x->lane != LANES || cr_task_of(x)->state != CR_QUEUED ||
		    (before && !laned_is_before(before, x)))
			return false;
		before = x;
		count++;
	}
	for (unsigned i = 0; i < LANES; i++) {
		before = NULL;
		TAILQ_FOREACH (node, &q->lane[i], link) {
			x = laned_of(node);
			if (x->lane != i || cr_task_of(x)->state != CR_QUEUED ||
			    (before && !laned_is_before(before, x)))
				return false;
			before = x;
			count++;
		}
	}
	return count == n;
}

#endif
