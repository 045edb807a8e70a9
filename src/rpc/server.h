/* SPDX-License-Identifier: Apache-2.0 */
/*
 * JSON-RPC 2.0, the server's side: one message per message of a transport, one
 * association per peer, over one transport or several, one libevent thread.
 *
 * It knows framing, errors, batches, ids and associations; what methods do is
 * in the table its owner passes. The method "bye" is its own: it replies,
 * closes the association, and peer_gone() gets "bye".
 *
 * The answer to a message is never longer than transport_message_max(),
 * nor is more than one reply made beyond that. A reply that does not fit gives
 * way to RPC_TOO_LONG: its request has been run. In a batch the members behind
 * it are not run, notifications neither; those with an id are refused with
 * RPC_NOT_RUN. So every request of a batch is answered, and a client knows
 * what it has to ask again. Long lists should be paged.
 *
 * A message is run as it comes, a batch to its end: what that takes is bounded
 * by the length of a message, of a reply and of a batch. A peer for whom more
 * waits than its bound is disconnected. While 256 replies to it are to come
 * (rpc_later()) it is not read, if its transport can do that.
 *
 * All of it runs on the event base's thread.
 */
#ifndef RPC_SERVER_H
#define RPC_SERVER_H

#include <stdint.h>

#include <event2/event.h>
#include <jansson.h>

#include "cr/error.h"
#include "cr/time.h"
#include "rpc/jsonrpc.h"
#include "transport/transport.h"

enum { RPC_ERROR_KINDS = 16 };

struct rpc_error_count {
	int code; /**< enum rpc_code */
	uint64_t count;
};

struct rpc_stats {
	const char *transport; /**< static */
	unsigned associations;
	uint64_t messages_in, messages_out, requests, notifications;
	uint64_t notifications_dropped, replies_lost, slow_peers;
	uint64_t peers_refused;
	uint64_t peers_silent;	/**< cut off to make room for another one */
	uint64_t peers_crowded; /**< cut off, as all together had too much */
	uint64_t queued; /**< bytes that wait for peers or of them, now; of
			      unfinished messages and replies, too         */
	/** By code, in order of first use; the last entry takes the rest. */
	struct rpc_error_count errors[RPC_ERROR_KINDS];
	unsigned nerrors;
};

struct rpc_server;

/** One association. Zero-initialised private memory for the owner. */
struct rpc_peer {
	struct rpc_server *server;
	uint64_t id;	       /**< unique over the server's life     */
	char address[64];      /**< "127.0.0.1:40100", for logs      */
	const char *transport; /**< how it came: transport_name()  */
	void *owner;	       /**< the owner's state of this peer    */
	/** The owner's word: it has not shown yet who it is. Then it may be let
	 * go for others, whatever it says. */
	bool stranger;
};

/** An error reply; @code as enum rpc_code. code 0: none. */
struct rpc_error {
	int code;
	struct cr_err why;
	json_t *data; /**< owned; may be NULL */
	bool later;   /**< rpc_later()'s: neither result nor error yet */
};

/** Longest text of a request's parameters, "call=7 out.codec=amr", bytes. */
enum { RPC_WHAT_MAX = 240 };

struct rpc_method;

/** A request whose method changes something, for the log of changes. */
struct rpc_noted {
	const struct rpc_method *method; /**< NULL: none of these */
	char peer[64];
	char what[RPC_WHAT_MAX];
};

/** One method. Return the result (owned by the caller), or NULL with @err, or
 * NULL after rpc_later(). */
struct rpc_method {
	const char *name, *help;
	json_t *(*handle)(void *arg, struct rpc_peer *peer,
			  const json_t *params, struct rpc_error *err);
	bool changes; /**< something: answered() is called */
};

/** A request that is answered later. */
struct rpc_later;

/** For a method that cannot answer at once: it returns NULL after this, and
 * rpc_later_reply() answers for it. NULL, with @err: out of memory. */
struct rpc_later *rpc_later(struct rpc_peer *peer, struct rpc_error *err);

/** From here on a result for rpc_later_reply() is built: memory that was short
 * before is none of its business. */
void rpc_later_begin(void);

/** Answer and free @later: with @result (taken over), or NULL with @err. Once,
 * and before the server closes; to a peer that has gone, nothing is sent.
 */
void rpc_later_reply(struct rpc_later *later, json_t *result,
		     struct rpc_error *err);

/** Most peers at a time. */
enum { RPC_PEERS_USUAL = 1000 };

struct rpc_server_config {
	struct event_base *base;
	struct transport_addr listen; /**< no host, no path: nowhere yet      */
	enum transport_kind kind;     /**< auto, kernel, user, unix           */
	const struct rpc_method *methods; /**< ends with name NULL           */
	void *arg;
	/** An association came up / has gone (for good: RESTART is gone + up).
	 * @reason: "bye", "shutdown", "lost", "restart", "not reading" (what
	 * waits for it passed queue_max), "flooding" (its unfinished requests
	 * did), "crowded" (all peers' together passed total_max, and it had
	 * the most), "silent" (it made room) or "out of memory" (for a reply to
	 * it). The callbacks may notify any peer, but not close the server. May
	 * be NULL. peer_up() returns false where there is no memory for the
	 * owner's state: peers get a reason and are disconnected. */
	bool (*peer_up)(void *arg, struct rpc_peer *peer);
	void (*peer_gone)(void *arg, struct rpc_peer *peer, const char *reason);
	/** May @peer have @method run, "bye" aside? False, with @err: it is
	 * refused. NULL: all may. */
	bool (*may)(void *arg, const struct rpc_peer *peer, const char *method,
		    struct rpc_error *err);
	/** A request that changes something was done, with @result, or was not,
	 * with @err; by a peer that may have gone. NULL is fine. */
	void (*answered)(void *arg, const struct rpc_noted *noted,
			 const json_t *result, const struct rpc_error *err);
	/** Would @peer miss nothing if it were let go? NULL: it would. */
	bool (*peer_idle)(void *arg, const struct rpc_peer *peer);
	cr_ns peer_timeout;   /**< as in transport_config; 0: its default */
	struct notify *store; /**< the same; or NULL */
	size_t message_max;   /**< longest request, bytes; 0: 64 KiB */
	/** Most peers at a time, over all transports; 0: RPC_PEERS_USUAL. For
	 * the next one an idle peer makes room that has said nothing for
	 * @silence (0: 5 s); else it gets an error and is disconnected. */
	size_t peers_max;
	/** Of these, most by Unix sockets, where each takes a descriptor; 0:
	 * descriptors_for_control() as of now. */
	size_t sockets_max;
	/** And most by SCTP; 0: as many. So there are places left for those of
	 * the Unix socket, whom the system has let in. */
	size_t sctp_max;
	/** Of the places of its way a host has half at most: an address, or a
	 * /64 of IPv6; by the Unix socket a user. */
	bool halves;
	cr_ns silence;
	/** Bytes that a peer may hold; 0: 8 MiB: those that wait for it as it
	 * does not read, its unfinished message, and its requests that are to
	 * be answered later. Over it the association ends; notifications are
	 * dropped when half of it waits. */
	size_t queue_max;
	/** Bytes that all peers may hold together; 0: 64 MiB. Over it the peer
	 * that has the most is let go, then the next one, until the rest fits.
	 */
	size_t total_max;
};

int rpc_server_open(struct rpc_server **s, const struct rpc_server_config *cfg,
		    struct cr_err *e);

/** Listen at @at, too: same methods, same limits, peers known by their
 * transport. Returns 0 or -errno with @e. */
int rpc_server_listen(struct rpc_server *s, enum transport_kind kind,
		      const struct transport_addr *at, struct cr_err *e);

/** Graceful shutdown of every association (deadline 1 s, then ABORT), then
 * free. Runs the event base meanwhile. NULL is fine. */
void rpc_server_close(struct rpc_server *s);

/** Return the next peer behind @behind (NULL: the first) whose connection
 * another process may go on with: *@fd, borrowed. No message of that peer is
 * here, whole or in part, in either direction. NULL: there are no more. */
struct rpc_peer *rpc_peer_passing(struct rpc_server *s, struct rpc_peer *behind,
				  int *fd);

/** Go on with @fd, the connection of the peer @id, which another process has
 * passed on: peer_up() as ever; nobody gets that id again. NULL: it cannot be
 * had, and is closed. */
struct rpc_peer *rpc_server_adopt(struct rpc_server *s, int fd, uint64_t id);

/** Send a notification to @peer; takes over @params. Never blocks; a peer that
 * does not read loses notifications (counted), never memory. */
void rpc_notify(struct rpc_peer *peer, const char *method, json_t *params);

/** The address at which it listened first, with the ports chosen by port 0
 * filled in; zeros: none. */
void rpc_server_local(const struct rpc_server *s, struct transport_addr *addr);

/** The first back-end: "kernel", "user" or "unix"; "off": it has none. */
const char *rpc_server_transport(const struct rpc_server *s);

/** Counters: messages in and out, errors by code, dropped notifications. */
void rpc_server_stats(struct rpc_server *s, struct rpc_stats *out);

#endif
