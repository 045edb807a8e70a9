/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A sender of jobs of any length that sends as early as its TSpec allows: in
 * every time t at most min(largest + peak t, depth + rate t) of work (RFC 2215,
 * with CPU time for bytes), and only while it is on.
 *
 * Thread rule: one thread.
 */
#ifndef SIM_ENVELOPE_H
#define SIM_ENVELOPE_H

#include "campaign/campaign.h"
#include "campaign/random.h"
#include "sim/cost_model.h"

/** Zero, then envelope_init(). */
struct envelope {
	const struct campaign_flow *flow;
	const struct cost_model *cost;
	struct cost_source draws; /**< of the next jobs' lengths            */
	__int128 bucket, peak;	  /**< tokens left, in ns / 10^6            */
	cr_ns last;		  /**< when a job came, or the begin        */
	cr_ns until;		  /**< end of the burst                     */
};

/** From @start on; @draws are those that the jobs' costs are drawn with. All
 * pointers must outlive @e. */
void envelope_init(struct envelope *e, const struct campaign_flow *f,
		   const struct cost_model *cost, struct cost_source draws,
		   cr_ns start);

/** When the next job comes; bursts and pauses are drawn with @r. */
cr_ns envelope_next(struct envelope *e, struct random *r);

/** The longest job that the cost model of @f allows. */
cr_ns envelope_largest(const struct campaign_flow *f);

#endif
