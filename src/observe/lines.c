/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two buffers: one is filled under the lock, while the thread writes the other.
 */
#define _GNU_SOURCE /* pthread_setname_np(), memrchr() */
#include "observe/lines.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/thread.h"
#include "observe/log.h"
#include "observe/stall.h"

/* From a file that cannot be opened again to the next try. */
#define TRY_EACH CR_SEC

struct lines {
	char *path;
	size_t size; /* of each buffer */
	pthread_t thread;

	/* the thread's; before it begins and after it has ended, control's */
	int fd;
	char *writing;
	cr_ns again; /* when to open the file; CR_NEVER: it is open */

	pthread_mutex_t lock; /* protects what follows */
	pthread_cond_t wake, over;
	char *filling;
	size_t used;   /* of @filling */
	size_t before; /* of it, what was put before reopening */
	bool reopen, stopping, ended;
	struct lines_stats stats;
};

/* --- the file --- */

/* What a crash has left: the next line must not be joined to it. */
static void end_last_line(int fd)
{
	struct stat st;
	char last = '\n';

	if (fstat(fd, &st) || !S_ISREG(st.st_mode) || !st.st_size)
		return;
	if (pread(fd, &last, 1, st.st_size - 1) == 1 && last != '\n' &&
	    write(fd, "\n", 1) < 0)
		return; /* the next write fails, too, and is told */
}

static int open_file(const char *path, struct cr_err *e)
{
	int fd = open(path, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0640);
	int err = errno;

	if (fd < 0) /* what can be written only: a pipe, a terminal */
		fd = open(path, O_WRONLY | O_APPEND | O_CLOEXEC);
	if (fd < 0)
		return cr_fail(e, -err, "%s: cannot open: %s", path,
			       strerror(err));
	end_last_line(fd);
	return fd;
}

static uint64_t count_lines(const char *text, size_t n)
{
	uint64_t lines = 0;

	for (size_t i = 0; i < n; i++)
		lines += text[i] == '\n';
	return lines;
}

/* Take back what is not a whole line of the @n bytes at the end of the file.
 * Returns how many bytes of @text stay. */
static size_t keep_whole_lines(int fd, const char *text, size_t n)
{
	const char *last = n ? memrchr(text, '\n', n) : NULL;
	size_t keep = last ? (size_t)(last - text) + 1 : 0;
	struct stat st;

	if (keep < n && !fstat(fd, &st) && S_ISREG(st.st_mode) &&
	    ftruncate(fd, st.st_size - (off_t)(n - keep)))
		return keep; /* half a line stays: no more can be done */
	return keep;
}

/* Hand @n bytes, whole lines, to the kernel; @done: how many it has taken. 0 or
 * -errno. */
static int write_out(int fd, const char *text, size_t n, size_t *done)
{
	for (*done = 0; *done < n;) {
		ssize_t k = stall_write(fd, text + *done, n - *done);

		if (k < 0 && (errno == EINTR || errno == EAGAIN))
			continue;
		if (k < 0)
			return -errno;
		*done += (size_t)k;
	}
	return 0;
}

/* --- the thread --- */

static void write_lines(struct lines *l, const char *text, size_t n)
{
	size_t done, kept;
	int err = write_out(l->fd, text, n, &done);
	uint64_t written, all = count_lines(text, n);

	kept = err ? keep_whole_lines(l->fd, text, done) : n;
	written = count_lines(text, kept);
	if (err)
		log_event(LOG_ERROR, "lines-lost",
			  "path=\"%s\" lines=%llu why=\"%s\"", l->path,
			  (unsigned long long)(all - written), strerror(-err));
	(void)pthread_mutex_lock(&l->lock);
	l->stats.written += written;
	l->stats.failed += all - written;
	(void)pthread_mutex_unlock(&l->lock);
}

/* @asked: not of itself. */
static void open_again(struct lines *l, bool asked)
{
	struct cr_err e;
	int fd = open_file(l->path, &e);

	l->again = fd < 0 ? clock_now() + TRY_EACH : CR_NEVER;
	if (fd < 0) {
		if (asked)
			log_event(LOG_ERROR, "not-reopened", "why=\"%s\"",
				  e.text);
		return;
	}
	(void)close(l->fd);
	l->fd = fd;
	log_event(LOG_INFO, "reopened", "path=\"%s\"", l->path);
	(void)pthread_mutex_lock(&l->lock);
	l->stats.reopened++;
	(void)pthread_mutex_unlock(&l->lock);
}

/* What the thread has to do next. */
struct errand {
	size_t bytes;  /* of l->writing */
	size_t before; /* of them, for the old file */
	bool reopen, asked, stop;
};

static struct timespec timespec_of(cr_ns t)
{
	return (struct timespec){ .tv_sec = (time_t)(t / CR_SEC),
				  .tv_nsec = (long)(t % CR_SEC) };
}

/* Under the lock. */
static void sleep_until_woken(struct lines *l)
{
	const struct timespec end = timespec_of(l->again);

	if (l->again == CR_NEVER)
		(void)pthread_cond_wait(&l->wake, &l->lock);
	else
		(void)pthread_cond_timedwait(&l->wake, &l->lock, &end);
}

static struct errand wait_for_errand(struct lines *l)
{
	struct errand todo;
	char *full;

	(void)pthread_mutex_lock(&l->lock);
	while (!l->used && !l->reopen && !l->stopping && clock_now() < l->again)
		sleep_until_woken(l);
	todo = (struct errand){
		.bytes = l->used,
		.before = l->reopen ? l->before : l->used,
		.reopen = l->reopen || clock_now() >= l->again,
		.asked = l->reopen,
		.stop = l->stopping,
	};
	full = l->filling;
	l->filling = l->writing;
	l->writing = full;
	l->used = 0;
	l->reopen = false;
	(void)pthread_mutex_unlock(&l->lock);
	return todo;
}

static void *write_thread(void *arg)
{
	struct lines *l = arg;
	struct errand todo;

	stall_begin();
	(void)pthread_setname_np(pthread_self(), "cr-lines");
	do {
		todo = wait_for_errand(l);
		if (todo.before)
			write_lines(l, l->writing, todo.before);
		if (todo.reopen)
			open_again(l, todo.asked);
		if (todo.bytes > todo.before)
			write_lines(l, l->writing + todo.before,
				    todo.bytes - todo.before);
	} while (!todo.stop);
	(void)pthread_mutex_lock(&l->lock);
	l->ended = true;
	(void)pthread_cond_signal(&l->over);
	(void)pthread_mutex_unlock(&l->lock);
	return NULL;
}

/* --- others --- */

bool lines_put(struct lines *l, const char *text)
{
	size_t n = strlen(text);
	bool room;

	(void)pthread_mutex_lock(&l->lock);
	room = n < l->size - l->used;
	if (room) {
		memcpy(l->filling + l->used, text, n);
		l->filling[l->used + n] = '\n';
		if (!l->used)
			(void)pthread_cond_signal(&l->wake);
		l->used += n + 1;
	} else {
		l->stats.dropped++;
	}
	(void)pthread_mutex_unlock(&l->lock);
	return room;
}

void lines_reopen(struct lines *l)
{
	(void)pthread_mutex_lock(&l->lock);
	l->reopen = true;
	l->before = l->used;
	(void)pthread_cond_signal(&l->wake);
	(void)pthread_mutex_unlock(&l->lock);
}

void lines_stats(struct lines *l, struct lines_stats *out)
{
	(void)pthread_mutex_lock(&l->lock);
	*out = l->stats;
	(void)pthread_mutex_unlock(&l->lock);
}

static void free_all(struct lines *l)
{
	if (l->fd >= 0)
		(void)close(l->fd);
	(void)pthread_cond_destroy(&l->wake);
	(void)pthread_cond_destroy(&l->over);
	(void)pthread_mutex_destroy(&l->lock);
	free(l->filling);
	free(l->writing);
	free(l->path);
	free(l);
}

static int start(struct lines *l, const char *path, size_t bytes,
		 struct cr_err *e)
{
	int err;

	l->path = strdup(path);
	l->filling = malloc(bytes);
	l->writing = malloc(bytes);
	if (!l->path || !l->filling || !l->writing)
		return cr_fail(e, -ENOMEM, "out of memory for %s", path);
	l->size = bytes;
	l->fd = open_file(path, e);
	if (l->fd < 0)
		return l->fd;
	err = pthread_create(&l->thread, NULL, write_thread, l);
	return err ? thread_fail(e, -err, path) : 0;
}

int lines_open(struct lines **out, const char *path, size_t bytes,
	       struct cr_err *e)
{
	struct lines *l = calloc(1, sizeof(*l));
	pthread_condattr_t monotonic;
	int err;

	if (!l)
		return cr_fail(e, -ENOMEM, "out of memory for %s", path);
	l->fd = -1;
	l->again = CR_NEVER;
	(void)pthread_mutex_init(&l->lock, NULL);
	(void)pthread_condattr_init(&monotonic);
	(void)pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	(void)pthread_cond_init(&l->wake, &monotonic);
	(void)pthread_cond_init(&l->over, &monotonic);
	(void)pthread_condattr_destroy(&monotonic);
	err = start(l, path, bytes, e);
	if (err) {
		free_all(l);
		return err;
	}
	*out = l;
	return 0;
}

/* Has the thread written all there was? */
static bool has_ended(struct lines *l, cr_ns limit)
{
	const struct timespec end = timespec_of(clock_now() + limit);
	bool ended;

	(void)pthread_mutex_lock(&l->lock);
	l->stopping = true;
	(void)pthread_cond_signal(&l->wake);
	while (!l->ended &&
	       pthread_cond_timedwait(&l->over, &l->lock, &end) != ETIMEDOUT)
		;
	ended = l->ended;
	(void)pthread_mutex_unlock(&l->lock);
	return ended;
}

void lines_close(struct lines *l, cr_ns limit)
{
	bool ended;

	if (!l)
		return;
	ended = has_ended(l, limit);
	if (!ended)
		log_event(
			LOG_ERROR, "lines-lost",
			"path=\"%s\" why=\"its disk or reader is stuck at the "
			"end\"",
			l->path);
	if (stall_join(l->thread, ended))
		free_all(l);
}
