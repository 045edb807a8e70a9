/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kernel back-end's receiving side: data and notifications of the socket
 * become transport events.
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "transport/sctp_kernel.h"

/* At each association within the silence that it is allowed. */
enum { LOOKS = 20 };

static void say(struct kernel *k, const struct transport_event *ev)
{
	if (!k->closed)
		k->cfg.event(k->cfg.arg, ev);
}

struct kernel_assoc *kernel_find(struct kernel *k, sctp_assoc_t id)
{
	struct kernel_assoc *a;

	LIST_FOREACH(a, &k->assocs[(uint32_t)id % KERNEL_BUCKETS], chain)
	{
		if (a->id == id)
			return a;
	}
	return NULL;
}

void kernel_free_assocs(struct kernel *k)
{
	for (unsigned i = 0; i < KERNEL_BUCKETS; i++) {
		struct kernel_assoc *a;

		while ((a = LIST_FIRST(&k->assocs[i]))) {
			LIST_REMOVE(a, chain);
			free(a);
		}
	}
}

/* The peer's first address; its port is the SCTP port. */
static void peer_text(const struct kernel *k, sctp_assoc_t id, char *buf,
		      size_t size)
{
	struct sockaddr *list = NULL;
	struct address a = { 0 };

	(void)snprintf(buf, size, "?");
	if (sctp_getpaddrs(k->fd, id, &list) <= 0)
		return;
	a.len = list->sa_family == AF_INET6 ? sizeof(struct sockaddr_in6)
					    : sizeof(struct sockaddr_in);
	memcpy(&a.sa, list, a.len);
	sctp_freepaddrs(list);
	peer_address_text(&a, buf, size);
}

static void assoc_up(struct kernel *k, sctp_assoc_t id,
		     enum transport_event_kind kind)
{
	struct transport_event ev = { .kind = kind, .assoc = (uint32_t)id };
	struct kernel_assoc *a = kernel_find(k, id);
	char peer[80];

	if (!a) {
		a = calloc(1, sizeof(*a));
		if (!a) {
			k->t.ops->abort(&k->t, (uint32_t)id);
			return;
		}
		a->id = id;
		LIST_INSERT_HEAD(&k->assocs[(uint32_t)id % KERNEL_BUCKETS], a,
				 chain);
	}
	a->under_way = 0;
	a->heard = k->awake.now;
	k->connecting = false;
	peer_text(k, id, peer, sizeof(peer));
	ev.peer = peer;
	say(k, &ev);
}

static void assoc_gone(struct kernel *k, sctp_assoc_t id,
		       enum transport_event_kind kind, const char *reason)
{
	const struct transport_event ev = { .kind = kind,
					    .assoc = (uint32_t)id,
					    .reason = reason };
	struct kernel_assoc *a = kernel_find(k, id);

	if (!a)
		return;
	LIST_REMOVE(a, chain);
	free(a);
	say(k, &ev);
}

static void cant_start(struct kernel *k, const char *reason)
{
	const struct transport_event ev = { .kind = TRANSPORT_CANT_START,
					    .reason = reason };

	if (!k->connecting)
		return;
	k->connecting = false;
	say(k, &ev);
}

static void assoc_change(struct kernel *k, const struct sctp_assoc_change *c)
{
	switch (c->sac_state) {
	case SCTP_COMM_UP:
		assoc_up(k, c->sac_assoc_id, TRANSPORT_UP);
		break;
	case SCTP_RESTART:
		assoc_up(k, c->sac_assoc_id, TRANSPORT_RESTART);
		break;
	case SCTP_SHUTDOWN_COMP:
		assoc_gone(k, c->sac_assoc_id, TRANSPORT_SHUTDOWN, NULL);
		break;
	case SCTP_COMM_LOST:
		assoc_gone(k, c->sac_assoc_id, TRANSPORT_LOST,
			   c->sac_length > sizeof(*c)
				   ? "aborted by the peer"
				   : "no answer from the peer");
		cant_start(k, "refused by the server");
		break;
	case SCTP_CANT_STR_ASSOC:
		cant_start(k, c->sac_error ? "nothing listens at the SCTP port"
					   : "no answer from the server");
		break;
	default:
		break;
	}
}

static void notification(struct kernel *k, const union sctp_notification *note)
{
	struct kernel_assoc *a;

	if (note->sn_header.sn_type == SCTP_ASSOC_CHANGE)
		assoc_change(k, &note->sn_assoc_change);
	if (note->sn_header.sn_type != SCTP_SENDER_DRY_EVENT)
		return;
	a = kernel_find(k, note->sn_sender_dry_event.sender_dry_assoc_id);
	if (a)
		a->under_way = 0;
}

/* Take one message, part or notification; false: there was none. */
static bool receive(struct kernel *k)
{
	struct transport_event ev = { .kind = TRANSPORT_DATA };
	struct iovec iov = { .iov_base = k->buffer,
			     .iov_len = sizeof(k->buffer) };
	struct sctp_rcvinfo info = { 0 };
	socklen_t info_bytes = sizeof(info);
	unsigned type = 0;
	int flags = MSG_DONTWAIT;
	int n = sctp_recvv(k->fd, &iov, 1, NULL, NULL, &info, &info_bytes,
			   &type, &flags);

	if (n <= 0)
		return false;
	if (flags & MSG_NOTIFICATION) {
		notification(k, (const void *)k->buffer);
		return true;
	}
	if (!kernel_find(k, info.rcv_assoc_id))
		return true;
	ev.assoc = (uint32_t)info.rcv_assoc_id;
	ev.stream = info.rcv_sid;
	ev.ppid = ntohl(info.rcv_ppid);
	ev.data = k->buffer;
	ev.bytes = (size_t)n;
	ev.end = flags & MSG_EOR;
	say(k, &ev);
	return true;
}

cr_ns kernel_look_every(const struct kernel *k)
{
	return k->silence.limit / LOOKS < CR_SEC ? k->silence.limit / LOOKS
						 : CR_SEC;
}

/* Heartbeats and their answers count, too. */
static void listen_for(struct kernel *k, struct kernel_assoc *a)
{
	struct sctp_assoc_stats s = { .sas_assoc_id = a->id };
	socklen_t bytes = sizeof(s);

	if (getsockopt(k->fd, IPPROTO_SCTP, SCTP_GET_ASSOC_STATS, &s, &bytes))
		return; /* it is going: that will be told */
	if (s.sas_ipackets != a->packets)
		a->heard = k->awake.now;
	a->packets = s.sas_ipackets;
}

static struct kernel_assoc *find_silent(struct kernel *k)
{
	for (unsigned i = 0; i < KERNEL_BUCKETS; i++) {
		struct kernel_assoc *a;

		LIST_FOREACH(a, &k->assocs[i], chain)
		{
			listen_for(k, a);
			if (k->awake.now - a->heard > k->silence.limit)
				return a;
		}
	}
	return NULL;
}

/* The owner may close us, or any association, when it hears of one. */
static void give_up_silent(struct kernel *k)
{
	struct kernel_assoc *a;

	(void)awake_look(&k->awake, clock_now(), 2 * kernel_look_every(k));
	while (!k->closed && (a = find_silent(k))) {
		k->t.ops->abort(&k->t, (uint32_t)a->id);
		assoc_gone(k, a->id, TRANSPORT_LOST, "no answer from the peer");
	}
}

void kernel_deliver(struct kernel *k)
{
	const struct transport_event room = { .kind = TRANSPORT_ROOM };

	k->delivering = true;
	while (!k->closed && receive(k))
		;
	if (k->looking) {
		k->looking = false;
		give_up_silent(k);
	}
	if (k->refused) {
		k->refused = false;
		say(k, &room);
	}
	k->delivering = false;
	if (k->closed)
		free(k);
}
