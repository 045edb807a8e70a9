/* SPDX-License-Identifier: Apache-2.0 */
/*
 * NG by UDP: a socket, a batch of datagrams at each turn of the event loop, and
 * answers from the address that was asked.
 */
#define _GNU_SOURCE /* recvmmsg, struct in6_pktinfo */

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/address.h"
#include "base/clock.h"
#include "ng/listener_impl.h"
#include "observe/log.h"
#include "udp/socket.h"

enum {
	BATCH = 16,
	DATAGRAM = 65536, /* none is longer */
	CONTROL = 256
};

union control {
	struct cmsghdr align;
	char octets[CONTROL];
};

struct datagrams {
	struct ng_listener *listener;
	int fd;
	struct event *readable;
	struct mmsghdr message[BATCH];
	struct iovec part[BATCH];
	struct sockaddr_storage from[BATCH];
	union control control[BATCH];
	char octets[BATCH][DATAGRAM];
};

/* --- in --- */

static void prepare(struct datagrams *d)
{
	for (unsigned i = 0; i < BATCH; i++) {
		d->part[i] = (struct iovec){ d->octets[i], DATAGRAM };
		d->message[i].msg_hdr = (struct msghdr){
			.msg_name = &d->from[i],
			.msg_namelen = sizeof(d->from[i]),
			.msg_iov = &d->part[i],
			.msg_iovlen = 1,
			.msg_control = &d->control[i],
			.msg_controllen = sizeof(d->control[i]),
		};
	}
}

/* Which of our addresses the kernel says it came to. */
static void read_at(struct msghdr *m, struct sockaddr_storage *at)
{
	struct sockaddr_in *a4 = (void *)at;
	struct sockaddr_in6 *a6 = (void *)at;
	struct in_pktinfo i4;
	struct in6_pktinfo i6;

	*at = (struct sockaddr_storage){ .ss_family = AF_UNSPEC };
	for (struct cmsghdr *c = CMSG_FIRSTHDR(m); c; c = CMSG_NXTHDR(m, c)) {
		if (c->cmsg_level == IPPROTO_IP && c->cmsg_type == IP_PKTINFO) {
			memcpy(&i4, CMSG_DATA(c), sizeof(i4));
			a4->sin_family = AF_INET;
			a4->sin_addr = i4.ipi_spec_dst;
		} else if (c->cmsg_level == IPPROTO_IPV6 &&
			   c->cmsg_type == IPV6_PKTINFO) {
			memcpy(&i6, CMSG_DATA(c), sizeof(i6));
			a6->sin6_family = AF_INET6;
			a6->sin6_addr = i6.ipi6_addr;
			a6->sin6_scope_id = i6.ipi6_ifindex;
		}
	}
}

/* Whoever types messages ends them with a line feed. */
static size_t without_feed(const char *text, size_t bytes)
{
	while (bytes && (text[bytes - 1] == '\n' || text[bytes - 1] == '\r'))
		bytes--;
	return bytes;
}

static void take(struct datagrams *d, unsigned i, cr_ns now)
{
	struct ng_listener *l = d->listener;
	struct ng_origin o = { .from = d->from[i] };
	size_t bytes = without_feed(d->octets[i], d->message[i].msg_len);

	if (!ng_listener_admits(l, &o.from))
		return;
	if (rate_limit_take(l->rate_limit, &o.from, now)) {
		char from[64];

		l->count.received++;
		l->count.limited++;
		log_event(LOG_WARN, "ng-limited", "from=%s per_second=%u",
			  address_text(&o.from, from, sizeof(from)),
			  l->limits.per_second);
		return;
	}
	read_at(&d->message[i].msg_hdr, &o.at);
	ng_listener_take(l, &o, d->octets[i], bytes);
}

/* One batch: the event comes again for what is left. */
static void on_readable(evutil_socket_t fd, short what, void *arg)
{
	struct datagrams *d = arg;
	cr_ns now = clock_now();
	int n;

	(void)what;
	prepare(d);
	n = recvmmsg(fd, d->message, BATCH, MSG_DONTWAIT, NULL);
	if (n < 0 && errno != EAGAIN && errno != EINTR)
		log_event(LOG_ERROR, "ng-receive", "why=\"%s\"",
			  strerror(errno));
	for (int i = 0; i < n; i++)
		take(d, (unsigned)i, now);
}

/* --- out --- */

static void add_control(struct msghdr *m, int level, int type, const void *data,
			size_t bytes)
{
	struct cmsghdr *c = m->msg_control;

	m->msg_controllen = CMSG_SPACE(bytes);
	c->cmsg_level = level;
	c->cmsg_type = type;
	c->cmsg_len = CMSG_LEN(bytes);
	memcpy(CMSG_DATA(c), data, bytes);
}

/* The link matters only to addresses that are good for one link. */
static void send_from(struct msghdr *m, union control *room,
		      const struct sockaddr_storage *at)
{
	const struct sockaddr_in *a4 = (const void *)at;
	const struct sockaddr_in6 *a6 = (const void *)at;
	struct in_pktinfo i4 = { 0 };
	struct in6_pktinfo i6 = { 0 };

	if (at->ss_family == AF_UNSPEC)
		return;
	*room = (union control){ .octets = { 0 } };
	m->msg_control = room;
	if (at->ss_family == AF_INET) {
		i4.ipi_spec_dst = a4->sin_addr;
		add_control(m, IPPROTO_IP, IP_PKTINFO, &i4, sizeof(i4));
		return;
	}
	i6.ipi6_addr = a6->sin6_addr;
	if (IN6_IS_ADDR_LINKLOCAL(&i6.ipi6_addr))
		i6.ipi6_ifindex = a6->sin6_scope_id;
	add_control(m, IPPROTO_IPV6, IPV6_PKTINFO, &i6, sizeof(i6));
}

int datagrams_send(struct datagrams *d, const struct ng_origin *to,
		   const char *text, size_t bytes)
{
	struct sockaddr_storage peer = to->from;
	struct iovec part = { (void *)(uintptr_t)text, bytes };
	struct msghdr m = { .msg_name = &peer,
			    .msg_namelen = address_length(&peer),
			    .msg_iov = &part,
			    .msg_iovlen = 1 };
	union control room;

	send_from(&m, &room, &to->at);
	if (sendmsg(d->fd, &m, MSG_DONTWAIT | MSG_NOSIGNAL) >= 0)
		return 0;
	/* who asked sends its request again, and has the answer then */
	log_event(LOG_WARN, "ng-unsent", "why=\"%s\"", strerror(errno));
	return -errno;
}

/* --- life --- */

uint64_t datagrams_dropped(const struct datagrams *d)
{
	return udp_socket_drops(d->fd);
}

static void report_addresses(int fd, int family)
{
	const int on = 1;

	if (family == AF_INET6)
		(void)setsockopt(fd, IPPROTO_IPV6, IPV6_RECVPKTINFO, &on,
				 sizeof(on));
	else
		(void)setsockopt(fd, IPPROTO_IP, IP_PKTINFO, &on, sizeof(on));
}

int datagrams_open(struct ng_listener *l, struct cr_err *e)
{
	struct datagrams *d = calloc(1, sizeof(*d));
	socklen_t n = sizeof(l->local);

	if (!d)
		return cr_fail(e, -ENOMEM, "out of memory");
	l->datagrams = d;
	d->listener = l;
	d->fd = udp_socket(&l->local, e);
	if (d->fd < 0)
		return d->fd;
	report_addresses(d->fd, l->local.ss_family);
	(void)getsockname(d->fd, (struct sockaddr *)&l->local, &n);
	d->readable = event_new(l->cfg.base, d->fd, EV_READ | EV_PERSIST,
				on_readable, d);
	if (!d->readable || event_add(d->readable, NULL))
		return cr_fail(e, -ENOMEM, "out of memory");
	return 0;
}

void datagrams_close(struct datagrams *d)
{
	if (!d)
		return;
	if (d->readable)
		event_free(d->readable);
	if (d->fd >= 0)
		(void)close(d->fd);
	free(d);
}
