/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How far apart the receiver's turns begin.
 *
 * A turn has a price of its own: a sleep, a wake-up, and on a CPU that a worker
 * has, too, two switches of threads. While that CPU has time to spare, nobody
 * pays for it, and packets are taken as they come. The busier the CPU, the
 * longer the receiver waits between two turns, so that a turn has more packets;
 * a turn that had many already is followed by the next one at once. What a
 * packet pays for it is the rest of the gap, and the frames of those that came
 * with it: docs/notes/performance-2026-11.md.
 *
 * Pure: time and figures are arguments. Thread rule: one thread.
 */
#ifndef MEDIA_PACE_H
#define MEDIA_PACE_H

#include <stdbool.h>
#include <stdint.h>

#include "cr/time.h"

/** The gap is never longer. */
#define PACE_GAP_MAX (1500 * CR_US)
/** A turn of so many packets need not become longer. */
#define PACE_PACKETS 64u
/** How often the load is looked at. */
#define PACE_LOOK (20 * CR_MS)

/** Zero, then pace_look(). */
struct pace {
	cr_ns looked; /**< when                                  */
	cr_ns used;   /**< CPU time that was used by then        */
	int64_t load; /**< of the CPU, ppm; a decaying average   */
	cr_ns gap;    /**< between the beginnings of turns       */
};

/** The gap at a load of @load_ppm. */
cr_ns pace_gap(int64_t load_ppm);

/** Is it time for a look? */
static inline bool pace_due(const struct pace *p, cr_ns now)
{
	return now - p->looked >= PACE_LOOK;
}

/** By @now the CPU has worked for @used altogether (any origin). */
void pace_look(struct pace *p, cr_ns now, cr_ns used);

/** How long to wait after a turn of @packets that began at @began, at @now; 0:
 * not at all. */
static inline cr_ns pace_wait(const struct pace *p, unsigned packets,
			      cr_ns began, cr_ns now)
{
	if (packets >= PACE_PACKETS)
		return 0;
	return cr_ns_max(began + p->gap - now, 0);
}

#endif
