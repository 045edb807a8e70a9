/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Packets on their way out, sent together.
 */
#define _GNU_SOURCE
#include "udp/burst.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/udp.h>
#include <string.h>

#include "base/address.h"
#include "base/assert.h"

#ifndef UDP_SEGMENT
#define UDP_SEGMENT 103 /* linux/udp.h, since 4.18 */
#endif

void burst_put(struct burst *o, int fd, const struct sockaddr_storage *to,
	       unsigned tag, const uint8_t *data, size_t bytes)
{
	struct burst_packet *p = &o->packet[o->count];

	CR_ASSERT(!burst_full(o) && bytes <= BURST_BYTES);
	p->fd = fd;
	p->to = to;
	p->tag = tag;
	p->failed = false;
	p->bytes = bytes;
	memcpy(p->data, data, bytes);
	o->count++;
}

static void send_one(struct burst_packet *p)
{
	p->failed =
		sendto(p->fd, p->data, p->bytes, MSG_DONTWAIT | MSG_NOSIGNAL,
		       (const struct sockaddr *)p->to,
		       address_length(p->to)) < 0;
}

/* A train is cut by size: an empty packet would vanish, and one that does not
 * fit the path (Ethernet's 1500 octets less the headers) spoils the train. */
#define CARRIAGE_BYTES 1400u
/* The largest payload of a datagram, IPv4: before it is cut, a train is one. */
#define TRAIN_BYTES 65507u

static bool together(const struct burst_packet *a, const struct burst_packet *b)
{
	return a->fd == b->fd && a->bytes == b->bytes && a->bytes &&
	       a->bytes <= CARRIAGE_BYTES &&
	       (a->to == b->to || address_equal(a->to, b->to));
}

/* How many packets from @first on can leave in one call. */
static unsigned run_length(const struct burst *o, unsigned first)
{
	const struct burst_packet *p = &o->packet[first];
	unsigned n = 1;

	if (o->plain)
		return 1;
	while (first + n < o->count && (n + 1) * p->bytes <= TRAIN_BYTES &&
	       together(p, &p[n]))
		n++;
	return n;
}

/* One datagram each of @n equal packets. False: the kernel cannot do it. */
static bool send_run(struct burst_packet *p, unsigned n)
{
	struct iovec iov[BURST_PACKETS];
	union {
		char bytes[CMSG_SPACE(sizeof(uint16_t))];
		struct cmsghdr align;
	} control = { .bytes = { 0 } };
	struct msghdr msg = {
		.msg_name = (void *)(uintptr_t)p->to,
		.msg_namelen = address_length(p->to),
		.msg_iov = iov,
		.msg_iovlen = n,
		.msg_control = control.bytes,
		.msg_controllen = sizeof(control.bytes),
	};
	struct cmsghdr *c = CMSG_FIRSTHDR(&msg);
	uint16_t size = (uint16_t)p->bytes;

	c->cmsg_level = SOL_UDP;
	c->cmsg_type = UDP_SEGMENT;
	c->cmsg_len = CMSG_LEN(sizeof(size));
	memcpy(CMSG_DATA(c), &size, sizeof(size));
	for (unsigned i = 0; i < n; i++)
		iov[i] = (struct iovec){ p[i].data, p[i].bytes };
	return sendmsg(p->fd, &msg, MSG_DONTWAIT | MSG_NOSIGNAL) >= 0;
}

void burst_send(struct burst *o)
{
	unsigned n;
	bool full;

	for (unsigned i = 0; i < o->count; i += n) {
		n = run_length(o, i);
		if (n > 1 && send_run(&o->packet[i], n))
			continue;
		full = errno == EAGAIN || errno == ENOBUFS;
		for (unsigned k = 0; k < n; k++)
			send_one(&o->packet[i + k]);
		/* no segmentation on this route, unless the socket was full or
		 * the peer is one that nothing can be sent to */
		if (n > 1 && !full && !o->packet[i].failed)
			o->plain = true;
	}
}
