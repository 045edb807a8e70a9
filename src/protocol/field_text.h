/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rows in words, for help and documents.
 *
 * Pure functions, any thread. All write into @buf, cut what does not fit, and
 * return it; "" where there is nothing to say.
 */
#ifndef PROTOCOL_FIELD_TEXT_H
#define PROTOCOL_FIELD_TEXT_H

#include "protocol/field.h"

/** Enough for any of these texts. */
#define FIELD_TEXT_MAX 200u

/** What a parameter may be: "whole number", "time, as \"20ms\"". */
const char *field_text_param(const struct field *f, char *buf, size_t size);

/** What a member of a result is: "number of ms", "text". */
const char *field_text_result(const struct field *f, char *buf, size_t size);

/** What a parameter's value must be within: "5..60 ms", "soft, hard". */
const char *field_text_range(const struct field *f, char *buf, size_t size);

/** What goes for a parameter that is not given: "20 ms", "the codec's"; or
 * "required". */
const char *field_text_default(const struct field *f, char *buf, size_t size);

/** The head of a column of the member at @path of @table, which has to be
 * there: "IN_CODEC" of "in.codec". Labels along the path; NULL ones are left
 * out, but the last, which is the name in upper case then. */
const char *field_text_label(const struct field *table, const char *path,
			     char *buf, size_t size);

/**
 * What field_report() calls for every row, INLINE ones too. @path: its name
 * from the outside in, as "calls[].in.codec"; of an INLINE, that of its struct.
 * @name: @path, or for a quantity, as a result has it: "contract.rate_per_s".
 * Returns whether to report its members, if it has any.
 */
typedef bool field_reporter(void *arg, const struct field *f, const char *path,
			    const char *name);

/** Report all rows of @table, in its order, without a struct. */
void field_report(const struct field *table, field_reporter *report, void *arg);

#endif
