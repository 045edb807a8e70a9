/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Packets on their way out, sent together: by an io_uring that only sends, or
 * by sendmmsg(), socket by socket.
 *
 * Descriptors are not registered with the ring: that would save a hundredth
 * part of a packet's price, and who opens and closes sockets would have to know
 * every ring. IORING_OP_SEND with an address costs less than IORING_OP_SENDMSG,
 * which copies a message header and its vector first.
 */
#define _GNU_SOURCE
#include "udp/burst.h"

#include <errno.h>
#include <liburing.h>
#include <netinet/in.h>
#include <netinet/udp.h>
#include <stdlib.h>
#include <string.h>

#include "base/address.h"
#include "base/assert.h"

/* --- the ring --- */

/* Without MSG_DONTWAIT a request would wait in the background. */
#define FLAGS (MSG_DONTWAIT | MSG_NOSIGNAL)

struct send_ring {
	struct io_uring ring;
	unsigned asked; /* requests since the last time */
};

/* A request that no kernel can do. One that does not know addresses here
 * refuses the address, others the descriptor. */
static bool knows_addresses(struct send_ring *r)
{
	const struct sockaddr_storage to = { .ss_family = AF_INET };
	int result;

	send_ring_put(r, -1, "", 1, &to);
	return send_ring_go(r, &result) == 1 && result == -EBADF;
}

struct send_ring *send_ring_open(unsigned most)
{
	struct send_ring *r = calloc(1, sizeof(*r));

	if (!r)
		return NULL;
	/* one refused request does not keep the others from being read */
	if (io_uring_queue_init(most, &r->ring, IORING_SETUP_SUBMIT_ALL)) {
		free(r);
		return NULL;
	}
	if (!knows_addresses(r)) {
		send_ring_close(r);
		return NULL;
	}
	return r;
}

void send_ring_close(struct send_ring *r)
{
	if (!r)
		return;
	io_uring_queue_exit(&r->ring);
	free(r);
}

static struct io_uring_sqe *next_request(struct send_ring *r)
{
	struct io_uring_sqe *s = io_uring_get_sqe(&r->ring);

	CR_ASSERT(s);
	return s;
}

void send_ring_put(struct send_ring *r, int fd, const void *data, size_t bytes,
		   const struct sockaddr_storage *to)
{
	struct io_uring_sqe *s = next_request(r);

	io_uring_prep_send(s, fd, data, bytes, FLAGS);
	io_uring_prep_send_set_addr(s, (const struct sockaddr *)to,
				    (uint16_t)address_length(to));
	io_uring_sqe_set_data64(s, r->asked++);
}

static unsigned collect_results(struct send_ring *r, int *result)
{
	struct io_uring_cqe *c;
	unsigned head, n = 0;

	io_uring_for_each_cqe(&r->ring, head, c)
	{
		result[c->user_data] = c->res;
		n++;
	}
	io_uring_cq_advance(&r->ring, n);
	return n;
}

unsigned send_ring_go(struct send_ring *r, int *result)
{
	unsigned taken = 0, done;

	while (taken < r->asked) {
		int n = io_uring_submit(&r->ring);

		if (n > 0)
			taken += (unsigned)n;
		else if (n != -EINTR)
			break;
	}
	/* They are done when that returns. Were one not, the kernel would still
	 * read what its pointers point to. */
	done = collect_results(r, result);
	while (done < taken) {
		struct io_uring_cqe *c;

		(void)io_uring_wait_cqe(&r->ring, &c);
		done += collect_results(r, result);
	}
	r->asked = 0;
	return taken;
}

/* --- bursts --- */

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

static bool fit_train(const struct burst_packet *a,
		      const struct burst_packet *b)
{
	return a->fd == b->fd && a->bytes == b->bytes && a->bytes &&
	       a->bytes <= CARRIAGE_BYTES &&
	       (a->to == b->to || address_equal(a->to, b->to));
}

/* The number of packets from @first on that can leave as one. */
static unsigned run_length(const struct burst *o, unsigned first)
{
	const struct burst_packet *p = &o->packet[first];
	unsigned n = 1;

	if (o->plain)
		return 1;
	while (first + n < o->count && (n + 1) * p->bytes <= TRAIN_BYTES &&
	       fit_train(p, &p[n]))
		n++;
	return n;
}

/* One datagram for the sender: a packet or a train. */
struct piece {
	unsigned first, n; /* packets */
};

/* A burst as the kernel wants it. */
struct post {
	struct burst *burst;
	unsigned n;
	struct piece piece[BURST_PACKETS];
	struct mmsghdr msg[BURST_PACKETS]; /* of pieces  */
	struct iovec iov[BURST_PACKETS];   /* of packets */
	union {
		char bytes[CMSG_SPACE(sizeof(uint16_t))];
		struct cmsghdr align;
	} control[BURST_PACKETS]; /* of trains, by piece */
};

static struct burst_packet *head_of_piece(const struct post *p, unsigned piece)
{
	return &p->burst->packet[p->piece[piece].first];
}

/* With a size of packets, the kernel takes a message for a train. */
static void couple_piece(struct post *p, unsigned piece)
{
	struct msghdr *msg = &p->msg[piece].msg_hdr;
	uint16_t size = (uint16_t)head_of_piece(p, piece)->bytes;
	struct cmsghdr *c;

	msg->msg_control = &p->control[piece];
	msg->msg_controllen = sizeof(p->control[piece]);
	memset(&p->control[piece], 0, sizeof(p->control[piece]));
	c = CMSG_FIRSTHDR(msg);
	/* analyzer: there is room for one */
	c->cmsg_level = SOL_UDP;
	c->cmsg_type = UDP_SEGMENT;
	c->cmsg_len = CMSG_LEN(sizeof(size));
	memcpy(CMSG_DATA(c), &size, sizeof(size));
}

static void write_message(struct post *p, unsigned piece)
{
	const struct piece *it = &p->piece[piece];
	struct burst_packet *head = head_of_piece(p, piece);

	for (unsigned i = 0; i < it->n; i++)
		p->iov[it->first + i] =
			(struct iovec){ head[i].data, head[i].bytes };
	p->msg[piece].msg_hdr = (struct msghdr){
		.msg_name = (void *)(uintptr_t)head->to,
		.msg_namelen = address_length(head->to),
		.msg_iov = &p->iov[it->first],
		.msg_iovlen = it->n,
	};
	if (it->n > 1)
		couple_piece(p, piece);
}

/* The kernel has refused a piece with @err. The packets of a train may still
 * leave one by one; if they do there is no segmentation on this route, unless
 * the socket was full. */
static void refuse_piece(struct post *p, unsigned piece, int err)
{
	struct burst_packet *head = head_of_piece(p, piece);
	bool full = err == EAGAIN || err == ENOBUFS;

	if (p->piece[piece].n == 1) {
		head->failed = true;
		return;
	}
	for (unsigned i = 0; i < p->piece[piece].n; i++)
		send_one(&head[i]);
	if (!full && !head->failed)
		p->burst->plain = true;
}

/* The number of pieces from @at on that are of one socket. */
static unsigned of_one_socket(const struct post *p, unsigned at)
{
	unsigned n = 1;

	while (at + n < p->n &&
	       head_of_piece(p, at + n)->fd == head_of_piece(p, at)->fd)
		n++;
	return n;
}

/* @n pieces of one socket. The kernel stops at one that it refuses, and says
 * why only if it is the first. */
static void send_by_socket(struct post *p, unsigned at, unsigned n)
{
	int fd = head_of_piece(p, at)->fd;
	unsigned end = at + n;

	if (n == 1 && p->piece[at].n == 1) {
		send_one(head_of_piece(p, at)); /* cheaper */
		return;
	}
	for (unsigned i = at; i < end; i++)
		write_message(p, i);
	while (at < end) {
		int sent = sendmmsg(fd, &p->msg[at], end - at,
				    MSG_DONTWAIT | MSG_NOSIGNAL);

		if (sent > 0)
			at += (unsigned)sent;
		else
			refuse_piece(p, at++, errno);
	}
}

/* Is @piece for the peer of a train from @at on? */
static bool behind_train(const struct post *p, unsigned at, unsigned piece)
{
	const struct burst_packet *b = head_of_piece(p, piece);

	for (unsigned i = at; i < piece; i++) {
		const struct burst_packet *a = head_of_piece(p, i);

		if (p->piece[i].n > 1 && a->fd == b->fd &&
		    (a->to == b->to || address_equal(a->to, b->to)))
			return true;
	}
	return false;
}

/* Pieces of any sockets from @at on in one submission. It goes on behind what
 * is refused; so nothing that a train's packets, sent once more, would come
 * behind may be in it. Returns how many pieces that were. */
static unsigned send_by_ring(struct post *p, unsigned at)
{
	struct burst *o = p->burst;
	int result[BURST_PACKETS];
	unsigned n, done;

	for (n = 0; at + n < p->n && !behind_train(p, at, at + n); n++) {
		const struct burst_packet *b = head_of_piece(p, at + n);
		struct io_uring_sqe *s;

		if (p->piece[at + n].n == 1) {
			send_ring_put(o->ring, b->fd, b->data, b->bytes, b->to);
			continue;
		}
		write_message(p, at + n);
		s = next_request(o->ring);
		io_uring_prep_sendmsg(s, b->fd, &p->msg[at + n].msg_hdr, FLAGS);
		io_uring_sqe_set_data64(s, o->ring->asked++);
	}
	done = send_ring_go(o->ring, result);
	for (unsigned i = 0; i < done; i++)
		if (result[i] < 0)
			refuse_piece(p, at + i, -result[i]);
	if (done < n)
		burst_close(o);
	return done;
}

/* Two packets are as cheap by two system calls. */
#define RING_LEAST 3u

void burst_send(struct burst *o)
{
	struct post p;
	unsigned n;

	p.burst = o;
	p.n = 0;
	for (unsigned i = 0; i < o->count; i += p.piece[p.n++].n)
		p.piece[p.n] = (struct piece){ i, run_length(o, i) };
	for (unsigned i = 0; i < p.n; i += n) {
		n = of_one_socket(&p, i);
		if (o->ring && n < p.n - i && p.n - i >= RING_LEAST)
			n = send_by_ring(&p, i);
		else
			send_by_socket(&p, i, n);
	}
}

void burst_open(struct burst *o, enum udp_io io)
{
	if (io != UDP_IO_EPOLL)
		o->ring = send_ring_open(BURST_PACKETS);
}

void burst_close(struct burst *o)
{
	send_ring_close(o->ring);
	o->ring = NULL;
}
