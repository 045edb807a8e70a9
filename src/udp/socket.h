/* SPDX-License-Identifier: Apache-2.0 */
/*
 * UDP sockets for media: kernel arrival times, drop counter.
 */
#ifndef UDP_SOCKET_H
#define UDP_SOCKET_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

#include "cr/error.h"

/** A non-blocking socket with large buffers, for many peers, bound to @local
 * (port 0: any). Returns the descriptor, or -errno with @e, which names the
 * address, or the limit that is reached and how to raise it: -EMFILE, -ENFILE:
 * no descriptor; -EADDRINUSE with port 0: no port. */
int udp_socket(const struct sockaddr_storage *local, struct cr_err *e);

/** The same, for an address that other sockets of this user have, which allow
 * it: see udp/socket_group.h. */
int udp_socket_shared(const struct sockaddr_storage *local, struct cr_err *e);

/** Has @fd, of udp_socket(), less room for what comes than it asked for? Then
 * @why says how much, and how to have more. */
bool udp_socket_is_short(int fd, struct cr_err *why);

/** As udp_socket(), for one peer: a receive buffer of @bytes (the kernel
 * doubles it for its own needs), and as much to send as the system gives. One
 * of IPv6 leaves the same port of IPv4 to others (IPV6_V6ONLY). */
int udp_socket_small(const struct sockaddr_storage *local, int bytes,
		     struct cr_err *e);

/** How many datagrams or trains the socket @fd has dropped, because its buffer
 * was full (SO_MEMINFO, Linux 4.12); 0 if the kernel does not tell. */
uint32_t udp_socket_drops(int fd);

/** Nobody will receive at the socket @fd any more: what waits is thrown away.
 * Returns how many datagrams that was. It may still send. */
unsigned udp_socket_end(int fd);

#endif
