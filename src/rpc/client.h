/* SPDX-License-Identifier: Apache-2.0 */
/*
 * JSON-RPC 2.0, the client's side: pipelined requests with a reply
 * callback each, and notifications. One event base's thread.
 */
#ifndef RPC_CLIENT_H
#define RPC_CLIENT_H

#include <event2/event.h>
#include <jansson.h>

#include "rpc/jsonrpc.h"
#include "transport/transport.h"
#include "cr/error.h"

struct rpc_client;

/** Reply to one request: exactly one of @result and @error is not NULL; both
 * borrowed. @error is the JSON-RPC error object, {"code": -32000, "message":
 * "connection lost"} when the association went first. */
typedef void rpc_reply_fn(void *arg, const json_t *result, const json_t *error);

struct rpc_client_config {
	struct event_base *base;
	struct transport_addr to;   /**< by its path, if it has one */
	struct transport_addr from; /**< local address; zero: chosen */
	enum transport_kind kind;   /**< of SCTP */
	cr_ns peer_timeout; /**< as in transport_config; 0: its default */
	void *arg;
	void (*up)(void *arg);
	/** The association could not be made or is lost; @reason for a person.
	 */
	void (*down)(void *arg, const char *reason);
	void (*notified)(void *arg, const char *method, const json_t *params);
};

int rpc_client_open(struct rpc_client **c, const struct rpc_client_config *cfg,
		    struct cr_err *e);
/** Close gracefully (deadline 1 s, running the base), or at once from inside
 * a callback; pending requests get "connection lost". NULL is fine. */
void rpc_client_close(struct rpc_client *c);

/** Send a request; takes over @params (may be NULL). Requests queue inside
 * until the transport takes them. Returns 0 or -errno (@reply is not called
 * then; -ENOTCONN once the client is down: close it and open another). */
int rpc_client_call(struct rpc_client *c, const char *method, json_t *params,
		    rpc_reply_fn *reply, void *arg);

/**
 * Blocking convenience for command-line tools: run the base until the reply
 * has come or @timeout_ms have passed; if this process was stopped meanwhile,
 * they begin anew. On success returns 0 and *@result is
 * owned by the caller; 1 when refused (*@error owned); -errno with @e else.
 */
int rpc_client_ask(struct rpc_client *c, const char *method, json_t *params,
		   unsigned timeout_ms, json_t **result, json_t **error,
		   struct cr_err *e);

#endif
