/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What goes back for one message, as text: of a request its reply, of a batch
 * the replies to all its members. It never grows beyond what the transport
 * takes. Room for a short error is kept for every member that has not been
 * answered yet, so that each of them is answered, whatever the others say.
 *
 * Private to src/rpc; the event base's thread.
 */
#ifndef RPC_REPLIES_H
#define RPC_REPLIES_H

#include "rpc/answer.h"

struct replies {
	struct rpc_server *server;
	struct peer *peer; /**< NULL: it has gone */
	LIST_ENTRY(replies) link;
	bool batch;
	bool bye;  /**< among the requests: the peer leaves when all are out */
	bool full; /**< one did not fit: no other member is run     */
	bool lost; /**< there was no memory for one                 */
	unsigned pending; /**< later ones, and one while methods are called */
	unsigned count;	  /**< replies that are there                       */
	char *text;	  /**< of these: "[one,two" of a batch              */
	size_t bytes, size;
	size_t reserved; /**< for those that are not there  */
	size_t max;	 /**< for all                       */
};

/** For the message @doc of @p, which @p lists. NULL: out of memory, or not even
 * the short errors fit; @p has been told. */
struct replies *replies_new(struct peer *p, const struct jsonrpc_doc *doc);

/** The reply @one (taken over) to @id (NULL: null). When it does not fit, it
 * gives way to RPC_TOO_LONG, and @to is full. */
void replies_add(struct replies *to, const json_t *id, json_t *one);

/** An error as the reply to @id; counts it. @details is taken over. */
void replies_refuse(struct replies *to, const json_t *id, int code,
		    const char *message, json_t *details);

/** One that was pending is there. The last one sends them all, if the peer is
 * still there, and frees @to. A peer that would wait in vain for one that is
 * lost is cut off instead. */
void replies_settle(struct replies *to);

/** What the replies to @p take that wait for others of their message, and what
 * those will take at least that are to come, bytes. Not of a single request
 * that is just run: who asks for the sum should not find himself. */
size_t replies_weight(const struct peer *p);

/** @p goes: what there is for it is dropped, what comes later too. */
void replies_forget(struct peer *p);

#endif
