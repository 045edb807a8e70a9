/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Option tables: what a policy or a program lets its user set. Parsed, checked
 * and shown by src/base/field.c; this is only their shape.
 */
#ifndef CR_OPTION_H
#define CR_OPTION_H

#include <stddef.h>
#include <stdint.h>

/** How an option's value is written and shown. */
enum cr_opt_kind {
	CR_OPT_INT,  /**< 42                                   */
	CR_OPT_TIME, /**< 10ms, 750us, 5.12s; stored as ns     */
	CR_OPT_PPM,  /**< 97%, 0.97; stored as ppm             */
	CR_OPT_BOOL, /**< yes, no                              */
	CR_OPT_ENUM  /**< one of names[]; stored as the index  */
};

/** One row of an option table: command line, control protocol, campaign. */
struct cr_opt {
	const char *name; /**< NULL ends the table */
	const char *help;
	enum cr_opt_kind kind;
	size_t offset; /**< of an int64_t in the option struct */
	int64_t min, max, dflt;
	const char *const *names; /**< CR_OPT_ENUM: NULL-terminated */
};

#endif
