/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reports to a service manager (systemd): datagrams of NAME=VALUE lines to
 * the socket that it has named in the environment. sd_notify(3) documents the
 * protocol as stable; there is nothing in it that needs a library.
 *
 * Nothing here blocks: a manager that does not read loses what does not fit.
 */
#ifndef OBSERVE_NOTIFY_H
#define OBSERVE_NOTIFY_H

#include <sys/socket.h>
#include <sys/un.h>

#include "cr/error.h"
#include "cr/time.h"

struct store;

/** A manager. Zero is not open: see notify_open(). */
struct notify {
	int fd; /**< -1: there is none */
	struct sockaddr_un to;
	socklen_t len;
	/** The manager wants WATCHDOG=1 at least so often; 0: not at all. */
	cr_ns watchdog;
	struct store *store; /**< observe/store.h; NULL: it holds nothing */
};

/**
 * Read NOTIFY_SOCKET, WATCHDOG_USEC and WATCHDOG_PID, and what store_open()
 * reads, and take them out of the environment: they are for this process, not
 * for its children. 0, also if no
 * manager asks; or -errno with @e, and there is none. While there is one
 * thread.
 */
int notify_open(struct notify *n, struct cr_err *e);

/** Send no more, and forget the store. */
void notify_close(struct notify *n);

/** Send one message: lines of NAME=VALUE. 0, or -errno: it is lost; -EMSGSIZE:
 * it is too long. Any thread. */
__attribute__((format(printf, 2, 3))) int notify_send(const struct notify *n,
						      const char *fmt, ...);

#endif
