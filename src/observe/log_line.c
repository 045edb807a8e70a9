/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How an entry of the log looks: as text here, else as another file says.
 */
#include "observe/log_line.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"

static const char *const level_words[] = { "error", "warn ", "info ", "debug" };
static const char *const level_colours[] = { "\033[31m", "\033[33m", "",
					     "\033[2m" };

/* Text that grows; what does not fit is cut, with room left for an end. */
struct text {
	char *to;
	size_t *len;
	size_t room;
};

static void append_va(const struct text *t, const char *fmt, va_list ap)
{
	size_t room = t->room - 1 - *t->len;
	int n = vsnprintf(t->to + *t->len, room, fmt, ap);

	if (n > 0)
		*t->len += (size_t)n < room ? (size_t)n : room - 1;
}

__attribute__((format(printf, 2, 3))) static void append(const struct text *t,
							 const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	append_va(t, fmt, ap);
	va_end(ap);
}

/* The line, or the journal's message, which is the line's end. */
static struct text text_of(struct log_line *l)
{
	if (l->style.format == LOG_JOURNAL)
		return (struct text){ l->message, &l->message_len,
				      sizeof(l->message) };
	return (struct text){ l->text, &l->len, LOG_TEXT_MAX };
}

void log_line_time(char buf[LOG_TIME_MAX])
{
	cr_ns now = clock_read(CLOCK_REALTIME);
	time_t seconds = (time_t)(now / CR_SEC);
	struct tm tm;

	(void)gmtime_r(&seconds, &tm);
	(void)snprintf(buf, LOG_TIME_MAX, "%04d-%02d-%02dT%02d:%02d:%02d.%03dZ",
		       tm.tm_year + 1900, tm.tm_mon + 1, tm.tm_mday, tm.tm_hour,
		       tm.tm_min, tm.tm_sec, (int)(now % CR_SEC / CR_MS));
}

bool log_line_put(struct log_line *l, const char *text, size_t n, size_t spare)
{
	if (n + spare > sizeof(l->text) - l->len)
		return false;
	memcpy(l->text + l->len, text, n);
	l->len += n;
	return true;
}

static void begin_text(struct log_line *l, enum log_level level,
		       const char *event)
{
	bool colour = l->style.colour;
	struct text t = text_of(l);
	char time[LOG_TIME_MAX];

	log_line_time(time);
	append(&t, "%s %s%s%s %s", time, colour ? level_colours[level] : "",
	       level_words[level], colour ? "\033[0m" : "", event);
}

void log_line_begin(struct log_line *l, const struct log_style *style,
		    enum log_level level, const char *event)
{
	struct text t;

	l->style = *style;
	l->cut = false;
	l->len = l->message_len = 0;
	t = text_of(l);
	if (style->format == LOG_JSON) {
		log_json_begin(l, level, event);
	} else if (style->format == LOG_JOURNAL) {
		log_journal_begin(l, level, event);
		append(&t, "%s", event);
	} else {
		begin_text(l, level, event);
	}
}

/* What came from a peer must not forge lines or terminal escapes. */
static void disarm(char *text, size_t from, size_t to)
{
	for (size_t i = from; i < to; i++)
		if ((unsigned char)text[i] < ' ' || text[i] == 127)
			text[i] = '?';
}

static void add_text(struct log_line *l, const char *fmt, va_list ap)
{
	struct text t = text_of(l);
	size_t from = *t.len;

	append(&t, " ");
	append_va(&t, fmt, ap);
	disarm(t.to, from, *t.len);
	if (t.to[*t.len - 1] == ' ')
		--*t.len;
}

void log_line_add_va(struct log_line *l, const char *fmt, va_list ap)
{
	if (l->style.format == LOG_JSON)
		log_values_va(fmt, ap, log_json_value, l);
	else if (l->style.format == LOG_JOURNAL)
		log_values_va(fmt, ap, log_journal_value, l);
	if (l->style.format != LOG_JSON)
		add_text(l, fmt, ap);
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
	if (l->style.format == LOG_JSON)
		log_json_end(l);
	else if (l->style.format == LOG_JOURNAL)
		log_journal_end(l);
	else
		(void)log_line_put(l, "\n", 1, 0);
}

const char *log_line_ending(enum log_format format)
{
	return format == LOG_JOURNAL ? "\n\n" : "\n";
}
