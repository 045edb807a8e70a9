/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The queue of a policy that orders tasks by one number, their key: the
 * smallest first, equal ones by task id. A tree over nodes in the tasks'
 * private memory, of which a struct keyed is to be the first member.
 *
 * Inline, because a policy's object needs nothing from outside.
 */
#ifndef SCHEDULERS_KEY_QUEUE_H
#define SCHEDULERS_KEY_QUEUE_H

#include "cr/sched.h"
#include "cr/tree.h"

/** The order of a task; set @key before it is queued. */
struct keyed {
	RB_ENTRY(keyed) node;
	cr_ns key; /* beside node, as a walk reads both */
};

RB_HEAD(key_queue, keyed);

/** Is @a before @b? For cr_kick_worst(). */
static inline bool key_before(const struct cr_task *a, const struct cr_task *b,
			      cr_ns now)
{
	cr_ns x = CR_TASK_CONST(a, struct keyed)->key;
	cr_ns y = CR_TASK_CONST(b, struct keyed)->key;

	(void)now;
	return x != y ? x < y : a->id < b->id;
}

static inline int key_cmp(struct keyed *x, struct keyed *y)
{
	const struct cr_task *a = cr_task_of(x), *b = cr_task_of(y);

	return a == b ? 0 : key_before(a, b, 0) ? -1 : 1;
}

CR_TREE(key_queue, keyed, node, key_cmp)

static inline void key_queue_insert(struct key_queue *q, struct cr_task *t)
{
	RB_INSERT(key_queue, q, CR_TASK(t, struct keyed));
}

static inline void key_queue_remove(struct key_queue *q, struct cr_task *t)
{
	RB_REMOVE(key_queue, q, CR_TASK(t, struct keyed));
}

/** Take out the first that may run on cpu[@cpu] of @rq; NULL: none. */
static inline struct cr_task *key_queue_pick(struct cr_rq *rq,
					     struct key_queue *q, unsigned cpu)
{
	struct keyed *x;

	RB_FOREACH (x, key_queue, q) {
		struct cr_task *t = cr_task_of(x);

		if (!cr_may_run(rq, t, cpu))
			continue;
		RB_REMOVE(key_queue, q, x);
		return t;
	}
	return NULL;
}

/** For check(): in order, and @n tasks that wait. */
static inline bool key_queue_check(struct key_queue *q, unsigned n)
{
	struct keyed *x, *before = NULL;
	unsigned count = 0;

	RB_FOREACH (x, key_queue, q) {
		if (before && key_cmp(before, x) >= 0)
			return false;
		if (cr_task_of(x)->state != CR_QUEUED)
			return false;
		before = x;
		count++;
	}
	return count == n;
}

#endif
