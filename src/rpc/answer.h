/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The server's state, shared by server.c (associations and queues) and
 * answer.c (messages and methods). Private to the two.
 */
#ifndef RPC_ANSWER_H
#define RPC_ANSWER_H

#include "transport/msgqueue.h"
#include "rpc/server.h"
#include "rpc/stats.h"

enum { PEER_BUCKETS = 256, RPC_LISTENERS = 4 };

/** One transport; associations have numbers of its own. */
struct listener {
	struct rpc_server *server;
	struct transport *transport;
};

/** A batch, one member of which is run at a time. Zero: there is none. */
struct batch {
	struct replies *to;
	struct jsonrpc_doc doc;
	size_t weight; /**< of doc, bytes */
	size_t next;
};

struct message;

struct peer {
	struct rpc_peer pub; /**< first */
	char host[48];	     /**< whose it is, "192.0.2.1" or "uid=1000" */
	struct rpc_server *server;
	struct transport *transport; /**< it came by this one */
	uint32_t assoc;
	bool socket; /**< it takes a descriptor; its transport may have gone */
	unsigned pending; /**< messages whose replies are not all there */
	bool asked;	  /**< a whole message of it has come         */
	bool done;	  /**< it asks no more, and leaves after these  */
	bool said_bye;	  /**< nothing is read any more               */
	bool leaving;	  /**< bye is answered, or the server closes  */
	bool shut;	  /**< transport_shutdown() was called        */
	bool left;	  /**< it has gone, but what it said is run    */
	bool held;	  /**< transport_hold()                       */
	const char *gone; /**< reason; waits to be reaped         */
	cr_ns heard;	  /**< when it last said something; room.c's */
	struct inbox in;
	struct outbox out;
	size_t weight; /**< bytes of it in server->weight; weight.c's */
	LIST_HEAD(, replies) replies; /**< that are not all there */
	unsigned nlater;	      /**< of them, to come later */
	/* what it has said and was not run yet; turns.c's */
	struct batch batch;
	STAILQ_HEAD(, message) waiting;
	size_t waiting_bytes;
	bool in_turn;
	TAILQ_ENTRY(peer) turn;
	LIST_ENTRY(peer) chain;
	TAILQ_ENTRY(peer) all, going;
};

struct replies;

struct rpc_server {
	struct rpc_server_config cfg;
	struct listener listener[RPC_LISTENERS];
	unsigned nlisteners;
	LIST_HEAD(, peer) bucket[PEER_BUCKETS];
	TAILQ_HEAD(, peer) peers; /**< silent for longest first; room.c's */
	TAILQ_HEAD(, peer) going;
	bool closing;		 /**< nobody comes any more */
	size_t npeers, nsockets; /**< of these, by Unix sockets */
	uint64_t last_id;
	struct rpc_stats
		count; /**< transport and associations are the reader's */

	size_t weight; /**< of all peers, as of their last look; weight.c's */
	TAILQ_HEAD(, peer) turns; /**< those with something to run */
	struct event *turn;

	/* the request whose method runs; answer.c's */
	struct replies *asked;
	const json_t *asked_id;
	struct rpc_noted noted;
	size_t nlater; /**< requests that wait for rpc_later_reply() */
};

/** A whole message of @p. A single request is answered; a batch becomes
 * p->batch, which is empty. */
void answer(struct peer *p, const char *text, size_t bytes);

/** Run the next member of p->batch. After the last one there is none. */
void answer_member(struct peer *p);

/** Tell @p that its message was longer than message_max. */
void answer_too_long(struct peer *p);

/** Free those that have gone. */
void peers_reap(struct rpc_server *s);

/** Send a reply; ends the association when @p does not read. */
void peer_reply(struct peer *p, const char *text, size_t bytes);

/** Answer a message that cannot be taken apart: an error without an id. */
void peer_refuse(struct peer *p, int code, const char *why);

/** One more error reply for the statistics. */
void rpc_count_error(struct rpc_server *s, int code);

/** One message less is pending for @p. */
void peer_settled(struct peer *p);

/** A peer that has left and whose messages have all been run is gone. */
void peer_rested(struct peer *p);

/** Abort the association of @p, which is gone for @reason. */
void peer_kill(struct peer *p, const char *reason);

/** There is no memory for a reply to @p, which would wait for it: count that,
 * and abort its association. */
void peer_unanswered(struct peer *p);

/** After "bye": shut the association down once its replies are out. */
void peer_leave(struct peer *p);

#endif
