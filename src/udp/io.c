/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether io_uring can be used. The answer comes from receiving one datagram as
 * the receiver does: lists of features do not say what a sandbox refuses.
 */
#define _GNU_SOURCE
#include "udp/io.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "udp/inlet_uring.h"

/* One end of a socket pair sends to the other. */
static int receive_one(const int pair[2])
{
	static const struct receive_ring_sizes few = { .submissions = 8,
						       .completions = 16,
						       .buffers = 4 };
	struct inlet_packet p;
	struct inlet *in;
	uint64_t key;
	int rc = inlet_uring_open(&in, &few, NULL);

	if (rc)
		return rc;
	rc = inlet_add(in, pair[0], 1, INLET_ONE, &key, NULL);
	if (!rc && send(pair[1], "x", 1, MSG_DONTWAIT | MSG_NOSIGNAL) != 1)
		rc = -errno;
	/* an added socket wakes as well, before a packet comes */
	for (int i = 0; i < 2 && !rc; i++)
		rc = inlet_wait(in, CR_SEC);
	rc = rc < 0 ? rc : inlet_next(in, &p) ? 0 : -ETIMEDOUT;
	inlet_leave(in);
	inlet_close(in);
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
	int pair[2], rc;

	rc = socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0, pair) ? -errno
								     : 0;
	if (!rc) {
		rc = receive_one(pair);
		(void)close(pair[0]);
		(void)close(pair[1]);
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
