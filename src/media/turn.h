/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One turn of a call on a worker: transcode the claimed frame, put what comes
 * out into the worker's burst, and, when that is sent, count and trace. No
 * lock is held and nothing is allocated.
 *
 * Sending together saves most of the socket's price, so packets may wait for
 * those of the next turns: until the worker has nothing else to do, TURN_BATCH
 * turns have gathered, or TURN_WAIT has passed. That keeps a call's order only
 * while one worker serves it, so it is for run queues of one worker whose
 * policy does not steal; elsewhere every turn sends at its end, before the
 * engine learns that the job is done.
 */
#ifndef MEDIA_TURN_H
#define MEDIA_TURN_H

#include "media/call.h"
#include "udp/burst.h"
#include "observe/histogram.h"
#include "observe/trace.h"

/** Most turns whose packets wait together. */
#define TURN_BATCH 16u
/** No packet waits longer than this and the turn in progress. */
#define TURN_WAIT CR_MS

/** A turn that is over but for its packets. */
struct turn_letter {
	struct call *call; /**< kept alive by its count of pending letters */
	union cr_trace_record record;
	unsigned packets;
	unsigned failed;      /**< of them: the socket refused  */
	size_t failed_octets; /**< their payloads          */
};

/** What a worker brings along. One per worker, used by it alone. */
struct turn_worker {
	int fd; /**< the shared UDP socket, for calls without their own */
	atomic_bool together; /**< packets may wait; control writes     */
	struct trace_ring *trace;
	struct call_table *table; /**< where the calls of CMRs are found */
	struct histogram delay;	  /**< arrival to sent, ns */
	/** |time between two frames of a call that were sent - frame
	 * duration|, ns; not across a pause of the talker. */
	struct histogram jitter;
	/** CMRs passed on. Orders what this worker did to a paired call before
	 * its reclaim, for TSan cannot see the grace period. */
	atomic_ullong passed;
	struct pipeline_scratch scratch;
	struct burst burst;
	struct turn_letter letter[TURN_BATCH];
	unsigned nletters;
	cr_ns oldest; /**< when the first of them was ready */
};

/** Do the claimed job of @c. Worker thread, registered with liburcu. */
void turn_run(struct turn_worker *w, struct call *c,
	      const struct live_run *run);

/** After a grace period: what @w did to calls that are out of the table
 * happened before what follows. Any thread. */
void turn_forget(struct turn_worker *w);

/** Send what waits. Worker thread, before it idles. */
void turn_flush(struct turn_worker *w);

/** A claimed frame is given up (@why: stale or cancelled): count and trace.
 * Any thread that holds the call's run-queue lock; @trace is that thread's. */
void turn_shed(struct trace_ring *trace, struct call *c,
	       const struct cr_job *job, enum cr_outcome why, cr_ns now);

#endif
