/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which of two eligible subtasks goes first: PF, PD, PD2. All by the end of
 * the window, then by b (a window that overlaps the next one first: a slot lost
 * here is lost to the next subtask, too); they differ in what they look at when
 * both overlap.
 *
 *   PD2  the later group deadline (Anderson and Srinivasan)
 *   PD   the same, then the bit of the group deadline, then the larger weight.
 *        Baruah, Gehrke and Plaxton's PD has four tie-breaks, of which PD2
 *        needs the first two; the other two only order what PD2 leaves open,
 *        so its proof holds for them, too. The thesis describes PD by slots
 *        (5.2.2), not by subtasks, and does not say which way the
 *        pseudo-deadlines of heavy tasks count; we do not follow it there.
 *   PF   the windows that follow, one after the other, until one differs
 *        (Baruah, Cohen, Plaxton, Varvel). pfair_compare() answers in
 *        logarithmic time, as a comparison slot by slot would.
 *
 * Errata of the thesis, 5.2.1: the second task has to step by a1, not by a0.
 * Compare as printed also lacks the end that NaiveCompare has, a state of 0:
 * it divides by 0 (2/3 against 2/3, both in their first windows) or answers the
 * opposite (5/7, second, against 3/5, second: the latter goes first).
 */
#ifndef SCHEDULERS_PFAIR_ORDER_H
#define SCHEDULERS_PFAIR_ORDER_H

#include "schedulers/pfair.h"

enum pfair_rule { PFAIR_PF, PFAIR_PD, PFAIR_PD2 };

/** The key of a subtask; slots are absolute. */
struct pfair_key {
	int64_t end;	 /**< of its window                          */
	int64_t overlap; /**< pfair_overlap(); b is "not 0"          */
	int64_t group;	 /**< group deadline; 0: light, or b is 0    */
	bool group_bit;
	struct pfair_weight w;
};

/** The key of @c's next subtask. */
static inline struct pfair_key pfair_key(const struct pfair_chain *c,
					 struct pfair_weight w)
{
	struct pfair_key k = {
		.end = c->base + pfair_end(w, c->subtask),
		.overlap = pfair_overlap(w, c->subtask),
		.w = w,
	};

	if (k.overlap)
		k.group = pfair_group(w, c->subtask, &k.group_bit);
	if (k.group)
		k.group += c->base;
	return k;
}

/** A task in PF's comparison: c > 0: in this slot a window ends that overlaps
 * the next one; c = 0: one that does not; c < 0: none. */
struct pfair_step {
	int64_t a, b, c; /**< period - cost, cost, state */
};

/* Signs mirrored, and with them who is first: swap, negate. */
static inline void pfair_mirror(struct pfair_step *x, struct pfair_step *y)
{
	struct pfair_step old = *x;

	*x = (struct pfair_step){ y->b, y->a, -y->c };
	*y = (struct pfair_step){ old.b, old.a, -old.c };
}

/* "One slot without, then b / a slots with an end" becomes one step; what is
 * left over of b decides about one slot more. */
static inline void pfair_condense(struct pfair_step *x)
{
	int64_t rest = x->b % x->a;

	*x = (struct pfair_step){ x->a - rest, rest, x->c + rest };
}

/** 1: x first, -1: y first, 0: alike, forever. Euclid's algorithm on both
 * weights at once. */
static inline int pfair_compare(struct pfair_step x, struct pfair_step y)
{
	for (;;) {
		int64_t runs_x, runs_y;

		if (x.c == 0 && y.c == 0)
			return 0;
		if ((x.a < y.a ? x.a : y.a) > (x.b < y.b ? x.b : y.b))
			pfair_mirror(&x, &y);
		/* slots in a row with an end; then c is in (-a, 0] */
		runs_x = x.c > 0 ? pfair_div_up(x.c, x.a) : 0;
		runs_y = y.c > 0 ? pfair_div_up(y.c, y.a) : 0;
		if (runs_x != runs_y)
			return runs_x > runs_y ? 1 : -1;
		x.c -= runs_x * x.a;
		y.c -= runs_y * y.a;
		if (x.c == 0 || y.c == 0)
			return (x.c == 0) - (y.c == 0);
		if (x.b / x.a != y.b / y.a)
			return x.b / x.a > y.b / y.a ? 1 : -1;
		pfair_condense(&x);
		pfair_condense(&y);
	}
}

static inline int pfair_pf(const struct pfair_key *x, const struct pfair_key *y)
{
	if (x->w.cost == y->w.cost && x->w.period == y->w.period &&
	    x->overlap == y->overlap)
		return 0;
	return pfair_compare((struct pfair_step){ x->w.period - x->w.cost,
						  x->w.cost, x->overlap },
			     (struct pfair_step){ y->w.period - y->w.cost,
						  y->w.cost, y->overlap });
}

static inline int pfair_pd2(const struct pfair_key *x,
			    const struct pfair_key *y)
{
	return (x->group > y->group) - (x->group < y->group);
}

static inline int pfair_pd(const struct pfair_key *x, const struct pfair_key *y)
{
	int64_t heavier = x->w.cost * y->w.period - y->w.cost * x->w.period;

	if (x->group != y->group)
		return pfair_pd2(x, y);
	if (x->group_bit != y->group_bit)
		return x->group_bit ? 1 : -1;
	return (heavier > 0) - (heavier < 0);
}

/** 1: @x goes first by @rule, -1: @y, 0: alike. */
static inline int pfair_first(enum pfair_rule rule, const struct pfair_key *x,
			      const struct pfair_key *y)
{
	if (x->end != y->end)
		return x->end < y->end ? 1 : -1;
	if (!x->overlap || !y->overlap)
		return (x->overlap != 0) - (y->overlap != 0);
	return rule == PFAIR_PD2  ? pfair_pd2(x, y)
	       : rule == PFAIR_PD ? pfair_pd(x, y)
				  : pfair_pf(x, y);
}

#endif
