/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Requests and their answers, by UDP and TCP: how much each host may ask, which
 * requests are new, and the answers that may come again. And NG by UDP: a
 * socket, a batch of datagrams in each round of the event loop, and answers
 * from the address that was asked. TCP is connection.c.
 */
#define _GNU_SOURCE
#include "ng/listener.h"

#include <bsd/sys/tree.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/address.h"
#include "base/clock.h"
#include "base/descriptors.h"
#include "ng/listener_impl.h"
#include "observe/log.h"
#include "observe/store.h"
#include "udp/socket.h"

/* --- rates --- */

struct host {
	RB_ENTRY(host) by_address;
	TAILQ_ENTRY(host) by_use;
	struct in6_addr address;
	cr_ns full; /* when its bucket is full again */
};

RB_HEAD(host_tree, host);
TAILQ_HEAD(host_list, host);

struct rate_limit {
	struct rate_limit_cfg cfg;
	cr_ns each; /* ns of one request */
	struct host_tree tree;
	struct host_list uses; /* the oldest first */
	unsigned n;
	struct host hosts[];
};

static int host_cmp(struct host *a, struct host *b)
{
	return memcmp(&a->address, &b->address, sizeof(a->address));
}

RB_PROTOTYPE(host_tree, host, by_address, host_cmp)
RB_GENERATE(host_tree, host, by_address, host_cmp)

struct rate_limit *rate_limit_new(const struct rate_limit_cfg *cfg)
{
	struct rate_limit *a =
		calloc(1, sizeof(*a) + cfg->hosts * sizeof(a->hosts[0]));

	if (!a)
		return NULL;
	a->cfg = *cfg;
	a->each = CR_SEC / cfg->per_second;
	RB_INIT(&a->tree);
	TAILQ_INIT(&a->uses);
	return a;
}

static struct host *host_of(struct rate_limit *a,
			    const struct sockaddr_storage *from)
{
	struct host key = { .address = address_mapped(from) };
	struct host *known = RB_FIND(host_tree, &a->tree, &key), *h = known;

	if (!h)
		h = a->n < a->cfg.hosts ? NULL : TAILQ_FIRST(&a->uses);
	if (h)
		TAILQ_REMOVE(&a->uses, h, by_use);
	if (h && !known)
		(void)RB_REMOVE(host_tree, &a->tree, h);
	if (!known) {
		h = h ? h : &a->hosts[a->n++];
		*h = (struct host){ .address = key.address };
		(void)RB_INSERT(host_tree, &a->tree, h);
	}
	TAILQ_INSERT_TAIL(&a->uses, h, by_use);
	return h;
}

cr_ns rate_limit_take(struct rate_limit *a, const struct sockaddr_storage *from,
		      cr_ns now)
{
	struct host *h = host_of(a, from);
	cr_ns full = cr_ns_max(h->full, now) + a->each;
	cr_ns wait = full - now - a->cfg.burst * a->each;

	if (wait > 0)
		return wait;
	h->full = full;
	return 0;
}

/* --- replies --- */

enum { KEY_BYTES = NG_COOKIE_MAX + 64 };

struct reply {
	RB_ENTRY(reply) by_key;
	TAILQ_ENTRY(reply) by_age;
	char key[KEY_BYTES]; /* "COOKIE ADDRESS" */
	cr_ns asked;
	char *text; /* NULL: worked on */
	size_t bytes;
};

RB_HEAD(reply_tree, reply);
TAILQ_HEAD(reply_list, reply);

struct ng_replies {
	struct ng_replies_cfg cfg;
	struct reply_tree tree;
	struct reply_list ages; /* the oldest first */
	size_t bytes;
};

static int reply_cmp(struct reply *a, struct reply *b)
{
	return strcmp(a->key, b->key);
}

RB_PROTOTYPE(reply_tree, reply, by_key, reply_cmp)
RB_GENERATE(reply_tree, reply, by_key, reply_cmp)

struct ng_replies *ng_replies_new(const struct ng_replies_cfg *cfg)
{
	struct ng_replies *r = calloc(1, sizeof(*r));

	if (!r)
		return NULL;
	r->cfg = *cfg;
	RB_INIT(&r->tree);
	TAILQ_INIT(&r->ages);
	return r;
}

static void forget_reply(struct ng_replies *r, struct reply *one)
{
	(void)RB_REMOVE(reply_tree, &r->tree, one);
	TAILQ_REMOVE(&r->ages, one, by_age);
	r->bytes -= sizeof(*one) + one->bytes;
	free(one->text);
	free(one);
}

void ng_replies_free(struct ng_replies *r)
{
	if (!r)
		return;
	while (!TAILQ_EMPTY(&r->ages))
		forget_reply(r, TAILQ_FIRST(&r->ages));
	free(r);
}

/* Room for @more octets. */
static void make_reply_room(struct ng_replies *r, cr_ns now, size_t more)
{
	struct reply *oldest = TAILQ_FIRST(&r->ages);

	/* The analyzer believes that the one freed is still first.
	 * NOLINTNEXTLINE(clang-analyzer-unix.Malloc) */
	while (oldest && (now - oldest->asked > r->cfg.life ||
			  r->bytes + more > r->cfg.bytes_max)) {
		forget_reply(r, oldest);
		oldest = TAILQ_FIRST(&r->ages);
	}
}

static void set_key(struct reply *one, const struct sockaddr_storage *from,
		    const char *cookie)
{
	char address[56];

	(void)snprintf(one->key, sizeof(one->key), "%.*s %s",
		       (int)NG_COOKIE_MAX, cookie,
		       address_text(from, address, sizeof(address)));
}

static struct reply *find_reply(struct ng_replies *r,
				const struct sockaddr_storage *from,
				const char *cookie)
{
	struct reply key;

	set_key(&key, from, cookie);
	return RB_FIND(reply_tree, &r->tree, &key);
}

enum ng_replies_is ng_replies_ask(struct ng_replies *r,
				  const struct sockaddr_storage *from,
				  const char *cookie, cr_ns now,
				  const char **text, size_t *bytes)
{
	struct reply *one;

	make_reply_room(r, now, sizeof(*one));
	one = find_reply(r, from, cookie);
	if (one) {
		*text = one->text;
		*bytes = one->bytes;
		return one->text ? NG_REPLIES_DONE : NG_REPLIES_WORKING;
	}
	one = calloc(1, sizeof(*one));
	if (!one)
		return NG_REPLIES_FULL;
	set_key(one, from, cookie);
	one->asked = now;
	(void)RB_INSERT(reply_tree, &r->tree, one);
	TAILQ_INSERT_TAIL(&r->ages, one, by_age);
	r->bytes += sizeof(*one);
	return NG_REPLIES_NEW;
}

void ng_replies_put(struct ng_replies *r, const struct sockaddr_storage *from,
		    const char *cookie, const char *text, size_t bytes)
{
	struct reply *one = find_reply(r, from, cookie);
	char *copy;

	if (!one || one->text)
		return;
	copy = malloc(bytes ? bytes : 1);
	if (!copy) { /* asked again, it is worked on again */
		forget_reply(r, one);
		return;
	}
	memcpy(copy, text, bytes);
	one->text = copy;
	one->bytes = bytes;
	r->bytes += bytes;
	make_reply_room(r, one->asked, 0);
}

/* --- UDP --- */

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

/* Return the one of our addresses that it came to, as the kernel says. */
static struct ng_local local_of(struct msghdr *m)
{
	struct ng_local at = { .family = AF_UNSPEC };

	for (struct cmsghdr *c = CMSG_FIRSTHDR(m); c; c = CMSG_NXTHDR(m, c)) {
		if (c->cmsg_level == IPPROTO_IP && c->cmsg_type == IP_PKTINFO) {
			at.family = AF_INET;
			memcpy(&at.v4, CMSG_DATA(c), sizeof(at.v4));
		} else if (c->cmsg_level == IPPROTO_IPV6 &&
			   c->cmsg_type == IPV6_PKTINFO) {
			at.family = AF_INET6;
			memcpy(&at.v6, CMSG_DATA(c), sizeof(at.v6));
		}
	}
	return at;
}

static void take_datagram(struct datagrams *d, unsigned i, cr_ns now)
{
	struct ng_listener *l = d->listener;
	struct ng_origin o = { .from = d->from[i] };
	const char *text = d->octets[i];
	size_t bytes = d->message[i].msg_len;

	if (!ng_listener_admits(l, &o.from))
		return;
	if (rate_limit_take(l->rate_limit, &o.from, now)) {
		char from[64];

		l->count.received++;
		l->count.limited++;
		log_event(LOG_WARN, "ng-limited",
			  LOG_WORD("from",
				   address_text(&o.from, from, sizeof(from))),
			  LOG_INT("per_second", l->limits.per_second));
		return;
	}
	o.at = local_of(&d->message[i].msg_hdr);
	/* one who types messages ends them with a line feed */
	while (bytes && (text[bytes - 1] == '\n' || text[bytes - 1] == '\r'))
		bytes--;
	ng_listener_take(l, &o, text, bytes);
}

/* One batch: the event comes again for what is left. */
static void on_datagrams(evutil_socket_t fd, short what, void *arg)
{
	struct datagrams *d = arg;
	cr_ns now = clock_now();
	int n;

	(void)what;
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
	n = recvmmsg(fd, d->message, BATCH, MSG_DONTWAIT, NULL);
	if (n < 0 && errno != EAGAIN && errno != EINTR)
		log_event(LOG_ERROR, "ng-receive",
			  LOG_STR("why", strerror(errno)));
	for (int i = 0; i < n; i++)
		take_datagram(d, (unsigned)i, now);
}

static void add_control(struct msghdr *m, union control *room, int level,
			int type, const void *data, size_t bytes)
{
	struct cmsghdr *c = &room->align;

	*room = (union control){ .octets = { 0 } };
	m->msg_control = room;
	m->msg_controllen = CMSG_SPACE(bytes);
	c->cmsg_level = level;
	c->cmsg_type = type;
	c->cmsg_len = CMSG_LEN(bytes);
	memcpy(CMSG_DATA(c), data, bytes);
}

/* The link matters only to addresses that are good for one link. */
static void send_from(struct msghdr *m, union control *room, struct ng_local at)
{
	if (at.family == AF_INET) {
		at.v4.ipi_ifindex = 0;
		add_control(m, room, IPPROTO_IP, IP_PKTINFO, &at.v4,
			    sizeof(at.v4));
	} else if (at.family == AF_INET6) {
		if (!IN6_IS_ADDR_LINKLOCAL(&at.v6.ipi6_addr))
			at.v6.ipi6_ifindex = 0;
		add_control(m, room, IPPROTO_IPV6, IPV6_PKTINFO, &at.v6,
			    sizeof(at.v6));
	}
}

/* 0 or -errno. */
static int datagrams_send(struct datagrams *d, const struct ng_origin *to,
			  const char *text, size_t bytes)
{
	struct sockaddr_storage peer = to->from;
	struct iovec part = { (void *)(uintptr_t)text, bytes };
	struct msghdr m = { .msg_name = &peer,
			    .msg_namelen = address_length(&peer),
			    .msg_iov = &part,
			    .msg_iovlen = 1 };
	union control room;

	send_from(&m, &room, to->at);
	if (sendmsg(d->fd, &m, MSG_DONTWAIT | MSG_NOSIGNAL) >= 0)
		return 0;
	/* the client sends its request again, and has the answer then */
	log_event(LOG_WARN, "ng-unsent", LOG_STR("why", strerror(errno)));
	return -errno;
}

static int datagrams_open(struct ng_listener *l, struct cr_err *e)
{
	struct datagrams *d = calloc(1, sizeof(*d));
	bool ip6 = l->local.ss_family == AF_INET6;
	socklen_t n = sizeof(l->local);
	const int on = 1;
	bool held;

	if (!d)
		return cr_fail(e, -ENOMEM, "out of memory");
	l->datagrams = d;
	d->listener = l;
	d->fd = -1;
	if (l->cfg.store)
		d->fd = store_take_listener(l->cfg.store, "listen-ng-udp",
					    &l->local);
	held = d->fd >= 0;
	if (!held)
		d->fd = udp_socket(&l->local, e);
	if (d->fd < 0)
		return d->fd;
	if (l->cfg.store && !held)
		(void)store_put(l->cfg.store, "listen-ng-udp", &d->fd, 1);
	/* with each datagram, which of our addresses it came to */
	(void)setsockopt(d->fd, ip6 ? IPPROTO_IPV6 : IPPROTO_IP,
			 ip6 ? IPV6_RECVPKTINFO : IP_PKTINFO, &on, sizeof(on));
	(void)getsockname(d->fd, (struct sockaddr *)&l->local, &n);
	d->readable = event_new(l->cfg.base, d->fd, EV_READ | EV_PERSIST,
				on_datagrams, d);
	if (!d->readable || event_add(d->readable, NULL))
		return cr_fail(e, -ENOMEM, "out of memory");
	return 0;
}

const struct ng_limits ng_limits_usual = {
	.per_second = 2000,
	.hosts = 1024,
	.waiting = 4096,
	.connections = 256,
	.of_host = 64,
	.unread = (size_t)1 << 20,
	.unread_all = (size_t)32 << 20,
	.replies = (size_t)32 << 20,
	.replies_life = 10 * CR_SEC,
	.half = 10 * CR_SEC,
	.idle = 600 * CR_SEC,
};

/* --- answers --- */

static int send_to_origin(struct ng_listener *l, const struct ng_origin *o,
			  const char *text, size_t bytes)
{
	return o->connection ? connection_send(o->connection, text, bytes)
			     : datagrams_send(l->datagrams, o, text, bytes);
}

/* Into l->text. Its length, or -errno. What is wrong may quote what was sent,
 * which JSON may not be able to say. */
static long write_error(struct ng_listener *l, const struct ng_message *m,
			const char *why)
{
	struct cr_err plain;
	json_t *body;
	long n;

	(void)cr_fail(&plain, 0, "%s", why);
	for (char *p = plain.text; *p; p++)
		if (*p < ' ' || *p > '~')
			*p = '?';
	body = json_pack("{s:s,s:s}", "result", "error", "error-reason",
			 plain.text);
	n = body ? ng_message_write(m, body, l->text, sizeof(l->text))
		 : -ENOMEM;
	json_decref(body);
	return n;
}

/* Write the answer @body to l->text; one that has no form in a message becomes
 * an error. */
static long write_answer(struct ng_listener *l, const struct ng_message *m,
			 const json_t *body)
{
	long n = body ? ng_message_write(m, body, l->text, sizeof(l->text))
		      : -ENOMEM;

	if (n >= 0)
		return n;
	log_event(LOG_ERROR, "ng-no-answer", LOG_WORD("cookie", m->cookie),
		  LOG_STR("why", strerror((int)-n)));
	return write_error(l, m,
			   n == -ENOSPC ? "the answer is too long for a message"
			   : n == -EINVAL ? "the answer has no form in bencode"
					  : "out of memory for the answer");
}

void ng_answer(struct ng_asked *a, json_t *body)
{
	struct ng_listener *l = a->listener;

	if (l) {
		long n;

		TAILQ_REMOVE(&l->asked, a, link);
		l->count.waiting--;
		n = write_answer(l, &a->request, body);
		if (n >= 0 && a->client.datagram)
			ng_replies_put(l->replies, &a->origin.from,
				       a->request.cookie, l->text, (size_t)n);
		if (!a->client.datagram && !a->origin.connection)
			l->count.unwanted++; /* it has closed */
		else if (n < 0 ||
			 send_to_origin(l, &a->origin, l->text, (size_t)n))
			l->count.unsent++;
		else
			l->count.answered++;
		if (a->origin.connection)
			connection_answered(a->origin.connection);
	}
	json_decref(body);
	free(a);
}

const struct ng_client *ng_asked_client(const struct ng_asked *a)
{
	return &a->client;
}

/* --- requests --- */

bool ng_listener_admits(struct ng_listener *l,
			const struct sockaddr_storage *from)
{
	char text[64];

	if (networks_has(&l->acl, from))
		return true;
	l->count.denied++;
	log_event(LOG_WARN, "ng-denied",
		  LOG_WORD("from", address_text(from, text, sizeof(text))));
	return false;
}

void ng_listener_malformed(struct ng_listener *l, const struct ng_origin *o,
			   const struct ng_message *m, const char *why)
{
	char from[64];
	long n;

	l->count.malformed++;
	log_event(LOG_WARN, "ng-malformed",
		  LOG_WORD("from", address_text(&o->from, from, sizeof(from))),
		  LOG_WORD("cookie", m->cookie), LOG_STR("why", why));
	if (!m->cookie[0])
		return;
	n = write_error(l, m, why);
	if (n >= 0)
		(void)send_to_origin(l, o, l->text, (size_t)n);
}

static void overloaded(struct ng_listener *l, const struct ng_origin *o,
		       const struct ng_message *m)
{
	json_t *body = json_pack("{s:s,s:s}", "result", "load limit", "message",
				 "too many requests wait for their answers");
	long n = write_answer(l, m, body);

	l->count.overloaded++;
	log_event(LOG_WARN, "ng-overloaded",
		  LOG_INT("waiting", l->count.waiting));
	json_decref(body);
	if (n < 0)
		return;
	if (!o->connection)
		ng_replies_put(l->replies, &o->from, m->cookie, l->text,
			       (size_t)n);
	(void)send_to_origin(l, o, l->text, (size_t)n);
}

static void ask_service(struct ng_listener *l, const struct ng_origin *o,
			const struct ng_message *m)
{
	struct ng_asked *a = l->count.waiting < l->limits.waiting
				     ? calloc(1, sizeof(*a))
				     : NULL;

	if (!a) {
		overloaded(l, o, m);
		return;
	}
	a->listener = l;
	a->origin = *o;
	a->request = *m;
	a->request.body = NULL;
	a->client = (struct ng_client){ .host = o->from,
					.datagram = !o->connection };
	(void)address_text(&o->from, a->client.text, sizeof(a->client.text));
	TAILQ_INSERT_TAIL(&l->asked, a, link);
	l->count.waiting++;
	l->count.asked++;
	if (o->connection)
		connection_asked(o->connection);
	l->cfg.ask(l->cfg.arg, a, m->body);
}

/* Is it done with that? By UDP requests come again. */
static bool was_there(struct ng_listener *l, const struct ng_origin *o,
		      const struct ng_message *m)
{
	const char *text;
	size_t bytes;

	if (o->connection)
		return false;
	switch (ng_replies_ask(l->replies, &o->from, m->cookie, clock_now(),
			       &text, &bytes)) {
	case NG_REPLIES_WORKING:
		l->count.ignored++;
		return true;
	case NG_REPLIES_DONE:
		l->count.repeated++;
		(void)datagrams_send(l->datagrams, o, text, bytes);
		return true;
	case NG_REPLIES_NEW:
	case NG_REPLIES_FULL:
		break;
	}
	return false;
}

void ng_listener_take(struct ng_listener *l, const struct ng_origin *o,
		      const char *text, size_t bytes)
{
	struct ng_message m;
	struct cr_err e = { "" };

	l->count.received++;
	if (ng_message_read(&m, text, bytes, &e)) {
		ng_listener_malformed(l, o, &m, e.text);
		return;
	}
	/* Two that answer each other's answers with errors would never end. */
	if (json_object_get(m.body, "result") &&
	    !json_object_get(m.body, "command")) {
		m.cookie[0] = '\0';
		ng_listener_malformed(l, o, &m, "an answer, to no request");
	} else if (!was_there(l, o, &m)) {
		ask_service(l, o, &m);
	}
	ng_message_free(&m);
}

/* --- life --- */

/* A port alone is one of loopback. */
static int read_ng_address(const char *text, struct sockaddr_storage *to,
			   struct cr_err *e)
{
	bool alone = *text && !text[strspn(text, "0123456789")];
	char whole[64];

	(void)snprintf(whole, sizeof(whole), "%s%s", alone ? "127.0.0.1:" : "",
		       text);
	if (strlen(text) < 48 && !address_parse(whole, to))
		return 0;
	return cr_fail(e, -EINVAL,
		       "%s: needs an address with a port, such as "
		       "127.0.0.1:22222",
		       text);
}

/* Hosts that may ask at @at: @asked, or (NULL) those at loopback, where it is
 * then. */
static int choose_acl(struct networks *to, const struct networks *asked,
		      const struct sockaddr_storage *at, struct cr_err *e)
{
	struct networks local;
	int rc = networks_read(&local, "127.0.0.0/8,::1", e);

	if (rc)
		return rc;
	if (!asked && !networks_has(&local, at))
		return cr_fail(e, -EINVAL,
			       "NG has no password: at an address that is not "
			       "loopback, say who may ask (--ng-allow)");
	*to = asked ? *asked : local;
	return 0;
}

int ng_listener_check(const char *address, const struct networks *acl,
		      struct cr_err *e)
{
	struct sockaddr_storage at;
	struct networks some;
	int rc = read_ng_address(address, &at, e);

	return rc ? rc : choose_acl(&some, acl, &at, e);
}

int ng_listener_admit(struct ng_listener *l, const struct networks *acl,
		      struct cr_err *e)
{
	return choose_acl(&l->acl, acl, &l->local, e);
}

static int read_acl(struct ng_listener *l, struct cr_err *e)
{
	struct networks local;
	int rc = ng_listener_admit(l, l->cfg.acl, e);

	if (!rc && choose_acl(&local, NULL, &l->local, NULL))
		log_event(LOG_WARN, "ng-open",
			  LOG_WORD("address", l->cfg.address),
			  LOG_STR("why", "NG has no password, and addresses "
					 "can be forged: keep it in a closed "
					 "network"));
	return rc;
}

static void close_sockets(struct ng_listener *l)
{
	struct datagrams *d = l->datagrams;

	connections_close(l);
	if (d && d->readable)
		event_free(d->readable);
	if (d && d->fd >= 0)
		(void)close(d->fd);
	free(d);
	l->datagrams = NULL;
}

/* Any port must be free for both: that of UDP may be taken by TCP. */
static int listen_at_address(struct ng_listener *l, struct cr_err *e)
{
	const struct sockaddr_storage wanted = l->local;
	int rc = -EADDRINUSE;

	for (unsigned tries = 0; tries < 16 && rc == -EADDRINUSE; tries++) {
		close_sockets(l);
		l->local = wanted;
		rc = datagrams_open(l, e);
		if (rc)
			return rc;
		rc = connections_open(l, e);
		if (address_port(&wanted))
			break;
	}
	return rc;
}

int ng_listener_open(struct ng_listener **out,
		     const struct ng_listener_config *cfg, struct cr_err *e)
{
	struct ng_listener *l = calloc(1, sizeof(*l));
	int rc;

	if (!l)
		return cr_fail(e, -ENOMEM, "out of memory");
	l->cfg = *cfg;
	l->limits = cfg->limits ? *cfg->limits : ng_limits_usual;
	l->limits.connections = descriptors_for_ng(l->limits.connections);
	l->tcp = -1;
	TAILQ_INIT(&l->asked);
	TAILQ_INIT(&l->connections);
	l->rate_limit = rate_limit_new(
		&(struct rate_limit_cfg){ .per_second = l->limits.per_second,
					  .burst = l->limits.per_second,
					  .hosts = l->limits.hosts });
	l->replies = ng_replies_new(
		&(struct ng_replies_cfg){ .life = l->limits.replies_life,
					  .bytes_max = l->limits.replies });
	rc = l->rate_limit && l->replies
		     ? read_ng_address(cfg->address, &l->local, e)
		     : cr_fail(e, -ENOMEM, "out of memory");
	if (!rc)
		rc = read_acl(l, e);
	if (!rc)
		rc = listen_at_address(l, e);
	if (rc) {
		ng_listener_close(l);
		return rc;
	}
	*out = l;
	return 0;
}

void ng_listener_close(struct ng_listener *l)
{
	struct ng_asked *a;

	if (!l)
		return;
	close_sockets(l);
	while ((a = TAILQ_FIRST(&l->asked))) {
		TAILQ_REMOVE(&l->asked, a, link);
		a->listener = NULL;
	}
	free(l->rate_limit);
	ng_replies_free(l->replies);
	free(l);
}

void ng_listener_local(const struct ng_listener *l, char *buf, size_t size)
{
	(void)address_text(&l->local, buf, size);
}

void ng_listener_stats(const struct ng_listener *l,
		       struct ng_listener_stats *out)
{
	*out = l->count;
	out->dropped = udp_socket_drops(l->datagrams->fd);
}
