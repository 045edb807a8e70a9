/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bounds for schedulers whose jobs go by release plus a constant Y of their
 * task, on m preempted CPUs that the load fits (Erickson and Anderson, "Fair
 * lateness scheduling", 2012; Erickson, Devi and Baruah, "Improved tardiness
 * bounds for global EDF", 2010). With C, T and U = C / T of each task,
 *
 *	S_i = C_i max(0, 1 - Y_i / T_i)
 *	x_i = (s - C_i) / m		a compliant vector, for the least s of
 *	s   = sum of S_i + sum of the m - 1 largest (U_i x_i + C_i - S_i)
 *
 * and no job takes longer than Y_i + x_i + C_i from release to end.
 */
#ifndef TESTS_COMPLIANT_H
#define TESTS_COMPLIANT_H

#include "task_set.h"

/** A set with its constants Y >= 0. */
struct compliant {
	const struct task_set *set;
	double point[TASK_SET_MAX];
	unsigned ncpu;
};

static inline int compliant_descending(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x < y) - (x > y);
}

/* S_i */
static inline double compliant_demand(const struct compliant *c, unsigned i)
{
	const struct set_task *t = &c->set->task[i];
	double part = 1 - c->point[i] / (double)t->period;

	return part > 0 ? (double)t->cost * part : 0;
}

static inline double compliant_next(const struct compliant *c, double s)
{
	double part[TASK_SET_MAX], sum = 0;

	for (unsigned i = 0; i < c->set->n; i++) {
		const struct set_task *t = &c->set->task[i];
		double cost = (double)t->cost, x = (s - cost) / c->ncpu;
		double demand = compliant_demand(c, i);

		part[i] = x * cost / (double)t->period + cost - demand;
		sum += demand;
	}
	qsort(part, c->set->n, sizeof(part[0]), compliant_descending);
	for (unsigned i = 0; i + 1 < c->ncpu && i < c->set->n; i++)
		sum += part[i];
	return sum;
}

/** The least s. Each step closes 1/m of the gap at least, as no utilisation is
 * above 1. */
static inline double compliant_s(const struct compliant *c)
{
	double s = 0, next = compliant_next(c, s);

	for (unsigned k = 0; k < 1000 && next - s > 1e-9; k++) {
		s = next;
		next = compliant_next(c, s);
	}
	return next;
}

/** From release to end at most, given @s. */
static inline double compliant_response(const struct compliant *c, double s,
					unsigned i)
{
	double cost = (double)c->set->task[i].cost;

	return c->point[i] + (s - cost) / c->ncpu + cost;
}

#endif
