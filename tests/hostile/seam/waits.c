/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rings that the kernel does not serve, and waiting that is interrupted.
 */
#define _GNU_SOURCE
#include "seam_impl.h"

#include <liburing.h>
#include <poll.h>
#include <sys/epoll.h>

int io_uring_submit(struct io_uring *ring)
{
	NEXT(io_uring_submit);
	return seam_fails(SEAM_RING, CALLER) ? -EAGAIN : next(ring);
}

int io_uring_submit_and_get_events(struct io_uring *ring)
{
	NEXT(io_uring_submit_and_get_events);
	return seam_fails(SEAM_RING, CALLER) ? -EAGAIN : next(ring);
}

int io_uring_get_events(struct io_uring *ring)
{
	NEXT(io_uring_get_events);
	return seam_fails(SEAM_RING, CALLER) ? -EBUSY : next(ring);
}

int io_uring_submit_and_wait_timeout(struct io_uring *ring,
				     struct io_uring_cqe **c, unsigned n,
				     struct __kernel_timespec *timeout,
				     sigset_t *mask)
{
	NEXT(io_uring_submit_and_wait_timeout);
	if (seam_fails(SEAM_WAIT, CALLER))
		return -EINTR;
	return seam_fails(SEAM_RING, CALLER) ? -EAGAIN
					     : next(ring, c, n, timeout, mask);
}

int io_uring_queue_init_params(unsigned n, struct io_uring *ring,
			       struct io_uring_params *p)
{
	NEXT(io_uring_queue_init_params);
	return seam_fails(SEAM_DESCRIPTOR, CALLER) ? -EMFILE : next(n, ring, p);
}

int io_uring_queue_init(unsigned n, struct io_uring *ring, unsigned flags)
{
	NEXT(io_uring_queue_init);
	return seam_fails(SEAM_DESCRIPTOR, CALLER) ? -EMFILE
						   : next(n, ring, flags);
}

int io_uring_register_buf_ring(struct io_uring *ring,
			       struct io_uring_buf_reg *reg, unsigned flags)
{
	NEXT(io_uring_register_buf_ring);
	return seam_fails(SEAM_RING, CALLER) ? -ENOMEM : next(ring, reg, flags);
}

int epoll_wait(int epoll, struct epoll_event *event, int most, int ms)
{
	NEXT(epoll_wait);
	FAIL(SEAM_WAIT, EINTR, -1)
	return next(epoll, event, most, ms);
}

int poll(struct pollfd *of, nfds_t n, int ms)
{
	NEXT(poll);
	FAIL(SEAM_WAIT, EINTR, -1)
	return next(of, n, ms);
}
