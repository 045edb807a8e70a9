/* SPDX-License-Identifier: Apache-2.0 */
/*
 * "codec-ctl convert": start a conversion, show how far it is, wait for its
 * end.
 */
#ifndef APP_CTL_FOLLOW_H
#define APP_CTL_FOLLOW_H

#include <event2/event.h>
#include <jansson.h>

#include "rpc/client.h"

struct ctl_follow {
	struct event_base *base;
	struct rpc_client *client;
	/** A request; returns an exit code, has said why; takes @params. */
	int (*ask)(struct rpc_client *c, const char *method, json_t *params,
		   json_t **result);
};

/**
 * Start it with @params (taken over) and wait. SIGINT and SIGTERM cancel the
 * conversion, and its end is waited for; a second one leaves at once. Progress
 * goes to stderr if that is a terminal. Returns an exit code: 0, and *@result
 * is the conversion as it ended, the caller's; 1 when it was refused, failed or
 * cancelled, said on stderr; or what ask() said.
 */
int ctl_follow(const struct ctl_follow *f, json_t *params, json_t **result);

#endif
