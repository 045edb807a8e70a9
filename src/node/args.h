/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading the parameters of a request: typed, bounded, with errors that name
 * the member and the way out ("out.codec: unknown 'amrr'; did you mean
 * 'amr'?"). The first error sticks; later reads return their defaults.
 */
#ifndef NODE_ARGS_H
#define NODE_ARGS_H

#include <jansson.h>
#include <stdbool.h>

#include "cr/codec.h"
#include "cr/error.h"
#include "cr/time.h"

/** A JSON object under inspection. Start with args_of(). */
struct args {
	const json_t *object; /**< NULL: every member has its default */
	const char *path;     /**< "", "in.", "out."                  */
	struct cr_err *err;
	bool failed;
};

/** Inspect @object (NULL or JSON null: empty); @known lists every member it
 * may have, NULL-terminated. @err must outlive the result. */
struct args args_of(const json_t *object, const char *path,
		    const char *const *known, struct cr_err *err);

/** A member, or the default. Strings are borrowed from the object. */
const char *args_string(struct args *a, const char *key, const char *dflt);
int64_t args_int(struct args *a, const char *key, int64_t min, int64_t max,
		 int64_t dflt);
bool args_bool(struct args *a, const char *key, bool dflt);
/** "20ms", "1.5s", or a bare number of milliseconds. */
cr_ns args_time(struct args *a, const char *key, cr_ns min, cr_ns max,
		cr_ns dflt);
/** "50/s", or a bare number per second; from 0.001 to 100000. Per second *
 * 10^6. */
int64_t args_rate(struct args *a, const char *key, int64_t dflt);
/** Index of the member in @names (NULL-terminated), or @dflt. */
int args_enum(struct args *a, const char *key, const char *const *names,
	      int dflt);
/** Index of the mode of @codec that the member "mode" names, or its default. */
unsigned args_mode(struct args *a, const struct cr_codec *codec);
/** The member as it is, or NULL. */
const json_t *args_member(const struct args *a, const char *key);
bool args_has(const struct args *a, const char *key);
/** Is it there, and JSON null? */
bool args_null(const struct args *a, const char *key);

/** Report that the member @key is no good: always returns -EINVAL. */
__attribute__((format(printf, 3, 4))) int args_fail(struct args *a,
						    const char *key,
						    const char *fmt, ...);

#endif
