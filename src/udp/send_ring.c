/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Datagrams of many sockets, sent by one system call.
 *
 * Descriptors are not registered with the ring: that would save a hundredth
 * part of a packet's price, and who opens and closes sockets would have to know
 * every ring. IORING_OP_SEND with an address costs less than IORING_OP_SENDMSG,
 * which copies a message header and its vector first.
 */
#define _GNU_SOURCE
#include "udp/send_ring.h"

#include <errno.h>
#include <liburing.h>
#include <stdlib.h>

#include "base/address.h"
#include "base/assert.h"

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

void send_ring_put_message(struct send_ring *r, int fd,
			   const struct msghdr *msg)
{
	struct io_uring_sqe *s = next_request(r);

	io_uring_prep_sendmsg(s, fd, msg, FLAGS);
	io_uring_sqe_set_data64(s, r->asked++);
}

/* How many requests the kernel takes. */
static unsigned submit(struct send_ring *r)
{
	unsigned taken = 0;

	while (taken < r->asked) {
		int n = io_uring_submit(&r->ring);

		if (n > 0)
			taken += (unsigned)n;
		else if (n != -EINTR)
			break;
	}
	return taken;
}

static unsigned collect(struct send_ring *r, int *result)
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
	unsigned taken = submit(r), done = collect(r, result);

	/* They are done when submit() returns. Were one not, the kernel would
	 * still read what its pointers point to. */
	while (done < taken) {
		struct io_uring_cqe *c;

		(void)io_uring_wait_cqe(&r->ring, &c);
		done += collect(r, result);
	}
	r->asked = 0;
	return taken;
}
