/* SPDX-License-Identifier: Apache-2.0 */
/*
 * NG by TCP: connections, which turn octets into requests, and send answers
 * back.
 *
 *           what comes is no NG                all answers are out
 *   open ------------------------> leaving -------------------------> bye
 *    |  the peer says no more                                          |
 *    +--------------------> finished        the peer has closed,       |
 *    | silent for too long,   | all answers or has had time enough     |
 *    | half a message, unread | are out                                |
 *    +------------------------+-------------> closed <-----------------+
 *
 * Octets that a peer leaves unread have a bound, and those of all peers: beyond
 * it, the one with the most is closed. Nobody is closed within the work on its
 * messages: it is marked as dead.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <netinet/tcp.h>
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

enum {
	TURN = 8,	       /* messages until others have theirs   */
	INPUT_MAX = 2 * 65536, /* more than a message                 */
	COOKIE_BYTES = 128,    /* more than it needs                  */
	LINGER_S = 2,	       /* for the peer to read why it must go */
};

enum due { DUE_NEVER, DUE_HALF, DUE_IDLE, DUE_BYE };

struct ng_connection {
	TAILQ_ENTRY(ng_connection) link;
	struct ng_listener *listener;
	struct bufferevent *io;
	struct event *again; /* another turn                              */
	struct event *late;  /* it is closed                              */
	enum due due;	     /* what for                                  */
	struct ng_origin origin;
	struct framing framing;
	size_t looked;	  /* octets of the input that framing has seen    */
	unsigned waiting; /* requests                                     */
	bool whole;	  /* a message is there, and may not be taken yet */
	bool finished, leaving, bye, dead;
	bool busy; /* a turn is on */
};

static size_t unread(const struct ng_connection *c)
{
	return evbuffer_get_length(bufferevent_get_output(c->io));
}

static void start_timer(struct event *timer, cr_ns ns)
{
	const struct timeval t = { .tv_sec = ns / CR_SEC,
				   .tv_usec = (ns % CR_SEC + 999) / 1000 };

	(void)evtimer_add(timer, &t);
}

/* --- its end --- */

static void connection_close(struct ng_connection *c)
{
	struct ng_listener *l = c->listener;
	struct ng_asked *a;

	TAILQ_FOREACH (a, &l->asked, link)
		if (a->origin.connection == c)
			a->origin.connection = NULL;
	TAILQ_REMOVE(&l->connections, c, link);
	l->count.connections--;
	if (c->again)
		event_free(c->again);
	if (c->late)
		event_free(c->late);
	if (c->io)
		bufferevent_free(c->io); /* with its descriptor */
	free(c);
}

static void cut_ng_connection(struct ng_connection *c, const char *why)
{
	char from[64];

	if (c->dead)
		return;
	c->dead = true;
	c->listener->count.cut++;
	log_event(LOG_INFO, "ng-cut",
		  LOG_WORD("from",
			   address_text(&c->origin.from, from, sizeof(from))),
		  LOG_STR("why", why));
}

/* --- messages --- */

/* Give up the connection, as its next messages cannot be told apart: its sender
 * gets an error, and is closed. */
static void break_off(struct ng_connection *c, const char *text)
{
	struct ng_listener *l = c->listener;
	struct ng_message m;
	size_t n = c->framing.bytes;

	(void)ng_message_read(&m, text, n < COOKIE_BYTES ? n : COOKIE_BYTES,
			      NULL);
	ng_message_free(&m);
	l->count.received++;
	ng_listener_malformed(l, &c->origin, &m, c->framing.why);
	l->count.cut++;
	c->leaving = true;
}

/* Is a whole message there? Blanks before it are gone then. */
static bool find_message(struct ng_connection *c)
{
	struct evbuffer *in = bufferevent_get_input(c->io);
	size_t n = evbuffer_get_length(in), used;
	const char *text;
	enum framing_is is;

	if (c->whole || n == c->looked)
		return c->whole;
	text = (const char *)evbuffer_pullup(in, -1);
	is = framing_feed(&c->framing, text + c->looked, n - c->looked, &used);
	used += c->looked;
	c->looked = c->framing.bytes;
	if (is == FRAMING_BROKEN)
		break_off(c, text + used - c->framing.bytes);
	c->whole = is == FRAMING_DONE;
	(void)evbuffer_drain(in, used - c->framing.bytes);
	return c->whole;
}

/* May it ask more? */
static bool is_connected(const struct ng_connection *c)
{
	return !c->dead && !c->leaving;
}

static void take_some(struct ng_connection *c)
{
	struct evbuffer *in = bufferevent_get_input(c->io);

	for (unsigned i = 0; is_connected(c) && find_message(c); i++) {
		cr_ns wait =
			i == TURN
				? 1
				: rate_limit_take(c->listener->rate_limit,
						  &c->origin.from, clock_now());

		if (wait) {
			start_timer(c->again, wait);
			return;
		}
		ng_listener_take(c->listener, &c->origin,
				 (const char *)evbuffer_pullup(in, -1),
				 c->looked);
		(void)evbuffer_drain(in, c->looked);
		c->looked = 0;
		c->whole = false;
		/* the next one has a time of its own */
		c->due = DUE_NEVER;
		(void)event_del(c->late);
	}
}

/* --- what it waits for --- */

static bool at_rest(const struct ng_connection *c)
{
	return !c->waiting && !unread(c);
}

static void set_due(struct ng_connection *c, enum due due, cr_ns in)
{
	/* octets that trickle in do not put it off */
	if (due == c->due && due != DUE_IDLE)
		return;
	c->due = due;
	if (due == DUE_NEVER)
		(void)event_del(c->late);
	else
		start_timer(c->late, in);
}

static void watch_connection(struct ng_connection *c)
{
	const struct ng_limits *limits = &c->listener->limits;

	if (c->bye)
		set_due(c, DUE_BYE, LINGER_S * CR_SEC);
	else if (!is_connected(c) || c->whole)
		set_due(c, DUE_NEVER, 0);
	else if (c->looked)
		set_due(c, DUE_HALF, limits->half);
	else if (at_rest(c))
		set_due(c, DUE_IDLE, limits->idle);
	else
		set_due(c, DUE_NEVER, 0);
}

/* Half a message is all that is left. */
static void count_rest(struct ng_connection *c)
{
	if (!c->looked)
		return;
	c->listener->count.received++;
	ng_listener_malformed(c->listener, &c->origin,
			      &(struct ng_message){ .cookie = "" },
			      "its connection ends within it");
}

static void settle_connection(struct ng_connection *c)
{
	if (c->leaving && at_rest(c) && !c->bye) {
		/* With something unread in it, a socket that is closed takes
		 * back what was sent: so its peer has time to read. */
		c->bye = true;
		if (c->finished)
			c->dead = true;
		else
			(void)shutdown(bufferevent_getfd(c->io), SHUT_WR);
	}
	/* The peer says no more, and has all that it has asked for. */
	if (c->dead ||
	    (c->finished && !c->leaving && !c->whole && at_rest(c))) {
		if (!c->dead)
			count_rest(c);
		connection_close(c);
		return;
	}
	if (c->leaving)
		(void)evbuffer_drain(bufferevent_get_input(c->io), SIZE_MAX);
	if (!c->finished && (c->leaving || !c->whole))
		(void)bufferevent_enable(c->io, EV_READ);
	else
		(void)bufferevent_disable(c->io, EV_READ);
	watch_connection(c);
}

static void connection_turn(struct ng_connection *c)
{
	c->busy = true;
	take_some(c);
	c->busy = false;
	settle_connection(c);
}

/* --- answers --- */

void connection_asked(struct ng_connection *c)
{
	c->waiting++;
}

void connection_answered(struct ng_connection *c)
{
	c->waiting--;
	if (!c->busy)
		start_timer(c->again, 0);
}

/* The one whose peer leaves too much unread, now that @c has an answer more; or
 * NULL. */
static struct ng_connection *find_offender(struct ng_connection *c)
{
	const struct ng_limits *limits = &c->listener->limits;
	struct ng_connection *one, *most = c;
	size_t all = 0;

	if (unread(c) > limits->unread)
		return c;
	TAILQ_FOREACH (one, &c->listener->connections, link) {
		if (one->dead) /* freed soon */
			continue;
		all += unread(one);
		if (unread(one) > unread(most))
			most = one;
	}
	return all > limits->unread_all ? most : NULL;
}

int connection_send(struct ng_connection *c, const char *text, size_t bytes)
{
	struct ng_connection *offender;

	if (c->dead || c->bye)
		return -EPIPE;
	if (bufferevent_write(c->io, text, bytes))
		return -ENOMEM;
	offender = find_offender(c);
	if (!offender)
		return 0;
	cut_ng_connection(offender, "it does not read its answers");
	if (!offender->busy)
		start_timer(offender->again, 0);
	return offender == c ? -ENOBUFS : 0;
}

/* --- events --- */

/* Octets have come, or all answers are out. */
static void on_octets(struct bufferevent *io, void *arg)
{
	(void)io;
	connection_turn(arg);
}

static void on_connection_again(evutil_socket_t fd, short what, void *arg)
{
	(void)fd, (void)what;
	connection_turn(arg);
}

static void on_connection_event(struct bufferevent *io, short what, void *arg)
{
	struct ng_connection *c = arg;

	(void)io;
	if (what & BEV_EVENT_TIMEOUT)
		cut_ng_connection(c, "it does not read its answers");
	else if (what & BEV_EVENT_ERROR)
		c->dead = true;
	c->finished = true;
	if (c->bye)
		c->dead = true;
	connection_turn(c);
}

static void on_late(evutil_socket_t fd, short what, void *arg)
{
	static const char *const why[] = {
		[DUE_NEVER] = "",
		[DUE_HALF] = "the rest of a message does not come",
		[DUE_IDLE] = "it asks for nothing",
		[DUE_BYE] = "", /* an error was sent */
	};
	struct ng_connection *c = arg;

	(void)fd, (void)what;
	if (c->due == DUE_HALF)
		count_rest(c);
	if (c->due == DUE_BYE)
		c->dead = true;
	cut_ng_connection(c, why[c->due]);
	settle_connection(c);
}

/* --- its begin --- */

static int start_connection(struct ng_connection *c, int fd)
{
	const struct ng_limits *limits = &c->listener->limits;
	struct event_base *base = c->listener->cfg.base;
	const struct timeval stuck = { .tv_sec = limits->half / CR_SEC,
				       .tv_usec =
					       limits->half % CR_SEC / CR_US };

	c->io = bufferevent_socket_new(base, fd, BEV_OPT_CLOSE_ON_FREE);
	if (!c->io) {
		(void)close(fd);
		return -ENOMEM;
	}
	c->again = evtimer_new(base, on_connection_again, c);
	c->late = evtimer_new(base, on_late, c);
	if (!c->again || !c->late)
		return -ENOMEM;
	bufferevent_setcb(c->io, on_octets, on_octets, on_connection_event, c);
	bufferevent_setwatermark(c->io, EV_READ, 0, INPUT_MAX);
	bufferevent_set_timeouts(c->io, NULL, &stuck);
	return bufferevent_enable(c->io, EV_READ | EV_WRITE) ? -ENOMEM : 0;
}

/* Takes @fd over. Out of memory: closes it. */
static void connection_open(struct ng_listener *l, int fd,
			    const struct sockaddr_storage *from)
{
	struct ng_connection *c = calloc(1, sizeof(*c));

	if (!c) {
		l->count.refused++;
		(void)close(fd);
		return;
	}
	c->listener = l;
	c->origin = (struct ng_origin){ .from = *from, .connection = c };
	TAILQ_INSERT_TAIL(&l->connections, c, link);
	l->count.connections++;
	if (start_connection(c, fd)) {
		l->count.refused++;
		connection_close(c);
		return;
	}
	l->count.accepted++;
	watch_connection(c);
}

enum {
	ACCEPTS = 16,	/* at a time: open connections have theirs */
	PAUSE_MS = 100, /* when there is no descriptor to accept with  */
	BACKLOG = 128
};

static void welcome(struct ng_listener *l, int fd,
		    const struct sockaddr_storage *from)
{
	const int on = 1;
	const struct ng_connection *c;
	unsigned n = 0;

	if (!ng_listener_admits(l, from)) {
		(void)close(fd);
		return;
	}
	TAILQ_FOREACH (c, &l->connections, link)
		n += address_same_host(&c->origin.from, from);
	if (l->count.connections >= l->limits.connections ||
	    n >= l->limits.of_host) {
		char text[64];

		l->count.refused++;
		log_event(LOG_WARN, "ng-refused",
			  LOG_WORD("from",
				   address_text(from, text, sizeof(text))),
			  LOG_INT("connections", l->count.connections));
		(void)close(fd);
		return;
	}
	(void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	(void)setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on));
	connection_open(l, fd, from);
}

/* EMFILE and the like: it would come again at once. Clients wait
 * in the kernel meanwhile. */
static void accept_later(struct ng_listener *l)
{
	const struct timeval pause = { .tv_usec = PAUSE_MS * 1000 };

	(void)evtimer_add(l->accept_again, &pause);
}

/* False: there is nobody to accept, or nothing to do it with. */
static bool accept_one(struct ng_listener *l)
{
	struct sockaddr_storage from = { .ss_family = AF_UNSPEC };
	socklen_t n = sizeof(from);
	int fd = accept4(l->tcp, (struct sockaddr *)&from, &n,
			 SOCK_NONBLOCK | SOCK_CLOEXEC);

	if (fd >= 0) {
		welcome(l, fd, &from);
		return true;
	}
	if (errno == ECONNABORTED || errno == EINTR)
		return true;
	if (errno != EAGAIN) {
		log_event(LOG_WARN, "ng-accept",
			  LOG_STR("why", strerror(errno)));
		(void)event_del(l->acceptable);
		accept_later(l);
	}
	return false;
}

static void on_acceptable(evutil_socket_t fd, short what, void *arg)
{
	struct ng_listener *l = arg;

	(void)fd, (void)what;
	for (unsigned i = 0; i < ACCEPTS; i++)
		if (!accept_one(l))
			break;
}

static void on_accept_again(evutil_socket_t fd, short what, void *arg)
{
	struct ng_listener *l = arg;

	(void)fd, (void)what;
	if (event_add(l->acceptable, NULL))
		accept_later(l);
}

static int listen_for_connections(int fd, const struct sockaddr_storage *local,
				  struct cr_err *e)
{
	const int on = 1;
	char text[64];

	(void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	udp_socket_allow_foreign(fd);
	if (!bind(fd, (const struct sockaddr *)local, address_length(local)) &&
	    !listen(fd, BACKLOG))
		return 0;
	return cr_fail(e, -errno, "TCP socket: %s: %s",
		       address_text(local, text, sizeof(text)),
		       strerror(errno));
}

int connections_open(struct ng_listener *l, struct cr_err *e)
{
	int rc = 0;
	bool held;

	if (l->cfg.store)
		l->tcp = store_take_listener(l->cfg.store, "listen-ng-tcp",
					     &l->local);
	held = l->tcp >= 0;
	if (!held)
		l->tcp = socket(l->local.ss_family,
				SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (l->tcp < 0 && (errno == EMFILE || errno == ENFILE))
		return descriptors_fail(e, -errno, "TCP socket");
	/* analyzer: connections_close() closes it */
	if (l->tcp < 0)
		return cr_fail(e, -errno, "TCP socket: %s", strerror(errno));
	if (!held)
		rc = listen_for_connections(l->tcp, &l->local, e);
	if (rc)
		return rc;
	if (l->cfg.store && !held)
		(void)store_put(l->cfg.store, "listen-ng-tcp", &l->tcp, 1);
	l->acceptable = event_new(l->cfg.base, l->tcp, EV_READ | EV_PERSIST,
				  on_acceptable, l);
	l->accept_again = evtimer_new(l->cfg.base, on_accept_again, l);
	if (!l->acceptable || !l->accept_again ||
	    event_add(l->acceptable, NULL))
		return cr_fail(e, -ENOMEM, "out of memory");
	return 0;
}

void connections_close(struct ng_listener *l)
{
	while (!TAILQ_EMPTY(&l->connections))
		connection_close(TAILQ_FIRST(&l->connections));
	if (l->acceptable)
		event_free(l->acceptable);
	if (l->accept_again)
		event_free(l->accept_again);
	l->acceptable = l->accept_again = NULL;
	if (l->tcp >= 0)
		(void)close(l->tcp);
	l->tcp = -1;
}
