/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Results for people: aligned lines and tables from any JSON object.
 */
#ifndef APP_CTL_SHOW_H
#define APP_CTL_SHOW_H

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

#include "protocol/field.h"

/** The text at @key of @o, "-" where there is none. */
static inline const char *ctl_text(const json_t *o, const char *key)
{
	const char *s = json_string_value(json_object_get(o, key));

	return s ? s : "-";
}

/** The number at @key of @o, 0 where there is none. */
static inline double ctl_real(const json_t *o, const char *key)
{
	return json_number_value(json_object_get(o, key));
}

/** One column of a table: where the value is in each row's object. */
struct ctl_column {
	const char *path; /**< "out.codec"; absent: "-"; NULL ends the table */
	const char *head; /**< NULL: the label of a row of the protocol's */
	const struct field *table; /**< @head NULL: this row's, ...  */
	const char *member;	   /**< ... by this path; NULL: by @path */
	const char *suffix;	   /**< behind the label; may be NULL */
};

/** Scalars as "key: value" lines, members of objects with dotted keys; then
 * a table for each array of objects. */
void ctl_show(const json_t *result, FILE *out);

/** @rows (an array of objects) as a table of @columns. */
void ctl_table(const json_t *rows, const struct ctl_column *columns, FILE *out);

/** The result of call.query: who, how many frames, what was lost, and the
 * policy's own numbers with units. */
void ctl_view_call(const json_t *result, FILE *out);

/** The result of schedulers: only the one in use, with its options. */
void ctl_view_scheduler(const json_t *result, FILE *out);

/** The result of schedulers: all, with their options and how they admit. */
void ctl_view_schedulers(const json_t *result, FILE *out);

/* --- pages that replace each other on a terminal, and follow each other in a
 * file or pipe --- */

/** What a line may begin with, where it matters how it looks; on terminals
 * only, unless NO_COLOR is set, it is seen. */
enum ctl_mark { CTL_HEAD = 1, CTL_BAD, CTL_WARN };

/** Lines and columns that there are for pages; false: no terminal. */
bool ctl_page_size(unsigned *lines, unsigned *columns);

/** Show @text (lines) on standard output, in place of the page before where
 * that is a terminal; @first: there is none. 0, or -errno when it cannot be
 * written. */
int ctl_page(const char *text, bool first);

#endif
