/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The machine's clocks. Only drivers and edges may read them (see cr/time.h).
 */
#ifndef BASE_CLOCK_H
#define BASE_CLOCK_H

#include <time.h>

#include "cr/time.h"

static inline cr_ns clock_read(clockid_t id)
{
	struct timespec t;

	(void)clock_gettime(id, &t);
	return (cr_ns)t.tv_sec * CR_SEC + t.tv_nsec;
}

/** CLOCK_MONOTONIC, ns. */
static inline cr_ns clock_now(void)
{
	return clock_read(CLOCK_MONOTONIC);
}

/** CPU time of the calling thread, ns. */
static inline cr_ns clock_thread_cpu(void)
{
	return clock_read(CLOCK_THREAD_CPUTIME_ID);
}

#endif
