/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How long a peer may be silent before it counts as lost, and the settings of
 * SCTP that follow. The back-ends judge by this; the retransmissions of SCTP
 * alone would give up at a time that depends on what is under way.
 */
#ifndef TRANSPORT_SILENCE_H
#define TRANSPORT_SILENCE_H

#include "cr/time.h"

/** Time that passes while this process runs. The time from one look to the next
 * counts as @step at most: a process that was stopped for a minute has not
 * listened in that minute, so its peers were not silent. Zero is a valid
 * initial state. */
struct awake {
	cr_ns now;    /**< 0 at the first look */
	cr_ns looked; /**< clock of the last look; 0: none */
};

/** Look at the clock, which says @clock. Returns awake->now. */
static inline cr_ns awake_look(struct awake *a, cr_ns clock, cr_ns step)
{
	if (a->looked)
		a->now += cr_ns_min(cr_ns_max(clock - a->looked, 0), step);
	a->looked = clock;
	return a->now;
}

/** Settings for a peer that may be silent for some time. */
struct silence {
	cr_ns limit;		  /**< longer is a loss                       */
	unsigned heartbeat_ms;	  /**< a living peer is heard this often      */
	uint16_t retransmissions; /**< enough that they outlast the limit   */
};

/** The settings for @limit; 0: TRANSPORT_PEER_TIMEOUT. Shorter or longer than
 * TRANSPORT_PEER_TIMEOUT_MIN and _MAX is brought to these. Any thread. */
struct silence silence_for(cr_ns limit);

#endif
