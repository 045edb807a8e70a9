/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The server's state, shared by server.c (associations and queues) and
 * answer.c (messages and methods). Private to the two; the event base's
 * thread.
 */
#ifndef RPC_ANSWER_H
#define RPC_ANSWER_H

#include "rpc/server.h"
#include "transport/msgqueue.h"

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
	cr_ns heard;	  /**< when it last said something */
	struct inbox in;
	struct outbox out;
	size_t weight;		      /**< bytes of it in server->weight */
	LIST_HEAD(, replies) replies; /**< that are not all there */
	unsigned nlater;	      /**< of them, to come later */
	/* what it has said and was not run yet */
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
	TAILQ_HEAD(, peer) peers; /**< silent for longest first */
	TAILQ_HEAD(, peer) going;
	bool closing;		 /**< nobody comes any more */
	size_t npeers, nsockets; /**< of these, by Unix sockets */
	uint64_t last_id;
	struct rpc_stats
		count; /**< transport and associations are the reader's */

	size_t weight;		  /**< of all peers, as of their last look */
	TAILQ_HEAD(, peer) turns; /**< those with something to run */
	struct event *turn;

	/* the request whose method runs; answer.c's */
	struct replies *asked;
	const json_t *asked_id;
	struct rpc_noted noted;
	size_t nlater; /**< requests that wait for rpc_later_reply() */
};

/** Free those that have gone. */
void peers_reap(struct rpc_server *s);

/** Send a reply; ends the association when @p does not read. */
void peer_reply(struct peer *p, const char *text, size_t bytes);

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

/** What the replies to @p take that wait for others of their message, and what
 * those will take at least that are to come, bytes. Not of a single request
 * that is just run: who asks for the sum should not find himself. */
size_t replies_weight(const struct peer *p);

/** @p goes: what there is for it is dropped, what comes later too. */
void replies_forget(struct peer *p);

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
 */

/** 0, or -ENOMEM with @e. */
int fair_queue_open(struct rpc_server *s, struct cr_err *e);
void fair_queue_close(struct rpc_server *s);

/** A whole message of @p; @text NULL: it was too long. May mark @p as gone. */
void fair_queue_take(struct peer *p, const char *text, size_t bytes);

/** Has everything been run that @p has sent? */
bool fair_queue_idle(const struct peer *p);

/** Free those that have gone, though nothing is heard of any peer. */
void fair_queue_reap_soon(struct rpc_server *s);

/** Drop what @p has sent and has not been run. */
void fair_queue_drop(struct peer *p);

/** What @p holds may have changed. Over rpc_server_config.total_max those
 * that have the most are killed; @p may be among them. */
void weight_look(struct peer *p);

#endif
