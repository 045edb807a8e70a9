/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The commands of codec-ctl: from words to a request of the protocol. Pure.
 */
#ifndef APP_CTL_COMMAND_H
#define APP_CTL_COMMAND_H

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

#include "cr/error.h"
#include "cr/time.h"

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
	/** The result is a conversion: show how it goes until it is over. */
	bool follow;
};

/** What @words ask for. Returns 0, or -EINVAL with @e: unknown command (with
 * the nearest name), words missing or too many, a bad KEY=VALUE. */
int ctl_request(struct ctl_request *r, const char *const *words, unsigned n,
		struct cr_err *e);

#endif
