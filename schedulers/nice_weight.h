/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Weights as Linux counts them, for policies that give shares: nice is the
 * operator's hand, the task's own weight the cost of its codec (thesis 6.1),
 * and neither hides the other.
 */
#ifndef SCHEDULERS_NICE_WEIGHT_H
#define SCHEDULERS_NICE_WEIGHT_H

#include "cr/sched.h"

#define NEUTRAL (UINT64_C(1) << 20) /**< nice 0, weight 1024 */
#define LIGHTEST (UINT64_C(1) << 10)
#define HEAVIEST (UINT64_C(1) << 32)

/** Linux's table at the nice level of @t times its weight: LIGHTEST to
 * HEAVIEST. */
static inline uint64_t nice_weight(const struct cr_task *t)
{
	/* from nice -20 to 19: 1024 x 1.25^-nice as Linux rounds it */
	static const uint32_t table[40] = {
		88761, 71755, 56483, 46273, 36291, 29154, 23254, 18705,
		14949, 11916, 9548,  7620,  6100,  4904,  3906,	 3121,
		2501,  1991,  1586,  1277,  1024,  820,	  655,	 526,
		423,   335,   272,   215,   172,   137,	  110,	 87,
		70,    56,    45,    36,    29,	   23,	  18,	 15,
	};
	uint64_t w = (uint64_t)table[t->nice + 20] * t->weight;

	if (w < LIGHTEST)
		return LIGHTEST;
	return w > HEAVIEST ? HEAVIEST : w;
}

#endif
