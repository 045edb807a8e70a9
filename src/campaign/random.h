/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Seeded random numbers for plans: SplitMix64, small enough to give every call
 * several of its own. The same seed gives the same numbers on every machine: no
 * mathematical library takes part, whose last digits differ, only integers and
 * single IEEE operations.
 */
#ifndef CAMPAIGN_RANDOM_H
#define CAMPAIGN_RANDOM_H

#include <stdbool.h>
#include <stdint.h>

#include "base/random.h"
#include "cr/time.h"

struct random {
	uint64_t state;
};

static inline uint64_t random_next(struct random *r)
{
	return splitmix64(&r->state);
}

/** A generator of its own for the thing number @index below @seed. */
static inline struct random random_fork(uint64_t seed, uint64_t index)
{
	struct random r = { seed };
	uint64_t a = random_next(&r);

	r.state = a ^ (index * UINT64_C(0xd1342543de82ef95));
	(void)random_next(&r);
	return r;
}

/** Uniform in [0, 1), 53 bits. */
static inline double random_unit(struct random *r)
{
	return (double)(random_next(r) >> 11) * 0x1p-53;
}

/** Uniform in 0..limit. @limit >= 0, below 2^53. */
static inline cr_ns random_time(struct random *r, cr_ns limit)
{
	return (cr_ns)(random_unit(r) * ((double)limit + 1));
}

/** True with a probability of @ppm / 10^6. */
static inline bool random_chance(struct random *r, int64_t ppm)
{
	return (int64_t)(random_unit(r) * 1e6) < ppm;
}

/** Exponentially distributed with mean 1; in units of 2^-32. */
uint64_t random_exponential_q32(struct random *r);

/** Standard normal; in units of 2^-32. */
int64_t random_normal_q32(struct random *r);

/** Exponentially distributed with @mean, from 1 ns to 2^62 ns. */
cr_ns random_exponential(struct random *r, cr_ns mean);

#endif
