/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sockets for media. What the kernel does not know of is left out: only bind()
 * must succeed.
 */
#define _GNU_SOURCE
#include "udp/socket.h"

#include <errno.h>
#include <linux/filter.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/address.h"
#include "base/descriptors.h"

#define BUFFER_BYTES (8 << 20)
/* More than any buffer of ours holds. */
#define UNREAD_MAX 65536u
/* Who has more than this left may be flooded. */
#define UNREAD_USUAL 16u
#define PORT_RANGE "/proc/sys/net/ipv4/ip_local_port_range"

/* Beyond the administrator's limit only with the privilege. */
static void enlarge(int fd, int forced, int plain)
{
	int size = BUFFER_BYTES;

	if (setsockopt(fd, SOL_SOCKET, forced, &size, sizeof(size)))
		(void)setsockopt(fd, SOL_SOCKET, plain, &size, sizeof(size));
}

/* The ports that the kernel chooses from: "32768-60999". */
static void port_range(char *buf, size_t size)
{
	unsigned from = 0, to = 0;
	FILE *f = fopen(PORT_RANGE, "re");

	/* The kernel's numbers fit: NOLINTNEXTLINE(cert-err34-c) */
	if (!f || fscanf(f, "%u %u", &from, &to) != 2)
		from = to = 0;
	if (f)
		(void)fclose(f);
	(void)snprintf(buf, size, "%u-%u", from, to);
}

static int bind_fails(const struct sockaddr_storage *local, int err,
		      struct cr_err *e)
{
	char at[64], range[32];

	(void)address_text(local, at, sizeof(at));
	if (err != EADDRINUSE || address_port(local))
		return cr_fail(e, -err, "UDP socket: bind %s: %s", at,
			       strerror(err));
	port_range(range, sizeof(range));
	return cr_fail(e, -err,
		       "UDP socket: out of ports: all of %s are in use at %s; "
		       "widen " PORT_RANGE " (sysctl "
		       "net.ipv4.ip_local_port_range)",
		       range, at);
}

/* What must be known before bind(). */
enum { SHARED = 1, V6ONLY = 2 };

static int open_at(const struct sockaddr_storage *local, unsigned how,
		   struct cr_err *e)
{
	int on = 1, err;
	int fd = socket(local->ss_family,
			SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	if (fd < 0 && (errno == EMFILE || errno == ENFILE))
		return descriptors_fail(e, -errno, "UDP socket");
	if (fd < 0)
		return cr_fail(e, -errno, "UDP socket: %s", strerror(errno));
	(void)setsockopt(fd, SOL_SOCKET, SO_TIMESTAMPNS, &on, sizeof(on));
	(void)setsockopt(fd, SOL_SOCKET, SO_RXQ_OVFL, &on, sizeof(on));
	if (how & SHARED)
		(void)setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &on, sizeof(on));
	if (how & V6ONLY && local->ss_family == AF_INET6)
		(void)setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &on,
				 sizeof(on));
	if (!bind(fd, (const struct sockaddr *)local, address_length(local)))
		return fd;
	err = errno;
	(void)close(fd);
	return bind_fails(local, err, e);
}

static int open_large(const struct sockaddr_storage *local, unsigned how,
		      struct cr_err *e)
{
	int fd = open_at(local, how, e);

	if (fd < 0)
		return fd;
	enlarge(fd, SO_RCVBUFFORCE, SO_RCVBUF);
	enlarge(fd, SO_SNDBUFFORCE, SO_SNDBUF);
	return fd;
}

int udp_socket(const struct sockaddr_storage *local, struct cr_err *e)
{
	return open_large(local, 0, e);
}

int udp_socket_shared(const struct sockaddr_storage *local, struct cr_err *e)
{
	return open_large(local, SHARED, e);
}

bool udp_socket_is_short(int fd, struct cr_err *why)
{
	int size = 0; /* twice what was asked for: the kernel's own part */
	socklen_t len = sizeof(size);

	if (getsockopt(fd, SOL_SOCKET, SO_RCVBUF, &size, &len) ||
	    size / 2 >= BUFFER_BYTES)
		return false;
	(void)cr_fail(why, -ENOBUFS,
		      "room for %d KiB instead of %d that have come and are "
		      "not received: sysctl net.core.rmem_max=%d, and restart",
		      size / 2 / 1024, BUFFER_BYTES / 1024, BUFFER_BYTES);
	return true;
}

int udp_socket_small(const struct sockaddr_storage *local, int bytes,
		     struct cr_err *e)
{
	int fd = open_at(local, V6ONLY, e);

	if (fd >= 0)
		(void)setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &bytes,
				 sizeof(bytes));
	return fd;
}

uint32_t udp_socket_drops(int fd)
{
	uint32_t info[SK_MEMINFO_VARS] = { 0 };
	socklen_t n = sizeof(info);

	if (getsockopt(fd, SOL_SOCKET, SO_MEMINFO, info, &n))
		return 0;
	return info[SK_MEMINFO_DROPS];
}

/* Not by connect() to nowhere: what is still to be sent, a last RTCP packet
 * perhaps, would go from another address, where the socket is bound to any. */
static void transcode_away(int fd)
{
	struct sock_filter nothing = BPF_STMT(BPF_RET | BPF_K, 0);
	const struct sock_fprog filter = { .len = 1, .filter = &nothing };

	(void)setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &filter,
			 sizeof(filter));
}

unsigned udp_socket_end(int fd)
{
	unsigned n = 0;

	/* Cut to nothing, it is not copied. Were it not turned away, a flood
	 * could go on for ever; but a filter costs as much as a socket. */
	while (n < UNREAD_MAX &&
	       recv(fd, NULL, 0, MSG_DONTWAIT | MSG_TRUNC) >= 0)
		if (++n == UNREAD_USUAL)
			transcode_away(fd);
	return n;
}
