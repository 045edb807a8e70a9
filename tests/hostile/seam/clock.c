/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The wall clock, which is ahead of the real one.
 */
#define _GNU_SOURCE
#include "seam_impl.h"

#include <sys/time.h>
#include <time.h>

int clock_gettime(clockid_t clock, struct timespec *t)
{
	int64_t ahead =
		atomic_load_explicit(&seam_shared->ahead, memory_order_relaxed);
	int rc;

	NEXT(clock_gettime);
	rc = next(clock, t);
	if (!rc && ahead &&
	    (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) {
		int64_t ns = t->tv_nsec + ahead % 1000000000;

		t->tv_sec +=
			ahead / 1000000000 + (ns < 0 ? -1 : ns / 1000000000);
		t->tv_nsec = (ns + 1000000000) % 1000000000;
	}
	return rc;
}

time_t time(time_t *to)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_REALTIME, &t);
	if (to)
		*to = t.tv_sec;
	return t.tv_sec;
}

int gettimeofday(struct timeval *restrict now, void *restrict zone)
{
	struct timespec t;
	int rc = clock_gettime(CLOCK_REALTIME, &t);

	(void)zone;
	if (!rc)
		*now = (struct timeval){ t.tv_sec, t.tv_nsec / 1000 };
	return rc;
}
