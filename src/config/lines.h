/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The lines of a file of options:
 *
 *     # a comment: a line of its own, so that values may have a '#'
 *     name = value
 *     name = "value"       to keep blanks at its ends, or to have none
 *
 * The '=' is needed: a line that lacks it is a slip to be told of. UTF-8, with
 * or without a byte order mark; lines end with LF, CR LF, or the file. What is
 * between quotation marks is taken as it is; there are no escapes.
 *
 * Pure.
 */
#ifndef CONFIG_LINES_H
#define CONFIG_LINES_H

#include <stdbool.h>
#include <stddef.h>

#include "cr/error.h"

/** Bytes that a line may have. */
#define CONFIG_LINE 4096u

/** Where we are in a text: set text and size. */
struct config_lines {
	char *text; /**< what is left of it; written to */
	size_t size;
	unsigned line; /**< number of the last one, from 1 */
	bool over;     /**< it is no text: nothing more is told of it */
};

/**
 * Go on to the next line that says something, or is wrong. 1: *@name and
 * *@value, within the text; -EINVAL: it is wrong, and @e says why; 0: there is
 * none.
 */
int config_lines_next(struct config_lines *l, char **name, char **value,
		      struct cr_err *e);

/** Has @value to be in quotation marks? */
bool config_needs_quotes(const char *value);

/** Can a file have @value at all? Not what has control characters, is no UTF-8,
 * or is too long. */
bool config_can_hold(const char *value);

#endif
