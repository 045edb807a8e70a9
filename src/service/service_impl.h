/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The service's insides, shared by service.c and methods.c only.
 */
#ifndef SERVICE_SERVICE_IMPL_H
#define SERVICE_SERVICE_IMPL_H

#include <sys/queue.h>

#include "service/service.h"

/** Who owns calls. */
struct session {
	LIST_ENTRY(session) link;
	struct service *service;
	struct rpc_peer *peer; /**< NULL: lost, grace time runs        */
	char id[17];	       /**< what a resuming peer must know     */
	unsigned calls;	       /**< not yet freed                      */
	enum node_end why;     /**< its calls end so when grace is over */
	struct event *grace;
	bool over; /**< grace is over: freed with its last call         */
};

struct service {
	struct service_config cfg;
	struct node *node;
	struct rpc_server *server;
	LIST_HEAD(, session) sessions;
	struct event *tick, *limit;
	bool draining, drained;
	cr_ns drain_end;	 /**< when the limit is over */
	unsigned long long lost; /**< node_lost() at the last tick */
};

extern const struct rpc_method service_methods[];

/** Methods of jobs (job_methods.c). */
json_t *job_submit(void *arg, struct rpc_peer *peer, const json_t *params,
		   struct rpc_error *err);
json_t *job_query(void *arg, struct rpc_peer *peer, const json_t *params,
		  struct rpc_error *err);
json_t *job_cancel(void *arg, struct rpc_peer *peer, const json_t *params,
		   struct rpc_error *err);
json_t *job_list(void *arg, struct rpc_peer *peer, const json_t *params,
		 struct rpc_error *err);

/** Move the calls and the identity of session @id to @to, whose association
 * has just said hello. An association that still held it has no session any
 * more. False: there is no such session. */
bool session_resume(struct session *to, const char *id);

#endif
