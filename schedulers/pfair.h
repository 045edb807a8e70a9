/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pfair arithmetic: weights, windows and chains of subtasks, in whole quanta.
 * No scheduling in here; pfair.c schedules, pfair_order.h compares.
 *
 * A task of weight e/p gets its i-th quantum (subtask i, from 1) in the window
 *
 *     floor((i - 1) p / e)  <=  slot  <  ceil(i p / e)         (thesis 4.3)
 *
 * Ends of windows are exclusive here, as in the papers of Anderson and
 * Srinivasan; the thesis counts the last slot, one less. Windows repeat after
 * e subtasks and p slots, the pattern: a chain is the slot where the pattern in
 * progress begins, and the number of the next subtask in it. An intra-sporadic
 * (IS) task is late with a subtask by moving its pattern to the right, all
 * later ones with it (4.9, 4.10); it never moves back.
 *
 * Errata of the thesis:
 *  - the sentence under (4.8) has b the wrong way round: b is 1 when the next
 *    window overlaps this one, 0 when it is disjoint. The formula is right.
 *  - (5.7) and the rule below it are not the group deadline of which the
 *    optimality of PD2 was proved: see pfair_group().
 */
#ifndef SCHEDULERS_PFAIR_H
#define SCHEDULERS_PFAIR_H

#include <stdbool.h>
#include <stdint.h>

/** Longest pattern: products of two such numbers fit int64_t. */
#define PFAIR_MAX_PERIOD INT64_C(0x7fffffff)
/** No slot is later: what a chain that runs away is held at. */
#define PFAIR_LAST_SLOT (INT64_C(1) << 60)

/** 1 <= cost <= period <= PFAIR_MAX_PERIOD, quanta. */
struct pfair_weight {
	int64_t cost, period;
};

struct pfair_chain {
	int64_t base;	 /**< slot where the pattern of the next one begins */
	int64_t subtask; /**< the next one, 1..cost                         */
};

static inline int64_t pfair_div_up(int64_t a, int64_t b)
{
	return a / b + (a % b > 0);
}

/** First slot of subtask @i, from the begin of its pattern. */
static inline int64_t pfair_begin(struct pfair_weight w, int64_t i)
{
	return (i - 1) * w.period / w.cost;
}

/** The slot after its last one (the pseudo-deadline). */
static inline int64_t pfair_end(struct pfair_weight w, int64_t i)
{
	return pfair_div_up(i * w.period, w.cost);
}

/** How far the window reaches into the next one, in slots / cost: 0 when they
 * are disjoint, above 0 when they share a slot: b(i) is "not 0". */
static inline int64_t pfair_overlap(struct pfair_weight w, int64_t i)
{
	return pfair_end(w, i) * w.cost - i * w.period;
}

/**
 * Group deadline of subtask @i of a heavy task (weight >= 1/2): the end of the
 * cascade of two-slot windows in which each one late makes the next one late.
 * It is the earliest t >= end(i) with t = end(k) and b(k) = 0, or t + 1 =
 * end(k) and window k three slots long, k >= i. Light tasks: 0.
 *
 * Such t are the ends of the windows of a task of weight 1 - e/p: where the
 * heavy one pauses. *@bit is that task's b there, or false.
 */
static inline int64_t pfair_group(struct pfair_weight w, int64_t i, bool *bit)
{
	int64_t pause = w.period - w.cost, turns;

	*bit = false;
	if (2 * w.cost < w.period || !pause)
		return 0;
	turns = (pfair_end(w, i) - i) * w.period;
	*bit = turns % pause != 0;
	return pfair_div_up(turns, pause);
}

/** @n subtasks have been served (or given up). */
static inline void pfair_advance(struct pfair_chain *c, struct pfair_weight w,
				 int64_t n)
{
	int64_t done = c->subtask - 1 + n, slots;

	c->subtask = done % w.cost + 1;
	if (__builtin_mul_overflow(done / w.cost, w.period, &slots) ||
	    slots > PFAIR_LAST_SLOT - c->base)
		c->base = PFAIR_LAST_SLOT;
	else
		c->base += slots;
}

/** The next subtask is not there before @slot: move the pattern (IS). */
static inline void pfair_delay(struct pfair_chain *c, struct pfair_weight w,
			       int64_t slot)
{
	int64_t late = slot - (c->base + pfair_begin(w, c->subtask));

	if (late > 0)
		c->base += late;
}

/**
 * A job comes at @slot. When the pattern in progress is over by then, what is
 * left of it lapses and a new one begins (subtasks may be left out without
 * harm: the generalised IS model). Else the job goes on with it: after an
 * early or a long job.
 */
static inline void pfair_release(struct pfair_chain *c, struct pfair_weight w,
				 int64_t slot)
{
	if (c->subtask > 1 && slot >= c->base + w.period) {
		c->base = slot;
		c->subtask = 1;
	}
	pfair_delay(c, w, slot);
}

#endif
