/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One receiver: packets wait in its socket and are taken one after the other,
 * first come, first served, at a constant cost. When there is none the receiver
 * sleeps, and to wake up costs, too. Its CPU does nothing else. A packet that
 * finds the socket full is dropped, as the kernel does.
 *
 * Thread rule: one thread.
 */
#ifndef SIM_RECEIVER_H
#define SIM_RECEIVER_H

#include <stdint.h>

#include "cr/time.h"

struct receiver_cfg {
	cr_ns cost;    /**< of a packet, >= 0                               */
	cr_ns wake;    /**< before the first one after a sleep, >= 0        */
	uint64_t most; /**< packets that may wait, the one being taken
			    included; > 0                                   */
};

struct receiver_stats {
	uint64_t packets; /**< taken                                        */
	uint64_t dropped; /**< came to a full socket                        */
	uint64_t wakes;
	uint64_t longest; /**< most that waited, the one being taken included */
	cr_ns busy;	  /**< waking up and taking packets                 */
	cr_ns wait;	  /**< sum: from the arrival of each to its begin   */
	cr_ns wait_max;
};

/** Zero, then set cfg. */
struct receiver {
	struct receiver_cfg cfg;
	cr_ns idle;  /**< from then on nothing waits                        */
	uint64_t in; /**< packets since the last sleep                      */
	struct receiver_stats stats;
};

/** A packet comes at @at (>= 0, never before the last one). Returns when the
 * receiver has done with it, CR_NEVER: it was dropped. */
cr_ns receiver_take(struct receiver *r, cr_ns at);

/** The statistics of a receiver that is looked at at @now, when all packets
 * before @now have come: it has not been busy beyond that. */
struct receiver_stats receiver_stats(const struct receiver *r, cr_ns now);

/** Add @from to @to: sums, and the greatest of longest and wait_max. */
void receiver_stats_merge(struct receiver_stats *to,
			  const struct receiver_stats *from);

#endif
