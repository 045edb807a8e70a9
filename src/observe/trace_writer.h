/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The trace of a running daemon: a ring per producing thread, one thread that
 * drains them into a file (cr/trace.h), started and stopped at any time.
 *
 * Every ring has one producer at a time. Producers never wait and make no
 * system call; a record that finds its ring full is lost and counted, and the
 * file gets a CR_NOTE_LOST with the count. A disk that is full or
 * slow never stalls anybody.
 */
#ifndef OBSERVE_TRACE_WRITER_H
#define OBSERVE_TRACE_WRITER_H

#include <stdalign.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "cr/error.h"
#include "cr/trace.h"
#include "observe/trace_file.h"

struct trace;

/** One producer's ring. Use it through the functions only. */
struct trace_ring {
	/* the producer's line */
	alignas(64) atomic_bool on; /**< written by start and stop   */
	atomic_uint_fast64_t head;  /**< release, pairs with drain   */
	uint_fast64_t tail_seen;    /**< the tail when last looked at */
	atomic_uint_fast64_t lost;  /**< since the start; relaxed    */
	/* the drain thread's line */
	alignas(64) atomic_uint_fast64_t tail; /**< release, pairs with put */
	uint_fast64_t lost_noted;	       /**< already in the file     */
	/* constant */
	alignas(64) union cr_trace_record *slot;
	uint_fast64_t mask; /**< number of slots - 1 */
};

/** The fate of the records of one start..stop. */
struct trace_totals {
	uint64_t written;   /**< in the file, notes about losses included */
	uint64_t notes;	    /**< those notes                              */
	uint64_t lost;	    /**< a ring was full                          */
	uint64_t unwritten; /**< the file refused them                    */
	int64_t bytes;	    /**< length of the file                       */
	int error;	    /**< first write error, errno; 0: none        */
};

/**
 * Allocate @nrings rings of @records (rounded up to a power of two, 2 at
 * least) each. Returns 0 and sets *@t, -EINVAL or -ENOMEM. Tracing is off.
 */
int trace_open(struct trace **t, unsigned nrings, unsigned records);

/** Another size for ring @i, before anybody writes to it. 0 or -ENOMEM: it is
 * as it was. */
int trace_resize(struct trace *t, unsigned i, unsigned records);

/** Stop if running, and free. All producers must have ended. NULL is fine. */
void trace_close(struct trace *t);

/** Ring @i, for one producer. Valid until trace_close(). */
struct trace_ring *trace_ring(struct trace *t, unsigned i);

/** Set the files that trace_start() may replace; none, unless this says so, and
 * never TRACE_OVER_PIPE: who reads a pipe may stall, and with it control. */
void trace_set_over(struct trace *t, enum trace_over over);

/** Call @fn(@arg, errno) once per trace file when it cannot be written any
 * more; on the drain thread. Set it while tracing is off. */
void trace_on_error(struct trace *t, void (*fn)(void *arg, int err), void *arg);

/** Call @fn(@arg) when a trace that was ended has been synced and closed, so
 * that trace_stop() waits no more; on the drain thread, its last word. Set it
 * while tracing is off. */
void trace_on_closed(struct trace *t, void (*fn)(void *arg), void *arg);

/**
 * Create @path with @header, the text of a JSON object, and start tracing.
 * Returns 0, or with @e: -EBUSY (already running, or ended and not stopped),
 * -EAGAIN (no thread), or as trace_file_create(). Control thread.
 */
int trace_start(struct trace *t, const char *path, const char *header,
		struct cr_err *e);

/**
 * End tracing, and wait for nobody: what was put before this call will be
 * written and synced; what is put at the same time may be missing, uncounted.
 * trace_stop() has to follow. Returns 0, or -EALREADY when tracing was off or
 * has been ended. Control thread.
 */
int trace_end(struct trace *t);

/**
 * End tracing if nobody has, and wait for the disk: when this returns, the file
 * is written, synced and closed. Returns 0 with @totals (may be NULL), or
 * -EALREADY when tracing was off. Control thread.
 */
int trace_stop(struct trace *t, struct trace_totals *totals);

/** Copy @rec into @r, or count it as lost. Wait-free. For trace_put(). */
void trace_push(struct trace_ring *r, const union cr_trace_record *rec);

/** Trace @rec when tracing is on. Wait-free; the ring's producer only. */
static inline void trace_put(struct trace_ring *r,
			     const union cr_trace_record *rec)
{
	if (atomic_load_explicit(&r->on, memory_order_relaxed))
		trace_push(r, rec);
}

/** All borrowed. */
struct trace_head {
	const char *program, *version;
	const char *scheduler; /**< its name             */
	const char *options;   /**< "rr,quantum=2ms"     */
	unsigned workers, cpus_per_rq;
	unsigned ring_frames; /**< per call             */
	cr_ns max_age;	      /**< as core_config has it; -1: by deadlines */
	const char *shed;     /**< its name             */
	cr_ns shed_wait;
};

/** @h, and what the kernel says of the machine, as the text of a JSON object;
 * the caller frees it. NULL: out of memory. */
char *trace_head_text(const struct trace_head *h);

/** trace_start() with trace_head_text() as header. As trace_start(), or
 * -ENOMEM.
 */
int trace_start_live(struct trace *t, const char *path,
		     const struct trace_head *h, struct cr_err *e);

#endif
