/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The addresses of this machine: its hosts, and the broadcast addresses of its
 * networks. Not by bind(), which lets addresses of others pass where
 * net.ipv4.ip_nonlocal_bind is set.
 *
 * Control thread; the questions: any thread within rcu_read_begin(), too.
 */
#ifndef BASE_OWN_HOSTS_H
#define BASE_OWN_HOSTS_H

#include <stdbool.h>
#include <sys/socket.h>

#include "cr/error.h"

struct own_hosts;

/** Read them, and have the kernel report changes. 0 with *@out; or
 * -errno with @e, as where a service may not have sockets of AF_NETLINK. */
int own_hosts_open(struct own_hosts **out, struct cr_err *e);
/** No other thread uses @o any more. NULL is fine. */
void own_hosts_close(struct own_hosts *o);

/** Readable: they have changed; own_hosts_read() is due. */
int own_hosts_fd(const struct own_hosts *o);
/** Read them again. After rcu_start(). 0; or -errno with @e: what was read
 * before stays. */
int own_hosts_read(struct own_hosts *o, struct cr_err *e);

/** Is @a an address of this machine? @o NULL: of loopback only. */
bool own_hosts_has(const struct own_hosts *o, const struct sockaddr_storage *a);

/** Is @a the broadcast address of a network of this machine? @o NULL: no. */
bool own_hosts_broadcasts(const struct own_hosts *o,
			  const struct sockaddr_storage *a);

#endif
