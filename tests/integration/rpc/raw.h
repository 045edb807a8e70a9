/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A server over a Unix socket, and clients of it that are no more than a
 * socket, in one thread: what they say need not be the protocol.
 */
#ifndef TESTS_RPC_RAW_H
#define TESTS_RPC_RAW_H

#include "echo.h"

/** Bounds of what waits for one client, and of what one has heard, bytes. */
enum { RAW_QUEUE = 256 << 10, RAW_SAID = 1 << 16 };

#define ECHO(id)                                                               \
	"{\"jsonrpc\":\"2.0\",\"method\":\"echo\",\"params\":[1],\"id\":" id   \
	"}\n"
#define ECHOED(id) "{\"jsonrpc\":\"2.0\",\"result\":[1],\"id\":" id "}\n"
#define LIST                                                                   \
	"{\"jsonrpc\":\"2.0\",\"method\":\"list\",\"params\":{\"count\":"      \
	"200},\"id\":7}\n"

/** A server at a path of its own. */
struct world {
	struct event_base *base;
	struct echo server;
	struct transport_addr at;
};

void world_open(struct world *w);
/** Its socket is gone afterwards. */
void world_close(struct world *w);

/** A client: a socket and what came by it. */
struct raw {
	int fd;
	size_t n;
	bool eof;
	char said[RAW_SAID];
};

void raw_open(struct raw *r, const struct world *w);
/** Close it, until the server has noticed. */
void raw_close(struct raw *r, struct world *w);

/** Say all of it, with the server taking it meanwhile. */
void raw_say_bytes(struct raw *r, struct world *w, const char *text,
		   size_t bytes);
void raw_say(struct raw *r, struct world *w, const char *text);

/** Take what is there. */
void raw_hear(struct raw *r);
/** Lines that it has heard. */
unsigned raw_lines(const struct raw *r);
/** Run the server until @r has heard @n lines, or its end. */
void raw_hear_lines(struct raw *r, struct world *w, unsigned n);
/** Until the server has closed. */
void raw_hear_end(struct raw *r, struct world *w);

#endif
