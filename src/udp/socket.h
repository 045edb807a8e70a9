/* SPDX-License-Identifier: Apache-2.0 */
/*
 * UDP sockets for media: large buffers, kernel arrival times, drop counter.
 */
#ifndef UDP_SOCKET_H
#define UDP_SOCKET_H

#include <stdint.h>
#include <sys/socket.h>

#include "cr/error.h"

/** A non-blocking socket bound to @local (port 0: any). Returns the descriptor,
 * or -errno with @e. */
int udp_socket(const struct sockaddr_storage *local, struct cr_err *e);

/** The same, for an address that other sockets of this user have, which allow
 * it: see udp/socket_group.h. */
int udp_socket_shared(const struct sockaddr_storage *local, struct cr_err *e);

/** How many datagrams or trains the socket @fd has dropped, because its buffer
 * was full (SO_MEMINFO, Linux 4.12); 0 if the kernel does not tell. */
uint32_t udp_socket_drops(int fd);

#endif
