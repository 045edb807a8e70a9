/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE /* IFF_ */
#include "base/own_hosts.h"

#include <errno.h>
#include <ifaddrs.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/address.h"
#include "base/rcu.h"

#define HOST_BITS 128u
/* Networks of IPv4 with less than two bits for hosts have no broadcast. */
#define BROADCAST_BITS_MOST (HOST_BITS - 2)

/* The addresses of one reading, sorted: a machine may have thousands. */
struct host_list {
	struct rcu_later rcu;
	size_t nhosts, nbroadcasts, nnetworks;
	struct in6_addr *hosts, *broadcasts;
	/* of loopback, where each address of a network is this machine's */
	struct network *networks;
};

struct own_hosts {
	struct host_list *now; /* RCU */
	int fd;
};

/* --- a list --- */

static void free_list(struct host_list *l)
{
	if (!l)
		return;
	free(l->hosts);
	free(l->broadcasts);
	free(l->networks);
	free(l);
}

static void free_later(struct rcu_later *later)
{
	rcu_deferred();
	free_list((struct host_list *)later); /* its first member */
}

static int compare_hosts(const void *a, const void *b)
{
	return memcmp(a, b, sizeof(struct in6_addr));
}

static bool has(const struct in6_addr *list, size_t n,
		const struct sockaddr_storage *a)
{
	const struct in6_addr host = address_mapped(a);

	return n && bsearch(&host, list, n, sizeof(*list), compare_hosts);
}

static struct sockaddr_storage from_kernel(const struct sockaddr *a)
{
	struct sockaddr_storage s = { .ss_family =
					      a ? a->sa_family : AF_UNSPEC };

	if (s.ss_family == AF_INET || s.ss_family == AF_INET6)
		memcpy(&s, a, address_length(&s));
	else
		s.ss_family = AF_UNSPEC;
	return s;
}

/* The number of bits of the mapped address that are its network's. */
static unsigned mask_bits(const struct sockaddr_storage *mask)
{
	const struct in6_addr m = address_mapped(mask);
	unsigned bits = mask->ss_family == AF_INET ? HOST_BITS - 32 : 0;

	while (bits < HOST_BITS && m.s6_addr[bits / 8] >> (7 - bits % 8) & 1)
		bits++;
	return bits;
}

/* The last one of a network. Not ifa_broadaddr, which is a peer's address where
 * none was set. */
static void add_broadcast(struct host_list *l, struct in6_addr host,
			  unsigned bits)
{
	if (bits > BROADCAST_BITS_MOST)
		return;
	for (unsigned b = bits; b < HOST_BITS; b++)
		host.s6_addr[b / 8] |= (uint8_t)(0x80 >> b % 8);
	l->broadcasts[l->nbroadcasts++] = host;
}

static struct host_list *list_of(const struct ifaddrs *all)
{
	struct host_list *l = calloc(1, sizeof(*l));
	size_t n = 1;

	for (const struct ifaddrs *i = all; i; i = i->ifa_next)
		n++;
	if (!l)
		return NULL;
	l->hosts = calloc(n, sizeof(*l->hosts));
	l->broadcasts = calloc(n, sizeof(*l->broadcasts));
	l->networks = calloc(n, sizeof(*l->networks));
	if (!l->hosts || !l->broadcasts || !l->networks) {
		free_list(l);
		return NULL;
	}
	for (const struct ifaddrs *i = all; i; i = i->ifa_next) {
		struct sockaddr_storage a = from_kernel(i->ifa_addr);
		struct sockaddr_storage mask = from_kernel(i->ifa_netmask);
		const struct in6_addr host = address_mapped(&a);
		unsigned bits = mask.ss_family ? mask_bits(&mask) : HOST_BITS;

		if (!a.ss_family)
			continue;
		l->hosts[l->nhosts++] = host;
		if (a.ss_family == AF_INET)
			add_broadcast(l, host, bits);
		if (i->ifa_flags & IFF_LOOPBACK && a.ss_family == AF_INET &&
		    bits < HOST_BITS)
			l->networks[l->nnetworks++] =
				(struct network){ host, bits };
	}
	qsort(l->hosts, l->nhosts, sizeof(*l->hosts), compare_hosts);
	qsort(l->broadcasts, l->nbroadcasts, sizeof(*l->broadcasts),
	      compare_hosts);
	return l;
}

/* --- reading --- */

int own_hosts_read(struct own_hosts *o, struct cr_err *e)
{
	struct host_list *l, *before = o->now;
	struct ifaddrs *all = NULL;
	int err, fd = o->fd;
	char report[4096];
	ssize_t n;

	/* Discard the reports: all addresses are read anew. */
	do
		n = recv(fd, report, sizeof(report), MSG_DONTWAIT);
	while (n > 0 || (n < 0 && (errno == ENOBUFS || errno == EINTR)));
	err = getifaddrs(&all) ? -errno : 0;
	l = err ? NULL : list_of(all);
	if (!err)
		freeifaddrs(all);
	if (!l) {
		err = err ? err : -ENOMEM;
		return cr_fail(e, err,
			       "the addresses of this machine cannot be read: "
			       "%s",
			       strerror(-err));
	}
	rcu_assign_pointer(o->now, l);
	if (before)
		rcu_defer(&before->rcu, free_later);
	return 0;
}

/* Open a socket on which the kernel reports changes. */
static int watch_changes(struct cr_err *e)
{
	const struct sockaddr_nl at = { .nl_family = AF_NETLINK,
					.nl_groups = RTMGRP_IPV4_IFADDR |
						     RTMGRP_IPV6_IFADDR };
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK,
			NETLINK_ROUTE);
	int err;

	if (fd >= 0 && !bind(fd, (const struct sockaddr *)&at, sizeof(at)))
		return fd;
	err = -errno;
	if (fd >= 0)
		(void)close(fd);
	return cr_fail(e, err,
		       "the addresses of this machine cannot be read by "
		       "netlink: %s. A service needs AF_NETLINK among its "
		       "RestrictAddressFamilies",
		       strerror(-err));
}

int own_hosts_open(struct own_hosts **out, struct cr_err *e)
{
	struct own_hosts *o = calloc(1, sizeof(*o));
	int err;

	if (!o)
		return cr_fail(e, -ENOMEM, "out of memory");
	o->fd = watch_changes(e);
	err = o->fd < 0 ? o->fd : own_hosts_read(o, e);
	if (err) {
		own_hosts_close(o);
		return err;
	}
	*out = o;
	return 0;
}

void own_hosts_close(struct own_hosts *o)
{
	if (!o)
		return;
	if (o->fd >= 0)
		(void)close(o->fd);
	free_list(o->now);
	free(o);
}

int own_hosts_fd(const struct own_hosts *o)
{
	return o->fd;
}

/* --- questions --- */

bool own_hosts_has(const struct own_hosts *o, const struct sockaddr_storage *a)
{
	const struct host_list *l = o ? rcu_dereference(o->now) : NULL;
	const struct in6_addr host = address_mapped(a);

	if (address_loopback(a) || (l && has(l->hosts, l->nhosts, a)))
		return true;
	for (size_t i = 0; l && i < l->nnetworks; i++)
		if (network_has(&l->networks[i], &host))
			return true;
	return false;
}

bool own_hosts_broadcasts(const struct own_hosts *o,
			  const struct sockaddr_storage *a)
{
	const struct host_list *l = o ? rcu_dereference(o->now) : NULL;

	return l && has(l->broadcasts, l->nbroadcasts, a);
}
