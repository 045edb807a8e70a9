/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What all peers together have queued, in both directions, and who is let go
 * when that is too much: each of them may be within its own bound.
 *
 * Private to src/rpc; the event base's thread.
 */
#ifndef RPC_WEIGHT_H
#define RPC_WEIGHT_H

#include "rpc/answer.h"

/** What @p has queued may have changed. Over rpc_server_config.total_max those
 * that have the most are killed; @p may be among them. */
void weight_look(struct peer *p);

/** What all have queued, bytes. */
size_t weight_of_all(struct rpc_server *s);

/** @p is freed. */
void weight_forget(struct peer *p);

#endif
