/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One best-effort conversion: a file's frames as a task of the engine.
 *
 * Its frames travel in two chunks of a second of speech each. The I/O thread
 * fills one while a worker transcodes the other, so a worker never waits for
 * the disk and nothing is read or written under a run-queue lock:
 *
 *            fill, then full = true (release), wake the task
 *      I/O ------------------------------------------------> worker
 *       ^                                                      |
 *       +---- outputs written, then filled anew <--------------+
 *                    full = false (release), wake the I/O thread
 *
 * A worker's turn is one frame, as with calls: that is the grain at which calls
 * displace conversions. Reading in the worker's turn would be simpler, but a
 * page that is not in memory costs milliseconds on a CPU that calls wait for.
 *
 * The thread that touches the spool, so that no other waits for a disk: it
 * looks at the files of conversions that are asked for, and reads and writes
 * those of running ones, up to two seconds of speech ahead of the workers.
 *
 * A conversion is its from conversion_io_add() until over(): then its files are
 * closed, its output has its name or is removed, result and why are set, and it
 * releases the task no more.
 */
#ifndef CONVERT_CONVERSION_H
#define CONVERT_CONVERSION_H

#include <stdatomic.h>
#include <sys/queue.h>

#include <bsd/sys/tree.h>

#include "convert/audio.h"
#include "convert/spool.h"
#include "cr/container.h"
#include "cr/trace.h"
#include "engine/live.h"

enum { CHUNK_FRAMES = 50 };

/** The task of a conversion. */
struct conversion_cfg {
	uint32_t id;
	char in[SPOOL_NAME], out[SPOOL_NAME];
	struct audio from, to;
	unsigned mode; /**< of AMR output, index */
	bool dtx, overwrite;
	struct cr_cost cost; /**< of a frame                           */
	/** Frames a second that it is to get even when calls want the CPU, but
	 * for what it is ahead by; 0: whatever they leave. */
	unsigned floor;
};

enum conversion_state {
	CONVERSION_ASKED,   /**< its files are being looked at                */
	CONVERSION_WAITING, /**< for its turn, or until its cost is known     */
	CONVERSION_RUNNING, /**< a task of the engine                         */
	CONVERSION_ENDING, /**< cancelled, but its last thread has not let go */
	CONVERSION_DONE,   /**< its output has its name                      */
	CONVERSION_FAILED, /**< see why                                      */
	CONVERSION_CANCELLED /**< by convert.cancel or the node's end */
};

/** Reports of other threads to control. */
enum conversion_news {
	CONVERSION_LOOKED, /**< the I/O thread has looked at its files */
	CONVERSION_LET_GO, /**< that has let go: it may leave the engine */
	CONVERSION_LEFT	   /**< its last worker has let go           */
};

const char *conversion_state_name(enum conversion_state s);

static inline bool conversion_is_over(enum conversion_state s)
{
	return s >= CONVERSION_DONE;
}

/** Some frames, owned by the I/O thread or, while full, by the engine. */
struct conversion_chunk {
	atomic_bool full;
	cr_ns filled;
	unsigned frames, next; /**< read; the next one to be claimed   */
	size_t in_used, out_used;
	uint16_t bytes[CHUNK_FRAMES];
	uint8_t in[CHUNK_FRAMES * AUDIO_PAYLOAD_MAX];
	uint8_t out[CHUNK_FRAMES * AUDIO_FRAME_MAX];
};

struct conversion_io;

TAILQ_HEAD(conversion_list, conversion);

/** The client of a conversion, and how to notify it. */
struct conversion_asker {
	/** Once, on the event base's thread: @cv waits for its turn; or NULL,
	 * and @err (-errno) and @why say why not. */
	void (*notify)(void *arg, const struct conversion *cv, int err,
		       const struct cr_err *why);
	void *arg;
};

struct conversion {
	struct live_task lt;
	struct conversion_cfg cfg; /**< constant */

	/* control */
	enum conversion_state state;
	bool hung; /**< a stuck thread has it */
	RB_ENTRY(conversion) by_id;
	TAILQ_ENTRY(conversion)
	order; /**< among the waiting or the ended ones   */
	cr_ns submitted, started, ended;
	uint64_t bytes; /**< of the input when it was looked at   */
	char owner[17]; /**< session that asked                   */
	TAILQ_ENTRY(conversion) owned; /**< owner's */
	struct conversion_asker asker;
	void *set;     /**< struct converter                       */
	void *pricing; /**< the user's; not NULL while its cost is measured */

	/* while it runs */
	struct conversion_chunk *chunk; /**< [2] */
	struct pipeline *pipeline;
	struct conversion_io *io;

	/* I/O thread; control when that has let go */
	int looked; /**< the result of a look at its files: 0 or -errno, with
		       why */
	struct conversion_file *file;
	enum conversion_state result;
	struct cr_err why;
	TAILQ_ENTRY(conversion)
	link;			   /**< in one of the lists between threads */
	enum conversion_news news; /**< why it is in the converter's list */

	/* engine: whoever has the task */
	unsigned current; /**< chunk */
	uint64_t seq;	  /**< of the next frame to be claimed */
	cr_ns ready;	  /**< when the last frame was done */
	cr_ns due;	  /**< deadline of the last claimed, with a floor */
	uint32_t ts;
	const uint8_t *claimed;
	uint16_t claimed_bytes;

	/* relaxed: nothing hangs on them but figures and an early end */
	atomic_ullong frames, read;
	atomic_bool cancel;
	/** The first payload that the pipeline refused; 0: none. Stored before
	 * the chunk's release. */
	atomic_int refused;
};

/** Make a conversion; nothing is opened. NULL: out of memory. */
struct conversion *conversion_new(const struct conversion_cfg *cfg);
/** Buffers and codecs; 0, or -errno with @e. */
int conversion_prepare(struct conversion *cv, struct cr_err *e);
/** Give those back: no thread but this one can see it any more. */
void conversion_release(struct conversion *cv);
void conversion_free(struct conversion *cv); /**< NULL is fine */

static inline struct conversion *conversion_of(struct live_task *lt)
{
	return CR_CONTAINER_OF(lt, struct conversion, lt);
}

static inline struct conversion *conversion_of_core(struct core_task *t)
{
	return conversion_of(live_task_of(t));
}

/** The engine's view of its frames (see core_backlog). */
bool conversion_peek(struct core_task *t, struct cr_job *job);
bool conversion_claim(struct core_task *t, uint64_t seq);

/** Transcode the claimed frame on a worker, with its scratch memory; describes
 * that in @record. */
void conversion_run(struct conversion *cv, struct pipeline_scratch *s,
		    const struct live_run *run, union cr_trace_record *record);

struct conversion_io_config {
	const struct spool *spool; /**< must outlive it */
	struct live *live;
	/** It has looked at @cv's files. On its thread. */
	void (*looked)(void *arg, struct conversion *cv);
	/** It has let go of @cv. On its thread. */
	void (*over)(void *arg, struct conversion *cv);
	void *arg;
};

/** Start the thread. 0, or -errno with @e. */
int conversion_io_open(struct conversion_io **io,
		       const struct conversion_io_config *cfg,
		       struct cr_err *e);
/** End it; it must have no conversion. NULL is fine. */
void conversion_io_close(struct conversion_io *io);

/** Look at the files that @cv names: cv->looked is 0, and cv->bytes and
 * cv->cfg.from.rate are known; or what spool_read(), reader_open() and
 * spool_check() say, with cv->why. Any thread. */
void conversion_io_look(struct conversion_io *io, struct conversion *cv);

/** Take @cv, whose task has joined the engine. Any thread. */
void conversion_io_add(struct conversion_io *io, struct conversion *cv);

/** Look again: a chunk came back, or a conversion was cancelled. Any thread,
 * blocks nothing. */
void conversion_io_wake(struct conversion_io *io);

#endif
