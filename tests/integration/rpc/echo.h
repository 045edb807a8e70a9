/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A small RPC server for tests: methods that echo, fail, list and notify, a
 * record of who came and went, and waiting for a state with a bound.
 *
 * The tests run over usrsctp, or over a Unix socket when their program's
 * argument is "unix".
 */
#ifndef TESTS_RPC_ECHO_H
#define TESTS_RPC_ECHO_H

#include <stdbool.h>

#include "rpc/client.h"
#include "rpc/server.h"

/** How the program's clients and servers talk: TRANSPORT_USER, or as its
 * argument says. */
extern enum transport_kind echo_kind;
void echo_arguments(int argc, char **argv);

/** A place to listen: @host and @port, or a socket in a fresh folder. */
struct transport_addr echo_place(const char *host, uint16_t port);

/** The reason of a peer that vanished: of a socket only its end is seen. */
const char *echo_vanished(void);

/** Silence of a client that is its loss: tests wait for that. */
#define ECHO_PEER_TIMEOUT (5 * CR_SEC)

struct echo {
	struct event_base *base;
	struct rpc_server *server;
	unsigned up, gone;	 /**< events so far                       */
	uint64_t up_id, gone_id; /**< peer of the last one             */
	char gone_reason[32], up_address[64];
	struct rpc_peer *last;	      /**< of the last peer_up              */
	uint64_t busy_id;	      /**< the peer that would miss something */
	struct rpc_later *later[300]; /**< requests that echo_answer() is for */
	unsigned nlater;
	unsigned lists; /**< calls of "list" */
	bool strangers; /**< all that come are, from when it is set */
};

/**
 * Open the server at @at. Methods: echo (its params), list {"count": n} (n
 * objects of about 200 bytes), fail (code 1, "no-capacity: ...", data), notify
 * {"count": n} (that many "tick" notifications, then {}), later (nothing until
 * echo_answer()), at-once ({}, as if later), stats.
 */
int echo_open(struct echo *s, struct event_base *base, enum transport_kind kind,
	      const struct transport_addr *at, size_t queue_max,
	      struct cr_err *e);

/** The same, with all else that @cfg says. */
int echo_open_as(struct echo *s, struct rpc_server_config *cfg,
		 struct cr_err *e);

/** The same with the default queue_max, and @total_max for all peers. */
int echo_open_within(struct echo *s, struct event_base *base,
		     enum transport_kind kind, const struct transport_addr *at,
		     size_t total_max, struct cr_err *e);

/** The same with the default queue_max, and another ECHO_PEER_TIMEOUT; 0: the
 * server's default. */
int echo_open_for(struct echo *s, struct event_base *base,
		  enum transport_kind kind, const struct transport_addr *at,
		  cr_ns peer_timeout, struct cr_err *e);

/** The same with the default queue_max and room for @peers, of which one makes
 * room that has said nothing for @silence, unless it is the busy one. */
int echo_open_few(struct echo *s, struct event_base *base,
		  enum transport_kind kind, const struct transport_addr *at,
		  size_t peers, cr_ns silence, struct cr_err *e);

/** Answer the @i-th request for "later": with @i, or, if @refused, with code 1.
 */
void echo_answer(struct echo *s, unsigned i, bool refused);

/** Run @base until *@count >= @at_least. False: out of patience. */
bool echo_wait(struct event_base *base, const unsigned *count,
	       unsigned at_least);

/** Element @i of the reply to "list". */
json_t *echo_item(unsigned i);

#endif
