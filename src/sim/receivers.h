/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The receivers of a simulated machine, between the network and the run queues.
 * Calls are dealt out to them: the call number modulo the number of receivers.
 * A packet becomes a job when its receiver has done with it; its arrival, from
 * which delay and deadline count, stays when it came.
 *
 * When packets come depends on nothing that the machine does, and what a
 * receiver does depends on nothing else. So receivers go ahead of the run
 * queues: receivers_run() works out when each packet will have been received
 * and puts it into its call's inbox, and then sim_run() takes it from there.
 *
 * Thread rule: one thread, which may have others work for it; the result does
 * not depend on how many.
 */
#ifndef SIM_RECEIVERS_H
#define SIM_RECEIVERS_H

#include <stdint.h>

#include "campaign/campaign.h"
#include "cr/time.h"
#include "sim/workload.h"

struct receiver_cfg {
	cr_ns cost;    /**< of a packet, >= 0                               */
	cr_ns wake;    /**< before the first one after a sleep, >= 0        */
	uint64_t most; /**< packets that may wait, the one being taken
			    included; > 0                                   */
};

struct sim_receiver_stats {
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
	struct sim_receiver_stats stats;
};

/** A packet comes at @at (>= 0, never before the last one). Returns when the
 * receiver has done with it, CR_NEVER: it was dropped. */
cr_ns receiver_take(struct receiver *r, cr_ns at);

/** The statistics of a receiver that is looked at at @now, when all packets
 * before @now have come: it has not been busy beyond that. */
struct sim_receiver_stats sim_receiver_stats(const struct receiver *r,
					     cr_ns now);

/** Add @from to @to: sums, and the greatest of longest and wait_max. */
void receiver_stats_merge(struct sim_receiver_stats *to,
			  const struct sim_receiver_stats *from);

struct receivers;

/** As many as @p says (at least one), for call numbers up to @calls. 0 and
 * *@rs, or -ENOMEM. */
int sim_receivers_open(struct receivers **rs,
		       const struct campaign_receivers *p, size_t calls);
/** NULL is fine. */
void sim_receivers_close(struct receivers *rs);

/** From now on @c gets its packets from its receiver: c->next is the first, and
 * c->inbox is set. */
void receivers_join(struct receivers *rs, struct sim_call *c);
/** @c, which has joined, gets no more; what its receiver has not done with
 * stays in its inbox, which goes with @rs. */
void receivers_leave(struct receivers *rs, struct sim_call *c);

/** Receive what comes before @until, in the threads of @sim, whose time is that
 * of the last @until, and tell @sim when calls have something. 0 or -ENOMEM. */
int receivers_run(struct receivers *rs, struct sim *sim, cr_ns until);

/** When the packet @e of an inbox leaves it: its receiver has done with it, or
 * has dropped it (receivers_dropped()). */
cr_ns receivers_due(const struct backlog_entry *e);
bool receivers_dropped(const struct backlog_entry *e);

/** Of receiver @i, looked at at @now. */
struct sim_receiver_stats receivers_stats(const struct receivers *rs,
					  unsigned i, cr_ns now);

#endif
