/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Datagrams of many sockets, sent by one system call: an io_uring that only
 * sends. The kernel sends in the order of the requests, each before the system
 * call returns: a request that would have to wait is refused instead.
 *
 * Thread rule: one thread at a time, not always the same.
 */
#ifndef UDP_SEND_RING_H
#define UDP_SEND_RING_H

#include <stddef.h>
#include <sys/socket.h>

struct send_ring;

/** A ring for up to @most requests at a time. NULL: no memory, no descriptor,
 * or a kernel that forbids it or does not have it (Linux 6.1). */
struct send_ring *send_ring_open(unsigned most);
void send_ring_close(struct send_ring *r); /**< NULL is fine */

/** Ask to send a datagram, or what @msg says, from @fd. What pointers point to
 * is read by send_ring_go(). There must be room. */
void send_ring_put(struct send_ring *r, int fd, const void *data, size_t bytes,
		   const struct sockaddr_storage *to);
void send_ring_put_message(struct send_ring *r, int fd,
			   const struct msghdr *msg);

/** Do what was asked since the last time. Returns how many of the requests were
 * done, the first ones; result[i] is that of the i-th: what sendmsg() would
 * return, or -errno. If they are not all, the ring is broken: close it. Never
 * blocks. */
unsigned send_ring_go(struct send_ring *r, int *result);

#endif
