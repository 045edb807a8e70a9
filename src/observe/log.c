/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The process's log: where it goes, the rate limit, the journal, and the thread
 * that writes.
 *
 * The reader of the log may stall: then lines wait for the async_writer, and
 * when there is no room they are dropped and counted. Nobody who has a line
 * waits for its reader. When lines flow again, a line in the place of those
 * that are missing says how many they were ("log-dropped lines=N"). A process
 * that is ended by SIGABRT, SIGSEGV, SIGBUS, SIGILL or SIGFPE writes what
 * waits, as far as it can be written at once. The buffers are static: a crash
 * finds them, and a thread that is stuck in a write at the end of the process
 * may go on reading.
 */
#define _GNU_SOURCE
#include "observe/log.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/thread.h"
#include "cr/error.h"
#include "observe/async_writer.h"
#include "observe/log_line.h"

/** The journal's socket. */
#define LOG_JOURNAL_SOCKET "/run/systemd/journal/socket"

/* Its address; set before threads start. */
static struct sockaddr_un journal;

/*
 * Does what is written to @fd go to the journal, as JOURNAL_STREAM says (see
 * systemd.exec(5))?
 */
static bool log_journal_has(int fd)
{
	const char *text = getenv("JOURNAL_STREAM");
	unsigned long long device, inode;
	struct stat is;

	/* A number too large is not ours: NOLINTNEXTLINE(cert-err34-c) */
	return text && sscanf(text, "%llu:%llu", &device, &inode) == 2 &&
	       !fstat(fd, &is) && is.st_dev == device && is.st_ino == inode;
}

/*
 * The journal listens at a new socket: connect @fd, of log_journal_open(), to
 * that. False: there is none. Any thread.
 */
static bool log_journal_again(int fd)
{
	return !connect(fd, (const struct sockaddr *)&journal, sizeof(journal));
}

/*
 * A socket that is connected to @path (NULL: LOG_JOURNAL_SOCKET), and waits as
 * long as the journal stalls; or -errno with @e. While no other thread logs.
 */
static int log_journal_open(const char *path, struct cr_err *e)
{
	int fd, err;

	path = path ? path : LOG_JOURNAL_SOCKET;
	if (strlen(path) >= sizeof(journal.sun_path))
		return cr_fail(e, -ENAMETOOLONG, "%s: no socket has that name",
			       path);
	journal = (struct sockaddr_un){ .sun_family = AF_UNIX };
	memcpy(journal.sun_path, path, strlen(path) + 1);
	fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd >= 0 && log_journal_again(fd))
		return fd;
	err = errno;
	if (fd >= 0)
		(void)close(fd);
	return cr_fail(e, -err, "%s: there is no journal: %s", path,
		       strerror(err));
}

enum {
	BUFFER = 1 << 20, /* far more than one start or overload says */
	CHUNK = PIPE_BUF, /* not mixed with what others write to a pipe */
};

/* For a thread that must end. */
#define END_LIMIT (200 * CR_MS)

static char buffers[2][BUFFER];

static struct {
	struct async_writer async_writer;
	enum log_format format; /* the same while it is open */
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
	log_line_begin(&l, w.format, LOG_WARN, "log-dropped");
	log_line_add(&l, LOG_FIELDS(LOG_INT("lines", lost),
				    LOG_STR("why", "its reader was too slow")));
	log_line_end(&l);
	if (l.len > room)
		return 0;
	memcpy(to, l.text, l.len);
	return l.len;
}

/* --- the thread --- */

/* Octets of the first entry of the @n, or @n. */
static size_t first_of(const char *text, size_t n)
{
	const char *ending = log_line_ending(w.format);
	size_t len = strlen(ending);
	const char *at = memmem(text, n, ending, len);

	return at ? (size_t)(at - text) + len : n;
}

static uint64_t count_log_entries(const char *text, size_t n)
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

/* The number of the @n octets that go together: the journal takes an entry at a
 * time, others as many whole lines as there are. */
static size_t chunk_of(const char *text, size_t n)
{
	const char *last;

	if (w.format == LOG_JOURNAL)
		return first_of(text, n);
	last = n > CHUNK ? memrchr(text, '\n', CHUNK) : NULL;
	return last ? (size_t)(last - text) + 1 : n;
}

static ssize_t write_some(int fd, const char *text, size_t n)
{
	ssize_t k;
	int err;

	log_crash_enter();
	k = cancellable_write(fd, text, n);
	err = errno;
	/* The journal, whose socket may be made anew; the kernel says the
	 * second once it has said the first. */
	if (k < 0 && w.format == LOG_JOURNAL &&
	    (err == ECONNREFUSED || err == ENOTCONN) && log_journal_again(fd))
		err = EAGAIN;
	errno = err;
	return k;
}

/* Entries that cannot be written are skipped and counted. */
static void write_entries(void *arg, const char *entries, size_t n)
{
	int fd = atomic_load_explicit(&w.fd, memory_order_relaxed);
	uint64_t failed = 0, all = count_log_entries(entries, n);

	(void)arg;
	for (size_t done = 0, took; done < n; done += took) {
		size_t m = chunk_of(entries + done, n - done);
		ssize_t k = w.torn ? write_some(fd, "\n", 1)
				   : write_some(fd, entries + done, m);

		took = 0;
		if (k < 0 && errno != EINTR && errno != EAGAIN) {
			failed += count_log_entries(entries + done, m);
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

static cr_ns change_writer(void *arg, bool asked)
{
	int fd, old;

	(void)arg;
	(void)asked;
	(void)pthread_mutex_lock(&w.lock);
	fd = w.next;
	w.next = -1;
	(void)pthread_mutex_unlock(&w.lock);
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
	.turn = change_writer,
	.gap = report_gap,
};

static void close_fd(void)
{
	int fd = atomic_exchange_explicit(&w.fd, -1, memory_order_relaxed);

	if (fd >= 0 && fd != STDERR_FILENO)
		(void)close(fd);
}

/* Is there one? Otherwise the line is its maker's to write. */
static bool log_writer_is_open(void)
{
	return atomic_load_explicit(&w.open, memory_order_acquire);
}

enum {
	DEFAULT_PER_SECOND = 10,
	FILE_MODE = 0640 /* it has addresses of parties, as records have */
};

/* Time that the process waits at its end for the log's reader. */
#define CLOSE_LIMIT CR_SEC

const char *const log_level_names[] = { "error", "warn", "info", "debug",
					NULL };
const char *const log_format_names[] = { "auto", "text", "json", "journal",
					 NULL };

/* All but the level is set before threads start. */
static struct {
	atomic_int level; /* relaxed: a late change is no harm */
	char *path;	  /* owned; NULL: stderr */
	enum log_format format;
	unsigned per_second;
	cr_ns (*clock)(void);
} out = {
	.level = LOG_INFO,
	.format = LOG_TEXT,
	.per_second = DEFAULT_PER_SECOND,
	.clock = clock_now,
};

static atomic_uint_fast64_t suppressed_lines;

/* A pipe without a reader is an error, not a wait. */
static int open_log_file(const char *path, struct cr_err *e)
{
	int fd = open(path,
		      O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NONBLOCK,
		      FILE_MODE);
	int err = errno;

	return fd < 0 ? cr_fail(e, -err, "%s: cannot open the log: %s", path,
				err == ENXIO ? "nobody reads what is there"
					     : strerror(err))
		      : fd;
}

/* The descriptor of the destination, and the format of entries. */
static int open_destination(const struct log_config *c, enum log_format *format,
			    struct cr_err *e)
{
	int fd = -1;

	*format = c->format == LOG_AUTO ? LOG_TEXT : c->format;
	if (c->format == LOG_AUTO && !c->path && log_journal_has(STDERR_FILENO))
		fd = log_journal_open(c->journal, NULL);
	if (fd >= 0 || c->format == LOG_JOURNAL) {
		*format = LOG_JOURNAL;
		return fd >= 0 ? fd : log_journal_open(c->journal, e);
	}
	return c->path ? open_log_file(c->path, e) : STDERR_FILENO;
}

int log_open(const struct log_config *c, struct cr_err *e)
{
	static bool at_exit;
	enum log_format format;
	int fd = open_destination(c, &format, e);
	int err;

	if (fd < 0)
		return fd;
	log_close();
	out.format = format;
	out.path = c->path ? strdup(c->path) : NULL;
	if (c->path && !out.path) {
		(void)close(fd);
		log_close();
		return cr_fail(e, -ENOMEM, "out of memory for the log's path");
	}
	if (!w.async_writer.owner)
		async_writer_init(&w.async_writer, &owner, NULL, buffers[0],
				  buffers[1], BUFFER);
	atomic_store_explicit(&w.fd, fd, memory_order_relaxed);
	w.format = format;
	w.torn = false;
	w.next = -1;
	err = async_writer_start(&w.async_writer);
	if (err) {
		close_fd();
		log_close();
		return thread_fail(e, err, "the log");
	}
	atomic_store_explicit(&w.open, true, memory_order_release);
	log_crash_catch(write_what_waits);
	out.per_second = c->per_second ? c->per_second : DEFAULT_PER_SECOND;
	out.clock = c->clock ? c->clock : clock_now;
	log_set_level(c->level);
	if (!at_exit)
		at_exit = !atexit(log_close);
	return 0;
}

int log_reopen(struct cr_err *e)
{
	int fd;

	if (!out.path)
		return 0;
	fd = open_log_file(out.path, e);
	if (fd < 0)
		return fd;
	(void)pthread_mutex_lock(&w.lock);
	if (w.next >= 0) /* of an earlier call, not yet used */
		(void)close(w.next);
	w.next = fd;
	async_writer_reopen(&w.async_writer);
	(void)pthread_mutex_unlock(&w.lock);
	return 0;
}

void log_close(void)
{
	if (log_writer_is_open()) {
		(void)async_writer_flush(&w.async_writer, CLOSE_LIMIT);
		/* a thread that is stuck in a write ends, too */
		if (async_writer_stop(&w.async_writer, END_LIMIT) !=
		    ASYNC_WRITER_LEFT)
			close_fd();
		log_crash_catch(NULL);
		atomic_store_explicit(&w.open, false, memory_order_release);
	}
	free(out.path);
	out.path = NULL;
	out.format = LOG_TEXT;
}

void log_set_level(enum log_level level)
{
	atomic_store_explicit(&out.level, (int)level, memory_order_relaxed);
}

bool log_wants(enum log_level level)
{
	return (int)level <=
	       atomic_load_explicit(&out.level, memory_order_relaxed);
}

/* May @site write another line in this second? Threads that race at the turn
 * of a second may write a line more than the limit. */
static bool site_may_write(struct log_site *site)
{
	int64_t now = out.clock() / CR_SEC + 1; /* 0 is "never" */
	int64_t seen =
		atomic_load_explicit(&site->second, memory_order_relaxed);

	if (seen != now && atomic_compare_exchange_strong_explicit(
				   &site->second, &seen, now,
				   memory_order_relaxed, memory_order_relaxed))
		atomic_store_explicit(&site->lines, 0, memory_order_relaxed);
	if (atomic_fetch_add_explicit(&site->lines, 1, memory_order_relaxed) <
	    out.per_second)
		return true;
	(void)atomic_fetch_add_explicit(&site->suppressed, 1,
					memory_order_relaxed);
	(void)atomic_fetch_add_explicit(&suppressed_lines, 1,
					memory_order_relaxed);
	return false;
}

void log_write(struct log_site *site, enum log_level level, const char *event,
	       const struct log_field *fields)
{
	struct log_line l;
	unsigned suppressed;

	if (!site_may_write(site))
		return;
	log_line_begin(&l, out.format, level, event);
	suppressed = atomic_exchange_explicit(&site->suppressed, 0,
					      memory_order_relaxed);
	if (suppressed)
		log_line_add(&l, LOG_FIELDS(LOG_INT("suppressed", suppressed)));
	log_line_add(&l, fields);
	log_line_end(&l);
	if (log_writer_is_open())
		(void)async_writer_put(&w.async_writer, l.text, l.len, "");
	/* A log that cannot be written is nobody's to report to. */
	else if (write(STDERR_FILENO, l.text, l.len) < 0)
		return;
}

bool log_flush(cr_ns limit)
{
	return !log_writer_is_open() ||
	       async_writer_flush(&w.async_writer, limit);
}

void log_stats(struct log_stats *to)
{
	struct async_writer_counts c;

	*to = (struct log_stats){
		.suppressed = atomic_load_explicit(&suppressed_lines,
						   memory_order_relaxed),
	};
	if (!log_writer_is_open())
		return;
	async_writer_counts(&w.async_writer, &c);
	to->written = c.written;
	to->dropped = c.dropped;
	to->failed = c.failed;
}
