/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is wrong with options: all of it, to be told in one go.
 */
#ifndef CONFIG_FAULTS_H
#define CONFIG_FAULTS_H

#include "cr/error.h"

/** Those that are kept; the rest is counted. */
#define CONFIG_FAULTS_MAX 100u

/** Zero: none. */
struct config_faults {
	unsigned n;    /**< of text[]   */
	unsigned more; /**< beyond that */
	struct cr_err text[CONFIG_FAULTS_MAX];
};

/** Add one. Never has control characters: a file is anybody's text. */
__attribute__((format(printf, 2, 3))) void config_faults_add(
	struct config_faults *f, const char *fmt, ...);

/** Print them, a line each behind "@program: ". */
void config_faults_print(const struct config_faults *f, const char *program,
			 FILE *out);

#endif
