/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An async_writer that has a file.
 */
#define _GNU_SOURCE /* memrchr() */
#include "observe/line_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/thread.h"
#include "observe/log.h"
#include "observe/async_writer.h"

/* From a file that cannot be opened again to the next try. */
#define TRY_EACH CR_SEC

struct lines {
	char *path;
	int fd; /* the thread's; before and after it, control's */
	struct async_writer async_writer;
	char *buffers;
	atomic_uint_fast64_t reopened;
};

/* --- the file --- */

/* End a line that a crash has cut: the next one must not be joined to it. */
static void end_last_line(int fd)
{
	struct stat st;
	char last = '\n';

	if (fstat(fd, &st) || !S_ISREG(st.st_mode) || !st.st_size)
		return;
	if (pread(fd, &last, 1, st.st_size - 1) == 1 && last != '\n' &&
	    write(fd, "\n", 1) < 0)
		return; /* the next write fails, too, and is reported */
}

static int open_line_file(const char *path, struct cr_err *e)
{
	int fd = open(path, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0640);
	int err = errno;

	if (fd < 0) /* a pipe or a terminal can be written only */
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
static int write_out_lines(int fd, const char *text, size_t n, size_t *done)
{
	for (*done = 0; *done < n;) {
		ssize_t k = cancellable_write(fd, text + *done, n - *done);

		if (k < 0 && (errno == EINTR || errno == EAGAIN))
			continue;
		if (k < 0)
			return -errno;
		*done += (size_t)k;
	}
	return 0;
}

/* --- the thread --- */

/* Is the disk full? It will have room again, sooner or later. */
static bool is_disk_full(int fd, int err)
{
	struct stat st;

	return (err == -ENOSPC || err == -EDQUOT || err == -EFBIG) &&
	       !fstat(fd, &st) && S_ISREG(st.st_mode);
}

/* Open the file that has the name now. Returns when to try again. */
static cr_ns reopen_line_file(void *arg, bool asked)
{
	struct lines *l = arg;
	struct cr_err e;
	int fd = open_line_file(l->path, &e);

	if (fd < 0) {
		if (asked)
			log_event(LOG_ERROR, "not-reopened",
				  LOG_STR("why", e.text));
		return clock_now() + TRY_EACH;
	}
	(void)close(l->fd);
	l->fd = fd;
	log_event(LOG_INFO, "reopened", LOG_STR("path", l->path));
	(void)atomic_fetch_add_explicit(&l->reopened, 1, memory_order_relaxed);
	return CR_NEVER;
}

/* Until it may be tried again. @turn: the file has to be opened again, where
 * there is room, maybe: what waits goes there. False: there is no time left. */
static bool wait_for_room(struct lines *l, bool *turn)
{
	enum async_writer_pause why =
		async_writer_pause(&l->async_writer, TRY_EACH);
	bool asked = why == ASYNC_WRITER_REOPEN;

	if (asked || *turn)
		*turn = reopen_line_file(l, asked) != CR_NEVER;
	return why != ASYNC_WRITER_STOP;
}

/* Lines that a full disk does not take wait here, and later ones in the
 * other buffer. */
static void write_lines(void *arg, const char *text, size_t n)
{
	struct lines *l = arg;
	bool full, reported = false, turn = false;
	int err;

	do {
		size_t done, kept;
		uint64_t written;

		err = write_out_lines(l->fd, text, n, &done);
		kept = err ? keep_whole_lines(l->fd, text, done) : n;
		written = count_lines(text, kept);
		async_writer_count(&l->async_writer, written, 0);
		async_writer_took(&l->async_writer, kept);
		text += kept;
		n -= kept;
		full = n && is_disk_full(l->fd, err);
		if (full && !reported)
			log_event(LOG_ERROR, "lines-wait",
				  LOG_STR("path", l->path),
				  LOG_INT("lines", count_lines(text, n)),
				  LOG_STR("why", strerror(-err)));
		reported = full;
	} while (full && wait_for_room(l, &turn));
	if (turn)
		async_writer_reopen(
			&l->async_writer); /* it could not be opened yet */
	if (!n)
		return;
	log_event(LOG_ERROR, "lines-lost", LOG_STR("path", l->path),
		  LOG_INT("lines", count_lines(text, n)),
		  LOG_STR("why", strerror(-err)));
	async_writer_count(&l->async_writer, 0, count_lines(text, n));
}

/* --- others --- */

static const struct async_writer_owner owner = {
	.thread = "cr-lines",
	.write = write_lines,
	.turn = reopen_line_file,
};

bool lines_put(struct lines *l, const char *text)
{
	return async_writer_put(&l->async_writer, text, strlen(text), "\n");
}

void lines_reopen(struct lines *l)
{
	async_writer_reopen(&l->async_writer);
}

void lines_stats(struct lines *l, struct lines_stats *out)
{
	struct async_writer_counts c;

	async_writer_counts(&l->async_writer, &c);
	*out = (struct lines_stats){
		.written = c.written,
		.dropped = c.dropped,
		.failed = c.failed,
		.reopened = atomic_load_explicit(&l->reopened,
						 memory_order_relaxed),
	};
}

static void free_all(struct lines *l)
{
	if (l->fd >= 0)
		(void)close(l->fd);
	async_writer_fini(&l->async_writer);
	free(l->buffers);
	free(l->path);
	free(l);
}

int lines_open(struct lines **out, const char *path, size_t bytes,
	       struct cr_err *e)
{
	struct lines *l = calloc(1, sizeof(*l));
	int err;

	if (!l)
		return cr_fail(e, -ENOMEM, "out of memory for %s", path);
	l->fd = -1;
	l->buffers = calloc(2, bytes);
	async_writer_init(&l->async_writer, &owner, l, l->buffers,
			  l->buffers ? l->buffers + bytes : NULL, bytes);
	l->path = strdup(path);
	if (!l->path || !l->buffers)
		err = cr_fail(e, -ENOMEM, "out of memory for %s", path);
	else
		err = l->fd = open_line_file(path, e);
	if (err >= 0) {
		err = async_writer_start(&l->async_writer);
		if (err)
			(void)thread_fail(e, err, path);
	}
	if (err) {
		free_all(l);
		return err;
	}
	*out = l;
	return 0;
}

void lines_close(struct lines *l, cr_ns limit)
{
	enum async_writer_end end;

	if (!l)
		return;
	end = async_writer_stop(&l->async_writer, limit);
	if (end != ASYNC_WRITER_WRITTEN)
		log_event(LOG_ERROR, "lines-lost", LOG_STR("path", l->path),
			  LOG_STR("why",
				  "its disk or reader is stuck at the end"));
	if (end != ASYNC_WRITER_LEFT)
		free_all(l);
}
