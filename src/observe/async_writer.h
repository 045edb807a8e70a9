/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A thread that writes texts for others, as lines of the log or of a file, and
 * the texts that wait for it: who has one waits for copying only. Where there
 * is no room, as the disk or the reader is slow, it is dropped and counted.
 *
 * The destination may change (a turn): texts that were put before go to the
 * old place, later ones to the new one.
 *
 * Private to src/observe.
 */
#ifndef OBSERVE_ASYNC_WRITER_H
#define OBSERVE_ASYNC_WRITER_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "cr/time.h"

/** The owner's functions, with the @arg of async_writer_init(): in the thread,
 * without the lock, but gap(). */
struct async_writer_owner {
	const char *thread; /**< its name, 15 characters at most */

	/** Deal with all @n octets, which are whole texts: write them, or give
	 * them up; then async_writer_count(). It may be cancelled in
	 * cancellable_write() only. */
	void (*write)(void *arg, const char *text, size_t n);

	/** Go on to the new place. @asked: by async_writer_reopen(). Returns
	 * when this is to be called again, unasked, as it could not be done
	 * (CLOCK_MONOTONIC); CR_NEVER: it is done. */
	cr_ns (*turn)(void *arg, bool asked);

	/** Say in @to, in the place of @lost texts, that they were dropped.
	 * Returns how many octets that took, or 0: there is no @room for it.
	 * Under the lock. NULL: the place stays empty. */
	size_t (*gap)(void *arg, uint64_t lost, char *to, size_t room);
};

/** Of the owner's texts. */
struct async_writer_counts {
	uint64_t written; /**< those that the kernel has taken */
	uint64_t dropped; /**< those that there was no room for */
	uint64_t failed;  /**< those that could not be written */
};

struct async_writer_buffer {
	atomic_size_t done; /* dealt with of these: the thread's     */
	atomic_size_t end;  /* under the lock; a crash reads without */
	char *text;
};

struct async_writer {
	const struct async_writer_owner *owner;
	void *arg;
	size_t size; /* of each buffer */
	pthread_t thread;

	/* the thread's */
	struct async_writer_buffer *writing;
	cr_ns again; /* when to turn unasked */

	pthread_mutex_t lock; /* protects what follows */
	pthread_cond_t wake, idle;
	atomic_uint filling; /* which; a crash reads it without the lock */
	size_t before;	     /* of it, what was put before the turn */
	bool busy, turn, stopping, ended;
	uint64_t untold; /* dropped since the last gap() */
	struct async_writer_counts counts;

	struct async_writer_buffer buffer[2];
};

/** Prepare @s, once: two buffers of @size octets, at @first and @second, which
 * are borrowed, as are @owner and @arg. */
void async_writer_init(struct async_writer *s,
		       const struct async_writer_owner *owner, void *arg,
		       char *first, char *second, size_t size);

/** As it was before async_writer_init(). Without a thread. */
void async_writer_fini(struct async_writer *s);

/** Begin, with nothing in it and nothing counted: start the thread, which gets
 * no signals but its own faults. 0 or -errno. */
int async_writer_start(struct async_writer *s);

/** Put a text: the @n octets at @text, then @ending. False: it was dropped;
 * one that is larger than a buffer is always, and gap() then waits for the next
 * text. Any thread. */
bool async_writer_put(struct async_writer *s, const char *text, size_t n,
		      const char *ending);

/** Texts that are put from now on go to the new place: turn() is called behind
 * those that were put until now. If there is a turn that the thread has not yet
 * come to, that one stays, where it is. Any thread. */
void async_writer_reopen(struct async_writer *s);

enum async_writer_pause {
	ASYNC_WRITER_GO_ON,  /**< the time is over */
	ASYNC_WRITER_REOPEN, /**< write() has to turn: this is said once      */
	ASYNC_WRITER_STOP /**< the owner ends                                */
};

/** Within write(): wait for @time, unless there is a reason to go on. */
enum async_writer_pause async_writer_pause(struct async_writer *s, cr_ns time);

/** Of those that write() had to deal with. The thread. */
void async_writer_count(struct async_writer *s, uint64_t written,
			uint64_t failed);

/** Within write(): @n octets more are dealt with, and no matter any more for
 * async_writer_rest(). */
void async_writer_took(struct async_writer *s, size_t n);

/** Any thread. */
void async_writer_counts(struct async_writer *s,
			 struct async_writer_counts *out);

/** Wait until all that was put is dealt with, and no turn and no gap is due,
 * for @limit at most. False: it is not. Any thread but its own. */
bool async_writer_flush(struct async_writer *s, cr_ns limit);

enum async_writer_end {
	ASYNC_WRITER_WRITTEN, /**< all was dealt with */
	ASYNC_WRITER_CUT,  /**< not in time: the thread was ended in a write */
	ASYNC_WRITER_LEFT, /**< nor does the kernel let it end: it stays, and
			    * may use all that it had */
};

/** Deal with what waits, and end the thread: in @limit, or else even if it is
 * stuck in a write. While nobody puts. */
enum async_writer_end async_writer_stop(struct async_writer *s, cr_ns limit);

/** The rest of the older buffer (@which: 0) or of the newer one (1) that is not
 * dealt with; @n: octets of it. For the handler of a signal by which the
 * process ends. */
const char *async_writer_rest(const struct async_writer *s, unsigned which,
			      size_t *n);

/** Call @write in the handlers of these signals, once; NULL: nothing. Signals
 * that have a handler already are left to it. */
void log_crash_catch(void (*write)(void));

/** Around each write of the log's thread: in a crash it does not go on with
 * what the handler writes. */
void log_crash_enter(void);
void log_crash_leave(void);

/** For @write: all @n octets, without waiting for a reader that stalls. */
bool log_crash_write(int fd, const char *text, size_t n);

/** As write(2), after which EINTR and EAGAIN mean to try again: where @fd is
 * full, this has waited, even if @fd does not block. The calling thread, which
 * holds no lock, can be cancelled here. */
ssize_t cancellable_write(int fd, const char *text, size_t n);

#endif
