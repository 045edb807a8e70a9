/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A campaign in virtual time under one scheduler: plan, models and platform in,
 * statistics and a trace out. Prints nothing.
 *
 * Calls join up to 10 ms before their first job, in the order of the plan, and
 * those that end before the campaign leave half a second after their last one,
 * as codec-feeder has it. A scheduler that breaks its contract ends the
 * simulation within 200 ms (10 ms with a trace), unless fifo is to go on: in
 * that run queue at once, in the others then.
 *
 * Thread rule: one thread, which may have others work for it; the result does
 * not depend on how many. Models are constant after sim_models_open().
 */
#ifndef SIM_SIMULATION_H
#define SIM_SIMULATION_H

#include "campaign/plan.h"
#include "observe/trace_file.h"
#include "sim/cost_model.h"
#include "sim/receivers.h"
#include "sim/sim.h"
#include "sim/voice.h"
#include "sim/workload.h"

/** Zero is closed. */
struct sim_models {
	struct cost_model *costs;   /**< [flow_count]                      */
	struct replay *replays;	    /**< [flow_count] empty: no trace      */
	struct voice_model *voices; /**< [flow_count]                    */
	uint64_t *counts;	    /**< [flow_count] calls, for the plan  */
};

/** Options of the command line that override @c. */
struct sim_terms {
	int64_t cpus;
	uint64_t seed;
	cr_ns duration;
};

/**
 * The models of @c, which must outlive them. 0, or with @e:
 * -ENOMEM, -E2BIG (a load of too many calls), what a file is not; either way
 * sim_models_close().
 */
int sim_models_open(struct sim_models *m, const struct campaign *c,
		    const struct sim_terms *terms, struct cr_err *e);
void sim_models_close(struct sim_models *m, const struct campaign *c);

/** How it goes, every 200 ms of virtual time or oftener. */
struct simulation_progress {
	cr_ns now, end;
	uint64_t jobs; /**< done */
};

/** From @at on another scheduler is at work. */
struct simulation_switch {
	cr_ns at;
	const struct cr_sched_ops *ops;
	const char *opts; /**< or "" */
};

struct simulation_cfg {
	const struct plan *plan;
	const struct cost_model *costs; /**< [flow_count]                   */
	const struct replay *replays; /**< [flow_count] arrivals from a trace */
	const struct voice_model *voices; /**< [flow_count]                 */
	/** Outcome of each job of a recorded run; NULL: there is none. */
	struct replayed *replayed;
	const struct cr_sched_ops *ops;
	const char *opts; /**< of the scheduler, or ""                      */
	const struct simulation_switch *switches; /**< [nswitches] by time  */
	size_t nswitches;
	struct campaign_platform platform;
	cr_ns duration;
	unsigned threads; /**< to run in, the caller's included; 0: 1       */
	struct trace_file *trace; /**< its header written; NULL: none       */
	bool stand_in; /**< fifo goes on when the scheduler has broken its
			    contract; else that is the end                  */
	/** Go on? False ends the simulation. May be NULL. */
	bool (*progress)(void *arg, const struct simulation_progress *p);
	void *arg;
};

/** How the scheduler broke its contract first. */
struct simulation_fault {
	uint64_t count; /**< run queues in which it did; 0: it kept it      */
	cr_ns at;
	char text[512]; /**< core_fault_text()'s                            */
};

/** Result of a simulation. */
struct simulation_result {
	struct flow_stats *flows; /**< [flow_count] */
	struct flow_stats *total;
	struct call_sum *calls; /**< [plan->count] in the plan's order      */
	struct sim_cpu_stats cpu[CR_MAX_CPUS];
	unsigned ncpu;
	struct sim_receiver_stats receiver[CR_MAX_CPUS];
	unsigned nreceivers; /**< 0: packets are jobs at once               */
	cr_ns end; /**< reached; the campaign's duration unless interrupted  */
	bool interrupted;
	struct simulation_fault fault; /**< and it ended, unless stand_in   */
	char refusal[256]; /**< first reason for a refused call, or ""       */
};

/**
 * Run it. 0 and *@out (simulation_result_fini()), or with @e: -EINVAL (the
 * scheduler or the platform cannot do it), -ENOMEM.
 */
int simulation_run(const struct simulation_cfg *cfg,
		   struct simulation_result *out, struct cr_err *e);
void simulation_result_fini(struct simulation_result *r);

#endif
