/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The async_writer of the log, and how its entries get to their reader.
 *
 * The buffers are static: a crash finds them, and a thread that is stuck in a
 * write at the end of the process may go on reading.
 */
#define _GNU_SOURCE /* memmem, memrchr */
#include "observe/log_writer.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

#include "base/thread.h"
#include "observe/log_crash.h"
#include "observe/log_journal.h"
#include "observe/log_line.h"
#include "observe/async_writer.h"
#include "observe/cancellable_write.h"

enum {
	BUFFER = 1 << 20, /* far more than one start or overload says */
	CHUNK = PIPE_BUF, /* not mixed with what others write to a pipe */
};

/* For a thread that is told to end. */
#define END_LIMIT (200 * CR_MS)

static char buffers[2][BUFFER];

static struct {
	struct async_writer async_writer;
	struct log_style style; /* the same while it is open */
	atomic_bool open;

	/* the thread's */
	atomic_int fd;
	bool torn; /* the end of a line could not be written */

	/* Comes before that of the async_writer. */
	pthread_mutex_t lock;
	int next; /* descriptor, under the lock; -1: none */
} w = { .fd = -1, .next = -1, .lock = PTHREAD_MUTEX_INITIALIZER };

/* --- filling --- */

static size_t report_gap(void *arg, uint64_t lost, char *to, size_t room)
{
	struct log_line l;

	(void)arg;
	log_line_begin(&l, &w.style, LOG_WARN, "log-dropped");
	log_line_add(&l, "lines=%" PRIu64 " why=\"its reader was too slow\"",
		     lost);
	log_line_end(&l);
	if (l.len > room)
		return 0;
	memcpy(to, l.text, l.len);
	return l.len;
}

void log_writer_put(const char *line, size_t bytes)
{
	(void)async_writer_put(&w.async_writer, line, bytes, "");
}

void log_writer_switch(int fd)
{
	(void)pthread_mutex_lock(&w.lock);
	if (w.next >= 0) /* of an earlier call, not yet used */
		(void)close(w.next);
	w.next = fd;
	async_writer_reopen(&w.async_writer);
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
	k = cancellable_write(fd, text, n);
	err = errno;
	if (k < 0 && is_gone(err) && log_journal_again(fd))
		err = EAGAIN;
	errno = err;
	return k;
}

/* What cannot be written is skipped and counted. */
static void write_entries(void *arg, const char *entries, size_t n)
{
	int fd = atomic_load_explicit(&w.fd, memory_order_relaxed);
	uint64_t failed = 0, all = count_entries(entries, n);

	(void)arg;
	for (size_t done = 0, took; done < n; done += took) {
		size_t m = chunk_of(entries + done, n - done);
		ssize_t k = w.torn ? write_some(fd, "\n", 1)
				   : write_some(fd, entries + done, m);

		took = 0;
		if (k < 0 && errno != EINTR && errno != EAGAIN) {
			failed += count_entries(entries + done, m);
			w.torn |= done && entries[done - 1] != '\n';
			took = m;
		} else if (k > 0 && w.torn) {
			w.torn = false;
		} else if (k > 0) {
			took = (size_t)k;
		}
		async_writer_took(&w.async_writer, took);
		log_crash_leave();
	}
	async_writer_count(&w.async_writer, all - failed, failed);
}

static int take_next(void)
{
	int fd;

	(void)pthread_mutex_lock(&w.lock);
	fd = w.next;
	w.next = -1;
	(void)pthread_mutex_unlock(&w.lock);
	return fd;
}

static cr_ns change(void *arg, bool asked)
{
	int fd = take_next(), old;

	(void)arg;
	(void)asked;
	if (fd < 0) /* an earlier turn has taken it */
		return CR_NEVER;
	old = atomic_exchange_explicit(&w.fd, fd, memory_order_relaxed);
	w.torn = false;
	if (old != STDERR_FILENO)
		(void)close(old);
	return CR_NEVER;
}

/* --- a crash: in the handler of its signal --- */

static void write_what_waits(void)
{
	int fd = atomic_load_explicit(&w.fd, memory_order_relaxed);

	for (unsigned i = 0; i < 2; i++) {
		size_t left, n;
		const char *at = async_writer_rest(&w.async_writer, i, &left);

		for (; left; at += n, left -= n) {
			n = chunk_of(at, left);
			if (!log_crash_write(fd, at, n))
				return;
		}
	}
}

/* --- others --- */

static const struct async_writer_owner owner = {
	.thread = "cr-log",
	.write = write_entries,
	.turn = change,
	.gap = report_gap,
};

static pthread_once_t once = PTHREAD_ONCE_INIT;

static void begin_async_writer(void)
{
	async_writer_init(&w.async_writer, &owner, NULL, buffers[0], buffers[1],
			  BUFFER);
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

	(void)pthread_once(&once, begin_async_writer);
	atomic_store_explicit(&w.fd, fd, memory_order_relaxed);
	w.style = *style;
	w.torn = false;
	w.next = -1;
	err = async_writer_start(&w.async_writer);
	if (err) {
		close_fd();
		return thread_fail(e, err, "the log");
	}
	atomic_store_explicit(&w.open, true, memory_order_release);
	log_crash_catch(write_what_waits);
	return 0;
}

bool log_writer_is_open(void)
{
	return atomic_load_explicit(&w.open, memory_order_acquire);
}

bool log_writer_flush(cr_ns limit)
{
	return async_writer_flush(&w.async_writer, limit);
}

void log_writer_close(cr_ns limit)
{
	if (!log_writer_is_open())
		return;
	(void)log_writer_flush(limit);
	if (async_writer_stop(&w.async_writer, END_LIMIT) != ASYNC_WRITER_LEFT)
		close_fd();
	log_crash_catch(NULL);
	atomic_store_explicit(&w.open, false, memory_order_release);
}

void log_writer_stats(struct log_stats *out)
{
	struct async_writer_counts c;

	if (!log_writer_is_open())
		return;
	async_writer_counts(&w.async_writer, &c);
	out->written = c.written;
	out->dropped = c.dropped;
	out->failed = c.failed;
}
