/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What all peers together hold, and who is let go when that is too much: each
 * of them may be within its own bound. Counted is what they have said (a part
 * of a message, what waits, the batch that is run) and what goes back (the
 * replies of messages that are not answered whole yet, what is queued).
 *
 * Private to src/rpc; the event base's thread.
 */
#ifndef RPC_WEIGHT_H
#define RPC_WEIGHT_H

#include "rpc/answer.h"

/** What @p holds may have changed. Over rpc_server_config.total_max those
 * that have the most are killed; @p may be among them. */
void weight_look(struct peer *p);

/** What all hold, bytes. */
size_t weight_of_all(struct rpc_server *s);

/** @p is freed. */
void weight_forget(struct peer *p);

#endif
