/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sets of CPUs, what the engine asks of them beyond cr/sched.h.
 */
#ifndef ENGINE_CPUS_H
#define ENGINE_CPUS_H

#include "cr/sched.h"

/** The lowest member, or -1. */
static inline int cpus_lowest(const struct cr_cpus *set)
{
	for (unsigned i = 0; i < CR_MAX_CPUS / 64; i++)
		if (set->word[i])
			return (int)(i * 64) + __builtin_ctzll(set->word[i]);
	return -1;
}

static inline bool cpus_any(const struct cr_cpus *set)
{
	uint64_t bits = 0;

	for (unsigned i = 0; i < CR_MAX_CPUS / 64; i++)
		bits |= set->word[i];
	return bits != 0;
}

static inline unsigned cpus_count(const struct cr_cpus *set)
{
	unsigned n = 0;

	for (unsigned i = 0; i < CR_MAX_CPUS / 64; i++)
		n += (unsigned)__builtin_popcountll(set->word[i]);
	return n;
}

#endif
