/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whose turn it is. A single request is answered as it comes. Of a batch one
 * member is run at a time; then the event loop has its turn, in which others
 * are heard, and the next peer with a batch. What a peer says behind its own
 * batch waits for that, and if possible it is not read meanwhile.
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
#ifndef RPC_TURNS_H
#define RPC_TURNS_H

#include "rpc/answer.h"

enum {
	/** Replies of one peer that are to come later: with so many nothing
	 * else that it says is begun. */
	LATER_MAX = 256
};

/** 0, or -ENOMEM with @e. */
int turns_open(struct rpc_server *s, struct cr_err *e);
void turns_close(struct rpc_server *s);

/** A whole message of @p; @text NULL: it was too long. May mark @p as gone. */
void turns_take(struct peer *p, const char *text, size_t bytes);

/** A reply to @p is there: what waited for that may go on. */
void turns_wake(struct peer *p);

/** Is all that @p has said run? */
bool turns_idle(const struct peer *p);

/** What @p has said and was not run is not run any more. */
void turns_drop(struct peer *p);

#endif
