/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The live view over HTTP:
 *
 *   GET  /           a page that draws what follows
 *   GET  /state      the node as JSON, with its histograms
 *   GET  /history    its last minutes
 *   GET  /metrics    the same for Prometheus (text format 0.0.4)
 *   GET  /healthz    200 while the process answers
 *   GET  /readyz     200 while it takes new calls, 503 when it drains
 *   POST /scheduler  {"scheduler": "edf"}; only with http_config.control
 *
 * A browser's request can be another site's doing. So the Host header must be
 * an address or "localhost" (no name that somebody can point here), and a POST
 * must say that it is JSON, which no form of another site can.
 *
 * There are so many connections at a time at most; one more waits in the
 * kernel. A host (one /64 of IPv6) may have a quarter of these, and at least
 * 16: for one more its oldest is closed. If somebody waits, and the oldest
 * connection of all is older than 5 s, that one is closed, too: nobody keeps
 * others out by holding on. Without a descriptor to accept with, it pauses.
 *
 * Thread rule: the event base's thread.
 */
#ifndef HTTP_HTTP_H
#define HTTP_HTTP_H

#include <stdbool.h>

#include "ng/ng_service.h"
#include "protocol/service.h"

struct http;

struct http_config {
	struct event_base *base;
	struct notify *store; /**< holds its listening socket, and may have that
				   of a former process; or NULL */
	struct service *service; /**< outlives it                    */
	struct ng_service *ng;	 /**< the same; NULL: none           */
	const char *address;	 /**< "127.0.0.1:8080"; port 0: any  */
	unsigned connections;	 /**< at a time, at most, and of all
				      descriptors a quarter          */
	bool control;		 /**< POST /scheduler is allowed     */
};

/** Listen. 0, or -EINVAL (address), -EADDRINUSE, -ENOMEM, ... with @e. */
int http_open(struct http **h, const struct http_config *cfg, struct cr_err *e);
void http_close(struct http *h); /**< NULL is fine */
/** Answer what has been accepted, for at most @limit: no more is accepted until
 * the event base goes on. NULL is fine. */
void http_finish(struct http *h, cr_ns limit);

/** From now on POST /scheduler is allowed, or not. */
void http_allow_control(struct http *h, bool allowed);

/** Its address: "127.0.0.1:8080". */
void http_local(const struct http *h, char *buf, size_t size);

#endif
