/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The queue of a policy that orders tasks by one number, their place: the
 * smallest first, equal ones by task id. A tree over nodes in the tasks'
 * private memory, of which a place is to be the first member.
 *
 * Inline, because a policy's object needs nothing from outside.
 */
#ifndef SCHEDULERS_PLACES_H
#define SCHEDULERS_PLACES_H

#include "cr/sched.h"
#include "cr/tree.h"

/** Where a task stands; set @at before it is queued. */
struct place {
	RB_ENTRY(place) node;
	cr_ns at; /* beside node, as a walk reads both */
};

RB_HEAD(places, place);

/** Is @a before @b? For cr_kick_worst(). */
static inline bool place_before(const struct cr_task *a,
				const struct cr_task *b, cr_ns now)
{
	cr_ns x = CR_TASK_CONST(a, struct place)->at;
	cr_ns y = CR_TASK_CONST(b, struct place)->at;

	(void)now;
	return x != y ? x < y : a->id < b->id;
}

static inline int place_cmp(struct place *x, struct place *y)
{
	const struct cr_task *a = cr_task_of(x), *b = cr_task_of(y);

	return a == b ? 0 : place_before(a, b, 0) ? -1 : 1;
}

CR_TREE(places, place, node, place_cmp)

static inline void places_insert(struct places *q, struct cr_task *t)
{
	RB_INSERT(places, q, CR_TASK(t, struct place));
}

static inline void places_remove(struct places *q, struct cr_task *t)
{
	RB_REMOVE(places, q, CR_TASK(t, struct place));
}

/** Take out the first that may run on cpu[@cpu] of @rq; NULL: none. */
static inline struct cr_task *places_take(struct cr_rq *rq, struct places *q,
					  unsigned cpu)
{
	struct place *x;

	RB_FOREACH (x, places, q) {
		struct cr_task *t = cr_task_of(x);

		if (!cr_may_run(rq, t, cpu))
			continue;
		RB_REMOVE(places, q, x);
		return t;
	}
	return NULL;
}

/** For check(): in order, and @n tasks that wait. */
static inline bool places_check(struct places *q, unsigned n)
{
	struct place *x, *before = NULL;
	unsigned count = 0;

	RB_FOREACH (x, places, q) {
		if (before && place_cmp(before, x) >= 0)
			return false;
		if (cr_task_of(x)->state != CR_QUEUED)
			return false;
		before = x;
		count++;
	}
	return count == n;
}

#endif
