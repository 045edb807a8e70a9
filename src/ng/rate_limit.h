/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How much each host may ask: a token bucket for each (the generic cell rate
 * algorithm of ITU-T I.371: one time for each host says it all), in a table of
 * bounded size. Who is not in it any more begins anew with a full bucket.
 *
 * Pure but for memory, which is taken at the start; time is an argument. One
 * thread.
 */
#ifndef NG_RATE_LIMIT_H
#define NG_RATE_LIMIT_H

#include <sys/socket.h>

#include "cr/time.h"

struct rate_limit;

struct rate_limit_cfg {
	unsigned per_second; /**< requests of a host, in the long run, > 0   */
	unsigned burst;	     /**< and at once, after silence, > 0            */
	unsigned hosts;	     /**< that are known; who asked first goes, > 0  */
};

/** NULL: out of memory. */
struct rate_limit *rate_limit_new(const struct rate_limit_cfg *cfg);
void rate_limit_free(struct rate_limit *a); /**< NULL is fine */

/** The host of @from (whatever its port is) asks at @now. 0: it may, and that
 * is counted. Else the ns until it may again. */
cr_ns rate_limit_take(struct rate_limit *a, const struct sockaddr_storage *from,
		      cr_ns now);

#endif
