/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Random numbers from a seed: SplitMix64, small enough to give every call of a
 * plan several generators of its own. The same seed gives the same numbers on
 * every machine: no mathematical library takes part, whose last digits differ,
 * only integers and single IEEE operations.
 *
 * And random octets that nobody can guess (RFC 3550 5.1, RFC 7022): the
 * kernel's, asked for by the hundred. A call takes a dozen small numbers, and a
 * system call for each of them was a fiftieth of what setting one up costs.
 */
#ifndef BASE_RANDOM_H
#define BASE_RANDOM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cr/time.h"

/** Fill @buf. Any thread; each has a stock of its own. Not across fork(). */
void random_fill(void *buf, size_t bytes);

/** The next number of the generator @state: SplitMix64 (Steele, Lea, Flood:
 * Fast Splittable Pseudorandom Number Generators, 2014): good numbers from any
 * seed, and a good mixer. Anybody can guess them. Pure but for @state. */
static inline uint64_t splitmix64(uint64_t *state)
{
	uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);

	z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
	return z ^ (z >> 31);
}

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
