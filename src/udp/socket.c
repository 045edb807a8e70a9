/* SPDX-License-Identifier: Apache-2.0 */
/*
 * UDP sockets for media: their buffers and options, and what went wrong in
 * words.
 *
 * Of several at one address the first one takes it for itself, so that what is
 * there already, a second daemon's group included, refuses it. Only then it is
 * opened to others, which join in the order of their numbers: the kernel counts
 * them so. SO_REUSEPORT, with a classic BPF program that chooses.
 */
#define _GNU_SOURCE
#include "udp/socket.h"

#include <ctype.h>
#include <errno.h>
#include <linux/filter.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/address.h"
#include "base/descriptors.h"

#define BUFFER_BYTES (8 << 20)
/* More than any buffer of ours holds. */
#define UNREAD_MAX 65536u
/* A socket with more than this left may be flooded. */
#define UNREAD_USUAL 16u
#define PORT_RANGE "/proc/sys/net/ipv4/ip_local_port_range"

/* Beyond the administrator's limit only with the privilege. */
static void enlarge_buffer(int fd, int forced, int plain)
{
	int size = BUFFER_BYTES;

	if (setsockopt(fd, SOL_SOCKET, forced, &size, sizeof(size)))
		(void)setsockopt(fd, SOL_SOCKET, plain, &size, sizeof(size));
}

/* The ports that the kernel chooses from: "32768-60999". */
static void read_port_range(char *buf, size_t size)
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

/* Options that must be set before bind(). */
enum { SHARED = 1, V6ONLY = 2 };

static bool foreign;

void udp_socket_foreign(bool may)
{
	foreign = may;
}

void udp_socket_allow_foreign(int fd)
{
	const int on = 1;

	if (foreign) /* also of IPv6 */
		(void)setsockopt(fd, IPPROTO_IP, IP_FREEBIND, &on, sizeof(on));
}

static int open_socket_at(const struct sockaddr_storage *local, unsigned how,
			  struct cr_err *e)
{
	int on = 1, err;
	int fd = socket(local->ss_family,
			SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	char at[64], range[32];

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
	udp_socket_allow_foreign(fd);
	if (!bind(fd, (const struct sockaddr *)local, address_length(local)))
		return fd;
	err = errno;
	(void)close(fd);
	(void)address_text(local, at, sizeof(at));
	if (err != EADDRINUSE || address_port(local))
		return cr_fail(e, -err, "UDP socket: bind %s: %s", at,
			       strerror(err));
	read_port_range(range, sizeof(range));
	return cr_fail(e, -err,
		       "UDP socket: out of ports: all of %s are in use at %s; "
		       "widen " PORT_RANGE " (sysctl "
		       "net.ipv4.ip_local_port_range)",
		       range, at);
}

static int open_large(const struct sockaddr_storage *local, unsigned how,
		      struct cr_err *e)
{
	int fd = open_socket_at(local, how, e);

	if (fd < 0)
		return fd;
	enlarge_buffer(fd, SO_RCVBUFFORCE, SO_RCVBUF);
	enlarge_buffer(fd, SO_SNDBUFFORCE, SO_SNDBUF);
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
	int fd = open_socket_at(local, V6ONLY, e);

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
static void throw_datagram_away(int fd)
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
			throw_datagram_away(fd);
	return n;
}

/* --- several at one address --- */

enum { NAPS = 40, NAP_MS = 25 };

static int share_port(int fd, int on)
{
	return setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &on, sizeof(on))
		       ? -errno
		       : 0;
}

/* The program sees the datagram from its first octet. A load beyond the end
 * ends it with 0, which is a choice, too. */
static int attach_filter(int fd, unsigned n, unsigned offset)
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

static int open_group(unsigned n, unsigned offset, int fd[], struct cr_err *e)
{
	struct sockaddr_storage at;
	socklen_t len = sizeof(at);
	int err;

	if (getsockname(fd[0], (struct sockaddr *)&at, &len))
		return cr_fail(e, -errno, "getsockname: %s", strerror(errno));
	err = share_port(fd[0], 1);
	if (err)
		return cr_fail(e, err, "SO_REUSEPORT: %s", strerror(-err));
	for (unsigned i = 1; i < n; i++) {
		fd[i] = udp_socket_shared(&at, e);
		if (fd[i] < 0) {
			close_others(fd, i);
			return fd[i];
		}
	}
	err = attach_filter(fd[0], n, offset);
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
	(void)share_port(fd[0], 0);
	(void)cr_fail(warn, err, "one receiver for the shared port: %s",
		      why.text);
	return 1;
}

/* --- the TOS octet --- */

#define ECN_BITS 3u

struct named {
	const char *name;
	unsigned dscp;
};

static const struct named singles[] = {
	{ "EF", 46 },
	{ "VA", 44 }, /* admitted voice */
	{ "LE", 1 },  /* lower effort */
};

static bool digit_within(char c, char first, char last)
{
	return c >= first && c <= last;
}

/* The DSCP of a name, or -1. CSx is x in the upper three bits (RFC 2474,
 * 4.2.2.2), AFxy is class x and drop precedence y (RFC 2597, 6). */
static int dscp_of(const char *name)
{
	for (size_t i = 0; i < sizeof(singles) / sizeof(*singles); i++)
		if (!strcasecmp(name, singles[i].name))
			return (int)singles[i].dscp;
	if (!strncasecmp(name, "CS", 2) && digit_within(name[2], '0', '7') &&
	    !name[3])
		return (name[2] - '0') * 8;
	if (!strncasecmp(name, "AF", 2) && digit_within(name[2], '1', '4') &&
	    digit_within(name[3], '1', '3') && !name[4])
		return (name[2] - '0') * 8 + (name[3] - '0') * 2;
	return -1;
}

int tos_parse(const char *text, unsigned *tos, struct cr_err *e)
{
	int dscp = dscp_of(text);
	unsigned long n;
	char *end;

	if (dscp >= 0) {
		*tos = (unsigned)dscp << 2;
		return 0;
	}
	/* not strtoul()'s octal */
	n = strtoul(text, &end,
		    tolower(text[0] ? text[1] : 0) == 'x' ? 16 : 10);
	if (!isdigit((unsigned char)*text) || *end || n > 255)
		return cr_fail(
			e, -EINVAL,
			"must be a number from 0 to 252, such as 184 or "
			"0xb8, or the name of a DSCP: EF, VA, LE, CS0 to "
			"CS7, AF11 to AF43");
	if (n & ECN_BITS)
		return cr_fail(e, -EINVAL,
			       "%lu sets the lower two bits, which belong to "
			       "ECN; if you mean the DSCP %lu, write %lu",
			       n, n, n << 2);
	*tos = (unsigned)n;
	return 0;
}

int tos_set(int fd, int family, unsigned tos)
{
	int value = (int)tos;
	int err = family == AF_INET6 ? setsockopt(fd, IPPROTO_IPV6, IPV6_TCLASS,
						  &value, sizeof(value))
				     : setsockopt(fd, IPPROTO_IP, IP_TOS,
						  &value, sizeof(value));

	return err ? -errno : 0;
}
