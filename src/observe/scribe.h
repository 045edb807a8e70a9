/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A thread that writes texts for others, as lines of the log or of a file, and
 * the texts that wait for it: who has one waits for copying only. Where there
 * is no room, as the disk or the reader is slow, it is dropped and counted.
 *
 * What the thread writes to may change (a turn): what was put before goes to
 * the old place, what is put behind to the new one.
 *
 * Private to src/observe.
 */
#ifndef OBSERVE_SCRIBE_H
#define OBSERVE_SCRIBE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cr/time.h"

/** What an owner does, with the @arg of scribe_init(): in the thread, without
 * the lock, but gap(). */
struct scribe_owner {
	const char *thread; /**< its name, 15 characters at most */

	/** Deal with all @n octets, which are whole texts: write them, or give
	 * them up; then scribe_count(). It may be cancelled in
	 * stall_write() only. */
	void (*write)(void *arg, const char *text, size_t n);

	/** Go on to the new place. @asked: by scribe_turn(). Returns when this
	 * is to be called again, unasked, as it could not be done
	 * (CLOCK_MONOTONIC); CR_NEVER: it is done. */
	cr_ns (*turn)(void *arg, bool asked);

	/** Say in @to, in the place of @lost texts, that they were dropped.
	 * Returns how many octets that took, or 0: there is no @room for it.
	 * Under the lock. NULL: the place stays empty. */
	size_t (*gap)(void *arg, uint64_t lost, char *to, size_t room);
};

/** Of the owner's texts. */
struct scribe_counts {
	uint64_t written; /**< those that the kernel has taken */
	uint64_t dropped; /**< those that there was no room for */
	uint64_t failed;  /**< those that could not be written */
};

struct scribe_buffer {
	atomic_size_t done; /* dealt with of these: the thread's     */
	atomic_size_t end;  /* under the lock; a crash reads without */
	char *text;
};

struct scribe {
	const struct scribe_owner *owner;
	void *arg;
	size_t size; /* of each buffer */
	pthread_t thread;

	/* the thread's */
	struct scribe_buffer *writing;
	cr_ns again; /* when to turn unasked */

	pthread_mutex_t lock; /* protects what follows */
	pthread_cond_t wake, idle;
	atomic_uint filling; /* which; a crash reads it without the lock */
	size_t before;	     /* of it, what was put before the turn */
	bool busy, turn, stopping, ended;
	uint64_t untold; /* dropped since the last gap() */
	struct scribe_counts counts;

	struct scribe_buffer buffer[2];
};

/** Prepare @s, once: two buffers of @size octets, at @first and @second, which
 * are borrowed, as are @owner and @arg. */
void scribe_init(struct scribe *s, const struct scribe_owner *owner, void *arg,
		 char *first, char *second, size_t size);

/** As it was before scribe_init(). Without a thread. */
void scribe_fini(struct scribe *s);

/** Begin, with nothing in it and nothing counted: start the thread, which gets
 * no signals but its own faults. 0 or -errno. */
int scribe_start(struct scribe *s);

/** Put a text: the @n octets at @text, then @ending. False: it was dropped;
 * one that is larger than a buffer is always, and gap() then waits for the next
 * text. Any thread. */
bool scribe_put(struct scribe *s, const char *text, size_t n,
		const char *ending);

/** What is put from now on goes to the new place: turn() is called behind what
 * was put until now. If there is a turn that the thread has not yet come to,
 * that one stays, where it is. Any thread. */
void scribe_turn(struct scribe *s);

enum scribe_pause {
	SCRIBE_GO_ON, /**< the time is over                              */
	SCRIBE_TURN,  /**< write() has to turn: this is said once      */
	SCRIBE_STOP   /**< the owner ends                                */
};

/** Within write(): wait for @time, unless there is a reason to go on. */
enum scribe_pause scribe_pause(struct scribe *s, cr_ns time);

/** Of those that write() had to deal with. The thread. */
void scribe_count(struct scribe *s, uint64_t written, uint64_t failed);

/** Within write(): @n octets more are dealt with, and no matter any more for
 * scribe_rest(). */
void scribe_took(struct scribe *s, size_t n);

/** Any thread. */
void scribe_counts(struct scribe *s, struct scribe_counts *out);

/** Wait until all that was put is dealt with, and no turn and no gap is due,
 * for @limit at most. False: it is not. Any thread but its own. */
bool scribe_flush(struct scribe *s, cr_ns limit);

enum scribe_end {
	SCRIBE_WRITTEN, /**< all was dealt with */
	SCRIBE_CUT,	/**< not in time: the thread was ended in a write */
	SCRIBE_LEFT,	/**< nor does the kernel let it end: it stays, and may
			 * use all that it had */
};

/** Deal with what waits, and end the thread: in @limit, or else even if it is
 * stuck in a write. While nobody puts. */
enum scribe_end scribe_stop(struct scribe *s, cr_ns limit);

/** What of the older buffer (@which: 0) and of the newer one (1) is not dealt
 * with; @n: octets of it. For the handler of a signal by which the process
 * ends. */
const char *scribe_rest(const struct scribe *s, unsigned which, size_t *n);

#endif
