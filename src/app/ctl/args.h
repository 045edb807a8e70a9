/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Words of a command line as JSON: "out.codec=amr" and the like. Pure.
 */
#ifndef APP_CTL_ARGS_H
#define APP_CTL_ARGS_H

#include <jansson.h>

#include "cr/error.h"
#include "protocol/field.h"

/**
 * An object from @n words KEY=VALUE; dots in KEY make objects within objects.
 *
 * A VALUE that looks like a number, true, false, yes, no, an object or an
 * array is one; the rest is text, and so is all that is text in @table, the
 * method's parameters (NULL: none is known): out.mode=12.2 is "12.2", ptime=20
 * is "20", ptime_ms=20 is 20. On success returns 0 and *@object is the
 * caller's; else -EINVAL with @e naming the word.
 */
int ctl_object(json_t **object, const char *const *word, unsigned n,
	       const struct field *table, struct cr_err *e);

#endif
