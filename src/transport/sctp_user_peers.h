/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The UDP addresses that usrsctp talks to, as small numbers ("slots").
 *
 * usrsctp knows a peer by an opaque AF_CONN address that has to be registered
 * and is looked up in a list, so slots are few, registered once and reused:
 * a slot with no association may be taken over when enough of them are idle.
 * One table per process, like usrsctp's own state; its thread's only.
 */
#ifndef TRANSPORT_SCTP_USER_PEERS_H
#define TRANSPORT_SCTP_USER_PEERS_H

#include <sys/queue.h>

#include "transport/ops.h"

enum {
	PEERS_MAX = 4096,     /**< slots in all: addresses with associations */
	PEERS_IDLE_MAX = 256, /**< without one, before the oldest is reused  */
};

struct user_peer {
	unsigned slot; /**< from 1 */
	struct address addr;
	void *owner;   /**< its transport; NULL: free to take */
	unsigned held; /**< associations, plus 1 while connecting */
	cr_ns heard;   /**< its owner's time of the last packet  */
	LIST_ENTRY(user_peer) chain;
	TAILQ_ENTRY(user_peer) idle;
};

/** The peer of @owner at @addr, or NULL. */
struct user_peer *peers_find(const void *owner, const struct address *addr);

/** The same, made when there is none; @fresh: its slot is a new number, to be
 * registered. NULL: PEERS_MAX addresses have associations, or no memory. */
struct user_peer *peers_get(void *owner, const struct address *addr,
			    bool *fresh);

/** The peer in @slot, or NULL. */
struct user_peer *peers_at(unsigned slot);

/** Keep @p from being reused; as often as released. */
void peers_hold(struct user_peer *p);
void peers_release(struct user_peer *p);

/** @owner closes: none of its peers is held or found any more. */
void peers_disown(const void *owner);

#endif
