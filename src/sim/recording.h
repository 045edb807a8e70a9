/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A recorded run, to be played again under any scheduler: the arrivals, costs,
 * classes, deadlines, weights and importance of a trace as a plan with its
 * models, and what became of each frame then and now.
 * What a worker did all the time is found by worker_time.h, and whether it
 * went again as it was is told by agreement.h.
 *
 * Thread rule: one thread; constant for a simulation but for @replayed.
 */
#ifndef SIM_RECORDING_H
#define SIM_RECORDING_H

#include <stdio.h>

#include "campaign/plan.h"
#include "sim/replay.h"
#include "sim/simulation.h"

/** Time in which a scheduler was at work. */
struct recording_stretch {
	char scheduler[80]; /**< with its options */
	cr_ns from, to;	    /**< from the first arrival */
};

/** Measured overheads of turns; ns. */
struct recording_overheads {
	size_t turns;		 /**< that these are of                   */
	cr_ns median, p99, mean; /**< of a turn, beside the codecs        */
	cr_ns context;		 /**< of it, going over to another call;
				      0: none was found                   */
	size_t in_row;		 /**< turns of the same call as the last  */
	size_t wakes;		 /**< turns that found the worker asleep  */
	cr_ns wake_median, wake_p99;
	size_t stolen;	  /**< times that something else had the CPU        */
	cr_ns stolen_sum; /**< how long in all                              */
	size_t drawn;	  /**< frames that were not worked on: their costs are
			       drawn from others'                               */
};

struct recording {
	char path[4096]; /**< of the trace */
	struct replay replay;
	struct cr_trace_task *call; /**< [replay.ncalls]                    */
	struct campaign *campaign;  /**< what it was, as a file has it      */
	struct plan plan;
	struct sim_models models;
	struct replayed replayed;
	struct replay_stolen *stolen; /**< replayed's                       */
	unsigned workers; /**< that the live run had                    */
	struct recording_overheads overheads;
	struct recording_stretch *stretch; /**< [nstretches], by time       */
	unsigned nstretches;
	struct recording_stretch *worked; /**< [nworked] the scheduler at work
					       at each time                 */
	unsigned nworked;
	/** [nworked] The same for a simulation; NULL: one of them is the
	 * kernel's, or not here. */
	struct simulation_switch *switches;
	unsigned *flow;	 /**< [replay.ncalls] of the campaign            */
	uint8_t *answer; /**< [replay.njobs] enum pick_answer; NULL: none   */
	struct replayed_job *own; /**< [replay.njobs] what became of them under
				       @switches; NULL: not played          */
	bool imported; /**< of a table: costs alone are known               */
	bool blocks;   /**< they are those of blocks.json             */
	unsigned changes; /**< of terms, which are not played            */
	uint64_t lost;	  /**< records that the trace lacks              */
	const char **schedulers; /**< [nschedulers] of it, in order         */
	unsigned nschedulers;
};

/** How it is to be played. */
struct recording_terms {
	const struct campaign_settings *set;
	bool own_overheads; /**< those of the trace; else the codecs alone  */
	uint64_t seed;	    /**< of what is drawn                           */
};

/** Read @path: a trace, or a run folder with trace.bin, and blocks.json if it
 * has several schedulers by turns. 0, or -errno with @e; either way
 * recording_close(). */
int recording_open(struct recording *r, const char *path,
		   const struct recording_terms *t, struct cr_err *e);
void recording_close(struct recording *r);

/** -ENOMEM, with @e. */
int recording_no_memory(struct cr_err *e);

/** Forget what became of the frames, before another simulation. */
void recording_rewind(const struct recording *r);

/** Use the frames' outcomes under the switches of the live run. 0, or -ENOMEM
 * with @e. */
int recording_keep_own(struct recording *r, struct cr_err *e);

/** Print the recording and its overheads, for people. */
void recording_report(const struct recording *r, FILE *f);

#endif
