/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A line of the log: time, level, event, values. Private to src/observe.
 *
 * Any thread: a line is its maker's.
 */
#ifndef OBSERVE_LOG_LINE_H
#define OBSERVE_LOG_LINE_H

#include <stdarg.h>

#include "observe/log.h"

/** Longest line with its newline; what does not fit is cut. */
enum { LOG_LINE_MAX = 1024 };

struct log_line {
	char text[LOG_LINE_MAX];
	size_t len; /**< at most sizeof(text) - 2 until it is ended */
};

/** Time, level (with its colour, if @colour) and @event. */
void log_line_begin(struct log_line *l, enum log_level level, bool colour,
		    const char *event);

/** " key=value ...": control characters become '?'. */
__attribute__((format(printf, 2, 3))) void log_line_add(struct log_line *l,
							const char *fmt, ...);
void log_line_add_va(struct log_line *l, const char *fmt, va_list ap);

/** The newline. */
void log_line_end(struct log_line *l);

#endif
