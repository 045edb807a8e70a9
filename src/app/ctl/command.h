/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The commands of codec-ctl: from words to a request of the protocol. Every
 * method has the command of its name ("call start" or call.start); some have
 * a shorter one, too. Pure.
 */
#ifndef APP_CTL_COMMAND_H
#define APP_CTL_COMMAND_H

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

#include "base/cli.h"
#include "cr/error.h"
#include "cr/time.h"
#include "protocol/tables/method.h"

/** One request. */
struct ctl_request {
	char method[64];
	json_t *params; /**< the caller's; NULL: none */
	/** Prints the result; NULL: ctl_show(). */
	void (*view)(const json_t *result, FILE *out);
	/** Not one request, but a table made anew this often, so many times (0:
	 * until interrupted). 0: one request. */
	cr_ns interval;
	unsigned times;
	/** With interval: of the calls that stand out. */
	bool top;
	/** No request: print this, about a method or NULL. */
	void (*print)(const struct method *about, FILE *out);
	const struct method *about;
	/** The result is a conversion: show how it goes until it is over. */
	bool follow;
};

/** The commands with what they do, for --help; ends with a NULL left. */
const struct cli_line *ctl_commands(void);

/** What @words ask for. Returns 0, or -EINVAL with @e: unknown command (with
 * the nearest name), words missing or too many, a bad KEY=VALUE. */
int ctl_request(struct ctl_request *r, const char *const *words, unsigned n,
		struct cr_err *e);

#endif
