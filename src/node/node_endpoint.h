/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Endpoints of a node: an endpoint (media/endpoint.h) with its ports at an
 * interface, from opening the sockets to closing them. Control thread.
 */
#ifndef NODE_NODE_ENDPOINT_H
#define NODE_NODE_ENDPOINT_H

#include "media/endpoint.h"
#include "node/interfaces.h"

struct node;
struct endpoint_rtcp_cfg;

struct node_endpoint {
	struct endpoint *endpoint; /**< owned */
	struct interface *interface;
	struct port_pair ports;
	struct node *node;
	struct rcu_later rcu;
};

/** Open @ep, which is zeroed memory of its own, or the first member of such, at
 * @i, for a party of which @terms are known, and hear it; with RTCP as @rtcp
 * says, whose socket, interval and random numbers are chosen here (NULL: none).
 * 0; -EMFILE, -ENFILE, -EADDRINUSE (no descriptor or port; some descriptors are
 * kept for control), -ENOMEM, -errno, with @e, and @ep is freed. */
int node_endpoint_open(struct node_endpoint *ep, struct node *n,
		       struct interface *i, const struct learn_terms *terms,
		       const struct endpoint_rtcp_cfg *rtcp, struct cr_err *e);

/** Hear it no more. Receivers let go of it within a grace period. */
void node_endpoint_leave(struct node_endpoint *ep);

/** Close the ports and free an endpoint that nobody has any more. NULL is fine.
 * Any thread. */
void node_endpoint_free(struct node_endpoint *ep);

/** Free one that was left, a grace period later. Nobody sends from it. */
void node_endpoint_free_later(struct node_endpoint *ep);

/** Leave, and free it later. Nobody listens to it, or sends from it. */
void node_endpoint_discard(struct node_endpoint *ep);

/** Is @a one of its ports, as we or others see it? */
bool node_endpoint_is_at(const struct node_endpoint *ep,
			 const struct sockaddr_storage *a);

/** The address that its party sends to, from outside: "192.0.2.1:30000". */
void node_endpoint_address(const struct node_endpoint *ep, char *buf,
			   size_t size);

#endif
