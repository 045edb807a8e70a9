/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Walking round a circle: a step without a common divisor meets every place.
 */
#ifndef BASE_DIVISOR_H
#define BASE_DIVISOR_H

#include <stdint.h>

/** The greatest common divisor of @a and @b; of a number and 0 it is the
 * number. Pure. */
static inline uint64_t common_divisor(uint64_t a, uint64_t b)
{
	while (b) {
		uint64_t rest = a % b;

		a = b;
		b = rest;
	}
	return a;
}

#endif
