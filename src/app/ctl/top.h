/* SPDX-License-Identifier: Apache-2.0 */
/*
 * "codec-ctl top": the calls that stand out, shown anew every interval; keys
 * choose what they are sorted by. The server chooses the calls, so that their
 * number is none of ours.
 */
#ifndef APP_CTL_TOP_H
#define APP_CTL_TOP_H

#include <event2/event.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

#include "cr/time.h"
#include "rpc/client.h"

struct ctl_top {
	struct event_base *base;
	struct rpc_client *client;
	/** Ask @client; an exit code, and the result if it is 0. */
	int (*ask)(struct rpc_client *c, const char *method, json_t *params,
		   json_t **result);
	cr_ns interval;
	unsigned times; /**< pages; 0: until it is interrupted */
	int sort;	/**< enum node_top_key              */
	unsigned limit; /**< calls; 0: what fits            */
	bool json;	/**< lines of JSON, not pages       */
};

/** Show it until a signal or q ends it. Returns an exit code. */
int ctl_top(struct ctl_top *t);

/** Write a page of it, lines with marks (show.h). @keys: what keys do, or NULL:
 * none are read. */
void ctl_top_page(const json_t *stats, const json_t *top, const char *keys,
		  FILE *out);

#endif
