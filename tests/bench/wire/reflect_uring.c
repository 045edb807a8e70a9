/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The bare reflector with io_uring. A packet stays in the buffer it came in
 * until it has been sent: sends do not wait (MSG_DONTWAIT), so that is when the
 * submission returns.
 */
#define _GNU_SOURCE
#include "reflect.h"

#include <errno.h>
#include <liburing.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#define BUFFERS 4096u /* a power of two */
#define BUFFER_BYTES 1024u
#define ENTRIES 4096u
#define COMPLETIONS 16384u /* more than buffers, or packets would be lost */
#define BATCH 1024u	   /* ends a wait before its time */
#define GROUP 1
#define SEND UINT64_MAX /* user data of a send that failed */

struct ring {
	struct io_uring uring;
	struct io_uring_buf_ring *buffers;
	uint8_t *data;
	struct msghdr template; /* of receiving */
	struct msghdr msg[BUFFERS];
	struct iovec iov[BUFFERS];
	uint16_t busy[BUFFERS]; /* buffers that are being sent */
	unsigned nbusy;
};

static uint8_t *buffer(struct ring *g, unsigned i)
{
	return g->data + (size_t)i * BUFFER_BYTES;
}

/* Add a buffer to those that the kernel may fill, as the @th of several. */
static void give(struct ring *g, unsigned i, unsigned th)
{
	io_uring_buf_ring_add(g->buffers, buffer(g, i), BUFFER_BYTES,
			      (unsigned short)i,
			      io_uring_buf_ring_mask(BUFFERS), (int)th);
}

static struct io_uring_sqe *entry(struct ring *g)
{
	struct io_uring_sqe *s = io_uring_get_sqe(&g->uring);

	if (s)
		return s;
	(void)io_uring_submit(&g->uring);
	return io_uring_get_sqe(&g->uring);
}

static void receive_from(struct ring *g, const struct reflect *r, uint64_t i)
{
	struct io_uring_sqe *s = entry(g);

	io_uring_prep_recvmsg_multishot(s, r->fds[i], &g->template, 0);
	s->flags |= IOSQE_BUFFER_SELECT;
	s->buf_group = GROUP;
	io_uring_sqe_set_data64(s, i);
}

static int open_buffers(struct ring *g)
{
	struct io_uring_buf_reg reg = { .ring_entries = BUFFERS,
					.bgid = GROUP };
	void *at;
	int rc;

	g->data = malloc((size_t)BUFFERS * BUFFER_BYTES);
	if (!g->data ||
	    posix_memalign(&at, 4096, BUFFERS * sizeof(struct io_uring_buf)))
		return -ENOMEM;
	g->buffers = at;
	reg.ring_addr = (uint64_t)(uintptr_t)at;
	rc = io_uring_register_buf_ring(&g->uring, &reg, 0);
	if (rc)
		return rc;
	io_uring_buf_ring_init(g->buffers);
	for (unsigned i = 0; i < BUFFERS; i++)
		give(g, i, i);
	io_uring_buf_ring_advance(g->buffers, BUFFERS);
	return 0;
}

static int ring_open(struct ring *g)
{
	struct io_uring_params p = {
		.flags = IORING_SETUP_SINGLE_ISSUER |
			 IORING_SETUP_DEFER_TASKRUN | IORING_SETUP_CQSIZE,
		.cq_entries = COMPLETIONS,
	};
	int rc = io_uring_queue_init_params(ENTRIES, &g->uring, &p);

	g->template.msg_namelen = sizeof(struct sockaddr_storage);
	return rc ? rc : open_buffers(g);
}

static void ring_close(struct ring *g)
{
	io_uring_queue_exit(&g->uring);
	free(g->buffers);
	free(g->data);
}

/* The packet in buffer @b goes back to whom it came from. */
static void send_back(struct ring *g, struct reflect *r, uint64_t socket,
		      unsigned b, int bytes)
{
	struct io_uring_recvmsg_out *o =
		io_uring_recvmsg_validate(buffer(g, b), bytes, &g->template);
	struct io_uring_sqe *s;

	g->busy[g->nbusy++] = (uint16_t)b;
	if (!o)
		return;
	g->iov[b] = (struct iovec){
		io_uring_recvmsg_payload(o, &g->template),
		io_uring_recvmsg_payload_length(o, bytes, &g->template),
	};
	reflect_packet(r, g->iov[b].iov_base, g->iov[b].iov_len);
	g->msg[b] = (struct msghdr){ .msg_name = io_uring_recvmsg_name(o),
				     .msg_namelen = o->namelen,
				     .msg_iov = &g->iov[b],
				     .msg_iovlen = 1 };
	s = entry(g);
	io_uring_prep_sendmsg(s, r->fds[socket], &g->msg[b], MSG_DONTWAIT);
	s->flags |= IOSQE_CQE_SKIP_SUCCESS;
	io_uring_sqe_set_data64(s, SEND);
}

static void take(struct ring *g, struct reflect *r,
		 const struct io_uring_cqe *q)
{
	if (q->user_data == SEND) { /* refused: lost */
		r->out--;
		return;
	}
	if (q->flags & IORING_CQE_F_BUFFER) {
		r->in++;
		r->out++;
		send_back(g, r, q->user_data,
			  q->flags >> IORING_CQE_BUFFER_SHIFT, q->res);
	}
	/* it ends, too, when there were no buffers */
	if (!(q->flags & IORING_CQE_F_MORE))
		receive_from(g, r, q->user_data);
}

/* Submit what there is, and wait. */
static int turn(struct ring *g, cr_ns wait)
{
	struct __kernel_timespec t = { wait / CR_SEC, wait % CR_SEC };
	struct io_uring_cqe *q;
	sigset_t none;
	int rc;

	(void)sigemptyset(&none);
	if (!wait)
		t.tv_sec = 1; /* see the signal some time */
	rc = io_uring_submit_and_wait_timeout(&g->uring, &q, wait ? BATCH : 1,
					      &t, &none);
	/* what was submitted has been sent */
	for (unsigned i = 0; i < g->nbusy; i++)
		give(g, g->busy[i], i);
	io_uring_buf_ring_advance(g->buffers, (int)g->nbusy);
	g->nbusy = 0;
	return rc == -ETIME || rc == -EINTR || rc >= 0 ? 0 : rc;
}

int reflect_uring(struct reflect *r, struct cr_err *e)
{
	static struct ring g;
	int rc = ring_open(&g);

	if (rc)
		return cr_fail(e, rc, "io_uring: %s", strerror(-rc));
	for (unsigned i = 0; i < r->sockets; i++)
		receive_from(&g, r, i);
	while (!rc && !atomic_load_explicit(r->stop, memory_order_relaxed)) {
		struct io_uring_cqe *q;
		unsigned head, n = 0;

		rc = turn(&g, r->wait);
		io_uring_for_each_cqe(&g.uring, head, q)
		{
			take(&g, r, q);
			if (++n == r->batch)
				break;
		}
		io_uring_cq_advance(&g.uring, n);
	}
	ring_close(&g);
	return rc ? cr_fail(e, rc, "io_uring: %s", strerror(-rc)) : 0;
}
