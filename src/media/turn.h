/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One turn of a call on a worker: transcode the claimed frame, send what comes
 * out, leave a trace record. No lock is held and nothing is allocated.
 */
#ifndef MEDIA_TURN_H
#define MEDIA_TURN_H

#include "media/call.h"
#include "observe/histogram.h"
#include "observe/trace.h"

/** What a worker brings along. One per worker, used by it alone. */
struct turn_worker {
	int fd; /**< the shared UDP socket, for calls without their own */
	struct trace_ring *trace;
	struct call_table *table; /**< where the calls of CMRs are found */
	struct histogram delay;	  /**< arrival to sent, ns */
	/** CMRs passed on. Orders what this worker did to a paired call before
	 * its reclaim, for TSan cannot see the grace period. */
	atomic_ullong passed;
	struct pipeline_scratch scratch;
};

/** Do the claimed job of @c. Worker thread, registered with liburcu. */
void turn_run(struct turn_worker *w, struct call *c,
	      const struct live_run *run);

/** After a grace period: what @w did to calls that are out of the table
 * happened before what follows. Any thread. */
void turn_forget(struct turn_worker *w);

/** A claimed frame is given up (@why: stale or cancelled): count and trace.
 * Any thread that holds the call's run-queue lock; @trace is that thread's. */
void turn_shed(struct trace_ring *trace, struct call *c,
	       const struct cr_job *job, enum cr_outcome why, cr_ns now);

#endif
