/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Random numbers from a seed; and random octets that nobody can guess (RFC 3550
 * 5.1, RFC 7022): the kernel's, asked for by the hundred. A call takes a dozen
 * small numbers, and a system call for each of them was a fiftieth of what
 * setting one up costs.
 */
#ifndef BASE_RANDOM_H
#define BASE_RANDOM_H

#include <stddef.h>
#include <stdint.h>

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

#endif
