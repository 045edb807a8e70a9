/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The cost of frames of one kind, learned from those that were transcoded:
 * mean, variance and 99th percentile, with old frames forgotten.
 *
 * The percentile is read from a log-linear histogram of 32 steps per power of
 * two: at most 1/64 off the true one. One thread.
 */
#ifndef COST_LEARNER_H
#define COST_LEARNER_H

#include <stdbool.h>
#include <stdint.h>

#include "cr/sched.h"

enum {
	LEARNER_STEP_BITS = 5,
	LEARNER_LOW_BIT = 8, /**< below 2^8 ns steps are 8 ns wide */
	LEARNER_BUCKETS = (32 - LEARNER_LOW_BIT + 1) << LEARNER_STEP_BITS,
	/** Frames after which an old one counts a third (e^-1). */
	LEARNER_MEMORY = 5000,
	/** With fewer frames than this nothing is said of them. */
	LEARNER_ENOUGH = 200
};

/** 3.2 KB. Zero has learned nothing. */
struct cost_learner {
	uint64_t frames;	/**< ever added                          */
	double total;		/**< frames that are remembered          */
	double mean, deviation; /**< ns; sum of squared deviations, ns^2 */
	float weight[LEARNER_BUCKETS];
};

/** @n frames took @ns[] each. */
void cost_learner_add(struct cost_learner *l, const uint32_t *ns, unsigned n);

/** The cost of a frame, ns. False, and @cost as it was: too few frames. */
bool cost_learner_cost(const struct cost_learner *l, struct cr_cost *cost);

#endif
