/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The process's log: where it goes, and the rate limit.
 */
#include "observe/log.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "observe/log_journal.h"
#include "observe/log_line.h"
#include "observe/log_writer.h"

enum {
	DEFAULT_PER_SECOND = 10,
	FILE_MODE = 0640 /* it has addresses of parties, as records have */
};

/* How long the process waits at its end for the log's reader. */
#define CLOSE_LIMIT CR_SEC

const char *const log_level_names[] = { "error", "warn", "info", "debug",
					NULL };
const char *const log_format_names[] = { "auto", "text", "json", "journal",
					 NULL };

/* All but the level is set before threads start. */
static struct {
	atomic_int level; /* relaxed: a late change is no harm */
	char *path;	  /* owned; NULL: stderr */
	struct log_style style;
	unsigned per_second;
	cr_ns (*clock)(void);
} out = {
	.level = LOG_INFO,
	.style = { .format = LOG_TEXT },
	.per_second = DEFAULT_PER_SECOND,
	.clock = clock_now,
};

static atomic_uint_fast64_t suppressed_lines;

static bool use_colour(const struct log_config *c, int fd)
{
	const char *no_color = getenv("NO_COLOR");

	if (c->colour != LOG_COLOUR_AUTO)
		return c->colour == LOG_COLOUR_ALWAYS;
	return isatty(fd) && !(no_color && *no_color);
}

/* What has no reader, as a pipe may have none, is an error, not a wait. */
static int open_file(const char *path, struct cr_err *e)
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

/* Where entries go to, and how they look. */
static int open_destination(const struct log_config *c, struct log_style *style,
			    struct cr_err *e)
{
	int fd = -1;

	*style = (struct log_style){ .format = c->format };
	if (c->format == LOG_AUTO)
		style->format = LOG_TEXT;
	if (c->format == LOG_AUTO && !c->path && log_journal_has(STDERR_FILENO))
		fd = log_journal_open(c->journal, NULL);
	if (fd >= 0 || c->format == LOG_JOURNAL) {
		style->format = LOG_JOURNAL;
		return fd >= 0 ? fd : log_journal_open(c->journal, e);
	}
	fd = c->path ? open_file(c->path, e) : STDERR_FILENO;
	style->colour =
		style->format == LOG_TEXT && fd >= 0 && use_colour(c, fd);
	return fd;
}

int log_open(const struct log_config *c, struct cr_err *e)
{
	static bool at_exit;
	struct log_style style;
	int fd = open_destination(c, &style, e);
	int err;

	if (fd < 0)
		return fd;
	log_close();
	out.style = style;
	out.path = c->path ? strdup(c->path) : NULL;
	if (c->path && !out.path) {
		(void)close(fd);
		log_close();
		return cr_fail(e, -ENOMEM, "out of memory for the log's path");
	}
	err = log_writer_open(fd, &style, e);
	if (err) {
		log_close();
		return err;
	}
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
	fd = open_file(out.path, e);
	if (fd < 0)
		return fd;
	log_writer_switch(fd);
	return 0;
}

void log_close(void)
{
	log_writer_close(CLOSE_LIMIT);
	free(out.path);
	out.path = NULL;
	out.style = (struct log_style){ .format = LOG_TEXT };
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

static void put(const struct log_line *l)
{
	if (log_writer_is_open())
		log_writer_put(l->text, l->len);
	/* A log that cannot be written is nobody's to report to. */
	else if (write(STDERR_FILENO, l->text, l->len) < 0)
		return;
}

void log_write_va(struct log_site *site, enum log_level level,
		  const char *event, const char *fmt, va_list ap)
{
	struct log_line l;
	unsigned suppressed;

	if (!site_may_write(site))
		return;
	log_line_begin(&l, &out.style, level, event);
	suppressed = atomic_exchange_explicit(&site->suppressed, 0,
					      memory_order_relaxed);
	if (suppressed)
		log_line_add(&l, "suppressed=%u", suppressed);
	log_line_add_va(&l, fmt, ap);
	log_line_end(&l);
	put(&l);
}

void log_write(struct log_site *site, enum log_level level, const char *event,
	       const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	log_write_va(site, level, event, fmt, ap);
	va_end(ap);
}

bool log_flush(cr_ns limit)
{
	return !log_writer_is_open() || log_writer_flush(limit);
}

void log_stats(struct log_stats *to)
{
	*to = (struct log_stats){
		.suppressed = atomic_load_explicit(&suppressed_lines,
						   memory_order_relaxed),
	};
	log_writer_stats(to);
}
