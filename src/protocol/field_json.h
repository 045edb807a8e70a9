/* SPDX-License-Identifier: Apache-2.0 */
/*
 * JSON to structs and back, by rows (base/field.h). Errors name the member and
 * the way out: "in.ptime=1s: needs a time with its unit (ns, us, ms, s) from
 * 5ms to 60ms".
 *
 * Any thread.
 */
#ifndef PROTOCOL_FIELD_JSON_H
#define PROTOCOL_FIELD_JSON_H

#include <jansson.h>

#include "base/field.h"
#include "cr/error.h"

/**
 * Read the members of @object into the struct at @out by @table. What is
 * missing keeps the value that it has there (see field_defaults()); null sets
 * its default. NULL or JSON null for @object: all are missing. Texts are
 * borrowed from @object. Returns 0, or -EINVAL with @e: not an object, an
 * unknown member (with the nearest name), a wrong type or unit, out of range, a
 * quantity given twice; @out is half written then.
 */
int field_read(const struct field *table, const json_t *object, void *out,
	       struct cr_err *e);

/** Is everything there that @table requires? 0, or -EINVAL with @e. */
int field_complete(const struct field *table, const void *in, struct cr_err *e);

/** The struct at @in as an object. NULL: out of memory. */
json_t *field_write(const struct field *table, const void *in);

/** The request at @in as an object that field_read() makes it from: what is as
 * field_defaults() has it is left out, but not in the items of a list. NULL:
 * out of memory. */
json_t *field_write_request(const struct field *table, const void *in);

#endif
