/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A recorded run, to be played again under any scheduler: the arrivals, costs,
 * classes, deadlines, weights and importance of a trace as a plan with its
 * models, and what became of each frame then and now.
 *
 * A worker's turn is all of its time for a frame: from its pick until the next
 * one, if it found that waiting. What a turn took beside the codecs is the
 * overhead; it is played as it was, frame by frame. A turn of more than three
 * times the median of its flow, or a wake-up of more than a millisecond, is
 * time that something else had the CPU: what is beyond the median stays where
 * it was in time, whichever frame it meets. What a turn takes more when the
 * worker goes over to another call (its codec's state is not in the cache) is
 * the context cost: the medians of both kinds of turns, by flow. A frame that
 * was not worked on takes what one drawn from those of its flow took. A worker
 * that slept takes its time to wake up.
 *
 * Thread rule: one thread; constant for a simulation but for @replayed.
 */
#ifndef SIM_RECORDING_H
#define SIM_RECORDING_H

#include <stdio.h>

#include <jansson.h>

#include "campaign/plan.h"
#include "sim/models.h"
#include "sim/replay.h"
#include "sim/simulation.h"

/** Time in which a scheduler was at work. */
struct recording_stretch {
	char scheduler[80]; /**< with its options */
	cr_ns from, to;	    /**< from the first arrival */
};

/** What was learned of turns; ns. */
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
	struct cr_trace_call *call; /**< [replay.ncalls]                    */
	struct campaign *campaign;  /**< what it was, as a file has it      */
	struct plan plan;
	struct sim_models models;
	struct replayed replayed;
	struct replay_stolen *stolen; /**< replayed's                       */
	struct recording_overheads overheads;
	struct recording_stretch *stretch; /**< [nstretches], by time       */
	unsigned nstretches;
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

/** Forget what became of the frames, before another simulation. */
void recording_rewind(const struct recording *r);

/** What it was, and what a turn took, for people. */
void recording_tell(const struct recording *r, FILE *f);

/** The run under @scheduler beside the recorded one: for people, and as JSON
 * (owned by the caller). @replayed has what became of the frames. */
void recording_compare(const struct recording *r, const char *scheduler,
		       FILE *f);
json_t *recording_json(const struct recording *r, const char *scheduler);

#endif
