/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The Unix socket back-end's state, shared by unix_socket.c (listening,
 * connecting) and unix_conn.c (one connection's octets).
 *
 * A connection is an association, a line is a message: it ends with a line
 * feed, and none may be inside.
 */
#ifndef TRANSPORT_UNIX_SOCKET_H
#define TRANSPORT_UNIX_SOCKET_H

#include <sys/queue.h>

#include "transport/ops.h"
#include "transport/unix_file.h"

enum { UNIX_BUCKETS = 64 };

struct unix_socket;

/** One connection. */
struct unix_conn {
	LIST_ENTRY(unix_conn) link;
	struct unix_socket *owner;
	uint32_t id;
	int fd; /**< -1: gone, waits to be freed */
	struct event *readable, *writable;

	char *rest; /**< of a message that did not go out whole */
	size_t rest_bytes, rest_sent;

	bool begun;    /**< a line has, its end has not come        */
	bool finished; /**< the peer writes no more, but may read    */
	bool leaving;  /**< closes when the rest is out              */
	bool refused;  /**< a send got -EAGAIN: say ROOM             */
	int broken;    /**< errno of a write: LOST when all is read  */
};

LIST_HEAD(unix_chain, unix_conn);

struct unix_socket {
	struct transport t; /**< first */
	struct transport_config cfg;
	struct transport_addr to; /**< a client's server */
	int fd;			  /**< listening, or -1 */
	struct unix_file file;
	struct event *acceptable;
	struct event *again; /**< accept or connect, after a pause */
	unsigned attempts;   /**< to connect */

	uint32_t last_id;
	unsigned busy; /**< in callbacks: nothing is freed */
	bool closed;   /**< there: freed afterwards        */
	struct unix_chain conns[UNIX_BUCKETS];
	struct unix_chain gone;
	char buffer[65536];
};

/** Around every callback of libevent. unix_leave() may free @u. */
void unix_enter(struct unix_socket *u);
void unix_leave(struct unix_socket *u);

void unix_say(struct unix_socket *u, const struct transport_event *ev);

struct unix_conn *unix_conn_find(struct unix_socket *u, uint32_t id);

/** A connection on @fd, which it takes over; says UP with the name @peer.
 * Between unix_enter() and unix_leave(). Returns 0 or -ENOMEM. */
int unix_conn_open(struct unix_socket *u, int fd, const char *peer);

/** As in transport.h. */
int unix_conn_send(struct unix_conn *c, const void *data, size_t bytes);
void unix_conn_shutdown(struct unix_conn *c);
void unix_conn_hold(struct unix_conn *c, bool held);

/** Close it at once, silently. */
void unix_conn_close(struct unix_conn *c);

#endif
