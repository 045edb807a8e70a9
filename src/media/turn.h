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
 * engine learns that the job is done. Who moves calls from worker to worker
 * forbids it first, and waits until nothing waits any more: turn_batching(),
 * turn_waits().
 *
 * A codec may never return. While one is at work the unsent packets are at
 * rest, so who watches over the workers can take them away; the thread finds
 * out when it comes back, and touches nothing but the call's own pipeline any
 * more:
 *
 *             turn_enter_codec()           turn_take()
 *   AT_WORK -------------------> IN_CODEC -------------> TAKEN
 *      ^                            |                      |
 *      +----------------------------+                      v
 *        turn_leave_codec(): true        turn_leave_codec(): false
 */
#ifndef MEDIA_TURN_H
#define MEDIA_TURN_H

#include "media/call.h"
#include "udp/burst.h"
#include "observe/histogram.h"
#include "observe/trace.h"

/** Most turns whose packets wait together. */
#define TURN_BATCH BURST_PACKETS
/** No packet waits longer than this and the turn in progress. */
#define TURN_WAIT CR_MS

/** A turn that is over but for its packets. */
struct turn_unsent {
	struct call *call; /**< kept alive by its count of pending turns */
	union cr_trace_record record;
	unsigned packets;
	unsigned failed;      /**< of them: the socket refused  */
	size_t failed_octets; /**< their payloads          */
};

/** Who may touch the unsent packets and the trace: see above. */
enum turn_state { TURN_AT_WORK, TURN_IN_CODEC, TURN_TAKEN };

/** What a worker brings along. One per worker, used by it alone. */
struct turn_worker {
	int fd; /**< the shared UDP socket, for calls without their own */
	atomic_bool batching; /**< packets may wait; turn_batching()    */
	atomic_bool waiting;  /**< some do; turn_waits()		    */
	/** enum turn_state. Release and acquire: unsent packets change
	 * owners. */
	atomic_int state;
	struct trace_ring *trace;
	struct call_table *table; /**< where the calls of CMRs are found */
	struct histogram delay;	  /**< arrival to sent, ns */
	/** |time between two frames of a call that were sent - frame
	 * duration|, ns; not across a pause of the talker. */
	struct histogram jitter;
	struct pipeline_scratch scratch;
	struct burst burst;
	struct turn_unsent unsent[TURN_BATCH];
	unsigned nunsent;
	cr_ns oldest; /**< when the first of them was ready */
	/** Spent on sending for them already, as the burst was full within a
	 * turn. */
	cr_ns overflow;
};

/** Do the claimed job of @c. Worker thread, registered with liburcu. */
void turn_run(struct turn_worker *w, struct call *c,
	      const struct live_run *run);

/** Send what waits. Worker thread, before it idles. */
void turn_flush(struct turn_worker *w);

/** Whether packets may wait for those of the next turns. Control thread. */
void turn_batching(struct turn_worker *w, bool may);

/** Do packets wait in @w? Once this is false after turn_batching(w, false),
 * none do but while the turn that they came of is ending, and what came of all
 * turns before is for this thread to see. Any thread. */
bool turn_waits(const struct turn_worker *w);

/** Around what may not come back. turn_leave_codec() is false when the unsent
 * packets were taken: leave everything of @w alone. Worker thread. */
static inline void turn_enter_codec(struct turn_worker *w)
{
	atomic_store_explicit(&w->state, TURN_IN_CODEC, memory_order_release);
}

static inline bool turn_leave_codec(struct turn_worker *w)
{
	int in_codec = TURN_IN_CODEC;

	return atomic_compare_exchange_strong_explicit(
		&w->state, &in_codec, TURN_AT_WORK, memory_order_acquire,
		memory_order_relaxed);
}

/** Take the unsent packets from a worker whose codec does not come back. False:
 * it is not in a codec. Any thread; what was taken is that thread's. */
bool turn_take(struct turn_worker *w);

/** Send, count and trace to @trace what @w had ready when it was taken, and
 * cancel the frame of call @stuck that it was at (NULL: it was none of a
 * call's). The thread that has taken it, while no other worker serves these
 * calls. */
void turn_rescue(struct turn_worker *w, struct call *stuck,
		 struct trace_ring *trace);

/** A claimed frame is given up (@why: stale or cancelled): count and trace.
 * Any thread that holds the call's run-queue lock; @trace is that thread's. */
void turn_shed(struct trace_ring *trace, struct call *c,
	       const struct cr_job *job, enum cr_outcome why, cr_ns now);

#endif
