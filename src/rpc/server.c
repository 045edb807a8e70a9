/* SPDX-License-Identifier: Apache-2.0 */
/*
 * JSON-RPC server: associations, queues, and who has gone. What a message
 * asks for and how it is answered is in reply.c.
 *
 * A message is run as it comes, a batch to its end. Nobody is freed while that
 * is done: a peer that has to go is marked by its reason and reaped afterwards.
 *
 * The peer silent for longest is the first in the list. The bytes of all of
 * them are one sum. Those that a Unix socket has sent on since the last look
 * are in it until the next one, so before anybody is let go all are looked at.
 */
#include "rpc/server.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/address.h"
#include "base/assert.h"
#include "base/clock.h"
#include "base/descriptors.h"
#include "rpc/reply.h"

enum {
	/** The weight of a reply to come, beside its own room. The owner
	 * keeps less for it than the call that it is about takes. */
	LATER_BYTES = 1024,
	/** If this many are to come, the peer is not read. */
	LATER_MAX = 256
};

static void mark_gone(struct peer *p, const char *reason)
{
	const struct timeval now = { 0, 0 };

	if (p->gone)
		return;
	p->gone = reason;
	TAILQ_INSERT_TAIL(&p->server->going, p, going);
	(void)evtimer_add(p->server->reap, &now);
}

static void peer_kill(struct peer *p, const char *reason)
{
	transport_abort(p->transport, p->assoc);
	mark_gone(p, reason);
}

/* Parts of a message, and what goes back: replies of messages that are
 * not answered whole yet, what is queued. A peer that is gone counts nothing:
 * it is freed soon. */
static void weigh_peer(struct peer *p)
{
	size_t now = 0;

	if (!p->gone)
		now = p->in.size + p->out.bytes +
		      p->nlater * (size_t)LATER_BYTES + p->unfinished +
		      transport_queued(p->transport, p->assoc);
	p->server->weight += now - p->weight;
	p->weight = now;
}

static struct peer *heaviest_peer(const struct rpc_server *s)
{
	struct peer *p, *most = NULL;

	TAILQ_FOREACH (p, &s->peers, all)
		if (!p->gone && p->weight &&
		    (!most || p->weight > most->weight))
			most = p;
	return most;
}

/** The bytes of all. */
static size_t weight_of_all(struct rpc_server *s)
{
	struct peer *p;

	TAILQ_FOREACH (p, &s->peers, all)
		weigh_peer(p);
	return s->weight;
}

void weight_look(struct peer *p)
{
	struct rpc_server *s = p->server;
	bool held = p->nlater >= LATER_MAX;

	weigh_peer(p);
	if (p->weight > s->cfg.queue_max) {
		s->count.slow_peers++;
		peer_kill(p, p->out.bytes ? "not reading" : "flooding");
		weigh_peer(p);
	}
	if (!p->gone && p->held != held)
		transport_hold(p->transport, p->assoc, p->held = held);
	if (s->weight <= s->cfg.total_max ||
	    weight_of_all(s) <= s->cfg.total_max)
		return;
	while (s->weight > s->cfg.total_max && (p = heaviest_peer(s))) {
		s->count.peers_crowded++;
		peer_kill(p, "crowded");
		weigh_peer(p);
	}
}

/*
 * Room for one more peer where there are as many as there may be: who would
 * miss nothing, and has been silent for longest, makes it. So peers that may
 * have vanished, or never meant to ask anything, keep nobody else out. Who has
 * asked something by a Unix socket stays: it has not vanished.
 */
enum { STRANGERS_MAX = 64 };

/** @p is new: s->peers is in the order of who has been heard. */
static void room_enter(struct peer *p)
{
	p->heard = clock_now();
	TAILQ_INSERT_TAIL(&p->server->peers, p, all);
}

/** One more stranger is there: if there are too many, who came first goes. So
 * those who fill all places leave a newcomer the time to say who it is. */
static void room_bound_strangers(struct rpc_server *s)
{
	struct peer *p, *first = NULL;
	unsigned n = 0;

	TAILQ_FOREACH (p, &s->peers, all) {
		if (!p->pub.stranger || p->gone)
			continue;
		if (!n++)
			first = p;
	}
	if (n <= STRANGERS_MAX)
		return;
	s->count.peers_silent++;
	peer_kill(first, "silent");
}

static bool may_go(const struct peer *p)
{
	const struct rpc_server_config *cfg = &p->server->cfg;

	if (p->gone || !LIST_EMPTY(&p->replies))
		return false;
	if (p->asked && transport_sees_ends(p->transport))
		return false;
	return cfg->peer_idle && cfg->peer_idle(cfg->arg, &p->pub);
}

static void peers_reap(struct rpc_server *s)
{
	struct peer *p;

	while ((p = TAILQ_FIRST(&s->going))) {
		TAILQ_REMOVE(&s->going, p, going);
		LIST_REMOVE(p, chain);
		TAILQ_REMOVE(&s->peers, p, all);
		s->npeers--;
		if (s->cfg.peer_gone)
			s->cfg.peer_gone(s->cfg.arg, &p->pub, p->gone);
		replies_forget(p);
		inbox_free(&p->in);
		outbox_free(&p->out);
		s->weight -= p->weight;
		free(p);
	}
}

static void on_reap(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	peers_reap(arg);
}

/** Let a peer go, one that came by @t (NULL: by any), of @host (NULL: any).
 * False: each has asked something of late, waits for a reply, or would miss
 * something (peer_idle). While no message is worked on. */
static bool room_make(struct rpc_server *s, const struct transport *t,
		      const char *host)
{
	cr_ns since = clock_now() - s->cfg.silence;
	struct peer *p;

	TAILQ_FOREACH (p, &s->peers, all) {
		if (p->heard > since)
			return false; /* and so are those behind it */
		if ((t && p->transport != t) ||
		    (host && strcmp(p->host, host) != 0) || !may_go(p))
			continue;
		s->count.peers_silent++;
		peer_kill(p, "silent");
		peers_reap(s);
		return true;
	}
	return false;
}

enum { CLOSE_DEADLINE_S = 1 };

#define SILENCE_DEFAULT (5 * CR_SEC)

static struct peer *find_peer(const struct listener *l, uint32_t assoc)
{
	struct peer *p;

	LIST_FOREACH(p, &l->server->bucket[assoc % PEER_BUCKETS], chain)
	{
		if (p->assoc == assoc && p->transport == l->transport &&
		    !p->gone)
			return p;
	}
	return NULL;
}

/* Of an address as transports write them: "192.0.2.1:40000",
 * "unix:pid=4711,uid=1000". */
static void name_host(const char *address, char *host, size_t size)
{
	const char *user = strstr(address, "uid=");
	struct sockaddr_storage a;
	struct in6_addr *six;

	(void)snprintf(host, size, "%s", user ? user : address);
	if (user || address_parse(address, &a))
		return;
	six = &((struct sockaddr_in6 *)&a)->sin6_addr;
	if (a.ss_family == AF_INET6 && !IN6_IS_ADDR_V4MAPPED(six))
		memset(&six->s6_addr[8], 0, 8); /* any client may choose it */
	(void)address_host_text(&a, host, size);
}

/* Peers of @host (NULL: of any) that came @by_socket, or by SCTP. */
static size_t count_peers(const struct rpc_server *s, bool by_socket,
			  const char *host)
{
	const struct peer *p;
	size_t n = 0;

	TAILQ_FOREACH (p, &s->peers, all)
		n += transport_sees_ends(p->transport) == by_socket &&
		     (!host || !strcmp(p->host, host));
	return n;
}

/* Room for one more of @host by @l, if there is any or somebody makes it. Else
 * @why says of what there are too many. */
static bool has_peer_room(const struct listener *l, const char *host,
			  struct cr_err *why)
{
	struct rpc_server *s = l->server;
	bool socket = transport_sees_ends(l->transport);
	size_t of = s->cfg.halves ? count_peers(s, socket, host) : 0;
	size_t most = socket ? s->cfg.sockets_max : s->cfg.sctp_max;
	size_t open = count_peers(s, socket, NULL);

	if (most > s->cfg.peers_max)
		most = s->cfg.peers_max;
	if (of && of >= (most + 1) / 2) {
		(void)cr_fail(why, 0,
			      "too many connections: %zu of %s are open", of,
			      host);
		return room_make(s, l->transport, host);
	}
	if (open >= most && most < s->cfg.peers_max) {
		(void)cr_fail(why, 0, "too many connections: %zu are open%s",
			      open,
			      socket ? "; for more, raise the limit of "
				       "descriptors (LimitNOFILE=, ulimit -n)"
				     : " by SCTP");
		return room_make(s, l->transport, NULL);
	}
	(void)cr_fail(why, 0, "too many connections: %zu are open", s->npeers);
	return s->npeers < s->cfg.peers_max || room_make(s, NULL, NULL);
}

/* Refuse it with a reason; its association closes after that. */
static void turn_peer_away(const struct listener *l, uint32_t assoc,
			   const char *why)
{
	char *text =
		jsonrpc_text(jsonrpc_error(NULL, RPC_NO_CAPACITY, why, NULL));

	if (text)
		(void)transport_send(l->transport, assoc, text, strlen(text));
	free(text);
	(void)transport_shutdown(l->transport, assoc);
}

/* RESTART keeps the association: the old peer is gone, a new one is up. */
static void on_peer_up(struct listener *l, const struct transport_event *ev)
{
	struct rpc_server *s = l->server;
	struct cr_err why = { 0 };
	char host[sizeof(((struct peer *)0)->host)];
	struct peer *p;

	name_host(ev->peer, host, sizeof(host));
	if (s->closing) {
		turn_peer_away(l, ev->assoc, "draining: this node ends");
		return;
	}
	if (!has_peer_room(l, host, &why)) {
		s->count.peers_refused++;
		turn_peer_away(l, ev->assoc, why.text);
		return;
	}
	p = calloc(1, sizeof(*p));
	if (!p) {
		transport_abort(l->transport, ev->assoc);
		return;
	}
	p->server = s;
	p->transport = l->transport;
	p->pub.transport = transport_name(l->transport);
	p->assoc = ev->assoc;
	p->pub.server = s;
	p->pub.id = ++s->last_id;
	(void)snprintf(p->pub.address, sizeof(p->pub.address), "%s", ev->peer);
	memcpy(p->host, host, sizeof(host));
	outbox_init(&p->out);
	LIST_INIT(&p->replies);
	LIST_INSERT_HEAD(&s->bucket[p->assoc % PEER_BUCKETS], p, chain);
	room_enter(p);
	s->npeers++;
	if (s->cfg.peer_up && !s->cfg.peer_up(s->cfg.arg, &p->pub)) {
		turn_peer_away(l, p->assoc, "out of memory for a session");
		mark_gone(p, "out of memory");
	}
	if (p->pub.stranger)
		room_bound_strangers(s);
}

void peer_leave(struct peer *p)
{
	p->leaving = true;
	/* It fails when the association is going already: SHUTDOWN or LOST
	 * comes either way. */
	if (outbox_empty(&p->out))
		(void)transport_shutdown(p->transport, p->assoc);
}

void peer_reply(struct peer *p, const char *text, size_t bytes)
{
	struct rpc_server *s = p->server;
	int rc = outbox_send(&p->out, p->transport, p->assoc, text, bytes);

	if (rc == -ENOMEM)
		peer_unanswered(p);
	else if (rc)
		s->count.replies_lost++;
	else
		s->count.messages_out++;
}

void peer_unanswered(struct peer *p)
{
	p->server->count.replies_lost++;
	if (!p->gone)
		peer_kill(p, "out of memory");
}

void rpc_notify(struct rpc_peer *peer, const char *method, json_t *params)
{
	struct peer *p = (struct peer *)peer;
	struct rpc_server *s = p->server;
	char *text = jsonrpc_text(jsonrpc_request(method, params, 0));
	size_t bytes = text ? strlen(text) : 0;

	if (jsonrpc_lacked() || !text || p->gone || p->leaving ||
	    p->out.bytes + bytes > s->cfg.queue_max / 2 ||
	    outbox_send(&p->out, p->transport, p->assoc, text, bytes))
		s->count.notifications_dropped++;
	else
		s->count.messages_out++;
	free(text);
	weight_look(p);
}

static void on_data(struct peer *p, const struct transport_event *ev)
{
	const char *text = NULL;
	size_t bytes = 0;
	int rc = inbox_add(&p->in, ev, p->server->cfg.message_max, &text,
			   &bytes);

	if (rc && !p->pub.stranger) { /* a whole message has come */
		TAILQ_REMOVE(&p->server->peers, p, all);
		room_enter(p);
		p->asked = true;
	}
	if (rc) {
		answer_message(p, rc > 0 ? text : NULL, bytes);
		inbox_free(&p->in);
	}
	weight_look(p);
}

/* The transport takes messages again. */
static void flush_peers(const struct listener *l)
{
	struct peer *p;

	TAILQ_FOREACH (p, &l->server->peers, all) {
		if (p->gone || p->transport != l->transport ||
		    outbox_empty(&p->out))
			continue;
		if (!outbox_flush(&p->out, p->transport, p->assoc) &&
		    p->leaving)
			peer_leave(p);
		weight_look(p);
	}
}

static void on_server_event(void *arg, const struct transport_event *ev)
{
	struct listener *l = arg;
	struct peer *p = NULL;

	if (ev->kind != TRANSPORT_ROOM)
		p = find_peer(l, ev->assoc);
	switch (ev->kind) {
	case TRANSPORT_UP:
		on_peer_up(l, ev);
		break;
	case TRANSPORT_DATA:
		if (p && !p->leaving && !p->said_bye)
			on_data(p, ev);
		break;
	case TRANSPORT_ROOM:
		flush_peers(l);
		break;
	case TRANSPORT_DONE: /* its requests are answered yet */
		if (p)
			p->done = true;
		if (p && LIST_EMPTY(&p->replies) && !p->leaving)
			peer_leave(p);
		break;
	case TRANSPORT_RESTART:
		if (p)
			mark_gone(p, p->said_bye ? "bye" : "restart");
		peers_reap(l->server);
		on_peer_up(l, ev);
		break;
	case TRANSPORT_SHUTDOWN:
		if (p)
			mark_gone(p, p->said_bye ? "bye" : "shutdown");
		break;
	case TRANSPORT_LOST:
		if (p)
			mark_gone(p, p->said_bye ? "bye" : "lost");
		break;
	case TRANSPORT_CANT_START:
		break;
	}
	peers_reap(l->server);
}

int rpc_server_listen(struct rpc_server *s, enum transport_kind kind,
		      const struct transport_addr *at, struct cr_err *e)
{
	struct listener *l = &s->listener[s->nlisteners];
	const struct transport_config tc = { .base = s->cfg.base,
					     .kind = kind,
					     .local = *at,
					     .peer_timeout =
						     s->cfg.peer_timeout,
					     .store = s->cfg.store,
					     .arg = l,
					     .event = on_server_event };
	int rc;

	CR_ASSERT(s->nlisteners < RPC_LISTENERS);
	*l = (struct listener){ .server = s };
	rc = transport_open(&l->transport, &tc, e);
	if (!rc)
		rc = transport_listen(l->transport, e);
	if (rc) {
		transport_close(l->transport);
		return rc;
	}
	s->nlisteners++;
	return 0;
}

int rpc_server_open(struct rpc_server **s, const struct rpc_server_config *cfg,
		    struct cr_err *e)
{
	struct rpc_server *n = calloc(1, sizeof(*n));
	int rc;

	if (!n)
		return cr_fail(e, -ENOMEM, "out of memory");
	n->cfg = *cfg;
	if (!n->cfg.message_max)
		n->cfg.message_max = (size_t)64 << 10;
	if (!n->cfg.peers_max)
		n->cfg.peers_max = RPC_PEERS_USUAL;
	if (!n->cfg.sockets_max)
		n->cfg.sockets_max =
			descriptors_for_control((unsigned)n->cfg.peers_max);
	if (!n->cfg.sctp_max)
		n->cfg.sctp_max = n->cfg.peers_max;
	if (!n->cfg.silence)
		n->cfg.silence = SILENCE_DEFAULT;
	if (!n->cfg.queue_max)
		n->cfg.queue_max = (size_t)8 << 20;
	if (!n->cfg.total_max)
		n->cfg.total_max = (size_t)64 << 20;
	jsonrpc_note_memory();
	TAILQ_INIT(&n->peers);
	TAILQ_INIT(&n->going);
	n->reap = evtimer_new(cfg->base, on_reap, n);
	rc = n->reap ? 0 : cr_fail(e, -ENOMEM, "out of memory for events");
	if (!rc && (*cfg->listen.host || *cfg->listen.path))
		rc = rpc_server_listen(n, cfg->kind, &cfg->listen, e);
	if (rc) {
		if (n->reap)
			event_free(n->reap);
		free(n);
		return rc;
	}
	*s = n;
	return 0;
}

struct rpc_peer *rpc_peer_passing(struct rpc_server *s, struct rpc_peer *behind,
				  int *fd)
{
	struct peer *p = behind ? TAILQ_NEXT((struct peer *)behind, all)
				: TAILQ_FIRST(&s->peers);

	for (; p; p = TAILQ_NEXT(p, all)) {
		if (p->gone || p->leaving || p->said_bye || p->done ||
		    p->in.bytes || p->in.too_long || !outbox_empty(&p->out) ||
		    !LIST_EMPTY(&p->replies))
			continue;
		*fd = transport_connection(p->transport, p->assoc);
		if (*fd >= 0)
			return &p->pub;
	}
	return NULL;
}

struct rpc_peer *rpc_server_adopt(struct rpc_server *s, int fd, uint64_t id)
{
	uint64_t before;
	unsigned i = 0;
	struct peer *p;

	while (i < s->nlisteners &&
	       !transport_sees_ends(s->listener[i].transport))
		i++;
	if (i == s->nlisteners) {
		(void)close(fd);
		return NULL;
	}
	if (s->last_id < id)
		s->last_id = id;
	before = s->last_id;
	(void)transport_adopt(s->listener[i].transport, fd);
	p = TAILQ_LAST(&s->peers, peer_list);
	if (!p || p->pub.id <= before || p->gone)
		return NULL;
	p->asked = true; /* it stays as long as it likes */
	return &p->pub;
}

static void on_close_deadline(evutil_socket_t fd, short what, void *arg)
{
	bool *late = arg;

	(void)fd;
	(void)what;
	*late = true;
}

/* Let every peer have what is queued for it and say goodbye. */
static void close_gracefully(struct rpc_server *s)
{
	const struct timeval limit = { .tv_sec = CLOSE_DEADLINE_S };
	bool late = false;
	struct event *deadline =
		evtimer_new(s->cfg.base, on_close_deadline, &late);
	struct peer *p;

	/* whoever came now might ask for what is answered later */
	s->closing = true;
	TAILQ_FOREACH (p, &s->peers, all)
		if (!p->leaving && !p->gone)
			peer_leave(p);
	peers_reap(s);
	if (deadline && !evtimer_add(deadline, &limit)) {
		while (s->npeers && !late &&
		       event_base_loop(s->cfg.base, EVLOOP_ONCE) == 0)
			;
	}
	if (deadline)
		event_free(deadline);
}

void rpc_server_close(struct rpc_server *s)
{
	struct peer *p;

	if (!s)
		return;
	CR_ASSERT(!s->nlater);
	close_gracefully(s);
	TAILQ_FOREACH (p, &s->peers, all) {
		mark_gone(p, "shutdown");
	}
	for (unsigned i = 0; i < s->nlisteners; i++)
		transport_close(s->listener[i].transport);
	peers_reap(s);
	event_free(s->reap);
	free(s);
}

void rpc_server_local(const struct rpc_server *s, struct transport_addr *addr)
{
	*addr = (struct transport_addr){ .host = "" };
	if (s->nlisteners)
		transport_local(s->listener[0].transport, addr);
}

const char *rpc_server_transport(const struct rpc_server *s)
{
	return s->nlisteners ? transport_name(s->listener[0].transport) : "off";
}

void rpc_server_stats(struct rpc_server *s, struct rpc_stats *out)
{
	*out = s->count;
	out->transport = rpc_server_transport(s);
	out->associations = (unsigned)s->npeers;
	out->queued = weight_of_all(s);
}
