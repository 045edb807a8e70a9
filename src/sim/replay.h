/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a trace file says about jobs, to be played again: per call, when they
 * came and what they took. Calls are numbered in the order of their first
 * arrival.
 *
 * The jobs of a campaign's flow (arrival or cost: {model: trace}) come again by
 * their times and cost what they took in the codecs. A whole run that is played
 * again (sim/recording.h) has what the live engine did with them beside that.
 *
 * Thread rule: constant after replay_open(); any thread.
 */
#ifndef SIM_REPLAY_H
#define SIM_REPLAY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cr/error.h"
#include "cr/time.h"
#include "cr/trace.h"

struct replay_job {
	cr_ns at;	/**< arrival, from the first of the file            */
	cr_ns cost;	/**< what it takes; read: inside the codecs; 0: it was
			     not worked on                                  */
	cr_ns received; /**< from its arrival until it is a job         */
	cr_ns rest;	/**< of @cost, after it was sent                */
	uint32_t call, seq;

	/* as it was recorded; times from the first arrival */
	cr_ns release, pick, end, sent, deadline;
	cr_ns held;  /**< its worker, from its pick; 0: it did not         */
	cr_ns codec; /**< as @cost was read                              */
	/** Time charged to its scheduler, of @held; 0: not known. Read: for the
	 * turn before it of its worker. */
	cr_ns charged;
	cr_ns uncharged; /**< of @cost: no scheduler is charged for it       */
	uint32_t rtp_ts, buffered;
	uint16_t worker;
	uint8_t outcome, importance; /**< enum cr_outcome; of cr/sched.h */
	bool known; /**< the trace says when it was received            */
};

/** Something else had a worker's CPU. */
struct replay_stolen {
	unsigned worker;
	cr_ns from, to;
};

/** Outcomes of replayed jobs, and the events they met. */
struct replayed {
	const struct replay_job *first; /**< of all                         */
	const struct replay_stolen *stolen; /**< [nstolen] by worker, time  */
	size_t nstolen;
	unsigned per_rq; /**< workers of a run queue                        */
	struct replayed_job {
		cr_ns pick, sent; /**< CR_NEVER: it was not                */
		uint8_t outcome;  /**< enum cr_outcome                     */
	} * job;		  /**< [jobs]                               */
};

/** Zero is empty. */
struct replay {
	struct replay_job *job; /**< [njobs], by call, then by seq          */
	size_t njobs;
	size_t *first; /**< [ncalls + 1] index of each call's first job     */
	size_t ncalls;
	uint32_t *id; /**< [ncalls] theirs in the trace                     */
	cr_ns begin;  /**< the first arrival, by the trace's clock           */
	/** [ncalls] what each call was, or NULL: it is a flow's of a campaign.
	 * Of a recorded run. */
	const struct cr_trace_task *recorded;
	bool borrowed; /**< the arrays are another one's                    */
};

/** Read the trace at @path. 0, or -errno with @e; also -ENODATA: no jobs. */
int replay_open(struct replay *r, const char *path, struct cr_err *e);

/** Whoever wants the rest of a trace: its header, and every record that is no
 * job. Not 0 of them, with @e, ends the reading. */
struct replay_listener {
	int (*header)(void *arg, const char *json, struct cr_err *e);
	int (*other)(void *arg, const union cr_trace_record *record,
		     struct cr_err *e);
	void *arg;
};

/** The same for @l, too; NULL: nobody. */
int replay_read(struct replay *r, const char *path,
		const struct replay_listener *l, struct cr_err *e);

/** Number the calls anew: call i becomes @number[i], each of 0..ncalls - 1
 * once. 0 or -ENOMEM. */
int replay_renumber(struct replay *r, const uint32_t *number);
void replay_close(struct replay *r);

/** It held a worker. */
static inline bool replay_is_turn(const struct replay_job *j)
{
	return j->worker != UINT16_MAX && j->pick != CR_NEVER &&
	       j->end != CR_NEVER;
}

static inline cr_ns replay_sent(const struct replay_job *j)
{
	return j->sent != CR_NEVER ? j->sent : j->end;
}

/** How much longer a job of @cost takes that @worker begins at @at, because
 * something else has its CPU. */
cr_ns replay_stolen(const struct replayed *r, unsigned worker, cr_ns at,
		    cr_ns cost);

/** Jobs of call @i of a campaign; there are more calls in it than in the
 * trace: they share. */
static inline const struct replay_job *replay_call(const struct replay *r,
						   size_t i, size_t *count)
{
	i %= r->ncalls;
	*count = r->first[i + 1] - r->first[i];
	return &r->job[r->first[i]];
}

#endif
