/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Several sockets at one address.
 *
 * The first one takes the address for itself, so that what is there already, a
 * second daemon's group included, refuses it. Only then it is opened to others,
 * which join in the order of their numbers: the kernel counts them so.
 */
#define _GNU_SOURCE
#include "udp/socket_group.h"

#include <errno.h>
#include <linux/filter.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "udp/socket.h"

enum { NAPS = 40, NAP_MS = 25 };

static int share(int fd, int on)
{
	return setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &on, sizeof(on))
		       ? -errno
		       : 0;
}

/* The program sees the datagram from its first octet. A load beyond the end
 * ends it with 0, which is a choice, too. */
static int attach(int fd, unsigned n, unsigned offset)
{
	struct sock_filter code[] = {
		{ BPF_LD | BPF_W | BPF_ABS, 0, 0, offset },
		{ BPF_ALU | BPF_MOD | BPF_K, 0, 0, n },
		{ BPF_RET | BPF_A, 0, 0, 0 },
	};
	struct sock_fprog program = { sizeof(code) / sizeof(*code), code };

	return setsockopt(fd, SOL_SOCKET, SO_ATTACH_REUSEPORT_CBPF, &program,
			  sizeof(program))
		       ? -errno
		       : 0;
}

static void close_others(int fd[], unsigned n)
{
	for (unsigned i = 1; i < n; i++)
		(void)close(fd[i]);
}

static int join(const struct sockaddr_storage *at, unsigned n, int fd[],
		struct cr_err *e)
{
	for (unsigned i = 1; i < n; i++) {
		fd[i] = udp_socket_shared(at, e);
		if (fd[i] < 0) {
			close_others(fd, i);
			return fd[i];
		}
	}
	return 0;
}

static int open_group(unsigned n, unsigned offset, int fd[], struct cr_err *e)
{
	struct sockaddr_storage at;
	socklen_t len = sizeof(at);
	int err;

	if (getsockname(fd[0], (struct sockaddr *)&at, &len))
		return cr_fail(e, -errno, "getsockname: %s", strerror(errno));
	err = share(fd[0], 1);
	if (err)
		return cr_fail(e, err, "SO_REUSEPORT: %s", strerror(-err));
	err = join(&at, n, fd, e);
	if (err)
		return err;
	err = attach(fd[0], n, offset);
	if (!err)
		return 0;
	close_others(fd, n);
	return cr_fail(e, err, "SO_ATTACH_REUSEPORT_CBPF: %s", strerror(-err));
}

/* A process that was killed leaves its sockets to the kernel, which gives up
 * those of an io_uring when it comes to that: so who takes its place waits. */
static int take_address(const struct sockaddr_storage *local, struct cr_err *e)
{
	const struct timespec nap = { .tv_nsec = NAP_MS * 1000000L };
	int fd = udp_socket(local, e);

	for (unsigned i = 0; fd == -EADDRINUSE && i < NAPS; i++) {
		(void)nanosleep(&nap, NULL);
		fd = udp_socket(local, e);
	}
	return fd;
}

int udp_socket_group(const struct sockaddr_storage *local, unsigned n,
		     unsigned offset, int fd[], struct cr_err *warn,
		     struct cr_err *e)
{
	struct cr_err why = { "" };
	int err;

	fd[0] = take_address(local, e);
	if (fd[0] < 0)
		return fd[0];
	if (n <= 1)
		return 1;
	err = open_group(n, offset, fd, &why);
	if (!err)
		return (int)n;
	(void)share(fd[0], 0);
	(void)cr_fail(warn, err, "one receiver for the shared port: %s",
		      why.text);
	return 1;
}
