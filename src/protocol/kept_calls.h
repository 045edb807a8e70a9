/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls that outlive the process (node/restore.h), as texts: JSON of what has
 * started a call, of what has changed it, whose it is, and of the node's part;
 * of endpoints that were opened by themselves; and notes of a user of the node
 * (of NG: dialogs), which are about these.
 *
 * Control thread.
 */
#ifndef PROTOCOL_KEPT_CALLS_H
#define PROTOCOL_KEPT_CALLS_H

#include <jansson.h>

#include "node/replicate.h"
#include "node/restore.h"

struct call_spec;
struct cr_err;
struct node;
struct node_call;
struct node_cost_wait;
struct node_endpoint;
struct node_stream;
struct service;
struct service_request;

/** @c, which @spec has started, is kept, if anybody keeps calls. */
void keep_call(const struct node *n, struct node_call *c,
	       const struct call_spec *spec);
/** @ask has changed it, or an endpoint of it. */
void keep_call_change(struct node_call *c, const struct call_spec *ask);
/** @ask has changed @st itself. */
void keep_stream_change(struct node_stream *st, const struct call_spec *ask);
/** @ep, which was opened by itself, is kept as it is now. */
void keep_endpoint(struct node_endpoint *ep);

/** @c has lost its owner. */
void keep_call_owner(struct node_call *c);
/** Keep @note, whose reference is taken, as node_note_keep(): a user's, of some
 * calls or before there is one. When they go on, it gets it back
 * (service_config.noted). */
int keep_note(struct node *n, struct state_slot **slot, json_t *note);

/** The text @kept of a call or an endpoint as another node may have it: without
 * its session, whose id is a secret. To be freed; NULL: out of memory. Any
 * thread. */
char *kept_text_public(const char *kept);
/** Go on with the call that moves here by @a, for its session: *@out. If it has
 * moved here before, and was kept, it is that one. 0; -EAGAIN: not yet, @lacks
 * has to be known first; or another -errno with @e. */
int take_call(struct service *sv, const struct service_request *a,
	      struct node_cost_wait *lacks, struct node_call **out,
	      struct cr_err *e);
/** Go on with all calls and endpoints of @got, at the same ports. Returns how
 * many calls; *@dropped could not be taken. */
unsigned take_calls(struct service *sv, struct replica *got, unsigned *dropped);

/** Build what is in slot @i of the node's state: a call, an endpoint that was
 * opened by itself, or a note. drop_slot() may follow; else a call or an
 * endpoint goes on by node_move_go_on(). Its text may have changed since it had
 * @version: then 0, whether it was built or not. Else 0, or -errno with @e. */
int restore_slot(struct service *sv, unsigned i, uint64_t version,
		 struct cr_err *e);
/** See node_move_drop(). */
void drop_slot(struct service *sv, unsigned i);
/** Has slot @i a note? It is built when its calls and endpoints are. */
bool slot_is_note(const struct service *sv, unsigned i);
/** Go on with all that was kept. Calls of a session wait for its client, as if
 * the connection was lost now. -errno with @e: the node cannot be used. */
int restore_calls(struct service *sv, struct cr_err *e);

#endif
