/* SPDX-License-Identifier: Apache-2.0 */
/*
 * UDP sockets for media: kernel arrival times, drop counter, several at one
 * address, and how routers are asked to treat what they send.
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

/** Sockets that are opened from now on may have an address that this machine
 * has not, yet (IP_FREEBIND). While there is one thread. */
void udp_socket_foreign(bool may);
/** If they may, so may @fd, which is not bound yet: also one of TCP. */
void udp_socket_allow_foreign(int fd);

/** The same, for an address that other sockets of this user have, which allow
 * it: see udp_socket_group(). */
int udp_socket_shared(const struct sockaddr_storage *local, struct cr_err *e);

/** Has @fd, of udp_socket(), less room for what comes than it asked for? Then
 * @why says how much, and how to have more. */
bool udp_socket_is_short(int fd, struct cr_err *why);

/** As udp_socket(), for one peer: a receive buffer of @bytes (the kernel
 * doubles it for its own needs), and as much to send as the system gives. One
 * of IPv6 leaves the same port of IPv4 to others (IPV6_V6ONLY). */
int udp_socket_small(const struct sockaddr_storage *local, int bytes,
		     struct cr_err *e);

/** The number of datagrams or trains that the socket @fd has dropped, because
 * its buffer was full (SO_MEMINFO, Linux 4.12); 0 if the kernel does not say.
 */
uint32_t udp_socket_drops(int fd);

/** Nobody will receive at the socket @fd any more: what waits is thrown away.
 * Returns how many datagrams that was. It may still send. */
unsigned udp_socket_end(int fd);

/* --- several at one address, which share out by a number what comes --- */

/*
 * Several sockets at one address, which share out what comes to it by a number
 * in the datagrams: SO_REUSEPORT, with a classic BPF program that chooses.
 */

/**
 * Bind up to @n sockets (see udp_socket()) to @local, into @fd. A datagram goes
 * to the socket number (its 32-bit big-endian word at octet @offset) % n, one
 * that is too short for the word to socket 0. Datagrams of a train
 * (udp/inlet.h) all go where its first one goes.
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

/* --- the TOS octet --- */

/*
 * How routers are asked to treat packets: the differentiated services field
 * (RFC 2474), which is the TOS octet of IPv4 and the traffic class of IPv6. Its
 * upper six bits are the DSCP; the lower two belong to ECN (RFC 3168).
 */

/**
 * Read the octet: a number as other media proxies take it (184 or 0xb8 are EF),
 * or the name of a DSCP: EF, VA, LE, CS0 to CS7, AF11 to AF43, in any case.
 * (RFC 2474, 2597, 3246, 5865, 8622.)
 *
 * Returns 0 and *@tos (0..252), or -EINVAL with @e: neither, or a number that
 * sets bits of ECN.
 */
int tos_parse(const char *text, unsigned *tos, struct cr_err *e);

/** Packets that the UDP socket @fd, of @family, sends carry @tos from now on. 0
 * or -errno. */
int tos_set(int fd, int family, unsigned tos);

#endif
