/* SPDX-License-Identifier: Apache-2.0 */
/*
 * "codec-ctl watch": a page of rates, anew every interval.
 */
#ifndef APP_CTL_WATCH_H
#define APP_CTL_WATCH_H

#include <event2/event.h>
#include <jansson.h>
#include <stdbool.h>

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

#endif
