/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The queue of eevdf: requests by virtual deadline, in a tree whose nodes know
 * the earliest that is eligible below them, so that the first of the eligible
 * is found in one descent.
 *
 * Virtual time wraps and is compared by signed difference.
 */
#ifndef SCHEDULERS_EEVDF_QUEUE_H
#define SCHEDULERS_EEVDF_QUEUE_H

#include "cr/list.h"

struct eevdf_task;
static inline void eevdf_carry(struct eevdf_task *x);

/* tree.h calls this for nodes whose children it has changed. */
#define RB_AUGMENT(x) eevdf_carry(x)
#include "cr/tree.h"

struct eevdf_task {
	struct cr_list_node stopped; /* first: list.h sees a cr_list_node */
	RB_ENTRY(eevdf_task) node;
	/* all in virtual time */
	uint64_t deadline, eligible; /* of the request */
	uint64_t least;		     /* eligible in the subtree */
	uint64_t vruntime;
	uint64_t rest;	 /* of the last division by weight */
	uint64_t weight; /* constant */
	int64_t lag;	 /* asleep: in ns times NEUTRAL */
	cr_ns counted;	 /* service of its turn that is in vruntime */
	cr_ns turn;	 /* service of its last turn */
	bool active;	 /* one of those that virtual time is the mean of */
	bool served;	 /* picked, and not stopped since */
};

RB_HEAD(eevdf_tree, eevdf_task);

_Static_assert(sizeof(struct eevdf_task) <= CR_TASK_PRIV, "room in a task");

/** How far @a is ahead of @b. */
static inline int64_t eevdf_lead(uint64_t a, uint64_t b)
{
	return (int64_t)(a - b);
}

static inline int eevdf_cmp(struct eevdf_task *x, struct eevdf_task *y)
{
	int64_t d = eevdf_lead(x->deadline, y->deadline);

	return d ? cr_cmp(d, 0) : cr_cmp(cr_task_of(x)->id, cr_task_of(y)->id);
}

CR_TREE(eevdf_tree, eevdf_task, node, eevdf_cmp)

static inline uint64_t eevdf_sooner(uint64_t least,
				    const struct eevdf_task *below)
{
	return below && eevdf_lead(below->least, least) < 0 ? below->least
							    : least;
}

static inline uint64_t eevdf_least_below(const struct eevdf_task *x)
{
	return eevdf_sooner(eevdf_sooner(x->eligible, RB_LEFT(x, node)),
			    RB_RIGHT(x, node));
}

static inline void eevdf_carry(struct eevdf_task *x)
{
	x->least = eevdf_least_below(x);
}

static inline void eevdf_carry_up(struct eevdf_task *x)
{
	for (; x; x = RB_PARENT(x, node))
		eevdf_carry(x);
}

static inline void eevdf_insert(struct eevdf_tree *q, struct eevdf_task *x)
{
	x->least = x->eligible;
	RB_INSERT(eevdf_tree, q, x);
	eevdf_carry_up(x);
}

/* tree.h carries up from the node that takes the place of one with two
 * children, but not from below another one. */
static inline void eevdf_take_out(struct eevdf_tree *q, struct eevdf_task *x)
{
	struct eevdf_task *parent = RB_PARENT(x, node);
	bool two = RB_LEFT(x, node) && RB_RIGHT(x, node);

	RB_REMOVE(eevdf_tree, q, x);
	if (!two)
		eevdf_carry_up(parent);
}

static inline bool eevdf_is_eligible(const struct eevdf_task *x, uint64_t by)
{
	return eevdf_lead(x->eligible, by) <= 0;
}

/** The earliest deadline of those eligible by @by; there is one. */
static inline struct eevdf_task *eevdf_first(struct eevdf_task *x, uint64_t by)
{
	for (;;) {
		struct eevdf_task *left = RB_LEFT(x, node);

		if (left && eevdf_lead(left->least, by) <= 0)
			x = left;
		else if (eevdf_is_eligible(x, by))
			return x;
		else
			x = RB_RIGHT(x, node);
	}
}

#endif
