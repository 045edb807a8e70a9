/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A run as JSON: how run.json begins, whichever program writes it, and what
 * its writers need. Any thread.
 */
#ifndef RUN_JSON_H
#define RUN_JSON_H

#include <stdio.h>

#include <jansson.h>

#include "campaign/campaign.h"
#include "observe/histogram.h"

/** What was run. All borrowed. */
struct run_head {
	const char *program; /**< "codec-sim" */
	const struct campaign *campaign;
	uint64_t seed;
	cr_ns duration;
	int argc; /**< the command line */
	char *const *argv;
};

/** Program, version, command, campaign (path, text, settings), seed and
 * duration, to be gone on with; owned by the caller, NULL: no memory. */
json_t *run_head_json(const struct run_head *h);

/** Add a member to @o; @value is taken over. Without memory it is left out. */
void run_put(json_t *o, const char *key, json_t *value);
void run_put_int(json_t *o, const char *key, int64_t value);

/** The same for text from outside: null when @s is NULL or no UTF-8. */
void run_put_text(json_t *o, const char *key, const char *s);

/** {"count", "mean_ns", "p50_ns", "p90_ns", "p99_ns", "p999_ns", "max_ns"}; the
 * caller owns it. NULL: no memory. */
json_t *run_histogram_json(const struct histogram *h);

/** Print @j as run.json has it, and a new line; NULL prints nothing. Errors
 * are @f's (ferror(3)). */
void run_json_print(const json_t *j, FILE *f);

#endif
