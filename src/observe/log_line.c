/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An entry of the log, of whatever format: how it looks, other files say.
 */
#include "observe/log_line.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"

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

void log_line_begin(struct log_line *l, const struct log_style *style,
		    enum log_level level, const char *event)
{
	l->style = *style;
	l->cut = false;
	l->len = l->message_len = 0;
	if (style->format == LOG_JSON)
		log_json_begin(l, level, event);
	else if (style->format == LOG_JOURNAL)
		log_journal_begin(l, level, event);
	else
		log_text_begin(l, level, event);
}

void log_line_add_va(struct log_line *l, const char *fmt, va_list ap)
{
	if (l->style.format == LOG_JSON)
		log_values_va(fmt, ap, log_json_value, l);
	else if (l->style.format == LOG_JOURNAL)
		log_values_va(fmt, ap, log_journal_value, l);
	else
		log_values_va(fmt, ap, log_text_value, l);
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
		log_text_end(l);
}

const char *log_line_ending(enum log_format format)
{
	return format == LOG_JOURNAL ? "\n\n" : "\n";
}
