/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Time, everywhere in this project: signed 64-bit nanoseconds.
 *
 * Monotonic in live mode, simulated in the simulator. Code below the two
 * drivers gets the time as an argument and never fetches it.
 */
#ifndef CR_TIME_H
#define CR_TIME_H

#include <stdint.h>

/** Nanoseconds. Signed, so that differences are safe. */
typedef int64_t cr_ns;

/** The only sentinel: a time that never comes. */
#define CR_NEVER INT64_MAX

#define CR_US INT64_C(1000)
#define CR_MS INT64_C(1000000)
#define CR_SEC INT64_C(1000000000)

/** @a + @b, where CR_NEVER is absorbing and overflow ends at CR_NEVER. */
static inline cr_ns cr_ns_add(cr_ns a, cr_ns b)
{
	cr_ns sum;

	if (a == CR_NEVER || b == CR_NEVER)
		return CR_NEVER;
	return __builtin_add_overflow(a, b, &sum) ? CR_NEVER : sum;
}

static inline cr_ns cr_ns_max(cr_ns a, cr_ns b)
{
	return a > b ? a : b;
}

static inline cr_ns cr_ns_min(cr_ns a, cr_ns b)
{
	return a < b ? a : b;
}

#endif
