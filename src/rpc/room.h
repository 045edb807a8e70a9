/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Room for one more peer where there are as many as there may be: who would
 * miss nothing, and has been silent for longest, makes it. So peers that may
 * have vanished, or never meant to ask anything, keep nobody else out. Who has
 * asked something by a Unix socket stays: it has not vanished.
 *
 * Thread rule: the event base's thread.
 */
#ifndef RPC_ROOM_H
#define RPC_ROOM_H

#include "rpc/answer.h"

/** @p is new: s->peers is in the order of who has been heard. */
void room_enter(struct peer *p);

/** One more stranger is there: if there are too many, who came first goes. So
 * those who fill all places leave a newcomer the time to say who it is. */
void room_bound_strangers(struct rpc_server *s);

/** A whole message of @p has come. */
void room_heard(struct peer *p);

/** Let a peer go, one that came by @t (NULL: by any), of @host (NULL: any).
 * False: each has asked
 * something of late, waits for a reply, or would miss something (peer_idle).
 * While no message is worked on. */
bool room_make(struct rpc_server *s, const struct transport *t,
	       const char *host);

#endif
