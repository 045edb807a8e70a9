/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Legs of a node: a leg (media/leg.h) with its ports at an interface, from
 * opening the sockets to closing them. Control thread.
 */
#ifndef NODE_NODE_LEG_H
#define NODE_NODE_LEG_H

#include "media/leg.h"
#include "node/interfaces.h"

struct node;
struct leg_rtcp_cfg;

struct node_leg {
	struct leg *leg; /**< owned */
	struct interface *interface;
	struct port_pair ports;
	struct node *node;
	struct rcu_later rcu;
};

/** Open a port at @i for a party of which @terms are known, and hear it; with
 * RTCP as @rtcp says, whose socket, interval and random numbers are chosen
 * here (NULL: none). 0 with *@l; -EMFILE, -ENFILE, -EADDRINUSE (no descriptor
 * or port; some descriptors are kept for control), -ENOMEM, -errno, with @e. */
int node_leg_open(struct node *n, struct interface *i,
		  const struct learn_terms *terms,
		  const struct leg_rtcp_cfg *rtcp, struct node_leg **l,
		  struct cr_err *e);

/** Hear it no more. Receivers let go of it within a grace period. */
void node_leg_leave(struct node_leg *l);

/** Close the ports and free a leg that nobody has any more. NULL is fine. Any
 * thread. */
void node_leg_free(struct node_leg *l);

/** Free one that was left, a grace period later. Nobody sends from it. */
void node_leg_free_later(struct node_leg *l);

/** Leave, and free it later. Nobody listens to it, or sends from it. */
void node_leg_discard(struct node_leg *l);

/** Is @a one of its ports, as we or others see it? */
bool node_leg_is_at(const struct node_leg *l, const struct sockaddr_storage *a);

/** Where its party sends to, as others see it: "192.0.2.1:30000". */
void node_leg_address(const struct node_leg *l, char *buf, size_t size);

#endif
