/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How much each host may ask: a token bucket for each (the generic cell rate
 * algorithm of ITU-T I.371: one time for each host says it all), in a table of
 * bounded size. Who is not in it any more begins anew with a full bucket.
 *
 * Pure but for memory, which is taken at the start; time is an argument. One
 * thread.
 */
#ifndef NG_ALLOWANCE_H
#define NG_ALLOWANCE_H

#include <sys/socket.h>

#include "cr/time.h"

struct allowance;

struct allowance_cfg {
	unsigned per_second; /**< requests of a host, in the long run, > 0   */
	unsigned burst;	     /**< and at once, after silence, > 0            */
	unsigned hosts;	     /**< that are known; who asked first goes, > 0  */
};

/** NULL: out of memory. */
struct allowance *allowance_new(const struct allowance_cfg *cfg);
void allowance_free(struct allowance *a); /**< NULL is fine */

/** The host of @from (whatever its port is) asks at @now. 0: it may, and that
 * is counted. Else the ns until it may again. */
cr_ns allowance_take(struct allowance *a, const struct sockaddr_storage *from,
		     cr_ns now);

#endif
