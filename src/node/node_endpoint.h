/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Endpoints of a node, as control has them: an endpoint (media/endpoint.h) with
 * its ports at an interface, what signalling said of it, and who has it.
 *
 * An endpoint that was opened by itself (endpoint.open) is heard from then on:
 * its party's address and SSRC are learned and the packets counted. A
 * call may have it, one after the other, until it is closed. One that a call
 * has opened ends with that.
 *
 * Control thread.
 */
#ifndef NODE_NODE_ENDPOINT_H
#define NODE_NODE_ENDPOINT_H

#include <bsd/sys/tree.h>

#include "media/endpoint.h"
#include "node/info.h"
#include "node/interfaces.h"
#include "node/requests.h"

struct node_call;
struct endpoint_rtcp_cfg;
struct node;
struct stream_cfg;

struct node_endpoint {
	struct endpoint *endpoint; /**< owned */
	struct interface *interface;
	struct port_pair ports;
	struct node *node;
	struct rcu_later rcu;
	/** Clients name it so. 0: of a call of one stream, where nobody names
	 * it; it is in no tree. */
	uint32_t id;
	RB_ENTRY(node_endpoint) by_id;
	/** As it was asked for, and has been changed since. Texts are static;
	 * the interface is no part of it. NULL: it has no id. */
	struct endpoint_spec *spec;
	void *owner; /**< the session; the user's                    */
	bool opened; /**< by itself: no call ends it         */
	bool noted;  /**< so, and a note says by whom: where that does not go
		      * on after a restore, it ends */
	/** Its state, of one that was opened by itself; or NULL. */
	struct state_slot *slot;
	bool left;		/**< it receives no more */
	struct node_call *call; /**< that has it, or NULL       */
	unsigned holders;	/**< whose streams may still use it */
};

RB_HEAD(node_endpoint_tree, node_endpoint);

/** Of a request that is about one end. */
extern const struct end_names endpoint_own_names;

/** Does @r say how a codec is used? */
bool codec_use_is_said(const struct codec_use *r);

/* --- life --- */

/** Open an endpoint at @i by @cfg, and hear its party; with RTCP as @rtcp says,
 * whose socket, interval and random numbers are chosen here (NULL: none). 0;
 * -EMFILE, -ENFILE, -EADDRINUSE (no descriptor or port; some descriptors are
 * kept for control), -ENOMEM, -errno, with @e. */
int node_endpoint_new(struct node *n, struct interface *i,
		      const struct endpoint_cfg *cfg,
		      const struct endpoint_rtcp_cfg *rtcp,
		      struct node_endpoint **out, struct cr_err *e);
/** The same by @spec, and give it an id. Also -EINVAL (what @spec says). */
int node_endpoint_open(struct node *n, const struct endpoint_spec *spec,
		       const struct end_names *names,
		       struct node_endpoint **out, struct cr_err *e);
/** The same of a call, whose slot has @state of it; NULL: nobody keeps it. */
int node_endpoint_open_kept(struct node *n, const struct endpoint_spec *spec,
			    const struct end_names *names,
			    struct state_stream *state,
			    struct node_endpoint **out, struct cr_err *e);

/** The call @c has it from now on; nobody else may have it. */
void node_endpoint_join(struct node_endpoint *ep, struct node_call *c);
/** The stream of @ep is ending: it receives no more. */
void node_endpoint_leave(struct node_endpoint *ep);
/** The last stream that had it has gone, a grace period after it was left. @ep
 * may be freed. */
void node_endpoint_release(struct node_endpoint *ep);
/** It has fed no stream: leave and release it. */
void node_endpoint_discard(struct node_endpoint *ep);

/** Close one that was opened by itself. 0; or -EBUSY with @e: a call of two
 * streams has it. */
int node_endpoint_close(struct node_endpoint *ep, struct cr_err *e);
/** Its owner has gone: close it; if a call of two streams has it, when that
 * ends. */
void node_endpoint_disown(struct node_endpoint *ep);
/** Close all that no call has. Freed a grace period later. */
void node_endpoint_close_all(struct node *n);

/* --- changes --- */

/** Apply the change @to to a copy of @ep's spec: @out. 0, or -EINVAL with @e.
 */
int node_endpoint_check_change(struct endpoint_spec *out,
			       const struct node_endpoint *ep,
			       const struct endpoint_spec *to,
			       const struct end_names *names, struct cr_err *e);
/** A new offer or answer, @to, makes @next of @ep. Its call, if there
 * is one, has taken what the party speaks. */
void node_endpoint_change(struct node_endpoint *ep,
			  const struct endpoint_spec *to,
			  const struct endpoint_spec *next);

/** Do packets that go from @ep to @signalled come back to @ep, or to @other,
 * which it sends for (NULL: nobody)? 0, or -EINVAL with @e. */
int loop_check_endpoint(const struct node_endpoint *ep,
			const struct node_endpoint *other,
			const struct sockaddr_storage *signalled,
			const struct end_names *names, struct cr_err *e);
/** Do packets of the call @cfg come back to where it is heard: at @in_endpoint,
 * or (NULL) at the shared port? 0, or -EINVAL with @e. */
int loop_check_stream(struct node *n, const struct stream_cfg *cfg,
		      const struct node_endpoint *in_endpoint,
		      struct cr_err *e);

/* --- look-up --- */

/** The one with this id, unless it is ending, or NULL. */
struct node_endpoint *node_endpoint_find(struct node *n, uint32_t id);
/** The first one with an id above @id that is not ending, or NULL: walks in
 * order of id. */
struct node_endpoint *node_endpoint_after(struct node *n, uint32_t id);
/** The first one of @owner, or NULL. */
struct node_endpoint *node_endpoint_of_owner(struct node *n, const void *owner);

/** Is @a one of its ports, as we or others see it? */
bool node_endpoint_is_at(const struct node_endpoint *ep,
			 const struct sockaddr_storage *a);
/** The address that its party sends to, from outside: "192.0.2.1:30000". */
void node_endpoint_address(const struct node_endpoint *ep, char *buf,
			   size_t size);
void node_endpoint_info(const struct node_endpoint *ep,
			struct node_endpoint_info *out);

#endif
