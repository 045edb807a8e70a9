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

#include "campaign/campaign.h"
#include "sim/receiver.h"
#include "sim/workload.h"

struct receivers;

/** As many as @p says (at least one), for call numbers up to @calls. 0 and
 * *@rs, or -ENOMEM. */
int receivers_open(struct receivers **rs, const struct campaign_receivers *p,
		   size_t calls);
/** NULL is fine. */
void receivers_close(struct receivers *rs);

/** From now on @c gets its packets from its receiver: c->next is the first, and
 * c->inbox is set. 0 or -ENOMEM. */
int receivers_join(struct receivers *rs, struct sim_call *c);
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
struct receiver_stats receivers_stats(const struct receivers *rs, unsigned i,
				      cr_ns now);

#endif
