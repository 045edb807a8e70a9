/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The service's insides, shared by service.c and the methods only.
 */
#ifndef PROTOCOL_SERVICE_IMPL_H
#define PROTOCOL_SERVICE_IMPL_H

#include <sys/queue.h>

#include "protocol/service.h"

/** To an SCTP client that has not shown the key. */
#define SERVICE_KEY_NEEDED                                                     \
	"control by SCTP needs the node's key: say hello with \"key\" first "  \
	"(codec-ctl and codec-feeder: --key FILE, the node's --control-key), " \
	"or use its --control-socket"

/** The owner of calls: see service.h. */
struct session {
	LIST_ENTRY(session) link;
	struct service *service;
	struct rpc_peer *peer; /**< NULL: lost, grace time runs        */
	char id[17]; /**< what a resuming peer must know: a secret, in no log */
	unsigned long long number;   /**< what logs call it */
	unsigned calls;		     /**< not yet over (call.ended)          */
	enum node_end why;	     /**< its calls end so when grace is over */
	char last[NODE_ADDRESS_MAX]; /**< the peer that was lost        */
	struct event *grace;
	bool over; /**< grace is over: freed when its last call is      */
};

struct deferred;

struct service {
	struct service_config cfg;
	struct node *node;
	struct rpc_server *server;
	LIST_HEAD(, session) sessions;
	LIST_HEAD(, deferred) deferred; /**< requests; deferred.c's */
	struct event *tick, *limit;
	bool draining, drained;
	bool final;		 /**< the drain cannot be taken back */
	cr_ns drain_end;	 /**< when the limit is over */
	unsigned long long lost; /**< node_lost() at the last tick */
};

extern const struct rpc_method service_methods[];

/** The session of @peer, or NULL with the reason in @err. */
struct session *session_of(struct rpc_peer *peer, struct rpc_error *err);

/** Move the calls and the identity of session @id to @to, whose association
 * has just said hello. An association that still held it has no session any
 * more. False: there is no such session. */
bool session_resume(struct session *to, const char *id);

#endif
