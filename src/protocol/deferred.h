/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Requests that wait until it is known what a call costs. What can be refused
 * without that has been; then the method is run again, as if it were asked at
 * that moment: a drain, an end of the call or other changes meanwhile count.
 *
 * A request that belongs to a session ends with it: who has gone, or said bye,
 * starts no call.
 *
 * Thread rule: the event base's thread.
 */
#ifndef PROTOCOL_DEFERRED_H
#define PROTOCOL_DEFERRED_H

#include "node/conversation.h"
#include "node/cost_needs.h"
#include "protocol/service_impl.h"

/** A method for the second time; it does not wait again. */
typedef json_t *deferred_run(struct service *sv, struct session *s,
			     const json_t *params, struct rpc_error *err);

/** A change of codecs: what it comes to is @plan. Returns as a method does;
 * *@wait: it has to be known what @plan costs. */
typedef json_t *deferred_change(struct service *sv, const json_t *params,
				struct conversation_plan *plan, bool *wait,
				struct rpc_error *err);

/** What waits. */
struct deferred {
	LIST_ENTRY(deferred) link;
	struct service *service;
	struct session *session; /**< NULL: nobody's */
	struct rpc_later *later;
	json_t *params;
	deferred_run *run;
	deferred_change *change; /**< if @run is NULL */
	struct cost_needs needs;
};

/** Wait for the costs of @cfg[@n], one or two, then run @run with @s and
 * @params and answer with its result. Returns NULL, as the method of @peer does
 * then; @err says whether that worked. */
json_t *deferred_begin(struct service *sv, struct rpc_peer *peer,
		       struct session *s, const json_t *params,
		       const struct call_cfg *cfg, unsigned n,
		       deferred_run *run, struct rpc_error *err);

/** Change; if that has to wait, wait, and change as if it were asked for at
 * that moment. Nobody's. Returns as the method of @peer does then. */
json_t *deferred_begin_change(struct service *sv, struct rpc_peer *peer,
			      const json_t *params, deferred_change *change,
			      struct rpc_error *err);

/** Refuse with @code and @why what waits for @s; NULL: all that waits. */
void deferred_drop(struct service *sv, const struct session *s, int code,
		   const char *why);

#endif
