/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Results for people: aligned lines and tables from any JSON object.
 */
#ifndef APP_CTL_SHOW_H
#define APP_CTL_SHOW_H

#include <jansson.h>
#include <stdio.h>

/** One column of a table: where the value is in each row's object. */
struct ctl_column {
	const char *head; /**< NULL ends the table         */
	const char *path; /**< "out.codec"; absent: "-"    */
};

/** Scalars as "key: value" lines, members of objects with dotted keys; then
 * a table for each array of objects. */
void ctl_show(const json_t *result, FILE *out);

/** @rows (an array of objects) as a table of @columns. */
void ctl_table(const json_t *rows, const struct ctl_column *columns, FILE *out);

#endif
