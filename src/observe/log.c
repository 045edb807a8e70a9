/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The process's log: formatting, rate limit, one write per line.
 */
#define _GNU_SOURCE /* dup3() */
#include "observe/log.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"

enum { LINE_MAX_BYTES = 1024, DEFAULT_PER_SECOND = 10 };

const char *const log_level_names[] = { "error", "warn", "info", "debug",
					NULL };

static const char *const level_words[] = { "error", "warn ", "info ", "debug" };
static const char *const level_colours[] = { "\033[31m", "\033[33m", "",
					     "\033[2m" };

/* All but the level is set before threads start. */
static struct {
	atomic_int level; /* relaxed: a late change is no harm */
	int fd;
	const char *path; /* borrowed; NULL: stderr */
	bool colour;
	unsigned per_second;
	cr_ns (*clock)(void);
} out = {
	.level = LOG_INFO,
	.fd = STDERR_FILENO,
	.per_second = DEFAULT_PER_SECOND,
	.clock = clock_now,
};

static bool use_colour(const struct log_config *c, int fd)
{
	const char *no_color = getenv("NO_COLOR");

	if (c->colour != LOG_COLOUR_AUTO)
		return c->colour == LOG_COLOUR_ALWAYS;
	return isatty(fd) && !(no_color && *no_color);
}

static int open_file(const char *path, struct cr_err *e)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
	int err = errno;

	return fd < 0 ? cr_fail(e, -err, "%s: cannot open the log: %s", path,
				strerror(err))
		      : fd;
}

int log_open(const struct log_config *c, struct cr_err *e)
{
	int fd = c->path ? open_file(c->path, e) : STDERR_FILENO;

	if (fd < 0)
		return fd;
	log_close();
	out.fd = fd;
	out.path = c->path;
	out.colour = use_colour(c, fd);
	out.per_second = c->per_second ? c->per_second : DEFAULT_PER_SECOND;
	out.clock = c->clock ? c->clock : clock_now;
	log_set_level(c->level);
	return 0;
}

/* The number stays, which other threads write to. */
int log_reopen(struct cr_err *e)
{
	int fd, err = 0;

	if (!out.path)
		return 0;
	fd = open_file(out.path, e);
	if (fd < 0)
		return fd;
	if (dup3(fd, out.fd, O_CLOEXEC) < 0)
		err = cr_fail(e, -errno, "%s: dup3: %s", out.path,
			      strerror(errno));
	(void)close(fd);
	return err;
}

void log_close(void)
{
	if (out.fd != STDERR_FILENO)
		(void)close(out.fd);
	out.fd = STDERR_FILENO;
	out.path = NULL;
	out.colour = false;
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
	return false;
}

/* A line under construction; what does not fit is cut. */
struct line {
	char text[LINE_MAX_BYTES];
	size_t len; /* at most sizeof(text) - 2: room for the newline */
};

static void append_va(struct line *l, const char *fmt, va_list ap)
{
	size_t room = sizeof(l->text) - 1 - l->len;
	int n = vsnprintf(l->text + l->len, room, fmt, ap);

	if (n > 0)
		l->len += (size_t)n < room ? (size_t)n : room - 1;
}

__attribute__((format(printf, 2, 3))) static void append(struct line *l,
							 const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	append_va(l, fmt, ap);
	va_end(ap);
}

static void append_time(struct line *l)
{
	cr_ns now = clock_read(CLOCK_REALTIME);
	time_t seconds = (time_t)(now / CR_SEC);
	struct tm tm;

	(void)gmtime_r(&seconds, &tm);
	append(l, "%04d-%02d-%02dT%02d:%02d:%02d.%03dZ ", tm.tm_year + 1900,
	       tm.tm_mon + 1, tm.tm_mday, tm.tm_hour, tm.tm_min, tm.tm_sec,
	       (int)(now % CR_SEC / CR_MS));
}

/* What came from a peer must not forge lines or terminal escapes. */
static void disarm(struct line *l, size_t from)
{
	for (size_t i = from; i < l->len; i++)
		if ((unsigned char)l->text[i] < ' ' || l->text[i] == 127)
			l->text[i] = '?';
}

void log_write(struct log_site *site, enum log_level level, const char *event,
	       const char *fmt, ...)
{
	struct line l = { .len = 0 };
	unsigned suppressed;
	size_t body;
	va_list ap;

	if (!site_may_write(site))
		return;
	append_time(&l);
	append(&l, "%s%s%s %s", out.colour ? level_colours[level] : "",
	       level_words[level], out.colour ? "\033[0m" : "", event);
	body = l.len;
	suppressed = atomic_exchange_explicit(&site->suppressed, 0,
					      memory_order_relaxed);
	if (suppressed)
		append(&l, " suppressed=%u", suppressed);
	append(&l, " ");
	va_start(ap, fmt);
	append_va(&l, fmt, ap);
	va_end(ap);
	disarm(&l, body);
	if (l.text[l.len - 1] == ' ')
		l.len--;
	l.text[l.len++] = '\n';
	/* A log that cannot be written is nobody's to report to. */
	if (write(out.fd, l.text, l.len) < 0)
		return;
}
