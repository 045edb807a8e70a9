/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How a line of the log looks.
 */
#include "observe/log_line.h"

#include <stdio.h>
#include <time.h>

#include "base/clock.h"

static const char *const level_words[] = { "error", "warn ", "info ", "debug" };
static const char *const level_colours[] = { "\033[31m", "\033[33m", "",
					     "\033[2m" };

static void append_va(struct log_line *l, const char *fmt, va_list ap)
{
	size_t room = sizeof(l->text) - 1 - l->len;
	int n = vsnprintf(l->text + l->len, room, fmt, ap);

	if (n > 0)
		l->len += (size_t)n < room ? (size_t)n : room - 1;
}

__attribute__((format(printf, 2, 3))) static void append(struct log_line *l,
							 const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	append_va(l, fmt, ap);
	va_end(ap);
}

static void append_time(struct log_line *l)
{
	cr_ns now = clock_read(CLOCK_REALTIME);
	time_t seconds = (time_t)(now / CR_SEC);
	struct tm tm;

	(void)gmtime_r(&seconds, &tm);
	append(l, "%04d-%02d-%02dT%02d:%02d:%02d.%03dZ ", tm.tm_year + 1900,
	       tm.tm_mon + 1, tm.tm_mday, tm.tm_hour, tm.tm_min, tm.tm_sec,
	       (int)(now % CR_SEC / CR_MS));
}

void log_line_begin(struct log_line *l, enum log_level level, bool colour,
		    const char *event)
{
	l->len = 0;
	append_time(l);
	append(l, "%s%s%s %s", colour ? level_colours[level] : "",
	       level_words[level], colour ? "\033[0m" : "", event);
}

/* What came from a peer must not forge lines or terminal escapes. */
static void disarm(struct log_line *l, size_t from)
{
	for (size_t i = from; i < l->len; i++)
		if ((unsigned char)l->text[i] < ' ' || l->text[i] == 127)
			l->text[i] = '?';
}

void log_line_add_va(struct log_line *l, const char *fmt, va_list ap)
{
	size_t from = l->len;

	append(l, " ");
	append_va(l, fmt, ap);
	disarm(l, from);
}

void log_line_add(struct log_line *l, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	log_line_add_va(l, fmt, ap);
	va_end(ap);
}

void log_line_end(struct log_line *l)
{
	if (l->text[l->len - 1] == ' ')
		l->len--;
	l->text[l->len++] = '\n';
}
