/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Options as text: "key=value,key=value" against a table (cr/option.h), and
 * back. Every function is pure and may be called by any thread.
 *
 *   int   42            time  10ms, 750us, 5.12s, 0, never
 *   bool  yes, no       ppm   97%, 0.97
 *   enum  one of the row's names
 *
 * @table may be NULL everywhere: then there are no options.
 */
#ifndef BASE_OPTIONS_H
#define BASE_OPTIONS_H

#include "cr/error.h"
#include "cr/option.h"

/** Set every option of @vals to its default. */
void options_defaults(const struct cr_opt *table, void *vals);

/**
 * Set those options of @vals that @text (may be NULL) names. All or nothing:
 * -EINVAL with @e (unknown key with the nearest valid one, bad value, out of
 * bounds, given twice) leaves @vals as it was.
 */
int options_parse(const struct cr_opt *table, void *vals, const char *text,
		  struct cr_err *e);

/** One value: *@out is @text as @row means it; -EINVAL with @e. */
int option_parse(const struct cr_opt *row, const char *text, int64_t *out,
		 struct cr_err *e);

/** Write all options as text that options_parse() reads back exactly. */
void options_format(const struct cr_opt *table, const void *vals, char *buf,
		    size_t size);

/** Write one value the same way. */
void option_format(const struct cr_opt *row, int64_t value, char *buf,
		   size_t size);

/** The value of @row in @vals. */
int64_t option_get(const struct cr_opt *row, const void *vals);

/** A row as one line of help: "quantum=TIME  a turn (10us..1s, 1ms)". */
void option_describe(const struct cr_opt *row, char *buf, size_t size);

#endif
