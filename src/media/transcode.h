/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One turn of a stream on a worker: transcode the claimed frame, put what comes
 * out into the worker's burst, and, when that is sent, count and trace. No
 * lock is held and nothing is allocated.
 *
 * Sending packets together saves most of the cost of system calls, so packets
 * may wait for those of the next turns. They leave
 *
 *   by the worker   when TRANSCODE_BATCH turns have gathered or
 *                   TRANSCODE_WAIT has passed, and when the engine says that
 *                   there is nothing else to do (transcode_flush());
 *   by control      when the engine says that streams are about to move to
 *                   other workers (transcode_batching()), that one has gone
 *                   (transcode_flush_for()), or that the worker is stuck
 *                   (transcode_rescue()).
 *
 * Waiting keeps a stream's order only while one worker serves it, so it is for
 * run queues of one worker whose policy does not steal; elsewhere every turn
 * sends at its end, before the engine learns that the job is done.
 *
 * The unsent packets are under the worker's lock. What a turn makes is the
 * thread's own until the codec is done; then it takes the lock once
 * (hand_over()). So nobody waits for a codec, which may never return: recovery
 * then takes away what waits. The thread finds out when it comes back, and from
 * then on touches nothing but the stream's own:
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
#include <stdatomic.h>
#include <stdbool.h>

#include "base/clock.h"
#include "media/rtp_stream.h"
#include "observe/histogram.h"
#include "observe/trace_writer.h"
#include "udp/burst.h"

/* --- what a turn costs --- */

/*
 * What a turn costs: CPU time of its thread, so that other programs, which the
 * kernel gives the CPU in the middle of a frame, do not count.
 *
 * The thread's CPU clock is a system call of some 0.4 us, where the clock on
 * the wall is 0.02 us and a cheap frame takes 3. So it is read for one frame in
 * some, and as long as little is known for all of a stream's first: enough to
 * learn from, and each stream at its own pace, so that none is left out. A
 * thousand streams of one kind have taught enough within a second. Frames that
 * follow one of their stream in a row are not metered: they cost less, and how
 * many do is the scheduler's and the overload's doing. What
 * comes between the pick and the turn is a lock and a few wake-ups; by the
 * clock on the wall, and bounded, for there the CPU may be lost, too.
 *
 * Pure, but for transcode_cost_begin() and transcode_cost_end(), which read the
 * clock.
 */

enum {
	TRANSCODE_COST_FIRST = 256, /**< of a stream, if little is known */
	TRANSCODE_COST_EVERY = 16,  /**< then one of these             */
	/** Longer rows are of one that has its worker for itself: that is what
	 * it costs. */
	TRANSCODE_COST_ROW = 8
};

/** Longest time between a pick and its turn that counts. */
#define TRANSCODE_COST_PICK (50 * CR_US)

/** The row that a worker is at: turns for one stream right behind those of
 * another one. Zero: it had nothing to do. */
struct transcode_row {
	bool any;	 /**< turn since then */
	uint32_t stream; /**< id of the last one's */
	unsigned turns;	 /**< of the row; 0: none, no other stream was before */
};

/** The next turn is of @stream. Does it cost less, as the one before has left
 * it the caches? */
static inline bool transcode_row_next(struct transcode_row *row,
				      uint32_t stream)
{
	if (row->any && row->stream != stream)
		row->turns = 1;
	else if (row->turns)
		row->turns++;
	row->any = true;
	row->stream = stream;
	return row->turns > 1 && row->turns <= TRANSCODE_COST_ROW;
}

/** Is the next frame of a stream metered? *@frames: those of it before. One
 * thread at a time. */
static inline bool transcode_cost_due(atomic_uint *frames)
{
	unsigned n = atomic_load_explicit(frames, memory_order_relaxed);

	atomic_store_explicit(frames, n + 1, memory_order_relaxed);
	return n < TRANSCODE_COST_FIRST || n % TRANSCODE_COST_EVERY == 0;
}

/** Enough was learned from the like of a stream: to meter all of its first
 * frames would only cost. @id spreads streams, so that not the first frame of
 * each, which finds cold caches, is metered. Any thread; what
 * transcode_cost_due() does at the same moment may undo it, so call it again.
 */
static inline void transcode_cost_settle(atomic_uint *frames, unsigned id)
{
	if (atomic_load_explicit(frames, memory_order_relaxed) <
	    TRANSCODE_COST_FIRST)
		atomic_store_explicit(frames,
				      TRANSCODE_COST_FIRST +
					      id % TRANSCODE_COST_EVERY,
				      memory_order_relaxed);
}

/** The cost of one reading of the clock, ns. Takes some 20 us. */
static inline cr_ns transcode_cost_of_clock(void)
{
	cr_ns least = CR_SEC;

	for (unsigned i = 0; i < 32; i++) {
		cr_ns before = clock_thread_cpu();

		least = cr_ns_min(least, clock_thread_cpu() - before);
	}
	return least;
}

/** The turn begins. Its thread; as is the other. */
static inline cr_ns transcode_cost_begin(void)
{
	return clock_thread_cpu();
}

/** It is over, but for sending: what it took since transcode_cost_begin(),
 * where @picking passed before that. More than 0. */
static inline cr_ns transcode_cost_end(cr_ns begun, cr_ns picking, cr_ns clock)
{
	cr_ns took = clock_thread_cpu() - begun - clock;

	return cr_ns_max(took, 1) + cr_ns_min(picking, TRANSCODE_COST_PICK);
}

/* --- frames that wait --- */

/** The engine's view of the frame buffer (see core_backlog). */
bool transcode_peek(struct core_task *t, struct cr_job *job);
bool transcode_claim(struct core_task *t, uint64_t seq);

/* --- turns --- */

/** Most turns whose packets wait together. */
#define TRANSCODE_BATCH BURST_PACKETS
/** No packet waits longer than this and the turn in progress. */
#define TRANSCODE_WAIT (250 * CR_US)

/** A turn that is over but for its packets. */
struct transcode_unsent {
	struct transcoder
		*transcoder; /**< kept alive by its count of pending turns */
	union cr_trace_record record;
	bool speech; /**< of a packet: it has its sender and its cost */
	unsigned packets;
	unsigned failed;      /**< of them: the socket refused  */
	size_t failed_octets; /**< their payloads          */
	cr_ns begun;	      /**< the thread's CPU time then; 0: not metered */
	cr_ns cost;	      /**< CPU time before sending; 0: not metered    */
};

/** A packet that the turn in progress has made. */
struct transcode_packet {
	uint32_t ts;
	cr_ns at; /**< when it was made */
	size_t bytes;
	uint8_t data[BURST_BYTES];
};
/** So many wait for the end of their turn. */
#define TRANSCODE_MADE 16u

/** The states of a worker, see above. */
enum transcode_state { TRANSCODE_AT_WORK, TRANSCODE_IN_CODEC, TRANSCODE_TAKEN };

/** A worker's own state for its turns. One per worker. Zero, transcode_init(),
 * fill in.
 */
struct transcode_worker {
	/* constant while a thread has it */
	int fd; /**< the shared UDP socket, for streams without their own */
	cr_ns clock_cost;  /**< of reading the thread's CPU time, ns */
	cr_ns quota_burst; /**< of each stream, see struct quota      */
	struct stream_table *table; /**< where the streams of CMRs are found */
	/* the worker's own */
	struct trace_ring *trace;
	struct pipeline_scratch scratch;
	struct transcode_row row; /**< none when the worker had nothing to do */
	/** The turn in progress, and its packets. Who takes the state has these
	 * as they were when the codec was entered. */
	struct transcode_unsent turn;
	unsigned nmade;
	struct transcode_packet made[TRANSCODE_MADE];

	_Atomic enum transcode_state state;
	pthread_mutex_t lock;	/**< of what follows */
	bool batching;		/**< packets may wait */
	struct histogram delay; /**< arrival to sent, ns */
	/** |time between two frames of a stream that were sent - frame
	 * duration|, ns; not across a pause of the talker. */
	struct histogram jitter;
	struct burst burst;
	struct transcode_unsent unsent[TRANSCODE_BATCH]; /**< turns over */
	unsigned nunsent;
	cr_ns oldest; /**< when the first of them was ready */
	/** Spent on sending for them already, as the burst was full within a
	 * turn. */
	cr_ns overflow;
};

/** @io: how packets of many sockets leave. */
void transcode_init(struct transcode_worker *w, enum udp_io io);
void transcode_fini(struct transcode_worker *w);

/** Do the claimed job of @c. Worker thread, registered with liburcu. */
void transcode_run(struct transcode_worker *w, struct transcoder *c,
		   const struct live_run *run);

/** Send what waits. Worker thread, before it idles. */
void transcode_flush(struct transcode_worker *w);

/** Send what waits in @w, whatever its worker is at, and trace it to @trace,
 * which is the calling thread's. Waits for a send at most, never for a codec.
 * Any thread. */
void transcode_flush_for(struct transcode_worker *w, struct trace_ring *trace);

/** Let packets wait for those of the next turns, or not. If not, all that wait
 * are sent as by transcode_flush_for(), and those of the turn in progress at
 * its end. Any thread. */
void transcode_batching(struct transcode_worker *w, bool may,
			struct trace_ring *trace);

/** Around what may not come back. transcode_leave_codec() is false when the
 * unsent packets were taken: the turn has no end, leave everything of @w alone.
 * Worker thread. */
static inline void transcode_enter_codec(struct transcode_worker *w)
{
	/* release, pairs with transcode_take(): the turn is as it began */
	atomic_store_explicit(&w->state, TRANSCODE_IN_CODEC,
			      memory_order_release);
}

static inline bool transcode_leave_codec(struct transcode_worker *w)
{
	enum transcode_state state = TRANSCODE_IN_CODEC;

	return atomic_compare_exchange_strong_explicit(
		&w->state, &state, TRANSCODE_AT_WORK, memory_order_acquire,
		memory_order_relaxed);
}

/** Take the unsent packets from a worker whose codec does not come back. False:
 * it is not in a codec. Any thread, does not wait; what was taken is that
 * thread's. */
bool transcode_take(struct transcode_worker *w);

/** Send, count and trace to @trace what @w had ready when it was taken, and
 * cancel the frame of stream @stuck that it was at (NULL: it was none of a
 * stream's). The thread that has taken it, while no other worker serves these
 * streams. */
void transcode_rescue(struct transcode_worker *w, struct transcoder *stuck,
		      struct trace_ring *trace);

/** A claimed frame is dropped (@why: expired, shed, cancelled): count and
 * trace. Any thread that holds the stream's run-queue lock; @trace is that
 * thread's. */
void transcode_drop(struct trace_ring *trace, struct transcoder *c,
		    const struct cr_job *job, enum cr_outcome why, cr_ns now);

#endif
