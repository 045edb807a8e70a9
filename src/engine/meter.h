/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How much service a job had of a live worker.
 *
 * The clock says how long it took. That is its service if the worker's thread
 * had its CPU all the time; but other processes take it away, for tens of ms
 * under some kernels, and a policy that shares out service or keeps budgets
 * would charge the call for it: under cfs it then waits until all others have
 * had as much.
 *
 * The thread's CPU clock knows, but to read it is a system call of a
 * microsecond. So it is read after jobs that took much longer than they should,
 * and now and then before the worker sleeps. What lies between two readings and
 * was neither sleep nor CPU time, the thread was away:
 *
 *     service = time taken - time away, but not below what is plausible
 *
 * Time away that fell to earlier jobs, each of which seemed plausible, counts
 * for this one: hence the limit below. A job that needs much more than was
 * declared for it is charged in full. What the host of a virtual machine takes
 * is not seen by the guest's clocks.
 *
 * Thread rule: a worker's own.
 */
#ifndef ENGINE_METER_H
#define ENGINE_METER_H

#include "cr/sched.h"

/** Older readings are renewed before a sleep: going to sleep and waking up is
 * counted as sleep and is CPU time, too, which adds up. */
#define METER_AGE (10 * CR_MS)

struct meter {
	cr_ns wall, cpu; /**< the same instant by both clocks */
	cr_ns slept;	 /**< since                           */
};

/** The time that a job of @c may take and still seem plausible: few are beyond
 * the 99th percentile, and an interrupt or a cold cache is no reason to ask. */
static inline cr_ns meter_plausible(const struct cr_cost *c)
{
	return 4 * cr_ns_max(c->p99, c->mean);
}

/** It is @wall, and the thread has had @cpu. */
static inline void meter_read(struct meter *m, cr_ns wall, cr_ns cpu)
{
	*m = (struct meter){ .wall = wall, .cpu = cpu };
}

/** The service of a job that took @took and ended at @wall, where the thread
 * had had @cpu and @plausible < @took. Counts as a reading. */
static inline cr_ns meter_service(struct meter *m, cr_ns took, cr_ns plausible,
				  cr_ns wall, cr_ns cpu)
{
	cr_ns away = wall - m->wall - m->slept - (cpu - m->cpu);

	meter_read(m, wall, cpu);
	return cr_ns_max(took - cr_ns_max(away, 0), plausible);
}

#endif
