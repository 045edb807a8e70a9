/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An entry of the log: time, level, event, values. Private to src/observe.
 *
 * Any thread: an entry is its maker's.
 */
#ifndef OBSERVE_LOG_LINE_H
#define OBSERVE_LOG_LINE_H

#include "observe/log.h"

/** Longest entry with its end, so that a pipe takes it in one piece, and
 * longest text in one; what does not fit is cut. */
enum { LOG_LINE_MAX = 4000, LOG_TEXT_MAX = 1024 };

struct log_line {
	enum log_format format; /**< LOG_TEXT, LOG_JSON, LOG_JOURNAL */
	bool cut;		/**< something did not fit */
	size_t len;
	char text[LOG_LINE_MAX];
	/** The journal's MESSAGE, as far as it is known. */
	size_t message_len;
	char message[LOG_TEXT_MAX];
};

/** Time, level and @event. */
void log_line_begin(struct log_line *l, enum log_format format,
		    enum log_level level, const char *event);

/** " key=value ...": what is in a value does no harm. @fields: NULL for none.
 */
void log_line_add(struct log_line *l, const struct log_field *fields);

/** Its end: log_line_ending(). */
void log_line_end(struct log_line *l);

/** The end of each entry of @format, which no entry has before it. */
const char *log_line_ending(enum log_format format);

#endif
