/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The server's state, shared by server.c (associations and queues) and
 * reply.c (messages and methods). Private to the two; the event base's
 * thread.
 */
#ifndef RPC_REPLY_H
#define RPC_REPLY_H

#include "rpc/server.h"
#include "transport/transport.h"

enum { PEER_BUCKETS = 256, RPC_LISTENERS = 4 };

/** One transport; associations have numbers of its own. */
struct listener {
	struct rpc_server *server;
	struct transport *transport;
};

struct peer {
	struct rpc_peer pub; /**< first */
	char host[48];	     /**< its owner, "192.0.2.1" or "uid=1000" */
	struct rpc_server *server;
	struct transport *transport; /**< it came by this one */
	uint32_t assoc;
	bool asked;	  /**< a whole message of it has come         */
	bool done;	  /**< it asks no more, and leaves after its replies */
	bool said_bye;	  /**< nothing is read any more               */
	bool leaving;	  /**< bye is answered, or the server closes  */
	bool held;	  /**< transport_hold()                       */
	const char *gone; /**< reason; waits to be reaped         */
	cr_ns heard;	  /**< when it last said something */
	struct inbox in;
	struct outbox out;
	size_t weight;		      /**< bytes of it in server->weight */
	LIST_HEAD(, replies) replies; /**< that are not all there */
	size_t unfinished; /**< bytes of these: what is there, and room for what
			      is to come */
	unsigned nlater;   /**< replies to come, by rpc_later() */
	LIST_ENTRY(peer) chain;
	TAILQ_ENTRY(peer) all, going;
};

struct replies;

struct rpc_server {
	struct rpc_server_config cfg;
	struct listener listener[RPC_LISTENERS];
	unsigned nlisteners;
	LIST_HEAD(, peer) bucket[PEER_BUCKETS];
	TAILQ_HEAD(peer_list, peer) peers; /**< silent for longest first */
	TAILQ_HEAD(, peer) going;
	struct event *reap; /**< of those that have gone */
	bool closing;	    /**< nobody comes any more */
	size_t npeers;
	size_t weight; /**< of all peers, as of their last look */
	uint64_t last_id;
	struct rpc_stats
		count; /**< transport and associations are the reader's */

	/* the message that is run; reply.c's */
	struct replies *asked;
	const json_t *asked_id;
	struct rpc_noted noted;
	size_t nlater; /**< requests that wait for rpc_later_reply() */
};

/** Send a reply; ends the association when @p does not read. */
void peer_reply(struct peer *p, const char *text, size_t bytes);

/** There is no memory for a reply to @p, which would wait for it: count that,
 * and abort its association. */
void peer_unanswered(struct peer *p);

/** After "bye": shut the association down once its replies are out. */
void peer_leave(struct peer *p);

/** The bytes that @p holds may have changed. Beyond rpc_server_config.queue_max
 * it is killed; over total_max those that have the most are. While 256 replies
 * to it are to come it is not read, if its transport can do that. */
void weight_look(struct peer *p);

/** Run a whole message of @p, and answer it; @text NULL: it was too long. May
 * mark @p as gone. */
void answer_message(struct peer *p, const char *text, size_t bytes);

/** @p goes: what there is for it is dropped, what comes later too. */
void replies_forget(struct peer *p);

#endif
