/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The usrsctp back-end's receiving side: data and notifications of the stack
 * become transport events. Sockets and timers are in sctp_user.c.
 */
#include <arpa/inet.h>
#include <stdlib.h>

#include "transport/sctp_user.h"

static void say(struct user *u, const struct transport_event *ev)
{
	if (!u->closed)
		u->cfg.event(u->cfg.arg, ev);
}

static struct user_assoc *assoc_find(struct user *u, sctp_assoc_t id)
{
	struct user_assoc *a;

	LIST_FOREACH(a, &u->assocs[id % USER_BUCKETS], chain)
	{
		if (a->id == id)
			return a;
	}
	return NULL;
}

/* NULL: no memory, or the peer's slot has been given to somebody else. */
static struct user_assoc *assoc_add(struct user *u, sctp_assoc_t id)
{
	struct user_assoc *a = calloc(1, sizeof(*a));
	struct sockaddr *list = NULL;
	struct user_peer *p = NULL;

	if (a && usrsctp_getpaddrs(u->so, id, &list) > 0) {
		p = peers_at(
			(unsigned)(uintptr_t)((struct sockaddr_conn *)(void *)
						      list)
				->sconn_addr);
		usrsctp_freepaddrs(list);
	}
	if (!p || p->owner != u) {
		free(a);
		return NULL;
	}
	a->id = id;
	a->peer = p;
	peers_hold(p);
	LIST_INSERT_HEAD(&u->assocs[id % USER_BUCKETS], a, chain);
	return a;
}

static void assoc_del(struct user_assoc *a)
{
	LIST_REMOVE(a, chain);
	if (a->peer->held)
		peers_release(a->peer);
	free(a);
}

void user_free_assocs(struct user *u)
{
	for (unsigned i = 0; i < USER_BUCKETS; i++) {
		struct user_assoc *a;

		while ((a = LIST_FIRST(&u->assocs[i]))) {
			LIST_REMOVE(a, chain);
			free(a);
		}
	}
}

static void assoc_up(struct user *u, sctp_assoc_t id,
		     enum transport_event_kind kind)
{
	struct transport_event ev = { .kind = kind, .assoc = id };
	struct user_assoc *a = assoc_find(u, id);
	char peer[80];

	if (!a)
		a = assoc_add(u, id);
	if (!a) {
		u->t.ops->abort(&u->t, id);
		return;
	}
	u->connecting = false;
	peer_address_text(&a->peer->addr, peer, sizeof(peer));
	ev.peer = peer;
	say(u, &ev);
}

static void assoc_gone(struct user *u, sctp_assoc_t id,
		       enum transport_event_kind kind, const char *reason)
{
	const struct transport_event ev = { .kind = kind,
					    .assoc = id,
					    .reason = reason };
	struct user_assoc *a = assoc_find(u, id);

	if (!a)
		return;
	assoc_del(a);
	say(u, &ev);
}

static void cant_start(struct user *u, const char *reason)
{
	const struct transport_event ev = { .kind = TRANSPORT_CANT_START,
					    .reason = reason };

	if (!u->connecting)
		return;
	u->connecting = false;
	u->failed = true;
	say(u, &ev);
}

static void assoc_change(struct user *u, const struct sctp_assoc_change *c)
{
	switch (c->sac_state) {
	case SCTP_COMM_UP:
		assoc_up(u, c->sac_assoc_id, TRANSPORT_UP);
		break;
	case SCTP_RESTART:
		assoc_up(u, c->sac_assoc_id, TRANSPORT_RESTART);
		break;
	case SCTP_SHUTDOWN_COMP:
		assoc_gone(u, c->sac_assoc_id, TRANSPORT_SHUTDOWN, NULL);
		break;
	case SCTP_COMM_LOST:
		assoc_gone(u, c->sac_assoc_id, TRANSPORT_LOST,
			   c->sac_length > sizeof(*c)
				   ? "aborted by the peer"
				   : "no answer from the peer");
		cant_start(u, "refused by the server");
		break;
	case SCTP_CANT_STR_ASSOC:
		cant_start(u, c->sac_length > sizeof(*c)
				      ? "nothing listens at the SCTP port"
				      : "no answer from the server");
		break;
	default:
		break;
	}
}

/* Take one message, part or notification; false: there was none. */
static bool receive(struct user *u)
{
	struct transport_event ev = { .kind = TRANSPORT_DATA };
	struct sctp_rcvinfo info = { 0 };
	socklen_t info_bytes = sizeof(info), from_bytes = 0;
	unsigned type = 0;
	int flags = 0;
	ssize_t n =
		usrsctp_recvv(u->so, u->buffer, sizeof(u->buffer), NULL,
			      &from_bytes, &info, &info_bytes, &type, &flags);
	const union sctp_notification *note = (const void *)u->buffer;

	if (n <= 0)
		return false;
	if (flags & MSG_NOTIFICATION) {
		if (note->sn_header.sn_type == SCTP_ASSOC_CHANGE && !u->failed)
			assoc_change(u, &note->sn_assoc_change);
		return true;
	}
	if (!assoc_find(u, info.rcv_assoc_id))
		return true;
	ev.assoc = info.rcv_assoc_id;
	ev.stream = info.rcv_sid;
	ev.ppid = ntohl(info.rcv_ppid);
	ev.data = u->buffer;
	ev.bytes = (size_t)n;
	ev.end = flags & MSG_EOR;
	say(u, &ev);
	return true;
}

static struct user_assoc *find_silent(struct user *u)
{
	for (unsigned i = 0; i < USER_BUCKETS; i++) {
		struct user_assoc *a;

		LIST_FOREACH(a, &u->assocs[i], chain)
		{
			if (a->peer->heard < u->earliest)
				return a;
		}
	}
	return NULL;
}

/* The owner may close us, or any association, when it hears of one. */
static void give_up_silent(struct user *u)
{
	struct user_assoc *a;

	while (!u->closed && (a = find_silent(u))) {
		u->t.ops->abort(&u->t, a->id);
		assoc_gone(u, a->id, TRANSPORT_LOST, "no answer from the peer");
	}
}

void user_deliver(struct user *u)
{
	const struct transport_event room = { .kind = TRANSPORT_ROOM };

	u->delivering = true;
	while (u->ready && !u->closed) {
		u->ready = false;
		while (!u->closed && receive(u))
			;
	}
	give_up_silent(u);
	if (u->udp_refused) {
		u->udp_refused = false;
		cant_start(u, "nothing listens at the UDP port");
	}
	if (u->refused) {
		u->refused = false;
		say(u, &room);
	}
	u->delivering = false;
	if (u->closed)
		free(u);
}
