/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The service's insides, shared by service.c and the methods only: sessions,
 * what methods have in common, and requests that are deferred.
 *
 * A method (protocol/tables/method.h) reads its parameters, asks the node, and
 * answers; every refusal says what to do about it.
 *
 * Thread rule: the event base's thread.
 */
#ifndef PROTOCOL_METHODS_H
#define PROTOCOL_METHODS_H

#include <sys/queue.h>

#include "node/node_call.h"
#include "protocol/field_json.h"
#include "protocol/service.h"
#include "protocol/tables/call_fields.h"
#include "protocol/tables/endpoint_fields.h"
#include "protocol/tables/method.h"
#include "rpc/server.h"

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
	char id[17]; /**< a resuming peer must know it: a secret, in no log */
	unsigned long long number;   /**< its name in logs */
	unsigned calls;		     /**< not yet over                       */
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
	LIST_HEAD(, deferred) deferred; /**< requests */
	struct rpc_later *takeover; /**< what waits for one; NULL: nothing */
	struct event *tick, *limit;
	bool draining, drained;
	bool final;		       /**< the drain cannot be taken back */
	cr_ns drain_end;	       /**< when the limit is over */
	unsigned long long lost;       /**< node_lost() at the last tick */
	struct passing_client *passed; /**< [npassed], of an upgrade */
	unsigned npassed;
};

extern const struct rpc_method service_methods[];

/** The session of @peer, or NULL with the reason in @err. */
struct session *session_of(struct rpc_peer *peer, struct rpc_error *err);

/** The session @id of a process that has died, whose client may come back
 * within the time of grace. NULL: out of memory, or it cannot be an id. */
struct session *session_restore(struct service *sv, const char *id);

/** Move the calls and the identity of session @id to @to, whose association
 * has just said hello. An association that still held it has no session any
 * more. False: there is no such session. */
bool session_resume(struct session *to, const char *id);

/** Refuse with @code; err->why has been filled. Always NULL. */
json_t *request_refuse(struct rpc_error *err, int code);

/** -errno of the node as a code of the protocol. */
int request_code(int err);

/** @params into the struct at @out by @table: what is missing has its default,
 * what is required is there. False, with @err: they are no good. */
bool request_read(const struct field *table, void *out, const json_t *params,
		  struct rpc_error *err);

/** A list that a method returns, in order of ids. */
struct list_kind {
	const struct field *table; /**< of a struct list_result */
	/** The first one above *@id, which is its id then; or NULL. */
	void *(*after)(struct node *n, uint32_t *id);
	void (*describe)(void *one, void *item);
};

/** The page of @kind that @params asks for. */
json_t *request_list(struct service *sv, const struct list_kind *kind,
		     const json_t *params, struct rpc_error *err);

/** Refuse what would start something while the node drains. True: it does not.
 */
bool request_begins(const struct service *sv, struct rpc_error *err);

/*
 * Requests that may have to wait until it is known what a call costs. What can
 * be refused without that has been; then they run again, as if they were asked
 * at that moment: a drain, an end of the call or other changes meanwhile count.
 *
 * A request that belongs to a session ends with it: who has gone, or said bye,
 * starts no call.
 */

struct service_request;

/** Carry @a out. Returns as a method does; if @lacks needs anything then: not
 * yet, for that has to be known first. */
typedef json_t *service_run(struct service *sv, const struct service_request *a,
			    struct node_cost_wait *lacks,
			    struct rpc_error *err);

/** A request to the service. */
struct service_request {
	service_run *run;
	const json_t *params;	 /**< all texts below are theirs */
	struct session *session; /**< NULL: nobody's */
	struct call_spec spec;
	/* call.take: instead of that, and when it came */
	struct call_state state;
	cr_ns came;
};

/** Run @a; if that has to wait, wait, and run it again. Returns as the method
 * of @peer does then. */
json_t *request_run(struct service *sv, struct rpc_peer *peer,
		    const struct service_request *a, struct rpc_error *err);

/** For what service_run returns when the node has said @ret, which is not 0. */
json_t *request_wait(int ret, struct rpc_error *err);

/** A request that waits. */
struct deferred {
	LIST_ENTRY(deferred) link;
	struct service *service;
	struct rpc_later *later;
	struct service_request asked; /**< with a reference to its params */
	struct node_cost_wait wait;
};

/** Refuse with @code and @why what waits for @s; NULL: all that waits. */
void deferred_drop(struct service *sv, const struct session *s, int code,
		   const char *why);

/** Refuse the request for a takeover that waits, if one does: the node ends. */
void takeover_drop(struct service *sv);

/** A method: see struct rpc_method; @arg is the struct service. In methods.c
 * and call_methods.c, endpoint_methods.c, convert_methods.c. */
typedef json_t *service_method(void *arg, struct rpc_peer *peer,
			       const json_t *params, struct rpc_error *err);

#define SERVICE_METHOD(id, name, kind, params, result, help)                   \
	service_method method_##id;
METHODS(SERVICE_METHOD)
#undef SERVICE_METHOD

#endif
