/* SPDX-License-Identifier: Apache-2.0 */
/*
 * "codec-ctl watch": a page of rates, anew every interval.
 */
#ifndef APP_CTL_WATCH_H
#define APP_CTL_WATCH_H

#include <event2/event.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

#include "cr/time.h"
#include "rpc/client.h"

struct ctl_watch {
	struct event_base *base;
	struct rpc_client *client;
	/** Ask @client; an exit code, and the result if it is 0. */
	int (*ask)(struct rpc_client *c, const char *method, json_t *params,
		   json_t **result);
	/** The same for all pages of call.list. */
	int (*ask_calls)(struct rpc_client *c, json_t **result);
	cr_ns interval;
	unsigned times; /**< pages; 0: until it is interrupted */
	bool json;	/**< lines of JSON, not pages       */
};

/** Show it until a signal ends it. Returns an exit code. */
int ctl_watch(struct ctl_watch *w);

/** The results of stats and call.list at one moment. */
struct ctl_sample {
	json_t *stats;
	json_t *calls; /**< the array of call.list */
};

/** Release what @s holds; it may be empty. */
void ctl_sample_free(struct ctl_sample *s);

/** Totals, workers, calls by class and codecs, and the calls that lose most:
 * what happened from @before to @now, in rates. */
void ctl_watch_page(const struct ctl_sample *before,
		    const struct ctl_sample *now, FILE *out);

#endif
