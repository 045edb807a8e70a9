/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Random tests that can be repeated: the seed is printed, and CR_SEED sets it.
 */
#ifndef TESTS_SEED_H
#define TESTS_SEED_H

#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

/** The seed of this run, never 0. */
static inline uint64_t test_seed(void)
{
	const char *given = getenv("CR_SEED");
	uint64_t seed = given ? strtoull(given, NULL, 0) : (uint64_t)time(NULL);

	if (!seed)
		seed = 1;
	(void)printf("CR_SEED=%" PRIu64 "\n", seed);
	(void)fflush(stdout);
	return seed;
}

/** The next random number (xorshift64*). */
static inline uint64_t test_random(uint64_t *seed)
{
	*seed ^= *seed >> 12;
	*seed ^= *seed << 25;
	*seed ^= *seed >> 27;
	return *seed * UINT64_C(2685821657736338717);
}

/** A random number in [0, n). */
static inline unsigned test_below(uint64_t *seed, unsigned n)
{
	return (unsigned)((test_random(seed) >> 33) % n);
}

#endif
