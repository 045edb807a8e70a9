/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whose turn it is. A single request is answered as it comes. The members of a
 * batch are run one at a time; between two of them the event loop hears other
 * peers, and then the next peer with a batch has its turn. What a peer sends
 * behind its own batch waits for the batch. If possible it is not read before.
 *
 *            message
 *   (idle) ----------> answered: idle
 *     |  ^  batch
 *     |  +-------------------------------- last one done, nothing waits
 *     +--------> in turn: batch, waiting --+
 *                   ^ |                    | next message
 *                   | +--------------------+
 *      replies come | | too many replies are still to come
 *                  (held)
 *
 * Private to src/rpc; the event base's thread.
 */
#ifndef RPC_FAIR_QUEUE_H
#define RPC_FAIR_QUEUE_H

#include "rpc/answer.h"

enum {
	/** If this many replies to a peer are still to come, nothing else that
	 * it has sent is begun. */
	LATER_MAX = 256
};

/** 0, or -ENOMEM with @e. */
int fair_queue_open(struct rpc_server *s, struct cr_err *e);
void fair_queue_close(struct rpc_server *s);

/** A whole message of @p; @text NULL: it was too long. May mark @p as gone. */
void fair_queue_take(struct peer *p, const char *text, size_t bytes);

/** A reply to @p is there: what waited for that may go on. */
void fair_queue_wake(struct peer *p);

/** Has everything been run that @p has sent? */
bool fair_queue_idle(const struct peer *p);

/** Free those that have gone, though nothing is heard of any peer. */
void fair_queue_reap_soon(struct rpc_server *s);

/** Drop what @p has sent and has not been run. */
void fair_queue_drop(struct peer *p);

#endif
