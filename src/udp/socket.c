/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sockets for media. What the kernel does not know of is left out: only bind()
 * must succeed.
 */
#define _GNU_SOURCE
#include "udp/socket.h"

#include <errno.h>
#include <linux/sock_diag.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include "base/address.h"

#define BUFFER_BYTES (8 << 20)

/* Beyond the administrator's limit only with the privilege. */
static void enlarge(int fd, int forced, int plain)
{
	int size = BUFFER_BYTES;

	if (setsockopt(fd, SOL_SOCKET, forced, &size, sizeof(size)))
		(void)setsockopt(fd, SOL_SOCKET, plain, &size, sizeof(size));
}

static int open_socket(const struct sockaddr_storage *local, bool shared,
		       struct cr_err *e)
{
	int on = 1, err;
	int fd = socket(local->ss_family,
			SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return cr_fail(e, -errno, "UDP socket: %s", strerror(errno));
	enlarge(fd, SO_RCVBUFFORCE, SO_RCVBUF);
	enlarge(fd, SO_SNDBUFFORCE, SO_SNDBUF);
	(void)setsockopt(fd, SOL_SOCKET, SO_TIMESTAMPNS, &on, sizeof(on));
	(void)setsockopt(fd, SOL_SOCKET, SO_RXQ_OVFL, &on, sizeof(on));
	if (shared)
		(void)setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &on, sizeof(on));
	if (!bind(fd, (const struct sockaddr *)local, address_length(local)))
		return fd;
	err = errno;
	(void)close(fd);
	return cr_fail(e, -err, "UDP socket: bind: %s", strerror(err));
}

int udp_socket(const struct sockaddr_storage *local, struct cr_err *e)
{
	return open_socket(local, false, e);
}

int udp_socket_shared(const struct sockaddr_storage *local, struct cr_err *e)
{
	return open_socket(local, true, e);
}

uint32_t udp_socket_drops(int fd)
{
	uint32_t info[SK_MEMINFO_VARS] = { 0 };
	socklen_t n = sizeof(info);

	if (getsockopt(fd, SOL_SOCKET, SO_MEMINFO, info, &n))
		return 0;
	return info[SK_MEMINFO_DROPS];
}
