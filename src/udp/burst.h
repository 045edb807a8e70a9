/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Packets on their way out, sent together in as few system calls as there can
 * be: those of one socket by sendmmsg(), those of many sockets by one io_uring
 * submission. Neighbours of equal size from one socket to the same peer are one
 * entry of it, a train, which the kernel cuts apart (UDP segmentation offload).
 * bench-wire measures what a packet costs by each way.
 *
 * Order is kept: packets from one socket to one peer leave as they were put,
 * whatever becomes of others. Thread rule: one thread at a time, not always the
 * same.
 */
#ifndef UDP_BURST_H
#define UDP_BURST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#include "udp/io.h"

/** Packets that fit. */
#define BURST_PACKETS 64u
/** Largest packet, bytes: 60 ms of L16 at 16 kHz, and its header. */
#define BURST_BYTES 2048u

struct burst_packet {
	int fd;
	const struct sockaddr_storage *to; /**< borrowed until the flush  */
	unsigned tag;			   /**< the caller's              */
	bool failed;			   /**< the socket refused it     */
	size_t bytes;
	uint8_t data[BURST_BYTES];
};

struct send_ring;

/** Zero is empty, and sends without io_uring. */
struct burst {
	unsigned count;
	bool plain;		/**< this kernel cannot cut packets apart */
	struct send_ring *ring; /**< for many sockets; NULL: not by
				   io_uring, or it has failed */
	struct burst_packet packet[BURST_PACKETS];
};

/** Let @o, which is zero, send by @io. Where io_uring cannot be used, other
 * system calls do the same: o->ring is NULL. */
void burst_open(struct burst *o, enum udp_io io);
void burst_close(struct burst *o);

static inline bool burst_full(const struct burst *o)
{
	return o->count == BURST_PACKETS;
}

/** Copy a packet in; there must be room. @bytes <= BURST_BYTES. */
void burst_put(struct burst *o, int fd, const struct sockaddr_storage *to,
	       unsigned tag, const uint8_t *data, size_t bytes);

/** Send everything and mark what failed. The packets stay readable until
 * burst_clear(). Never blocks: a full socket refuses. */
void burst_send(struct burst *o);

static inline void burst_clear(struct burst *o)
{
	o->count = 0;
}

/* --- the ring that burst_send() has; a benchmark has it alone --- */

/*
 * Datagrams of many sockets, sent by one system call: an io_uring that only
 * sends. The kernel sends in the order of the requests, each before the system
 * call returns: a request that would have to wait is refused instead.
 *
 * Thread rule: one thread at a time, not always the same.
 */

/** A ring for up to @most requests at a time. NULL: no memory, no descriptor,
 * or a kernel that forbids it or does not have it (Linux 6.1). */
struct send_ring *send_ring_open(unsigned most);
void send_ring_close(struct send_ring *r); /**< NULL is fine */

/** Ask to send a datagram, or what @msg says, from @fd. What pointers point to
 * is read by send_ring_go(). There must be room. */
void send_ring_put(struct send_ring *r, int fd, const void *data, size_t bytes,
		   const struct sockaddr_storage *to);
/** Do what was asked since the last time. Returns how many of the requests were
 * done, the first ones; result[i] is that of the i-th: what sendmsg() would
 * return, or -errno. If they are not all, the ring is broken: close it. Never
 * blocks. */
unsigned send_ring_go(struct send_ring *r, int *result);

#endif
