/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Several sockets at one address, which share out what comes to it by a number
 * in the datagrams: SO_REUSEPORT, with a classic BPF program that chooses.
 */
#ifndef UDP_SOCKET_GROUP_H
#define UDP_SOCKET_GROUP_H

#include <sys/socket.h>

#include "cr/error.h"

/**
 * Bind up to @n sockets (see udp_socket()) to @local, into @fd. A datagram goes
 * to the socket number (its 32-bit big-endian word at octet @offset) % n, one
 * that is too short for the word to socket 0. Datagrams of a train
 * (udp/intake.h) all go where its first one goes.
 *
 * Returns how many sockets there are: @n; or 1, which then has the address for
 * itself, with @warn where the kernel cannot share them so; or -errno with @e.
 * -EADDRINUSE where any socket has the address for a second (that of a process
 * that was killed may be there for a moment), also of another group: the
 * first one is bound without SO_REUSEPORT. A process of the same user that asks
 * for SO_REUSEPORT of its own accord can still join the group; what comes to it
 * then is lost.
 *
 * Until this returns a datagram may come to any of them.
 */
int udp_socket_group(const struct sockaddr_storage *local, unsigned n,
		     unsigned offset, int fd[], struct cr_err *warn,
		     struct cr_err *e);

#endif
