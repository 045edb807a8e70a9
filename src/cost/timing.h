/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Timing short pieces of work by the thread's CPU clock, so that other
 * programs do not count; what reading the clock costs is taken off. Only for
 * src/cost.
 */
#ifndef COST_TIMING_H
#define COST_TIMING_H

#include <stddef.h>

#include "base/clock.h"
#include "cr/sched.h"

enum {
	TIMES_MAX = 20000, /* pieces of one kind */
};

/** Times of one kind of work. Zero is a valid state to end. */
struct times {
	cr_ns *ns; /**< [TIMES_MAX] */
	size_t n;
	cr_ns clock_cost;
};

/** Returns 0 or -ENOMEM. Measures the clock, which takes a fraction of a ms. */
int times_init(struct times *t);
void times_fini(struct times *t);

/** A piece of work that began at clock_thread_cpu() == @start has ended. */
static inline void times_add(struct times *t, cr_ns start)
{
	cr_ns took = clock_thread_cpu() - start;

	t->ns[t->n++] = took > t->clock_cost ? took - t->clock_cost : 0;
}

/** @n points of the distribution of n > 0 times, sorted by times_cost(): the
 * middle of each of @n equal parts. */
void times_quantiles(const struct times *t, cr_ns *out, size_t n);

/** Mean, variance and 99th percentile of n > 0 times. Sorts them. */
struct cr_cost times_cost(struct times *t);

#endif
