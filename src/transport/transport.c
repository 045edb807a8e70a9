/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Chooses the back-end and passes calls on to it; knows none of them. And what
 * back-ends have in common: their associations and what they say of them,
 * addresses of IPv4 and IPv6 (resolve, print, find the local one; no SCTP), and
 * settings for peers that may be silent. And messages on their way between a
 * transport and its owner: lines of a stream, reassembly, send queues.
 */
#include "transport/ops.h"

#include <errno.h>
#include <netdb.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/address.h"
#include "cr/time.h"
#include "transport/transport.h"

int peer_address_resolve(struct address *a, const char *host, uint16_t port,
			 struct cr_err *e)
{
	struct addrinfo hints = { .ai_socktype = SOCK_DGRAM }, *list = NULL;
	char service[8];
	int rc;

	(void)snprintf(service, sizeof(service), "%u", (unsigned)port);
	rc = getaddrinfo(host, service, &hints, &list);
	if (rc)
		return cr_fail(e, -EINVAL, "%s: %s", host,
			       rc == EAI_SYSTEM ? strerror(errno)
						: gai_strerror(rc));
	*a = (struct address){ .len = list->ai_addrlen };
	memcpy(&a->sa, list->ai_addr, list->ai_addrlen);
	freeaddrinfo(list);
	return 0;
}

int transport_address_towards(const struct transport *t, struct address *a,
			      const struct address *to, uint16_t port,
			      struct cr_err *e)
{
	struct address found = { .len = sizeof(found.sa) }, probe = *to;
	int fd, rc = 0;

	if (*t->cfg.local.host)
		return peer_address_resolve(a, t->cfg.local.host, port, e);
	fd = socket(to->sa.ss_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return cr_fail(e, -errno, "UDP socket: %s", strerror(errno));
	if (!address_port(&probe.sa))
		address_set_port(&probe.sa, TRANSPORT_UDP_PORT);
	if (connect(fd, (const struct sockaddr *)&probe.sa, probe.len) ||
	    getsockname(fd, (struct sockaddr *)&found.sa, &found.len))
		rc = cr_fail(e, -errno, "no way to the server: %s",
			     strerror(errno));
	(void)close(fd);
	if (rc)
		return rc;
	address_set_port(&found.sa, port);
	*a = found;
	return 0;
}

void peer_address_host(const struct address *a, char *buf, size_t size)
{
	if (getnameinfo((const struct sockaddr *)&a->sa, a->len, buf,
			(socklen_t)size, NULL, 0, NI_NUMERICHOST))
		(void)snprintf(buf, size, "?");
}

void peer_address_text(const struct address *a, char *buf, size_t size)
{
	char host[64];

	peer_address_host(a, host, sizeof(host));
	(void)snprintf(buf, size,
		       a->sa.ss_family == AF_INET6 ? "[%s]:%u" : "%s:%u", host,
		       address_port(&a->sa));
}

enum {
	HEARTBEATS = 8, /* of a living peer within the limit, or more */
	HEARTBEAT_MAX_MS = 1000,
	/* Time-outs of data and of heartbeats both count as retransmissions;
	 * the shortest are 200 ms, but each doubles the next up to 2 s. */
	RETRANSMISSIONS_A_SECOND = 4,
	RETRANSMISSIONS_FIRST = 10,
};

struct silence silence_for(cr_ns limit)
{
	struct silence s = { .limit = limit ? limit : TRANSPORT_PEER_TIMEOUT };
	cr_ns beat;

	s.limit = cr_ns_min(cr_ns_max(s.limit, TRANSPORT_PEER_TIMEOUT_MIN),
			    TRANSPORT_PEER_TIMEOUT_MAX);
	beat = s.limit / HEARTBEATS / CR_MS;
	s.heartbeat_ms = (unsigned)cr_ns_min(beat, HEARTBEAT_MAX_MS);
	s.retransmissions =
		(uint16_t)(RETRANSMISSIONS_FIRST +
			   RETRANSMISSIONS_A_SECOND * s.limit / CR_SEC);
	return s;
}

/* --- what back-ends have in common --- */

void transport_leave(struct transport *t)
{
	if (!--t->busy && t->closed)
		free(t);
}

void transport_say(struct transport *t, const struct transport_event *ev)
{
	if (!t->closed)
		t->cfg.event(t->cfg.arg, ev);
}

void transport_say_room(struct transport *t)
{
	const struct transport_event ev = { .kind = TRANSPORT_ROOM };

	if (!t->refused)
		return;
	t->refused = false;
	transport_say(t, &ev);
}

void transport_cant_start(struct transport *t, const char *reason)
{
	const struct transport_event ev = { .kind = TRANSPORT_CANT_START,
					    .reason = reason };

	if (!t->connecting)
		return;
	t->connecting = false;
	t->failed = true;
	transport_say(t, &ev);
}

struct transport_assoc *transport_find(struct transport *t, uint32_t id)
{
	struct transport_assoc *a;

	LIST_FOREACH(a, &t->assocs[id % ASSOC_BUCKETS], chain)
	if (a->id == id)
		return a;
	return NULL;
}

void transport_add(struct transport *t, struct transport_assoc *a, uint32_t id)
{
	a->id = id;
	LIST_INSERT_HEAD(&t->assocs[id % ASSOC_BUCKETS], a, chain);
}

static void forget_assoc(struct transport *t, struct transport_assoc *a)
{
	LIST_REMOVE(a, chain);
	if (t->ops->down)
		t->ops->down(a);
	free(a);
}

void transport_forget_all(struct transport *t)
{
	struct transport_assoc *a;

	for (unsigned i = 0; i < ASSOC_BUCKETS; i++)
		while ((a = LIST_FIRST(&t->assocs[i])))
			forget_assoc(t, a);
}

static void sctp_up(struct transport *t, uint32_t id,
		    enum transport_event_kind kind)
{
	char peer[80];
	const struct transport_event ev = { .kind = kind,
					    .assoc = id,
					    .peer = peer };
	struct transport_assoc *known = transport_find(t, id);
	struct transport_assoc *a =
		t->ops->up(t, id, known, peer, sizeof(peer));

	if (!a) {
		t->ops->abort(t, id);
		return;
	}
	if (!known)
		transport_add(t, a, id);
	t->connecting = false;
	transport_say(t, &ev);
}

static void sctp_gone(struct transport *t, uint32_t id,
		      enum transport_event_kind kind, const char *reason)
{
	const struct transport_event ev = { .kind = kind,
					    .assoc = id,
					    .reason = reason };
	struct transport_assoc *a = transport_find(t, id);

	if (!a)
		return;
	forget_assoc(t, a);
	transport_say(t, &ev);
}

void sctp_change(struct transport *t, uint32_t id,
		 enum transport_event_kind what, bool refused)
{
	switch (what) {
	case TRANSPORT_UP:
	case TRANSPORT_RESTART:
		sctp_up(t, id, what);
		break;
	case TRANSPORT_LOST:
		sctp_gone(t, id, what,
			  refused ? "aborted by the peer"
				  : "no answer from the peer");
		transport_cant_start(t, "refused by the server");
		break;
	case TRANSPORT_CANT_START:
		transport_cant_start(
			t, refused ? "nothing listens at the SCTP port"
				   : "no answer from the server");
		break;
	default:
		sctp_gone(t, id, what, NULL);
	}
}

void sctp_data(struct transport *t, struct transport_event *ev)
{
	ev->kind = TRANSPORT_DATA;
	if (transport_find(t, ev->assoc))
		transport_say(t, ev);
}

static struct transport_assoc *find_silent(struct transport *t, cr_ns earliest)
{
	struct transport_assoc *a;

	for (unsigned i = 0; i < ASSOC_BUCKETS; i++)
		LIST_FOREACH(a, &t->assocs[i], chain)
	if (t->ops->heard(t, a) < earliest)
		return a;
	return NULL;
}

void sctp_drop_silent(struct transport *t, cr_ns earliest)
{
	struct transport_assoc *a;

	/* The owner may close @t, or any association, when it hears of one. */
	while (!t->closed && (a = find_silent(t, earliest))) {
		t->ops->abort(t, a->id);
		sctp_gone(t, a->id, TRANSPORT_LOST, "no answer from the peer");
	}
}

const char *const transport_kind_names[] = { "auto", "kernel", "user", NULL };

int transport_addr_unix(struct transport_addr *a, const char *path)
{
	size_t bytes = strlen(path);

	if (!bytes)
		return -EINVAL;
	if (bytes >= sizeof(a->path))
		return -ENAMETOOLONG;
	memcpy(a->path, path, bytes + 1);
	return 0;
}

int transport_addr_parse(struct transport_addr *a, const char *text)
{
	static const char scheme[] = "unix:";
	char host[sizeof(a->host)];
	int port, rc;

	if (!strncmp(text, scheme, sizeof(scheme) - 1))
		return transport_addr_unix(a, text + sizeof(scheme) - 1);
	rc = address_split(text, host, sizeof(host), &port);
	if (rc)
		return rc;
	if (!port)
		return -ERANGE;
	memcpy(a->host, host, sizeof(host));
	a->sctp_port = port < 0 ? TRANSPORT_SCTP_PORT : (uint16_t)port;
	return 0;
}

int transport_open(struct transport **t, const struct transport_config *cfg,
		   struct cr_err *e)
{
	struct cr_err kernel = { 0 }, user = { 0 };
	int rc;

	if (cfg->kind == TRANSPORT_UNIX)
		return transport_unix_ops.open(t, cfg, e);
	if (cfg->kind == TRANSPORT_USER)
		return transport_user_ops.open(t, cfg, e);
	rc = transport_kernel_ops.open(t, cfg, &kernel);
	if (!rc)
		return 0;
	/* The answer of a kernel without SCTP depends on type and family. */
	if (cfg->kind == TRANSPORT_KERNEL ||
	    (rc != -ESOCKTNOSUPPORT && rc != -EPROTONOSUPPORT &&
	     rc != -EAFNOSUPPORT))
		return cr_fail(e, rc, "%s", kernel.text);
	rc = transport_user_ops.open(t, cfg, &user);
	if (rc)
		return cr_fail(e, rc, "kernel SCTP: %.200s; usrsctp: %.200s",
			       kernel.text, user.text);
	return 0;
}

int transport_listen(struct transport *t, struct cr_err *e)
{
	return t->ops->listen(t, e);
}

int transport_connect(struct transport *t, const struct transport_addr *to,
		      struct cr_err *e)
{
	return t->ops->connect(t, to, e);
}

int transport_send(struct transport *t, uint32_t assoc, const void *data,
		   size_t bytes)
{
	if (bytes > transport_message_max(t))
		return -EMSGSIZE;
	return t->ops->send(t, assoc, data, bytes);
}

void transport_abort(struct transport *t, uint32_t assoc)
{
	t->ops->abort(t, assoc);
}

int transport_shutdown(struct transport *t, uint32_t assoc)
{
	return t->ops->shutdown(t, assoc);
}

void transport_hold(struct transport *t, uint32_t assoc, bool held)
{
	if (t->ops->hold)
		t->ops->hold(t, assoc, held);
}

size_t transport_queued(struct transport *t, uint32_t assoc)
{
	return t->ops->queued ? t->ops->queued(t, assoc) : 0;
}

int transport_connection(struct transport *t, uint32_t assoc)
{
	return t->ops->connection ? t->ops->connection(t, assoc) : -1;
}

int transport_adopt(struct transport *t, int fd)
{
	if (t->ops->adopt)
		return t->ops->adopt(t, fd);
	(void)close(fd);
	return -ENOTSUP;
}

void transport_local(const struct transport *t, struct transport_addr *addr)
{
	t->ops->local(t, addr);
}

size_t transport_message_max(const struct transport *t)
{
	return t->ops->message_max(t);
}

bool transport_sees_ends(const struct transport *t)
{
	return t->ops->sees_ends;
}

const char *transport_name(const struct transport *t)
{
	return t->ops->name;
}

void transport_close(struct transport *t)
{
	if (t)
		t->ops->close(t);
}

/* --- lines, parts and queues of messages. They set no policy: what happens to
 * a peer that does not read is its owner's matter --- */

bool lines_next(bool *begun, const char **at, size_t *left,
		struct line_part *part)
{
	const char *feed;

	while (!*begun && *left && **at == '\n') {
		++*at;
		--*left;
	}
	if (!*left)
		return false;
	feed = memchr(*at, '\n', *left);
	part->data = *at;
	part->bytes = feed ? (size_t)(feed - *at) : *left;
	part->end = feed;
	*begun = !feed;
	*at += part->bytes + (feed ? 1 : 0);
	*left -= part->bytes + (feed ? 1 : 0);
	return true;
}

/* Grow by doubling, never beyond what a message may have. */
static int reserve(struct inbox *in, size_t need)
{
	size_t size = in->size ? in->size : 4096;
	char *data;

	if (need <= in->size)
		return 0;
	while (size < need)
		size *= 2;
	data = realloc(in->data, size);
	if (!data)
		return -ENOMEM;
	in->data = data;
	in->size = size;
	return 0;
}

int inbox_add(struct inbox *in, const struct transport_event *ev, size_t max,
	      const char **text, size_t *bytes)
{
	size_t total = in->bytes + ev->bytes;
	bool whole = ev->end && !in->bytes && !in->too_long;

	if (in->too_long || total > max || (!whole && reserve(in, total))) {
		in->too_long = !ev->end;
		in->bytes = 0;
		return ev->end ? -EMSGSIZE : 0;
	}
	if (whole) {
		*text = ev->data;
		*bytes = ev->bytes;
		return 1;
	}
	memcpy(in->data + in->bytes, ev->data, ev->bytes);
	in->bytes = total;
	if (!ev->end)
		return 0;
	*text = in->data;
	*bytes = total;
	in->bytes = 0;
	return 1;
}

void inbox_free(struct inbox *in)
{
	free(in->data);
	*in = (struct inbox){ 0 };
}

void outbox_init(struct outbox *out)
{
	STAILQ_INIT(&out->waiting);
	out->bytes = 0;
}

static void drop_first(struct outbox *out)
{
	struct outmsg *m = STAILQ_FIRST(&out->waiting);

	STAILQ_REMOVE_HEAD(&out->waiting, next);
	out->bytes -= m->bytes;
	free(m);
}

void outbox_free(struct outbox *out)
{
	while (!outbox_empty(out))
		drop_first(out);
}

bool outbox_empty(const struct outbox *out)
{
	return STAILQ_EMPTY(&out->waiting);
}

int outbox_keep(struct outbox *out, const char *text, size_t bytes)
{
	struct outmsg *m = malloc(sizeof(*m) + bytes);

	if (!m)
		return -ENOMEM;
	m->bytes = bytes;
	memcpy(m->data, text, bytes);
	STAILQ_INSERT_TAIL(&out->waiting, m, next);
	out->bytes += bytes;
	return 0;
}

int outbox_send(struct outbox *out, struct transport *t, uint32_t assoc,
		const char *text, size_t bytes)
{
	int rc = outbox_empty(out) ? transport_send(t, assoc, text, bytes)
				   : -EAGAIN;

	return rc == -EAGAIN ? outbox_keep(out, text, bytes) : rc;
}

int outbox_flush(struct outbox *out, struct transport *t, uint32_t assoc)
{
	while (!outbox_empty(out)) {
		const struct outmsg *m = STAILQ_FIRST(&out->waiting);
		int rc = transport_send(t, assoc, m->data, m->bytes);

		if (rc == -EAGAIN)
			return rc;
		if (rc && rc != -EMSGSIZE) {
			outbox_free(out);
			return rc;
		}
		drop_first(out);
	}
	return 0;
}
