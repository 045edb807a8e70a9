/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether io_uring can be used. The answer comes from doing with one datagram
 * what receiver and senders do with all: lists of features do not say what a
 * sandbox refuses.
 */
#define _GNU_SOURCE
#include "udp/io.h"

#include <errno.h>
#include <liburing.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define ENTRIES 8u
#define GROUP 1	   /* of the buffers */
#define BUFFERS 4u /* one is used, one is asked for in vain */
#define BUFFER_BYTES 512u

enum { RECEIVE = 1, SEND };

/* One end of a socket pair sends to the other through a ring. */
struct trial {
	struct io_uring ring;
	struct io_uring_buf_ring *buffers; /* a page of its own */
	char buffer[BUFFERS][BUFFER_BYTES];
	int pair[2];
	struct msghdr in, out;
};

/* The kernel picks the buffer of every datagram, and the request stays. */
static int lend_buffers(struct trial *t)
{
	struct io_uring_buf_reg reg = { .ring_entries = BUFFERS,
					.bgid = GROUP };
	const size_t bytes = BUFFERS * sizeof(struct io_uring_buf);
	void *page;

	if (posix_memalign(&page, (size_t)sysconf(_SC_PAGESIZE), bytes))
		return -ENOMEM;
	t->buffers = page;
	memset(page, 0, bytes);
	reg.ring_addr = (uintptr_t)page;
	for (unsigned short i = 0; i < BUFFERS; i++)
		io_uring_buf_ring_add(t->buffers, t->buffer[i], BUFFER_BYTES, i,
				      BUFFERS - 1, i);
	io_uring_buf_ring_advance(t->buffers, BUFFERS);
	return io_uring_register_buf_ring(&t->ring, &reg, 0);
}

/* What has come of the two requests: 0, -EINPROGRESS, or the error. */
static int results(struct trial *t)
{
	struct io_uring_cqe *c;
	unsigned head, n = 0;
	bool in = false, out = false;
	int rc = 0;

	io_uring_for_each_cqe(&t->ring, head, c)
	{
		n++;
		if (c->res < 0 && !rc)
			rc = c->res;
		if (c->user_data == SEND)
			out = true;
		else if (c->flags & IORING_CQE_F_BUFFER &&
			 c->flags & IORING_CQE_F_MORE)
			in = true;
		else if (!rc)
			rc = -EINVAL; /* a kernel without multishot */
	}
	if (!rc && (!in || !out))
		rc = -EINPROGRESS;
	if (rc != -EINPROGRESS)
		io_uring_cq_advance(&t->ring, n);
	return rc;
}

static int exchange(struct trial *t)
{
	struct __kernel_timespec second = { .tv_sec = 1 };
	struct iovec octet = { (char[]){ 'x' }, 1 };
	struct io_uring_cqe *c;
	struct io_uring_sqe *s;
	int rc;

	t->out.msg_iov = &octet;
	t->out.msg_iovlen = 1;
	s = io_uring_get_sqe(&t->ring);
	io_uring_prep_recvmsg_multishot(s, t->pair[0], &t->in, 0);
	io_uring_sqe_set_data64(s, RECEIVE);
	s->flags |= IOSQE_BUFFER_SELECT;
	s->buf_group = GROUP;
	s = io_uring_get_sqe(&t->ring);
	io_uring_prep_sendmsg(s, t->pair[1], &t->out,
			      MSG_DONTWAIT | MSG_NOSIGNAL);
	io_uring_sqe_set_data64(s, SEND);
	rc = io_uring_submit_and_wait_timeout(&t->ring, &c, 2, &second, NULL);
	if (rc < 0 && rc != -ETIME)
		return rc;
	rc = results(t);
	return rc == -EINPROGRESS ? -ETIMEDOUT : rc;
}

static int try_ring(struct trial *t)
{
	int rc = lend_buffers(t);

	if (!rc && socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0, t->pair))
		rc = -errno;
	if (rc)
		return rc;
	rc = exchange(t);
	(void)close(t->pair[0]);
	(void)close(t->pair[1]);
	return rc;
}

static const char *explain_refusal(int rc)
{
	switch (rc) {
	case -ENOSYS:
		return "the kernel has no io_uring, or a sandbox hides it";
	case -EPERM:
	case -EACCES:
		return "forbidden to this process: see sysctl "
		       "kernel.io_uring_disabled, and the seccomp profile of "
		       "the container or service";
	case -EMFILE:
	case -ENFILE:
		return "out of descriptors: raise the limit (ulimit -n)";
	case -ENOMEM:
		return "out of memory: raise the limit of locked memory "
		       "(ulimit -l)";
	case -EINVAL:
		return "the kernel is too old: Linux 6.1 or later has all that "
		       "is needed";
	default:
		return strerror(-rc);
	}
}

bool udp_io_uring(struct cr_err *why)
{
	struct trial t = { .buffers = NULL };
	int rc = io_uring_queue_init(ENTRIES, &t.ring,
				     IORING_SETUP_SINGLE_ISSUER |
					     IORING_SETUP_DEFER_TASKRUN);

	if (!rc) {
		rc = try_ring(&t);
		io_uring_queue_exit(&t.ring);
		free(t.buffers);
	}
	if (rc)
		(void)cr_fail(why, rc, "io_uring: %s", explain_refusal(rc));
	return !rc;
}

const char *const udp_io_names[] = {
	[UDP_IO_AUTO] = "auto",
	[UDP_IO_URING] = "uring",
	[UDP_IO_EPOLL] = "epoll",
	NULL,
};

int udp_io_choose(enum udp_io asked, enum udp_io *io, struct cr_err *why)
{
	*why = (struct cr_err){ "" };
	if (asked != UDP_IO_EPOLL && udp_io_uring(why))
		*io = UDP_IO_URING;
	else if (asked == UDP_IO_URING)
		return -ENOTSUP;
	else
		*io = UDP_IO_EPOLL;
	return 0;
}
