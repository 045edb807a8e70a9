/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An entry of the log: time, level, event, values. Private to src/observe.
 *
 * Any thread: an entry is its maker's.
 */
#ifndef OBSERVE_LOG_LINE_H
#define OBSERVE_LOG_LINE_H

#include <stdarg.h>

#include "observe/log.h"
#include "observe/log_values.h"

/** Longest entry with its end, so that a pipe takes it in one piece, and
 * longest text in one; what does not fit is cut. */
enum { LOG_LINE_MAX = 4000, LOG_TEXT_MAX = 1024 };

/** How entries look: LOG_TEXT, LOG_JSON, LOG_JOURNAL. */
struct log_style {
	enum log_format format;
	bool colour; /**< of text */
};

struct log_line {
	struct log_style style;
	bool cut; /**< something did not fit */
	size_t len;
	char text[LOG_LINE_MAX];
	/** The journal's MESSAGE, as far as it is known. */
	size_t message_len;
	char message[LOG_TEXT_MAX];
};

/** Time, level (with its colour) and @event. */
void log_line_begin(struct log_line *l, const struct log_style *style,
		    enum log_level level, const char *event);

/** " key=value ...": what is in a value does no harm. */
__attribute__((format(printf, 2, 3))) void log_line_add(struct log_line *l,
							const char *fmt, ...);
void log_line_add_va(struct log_line *l, const char *fmt, va_list ap);

/** Its end: log_line_ending(). */
void log_line_end(struct log_line *l);

/** What each entry of @format ends with, and no entry has before its end. */
const char *log_line_ending(enum log_format format);

/* --- for the formats --- */

/** Append all of @text, if @l has room for it and for @spare octets more; else
 * nothing. */
bool log_line_put(struct log_line *l, const char *text, size_t n, size_t spare);

/** "2024-05-01T12:00:00.123Z" of now, into @buf. */
enum { LOG_TIME_MAX = 96 };
void log_line_time(char buf[LOG_TIME_MAX]);

/** A line of text, or the journal's message (log_text.c). */
void log_text_begin(struct log_line *l, enum log_level level,
		    const char *event);
void log_text_value(void *line, const struct log_value *v);
void log_text_end(struct log_line *l);

/** One JSON object a line (log_json.c). */
void log_json_begin(struct log_line *l, enum log_level level,
		    const char *event);
void log_json_value(void *line, const struct log_value *v);
void log_json_end(struct log_line *l);

/** Fields of the journal's native protocol (log_journal.c). */
void log_journal_begin(struct log_line *l, enum log_level level,
		       const char *event);
void log_journal_value(void *line, const struct log_value *v);
void log_journal_end(struct log_line *l);

#endif
