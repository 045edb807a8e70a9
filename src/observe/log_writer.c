/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two buffers: one is filled under the lock, while the thread writes the other.
 *
 *     put            swapped           written
 *   ------> filling ---------> writing --------> empty: may be filled again
 *      |
 *      +--> no room: dropped; a line says so before the next that has room
 *
 * They are static: a crash finds them, and a thread that is stuck in a write at
 * the end of the process may go on reading.
 */
#define _GNU_SOURCE /* memmem, memrchr, pthread_setname_np, ... */
#include "observe/log_writer.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/thread.h"
#include "observe/log_crash.h"
#include "observe/log_journal.h"
#include "observe/log_line.h"
#include "observe/stall.h"

enum {
	BUFFER = 1 << 20, /* far more than one start or overload says */
	CHUNK = PIPE_BUF, /* not mixed with what others write to a pipe */
	STACK = 256 << 10,
};

/* For a thread that is told to end. */
#define END_LIMIT (200 * CR_MS)

struct buffer {
	atomic_size_t done; /* written of these: the thread's             */
	atomic_size_t end;  /* under the lock; a crash reads without      */
	char text[BUFFER];
};

static struct {
	pthread_t thread;
	struct log_style style; /* the same while it is open */
	atomic_bool open;

	/* the thread's */
	atomic_int fd;
	bool torn; /* the end of a line could not be written */

	pthread_mutex_t lock; /* protects what follows */
	pthread_cond_t wake, dry;
	atomic_uint filling; /* which; a crash reads it without the lock */
	bool writing;	     /* the other one */
	int next;	     /* descriptor; -1: none */
	size_t before;	     /* of @filling, what goes to the old one */
	bool stopping, ended;
	uint64_t untold; /* dropped since the last line about that */
	struct log_stats stats;

	struct buffer buffer[2];
} w = { .fd = -1, .next = -1 };

/* --- filling, under the lock --- */

static struct buffer *filling(void)
{
	return &w.buffer[atomic_load_explicit(&w.filling,
					      memory_order_relaxed)];
}

static size_t used(const struct buffer *b)
{
	return atomic_load_explicit(&b->end, memory_order_relaxed);
}

static bool append(const char *line, size_t n)
{
	struct buffer *b = filling();
	size_t end = used(b);

	if (n > BUFFER - end)
		return false;
	memcpy(b->text + end, line, n);
	/* release: a crash that sees the end sees the line */
	atomic_store_explicit(&b->end, end + n, memory_order_release);
	return true;
}

/* In the place of what is missing. */
static bool append_untold(void)
{
	struct log_line l;

	log_line_begin(&l, &w.style, LOG_WARN, "log-dropped");
	log_line_add(&l, "lines=%" PRIu64 " why=\"its reader was too slow\"",
		     w.untold);
	log_line_end(&l);
	if (!append(l.text, l.len))
		return false;
	w.untold = 0;
	return true;
}

void log_writer_put(const char *line, size_t bytes)
{
	(void)pthread_mutex_lock(&w.lock);
	if ((w.untold && !append_untold()) || !append(line, bytes)) {
		w.untold++;
		w.stats.dropped++;
	} else {
		(void)pthread_cond_signal(&w.wake);
	}
	(void)pthread_mutex_unlock(&w.lock);
}

void log_writer_switch(int fd)
{
	(void)pthread_mutex_lock(&w.lock);
	if (w.next >= 0) /* of an earlier call, not yet used */
		(void)close(w.next);
	else
		w.before = used(filling());
	w.next = fd;
	(void)pthread_cond_signal(&w.wake);
	(void)pthread_mutex_unlock(&w.lock);
}

/* --- the thread --- */

/* Octets of the first entry of the @n, or @n. */
static size_t first_of(const char *text, size_t n)
{
	const char *ending = log_line_ending(w.style.format);
	size_t len = strlen(ending);
	const char *at = memmem(text, n, ending, len);

	return at ? (size_t)(at - text) + len : n;
}

static uint64_t count_entries(const char *text, size_t n)
{
	uint64_t entries = 0;

	while (n) {
		size_t first = first_of(text, n);

		text += first;
		n -= first;
		entries++;
	}
	return entries;
}

/* What of the @n octets goes together: the journal takes an entry at a time,
 * others as many whole lines as there are. */
static size_t chunk_of(const char *text, size_t n)
{
	const char *last;

	if (w.style.format == LOG_JOURNAL)
		return first_of(text, n);
	last = n > CHUNK ? memrchr(text, '\n', CHUNK) : NULL;
	return last ? (size_t)(last - text) + 1 : n;
}

/* The journal, whose socket may be made anew; the kernel says the second once
 * it has said the first. */
static bool is_gone(int err)
{
	return w.style.format == LOG_JOURNAL &&
	       (err == ECONNREFUSED || err == ENOTCONN);
}

static ssize_t write_some(int fd, const char *text, size_t n)
{
	ssize_t k;
	int err;

	log_crash_enter();
	k = stall_write(fd, text, n);
	err = errno;
	if (k < 0 && is_gone(err) && log_journal_again(fd))
		err = EAGAIN;
	errno = err;
	return k;
}

/* Octets of @b up to @end. What cannot be written is skipped and counted. */
static void write_up_to(struct buffer *b, size_t end)
{
	size_t done = atomic_load_explicit(&b->done, memory_order_relaxed);
	int fd = atomic_load_explicit(&w.fd, memory_order_relaxed);
	uint64_t failed = 0, all = count_entries(b->text + done, end - done);

	while (done < end) {
		size_t n = chunk_of(b->text + done, end - done);
		ssize_t k = w.torn ? write_some(fd, "\n", 1)
				   : write_some(fd, b->text + done, n);

		if (k < 0 && errno != EINTR && errno != EAGAIN) {
			failed += count_entries(b->text + done, n);
			w.torn |= done && b->text[done - 1] != '\n';
			done += n;
		} else if (k > 0 && w.torn) {
			w.torn = false;
		} else if (k > 0) {
			done += (size_t)k;
		}
		/* release: a crash writes what is behind it */
		atomic_store_explicit(&b->done, done, memory_order_release);
		log_crash_leave();
	}
	(void)pthread_mutex_lock(&w.lock);
	w.stats.failed += failed;
	w.stats.written += all - failed;
	(void)pthread_mutex_unlock(&w.lock);
}

static void change_to(int fd)
{
	int old = atomic_exchange_explicit(&w.fd, fd, memory_order_relaxed);

	w.torn = false;
	if (old != STDERR_FILENO)
		(void)close(old);
}

/* What the thread has to do next. */
struct errand {
	struct buffer *buffer;
	size_t before; /* of it, for the old descriptor */
	int next;      /* -1: there is no other */
	bool stop;
};

static struct errand wait_for_errand(void)
{
	struct errand todo = { .buffer = NULL };

	(void)pthread_mutex_lock(&w.lock);
	w.writing = false;
	if (!used(filling()) && w.untold)
		(void)append_untold();
	while (!used(filling()) && w.next < 0 && !w.stopping) {
		(void)pthread_cond_broadcast(&w.dry);
		(void)pthread_cond_wait(&w.wake, &w.lock);
	}
	todo.buffer = filling();
	todo.next = w.next;
	todo.before = w.next < 0 ? used(todo.buffer) : w.before;
	todo.stop = w.stopping && !used(todo.buffer);
	w.next = -1;
	w.writing = true;
	atomic_store_explicit(&w.filling, todo.buffer == &w.buffer[0] ? 1u : 0u,
			      memory_order_release);
	(void)pthread_mutex_unlock(&w.lock);
	return todo;
}

static void empty(struct buffer *b)
{
	atomic_store_explicit(&b->end, 0, memory_order_relaxed);
	atomic_store_explicit(&b->done, 0, memory_order_release);
}

static void *write_thread(void *arg)
{
	struct errand todo;

	stall_begin();
	(void)pthread_setname_np(pthread_self(), "cr-log");
	do {
		todo = wait_for_errand();
		write_up_to(todo.buffer, todo.before);
		if (todo.next >= 0)
			change_to(todo.next);
		write_up_to(todo.buffer, used(todo.buffer));
		empty(todo.buffer);
	} while (!todo.stop);
	(void)pthread_mutex_lock(&w.lock);
	w.ended = true;
	(void)pthread_cond_broadcast(&w.dry);
	(void)pthread_mutex_unlock(&w.lock);
	return arg;
}

/* --- a crash: in the handler of its signal --- */

static void write_what_waits(void)
{
	unsigned now = atomic_load_explicit(&w.filling, memory_order_acquire);
	int fd = atomic_load_explicit(&w.fd, memory_order_relaxed);

	for (unsigned i = 0; i < 2; i++) {
		const struct buffer *b = &w.buffer[(now + 1 + i) % 2];
		size_t done =
			atomic_load_explicit(&b->done, memory_order_acquire);
		size_t end =
			atomic_load_explicit(&b->end, memory_order_acquire);

		while (done < end) {
			size_t n = chunk_of(b->text + done, end - done);

			if (!log_crash_write(fd, b->text + done, n))
				return;
			done += n;
		}
	}
}

/* --- others --- */

static pthread_once_t once = PTHREAD_ONCE_INIT;

static void begin_lock(void)
{
	pthread_mutexattr_t m;
	pthread_condattr_t c;

	(void)pthread_mutexattr_init(&m);
	/* a receiver outranks whom it may have to wait for */
	(void)pthread_mutexattr_setprotocol(&m, PTHREAD_PRIO_INHERIT);
	(void)pthread_mutex_init(&w.lock, &m);
	(void)pthread_mutexattr_destroy(&m);
	(void)pthread_condattr_init(&c);
	(void)pthread_condattr_setclock(&c, CLOCK_MONOTONIC);
	(void)pthread_cond_init(&w.dry, &c);
	(void)pthread_cond_init(&w.wake, &c);
	(void)pthread_condattr_destroy(&c);
}

/* It handles no signals but its own faults. */
static int start_thread(void)
{
	pthread_attr_t attr;
	sigset_t most, old;
	int err;

	log_crash_others(&most);
	(void)pthread_attr_init(&attr);
	(void)pthread_attr_setstacksize(&attr, STACK);
	(void)pthread_sigmask(SIG_BLOCK, &most, &old);
	err = pthread_create(&w.thread, &attr, write_thread, NULL);
	(void)pthread_sigmask(SIG_SETMASK, &old, NULL);
	(void)pthread_attr_destroy(&attr);
	return err;
}

static void close_fd(void)
{
	int fd = atomic_exchange_explicit(&w.fd, -1, memory_order_relaxed);

	if (fd >= 0 && fd != STDERR_FILENO)
		(void)close(fd);
}

int log_writer_open(int fd, const struct log_style *style, struct cr_err *e)
{
	int err;

	(void)pthread_once(&once, begin_lock);
	atomic_store_explicit(&w.fd, fd, memory_order_relaxed);
	w.style = *style;
	w.stopping = w.ended = w.writing = w.torn = false;
	w.next = -1;
	w.untold = 0;
	w.stats = (struct log_stats){ 0 };
	empty(&w.buffer[0]);
	empty(&w.buffer[1]);
	err = start_thread();
	if (err) {
		close_fd();
		return thread_fail(e, -err, "the log");
	}
	atomic_store_explicit(&w.open, true, memory_order_release);
	log_crash_catch(write_what_waits);
	return 0;
}

bool log_writer_is_open(void)
{
	return atomic_load_explicit(&w.open, memory_order_acquire);
}

static struct timespec after(cr_ns limit)
{
	cr_ns end = clock_now() + limit;

	return (struct timespec){ .tv_sec = (time_t)(end / CR_SEC),
				  .tv_nsec = (long)(end % CR_SEC) };
}

/* Under the lock. */
static bool is_dry(void)
{
	return w.ended ||
	       (!w.writing && !used(filling()) && !w.untold && w.next < 0);
}

bool log_writer_flush(cr_ns limit)
{
	struct timespec end = after(limit);
	bool dry;

	(void)pthread_mutex_lock(&w.lock);
	while (!is_dry() &&
	       pthread_cond_timedwait(&w.dry, &w.lock, &end) != ETIMEDOUT)
		;
	dry = is_dry();
	(void)pthread_mutex_unlock(&w.lock);
	return dry;
}

static bool has_ended(cr_ns limit)
{
	struct timespec end = after(limit);
	bool ended;

	(void)pthread_mutex_lock(&w.lock);
	while (!w.ended &&
	       pthread_cond_timedwait(&w.dry, &w.lock, &end) != ETIMEDOUT)
		;
	ended = w.ended;
	(void)pthread_mutex_unlock(&w.lock);
	return ended;
}

void log_writer_close(cr_ns limit)
{
	if (!log_writer_is_open())
		return;
	(void)log_writer_flush(limit);
	(void)pthread_mutex_lock(&w.lock);
	w.stopping = true;
	(void)pthread_cond_signal(&w.wake);
	(void)pthread_mutex_unlock(&w.lock);
	if (stall_join(w.thread, has_ended(END_LIMIT)))
		close_fd();
	log_crash_catch(NULL);
	atomic_store_explicit(&w.open, false, memory_order_release);
}

void log_writer_stats(struct log_stats *out)
{
	if (!log_writer_is_open())
		return;
	(void)pthread_mutex_lock(&w.lock);
	out->written = w.stats.written;
	out->dropped = w.stats.dropped;
	out->failed = w.stats.failed;
	(void)pthread_mutex_unlock(&w.lock);
}
