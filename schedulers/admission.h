/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The common part of the admission tests of several policies.
 */
#ifndef SCHEDULERS_ADMISSION_H
#define SCHEDULERS_ADMISSION_H

#include "cr/promise.h"
#include "cr/sched.h"
#include "cr/tree.h"

/* --- the largest of a value that each task of a run queue has --- */

/** One task's entry. */
struct extreme {
	RB_ENTRY(extreme) node;
	int64_t value;
	uint32_t id;
};

RB_HEAD(extreme_tree, extreme);

/** Admission asks every run queue for every call, so the largest is kept beside
 * the tree: no walk through other calls' memory. Zero is empty. */
struct extremes {
	struct extreme_tree tree;
	struct extreme *top; /**< NULL: empty */
	int64_t most;	     /**< top's value */
};

static inline int extreme_cmp(const struct extreme *a, const struct extreme *b)
{
	return a->value != b->value ? cr_cmp(a->value, b->value)
				    : cr_cmp(a->id, b->id);
}

CR_TREE(extreme_tree, extreme, node, extreme_cmp)

/** The largest value, or @none. */
static inline int64_t extremes_largest(const struct extremes *e, int64_t none)
{
	return e->top ? e->most : none;
}

static inline void extremes_set_top(struct extremes *e, struct extreme *x)
{
	e->top = x;
	e->most = x ? x->value : 0;
}

/** Add @x, of task @id. */
static inline void extremes_add(struct extremes *e, struct extreme *x,
				uint32_t id, int64_t value)
{
	x->value = value;
	x->id = id;
	RB_INSERT(extreme_tree, &e->tree, x);
	if (!e->top || extreme_cmp(e->top, x) < 0)
		extremes_set_top(e, x);
}

static inline void extremes_del(struct extremes *e, struct extreme *x)
{
	if (e->top == x)
		extremes_set_top(e, RB_PREV(extreme_tree, &e->tree, x));
	RB_REMOVE(extreme_tree, &e->tree, x);
}

/* --- numbers --- */

/** @n times @time; CR_NEVER where that is too long. */
static inline cr_ns times(int64_t n, cr_ns time)
{
	cr_ns product;

	return __builtin_mul_overflow(n, time, &product) ? CR_NEVER : product;
}

/** How many CPUs of @rq @t may run on. */
static inline unsigned cpus_allowed(const struct cr_rq *rq,
				    const struct cr_task *t)
{
	unsigned n = 0;

	for (unsigned i = 0; i < rq->ncpu; i++)
		n += cr_may_run(rq, t, i);
	return n;
}

/* --- promises --- */

/** Into @p: all jobs of @t are in time if the test says so, by the worst case
 * of everybody; else why not. */
static inline void promise_by_worst_case(const struct cr_task *t, bool in_time,
					 struct cr_promise *p)
{
	if (in_time) {
		p->kind = CR_PROMISE_LATENESS;
		p->rule = "admission by the worst case: no frame is late";
		p->cost = cr_task_worst(t);
	} else if (t->cls == CR_SOFT) {
		p->rule = "by the worst case there are too many calls; a soft "
			  "one is admitted by its mean cost, class hard has a "
			  "bound";
	} else {
		p->rule = "there are more calls than its admission test allows";
	}
}

#endif
