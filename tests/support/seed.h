/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Random tests that can be repeated: a process has one seed, which is printed,
 * and which CR_SEED sets.
 */
#ifndef TESTS_SEED_H
#define TESTS_SEED_H

#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

/** The next random number (xorshift64*). */
static inline uint64_t test_random(uint64_t *seed)
{
	*seed ^= *seed >> 12;
	*seed ^= *seed << 25;
	*seed ^= *seed >> 27;
	return *seed * UINT64_C(2685821657736338717);
}

/** What CR_SEED must be to repeat this process; chosen and printed once. */
static inline uint64_t test_run_seed(void)
{
	const char *given = getenv("CR_SEED");
	static uint64_t seed;
	struct timespec now;

	if (seed)
		return seed;
	(void)clock_gettime(CLOCK_REALTIME, &now);
	seed = (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
	seed ^= (uint64_t)getpid() << 40;
	if (given)
		seed = strtoull(given, NULL, 0);
	if (!seed)
		seed = 1;
	(void)printf("CR_SEED=%" PRIu64 "\n", seed);
	(void)fflush(stdout);
	return seed;
}

/** A seed of a sequence of its own, never 0: another one with every call, and
 * the same ones again under the same CR_SEED. One thread. */
static inline uint64_t test_seed(void)
{
	static uint64_t state;

	if (!state)
		state = test_run_seed();
	return test_random(&state);
}

/** A random number in [0, n). */
static inline unsigned test_below(uint64_t *seed, unsigned n)
{
	return (unsigned)((test_random(seed) >> 33) % n);
}

/** @n, or a tenth of it under a sanitizer or in an emulator, which look for
 * something else, take ten times as long, and see other sets. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) ||           \
	defined(TEST_EMULATED)
#define TEST_FEWER(n) ((n) / 10)
#else
#define TEST_FEWER(n) (n)
#endif

/** How many times as often as usual to try: CR_TRIES, 0.01 to 1000. */
static inline double test_tries_factor(void)
{
	const char *given;
	static double factor;

	if (factor > 0)
		return factor;
	given = getenv("CR_TRIES");
	factor = given ? strtod(given, NULL) : 1;
	if (!(factor >= 0.01 && factor <= 1000)) {
		(void)fprintf(stderr, "CR_TRIES=%s: use 0.01 to 1000\n", given);
		abort();
	}
	return factor;
}

/** How often to try with random inputs what is usually tried @n times; at least
 * once. */
#define TEST_TRIES(n) test_tries(TEST_FEWER(n))
static inline unsigned test_tries(double n)
{
	double tries = n * test_tries_factor();

	return tries < 1 ? 1 : (unsigned)tries;
}

#endif
