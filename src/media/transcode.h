/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One turn of a call on a worker: transcode the claimed frame, put what comes
 * out into the worker's burst, and, when that is sent, count and trace. No
 * lock is held and nothing is allocated.
 *
 * Sending packets together saves most of the cost of system calls, so packets
 * may wait for those of the next turns. They leave
 *
 *   by the worker     when TRANSCODE_BATCH turns have gathered or TURN_WAIT has
 *                     passed, and when the engine says that there is nothing
 *                     else to do (transcode_flush());
 *   by control        when the engine says that calls are about to move to
 *                     other workers (transcode_batching()), that a call has
 * gone (transcode_flush_for()), or that the worker is stuck
 *                     (transcode_rescue()).
 *
 * Waiting keeps a call's order only while one worker serves it, so it is for
 * run queues of one worker whose policy does not steal; elsewhere every turn
 * sends at its end, before the engine learns that the job is done.
 *
 * The unsent packets are under the worker's lock. The worker holds it, except
 * while a codec is at work, and between turns. So nobody waits for a codec,
 * which may never return: recovery then takes the packets away. The thread
 * finds out when it comes back, and from then on touches nothing but the call's
 * own pipeline:
 *
 *             transcode_enter_codec()           transcode_take()
 *   AT_WORK -------------------> IN_CODEC -------------> TAKEN
 *      ^                            |                      |
 *      +----------------------------+                      v
 *        transcode_leave_codec(): true        transcode_leave_codec(): false
 */
#ifndef MEDIA_TRANSCODE_H
#define MEDIA_TRANSCODE_H

#include <pthread.h>

#include "media/call.h"
#include "media/transcode_cost.h"
#include "udp/burst.h"
#include "observe/histogram.h"
#include "observe/trace.h"

/** Most turns whose packets wait together. */
#define TRANSCODE_BATCH BURST_PACKETS
/** No packet waits longer than this and the turn in progress. */
#define TURN_WAIT (250 * CR_US)

/** A turn that is over but for its packets. */
struct transcode_unsent {
	struct call *call; /**< kept alive by its count of pending turns */
	union cr_trace_record record;
	bool speech; /**< of a packet: it tells of its sender and its cost */
	unsigned packets;
	unsigned failed;      /**< of them: the socket refused  */
	size_t failed_octets; /**< their payloads          */
	cr_ns begun;	      /**< the thread's CPU time then; 0: not metered */
	cr_ns cost;	      /**< CPU time before sending; 0: not metered    */
};

/** Where the worker is, see above. */
enum transcode_state { TURN_AT_WORK, TRANSCODE_IN_CODEC, TURN_TAKEN };

/** What a worker brings along. One per worker. Zero, transcode_init(), fill in.
 */
struct transcode_worker {
	/* constant while a thread has it */
	int fd; /**< the shared UDP socket, for calls without their own */
	cr_ns clock_cost;	  /**< of reading the thread's CPU time, ns */
	cr_ns quota_burst;	  /**< of each call, see media/quota.h      */
	struct call_table *table; /**< where the calls of CMRs are found */
	/* the worker's own */
	struct trace_ring *trace;
	struct pipeline_scratch scratch;

	pthread_mutex_t lock; /**< of what follows */
	enum transcode_state state;
	bool batching;		/**< packets may wait */
	struct histogram delay; /**< arrival to sent, ns */
	/** |time between two frames of a call that were sent - frame
	 * duration|, ns; not across a pause of the talker. */
	struct histogram jitter;
	struct burst burst;
	/** Of turns that are over, and behind them the turn in progress. */
	struct transcode_unsent unsent[TRANSCODE_BATCH];
	unsigned nunsent;	  /**< turns that are over */
	cr_ns oldest;		  /**< when the first of them was ready */
	struct transcode_row row; /**< none when the worker had nothing to do */
	/** Spent on sending for them already, as the burst was full within a
	 * turn. */
	cr_ns overflow;
};

/** @io: how packets of many sockets leave. */
void transcode_init(struct transcode_worker *w, enum udp_io io);
void transcode_fini(struct transcode_worker *w);

/** Do the claimed job of @c. Worker thread, registered with liburcu. */
void transcode_run(struct transcode_worker *w, struct call *c,
		   const struct live_run *run);

/** Send what waits. Worker thread, before it idles. */
void transcode_flush(struct transcode_worker *w);

/** Send what waits in @w, whatever its worker is at, and trace it to @trace,
 * which is the calling thread's. Waits for a send at most, never for a codec.
 * Any thread. */
void transcode_flush_for(struct transcode_worker *w, struct trace_ring *trace);

/** Whether packets may wait for those of the next turns. When they may not, all
 * that wait leave as by transcode_flush_for(), and what comes of the turn in
 * progress leaves at its end. Any thread. */
void transcode_batching(struct transcode_worker *w, bool may,
			struct trace_ring *trace);

/** A turn of something that leaves no packets: transcode_begin(), then a codec
 * between transcode_enter_codec() and transcode_leave_codec(), then
 * transcode_end(). Worker thread. */
static inline void transcode_begin(struct transcode_worker *w)
{
	(void)pthread_mutex_lock(&w->lock);
}

static inline void transcode_end(struct transcode_worker *w)
{
	(void)pthread_mutex_unlock(&w->lock);
}

/** Around what may not come back. transcode_leave_codec() is false when the
 * unsent packets were taken: the turn has no end, leave everything of @w alone.
 * Worker thread. */
static inline void transcode_enter_codec(struct transcode_worker *w)
{
	w->state = TRANSCODE_IN_CODEC;
	(void)pthread_mutex_unlock(&w->lock);
}

static inline bool transcode_leave_codec(struct transcode_worker *w)
{
	bool mine;

	(void)pthread_mutex_lock(&w->lock);
	mine = w->state == TRANSCODE_IN_CODEC;
	if (mine)
		w->state = TURN_AT_WORK;
	else
		(void)pthread_mutex_unlock(&w->lock);
	return mine;
}

/** Take the unsent packets from a worker whose codec does not come back. False:
 * it is not in a codec. Any thread, does not wait; what was taken is that
 * thread's. */
bool transcode_take(struct transcode_worker *w);

/** Send, count and trace to @trace what @w had ready when it was taken, and
 * cancel the frame of call @stuck that it was at (NULL: it was none of a
 * call's). The thread that has taken it, while no other worker serves these
 * calls. */
void transcode_rescue(struct transcode_worker *w, struct call *stuck,
		      struct trace_ring *trace);

/** A claimed frame is given up (@why: expired, shed, cancelled): count and
 * trace. Any thread that holds the call's run-queue lock; @trace is that
 * thread's. */
void transcode_shed(struct trace_ring *trace, struct call *c,
		    const struct cr_job *job, enum cr_outcome why, cr_ns now);

#endif
