/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The calls of a simulation as the simulated driver sees them: one call's
 * arrivals, its waiting jobs, what they cost and what became of them. The
 * client of engine/sim.h.
 *
 * Thread rule: one thread.
 */
#ifndef SIM_WORKLOAD_H
#define SIM_WORKLOAD_H

#include "engine/release.h"
#include "engine/sim.h"
#include "observe/trace_file.h"
#include "sim/arrival.h"
#include "sim/backlog.h"
#include "sim/cost_model.h"
#include "sim/stats.h"

/** The campaign's begin in a trace. */
#define WORKLOAD_EPOCH CR_SEC

/** What all calls share. */
struct workload {
	const struct plan *plan;
	const struct cost_model *costs; /**< [flow_count]                   */
	const struct replay *replays; /**< [flow_count] arrivals from a trace */
	struct flow_stats *stats;     /**< [flow_count]                   */
	struct trace_file *trace;     /**< NULL: none                     */
	struct sim *sim;
	cr_ns end; /**< of the campaign: nothing comes from then on          */
	uint64_t jobs; /**< ended so far                                     */
	bool failed; /**< out of memory                                      */
};

/** One call. Zero, then workload_begin(). */
struct sim_call {
	struct sim_task st;
	struct call_sum sum;
	struct workload *w;
	const struct plan_call *plan;
	const struct campaign_flow *flow;
	const struct cost_model *cost;
	struct flow_stats *stats;
	struct arrival arrival;
	struct arrival_job next; /**< next to come                          */
	struct release release;
	struct backlog backlog;
	struct backlog_entry job; /**< claimed                              */
	struct cost_source draws; /**< of the costs                         */
	cr_ns total;		  /**< cost of the claimed job              */
	cr_ns last_end;
	uint64_t last_frame;
	uint32_t rtp_step;
	bool worked; /**< last_end and last_frame are set                    */
	bool here;   /**< admitted and not gone                              */
};

/** What the simulated driver is to call; @w as its argument. */
struct sim_client workload_client(struct workload *w);

/**
 * Let @call join under the number @id at sim_now(), its arrivals set up. 0, or
 * -ENOSPC, -EINVAL, -ENOMEM with @v as sim_add() filled it.
 */
int workload_begin(struct workload *w, struct sim_call *c,
		   const struct plan_call *call, uint32_t id,
		   struct cr_verdict *v);

/** The campaign is over for @c, which is here: what is not done is counted. */
void workload_end(struct sim_call *c);

/** Free what @c owns; it is not here. */
void workload_fini(struct sim_call *c);

#endif
