/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Packets on their way out, sent together: neighbours of equal size to the same
 * peer in one system call that the kernel cuts apart (UDP segmentation
 * offload), the others one by one. bench-wire measures the price of a packet
 * alone and of one of sixteen.
 *
 * Order is kept. Thread rule: one thread.
 */
#ifndef UDP_BURST_H
#define UDP_BURST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

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

/** Zero is empty. */
struct burst {
	unsigned count;
	bool plain; /**< this kernel cannot cut packets apart */
	struct burst_packet packet[BURST_PACKETS];
};

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

#endif
