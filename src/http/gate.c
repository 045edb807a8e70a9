/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libevent tells when a connection begins, not when it ends. So each is known
 * by its descriptor and the number of its socket: a descriptor that is closed,
 * or another socket's, was left by it.
 *
 *        accepted         before the next poll         descriptor closed
 *   none ---------> fresh ---------------------> known ------------------> none
 *
 * While the socket is there, so is the bufferevent that evhttp reads and writes
 * it by: evhttp leaves both at once. Nobody else refers to it for longer than
 * it takes to look at it, as that would keep libevent from forgetting a
 * descriptor that evhttp closes.
 *
 * evhttp does not look whether the kernel watches what it waits for (no memory,
 * fs.epoll.max_user_watches). So somebody else does.
 */
#include "http/gate.h"

#include <arpa/inet.h>
#include <errno.h>
#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/bufferevent_struct.h>
#include <event2/listener.h>
#include <poll.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <sys/stat.h>

#include "base/address.h"
#include "base/clock.h"
#include "observe/log.h"

/* Until it is looked whether there is room, or a descriptor. */
enum { PAUSE_MS = 100 };

/* Between looks at what libevent waits for. */
enum { WATCH_S = 1 };

/* A connection. */
struct connection {
	int fd;
	ino_t socket;
	struct bufferevent *b; /* evhttp's: only if it is there */
	struct in6_addr host;
	cr_ns since;
};

struct gate {
	struct gate_config cfg;
	struct evconnlistener *listener;
	struct event *look;    /**< while it is shut */
	struct event *arrived; /**< before the next poll: see who is fresh */
	struct event *watch;   /**< while there are connections */
	struct bufferevent **fresh;
	unsigned nfresh;
	struct connection *connection; /**< oldest first */
	unsigned nconnections;
	bool was_full;
	struct gate_stats count;
	LIST_ENTRY(gate) link;
};

/* Those that are open: of what fails, libevent tells the listener, but not
 * whose it is. */
static LIST_HEAD(, gate) all = LIST_HEAD_INITIALIZER(all);

/* --- who is there --- */

static bool is_there(const struct connection *g)
{
	struct stat st;

	return !fstat(g->fd, &st) && S_ISSOCK(st.st_mode) &&
	       st.st_ino == g->socket;
}

static void forget_gone(struct gate *g)
{
	unsigned n = 0;

	for (unsigned i = 0; i < g->nconnections; i++)
		if (is_there(&g->connection[i]))
			g->connection[n++] = g->connection[i];
	g->nconnections = n;
}

static bool is_full(const struct gate *g)
{
	return g->nconnections + g->nfresh >= g->cfg.most;
}

static void shut(struct gate *g)
{
	const struct timeval pause = { .tv_usec = PAUSE_MS * 1000 };

	(void)evconnlistener_disable(g->listener);
	(void)event_add(g->look, &pause);
}

static void shut_if_full(struct gate *g)
{
	if (is_full(g))
		forget_gone(g);
	if (!is_full(g)) {
		g->was_full = false;
		return;
	}
	if (!g->was_full) {
		g->count.full++;
		log_event(LOG_WARN, "http-full",
			  LOG_INT("connections", g->cfg.most));
	}
	g->was_full = true;
	shut(g);
}

/* --- they are watched --- */

/* Of what its owner waits for, what libevent does not. */
static short unwatched(struct bufferevent *b)
{
	int watched = event_pending(&b->ev_read, EV_READ, NULL) |
		      event_pending(&b->ev_write, EV_WRITE, NULL);

	return (short)(bufferevent_get_enabled(b) & ~watched);
}

/* By what evhttp does of a client that says nothing for too long. It works
 * where the end of a socket would not be seen. */
static void end(const struct connection *g)
{
	bufferevent_trigger_event(g->b, BEV_EVENT_TIMEOUT | BEV_EVENT_READING,
				  0);
}

static void watch_later(struct gate *g)
{
	const struct timeval pause = { .tv_sec = WATCH_S };

	if (g->nconnections && !evtimer_pending(g->watch, NULL))
		(void)event_add(g->watch, &pause);
}

/* Who cannot be watched now either is in the way of others, and would be there
 * for ever. */
static void on_watch(evutil_socket_t fd, short what, void *arg)
{
	struct gate *g = arg;

	(void)fd, (void)what;
	forget_gone(g);
	for (unsigned i = 0; i < g->nconnections; i++) {
		short by = unwatched(g->connection[i].b);

		if (by && bufferevent_enable(g->connection[i].b, by))
			end(&g->connection[i]);
	}
	watch_later(g);
}

static void cut(struct gate *g, const struct connection *connection)
{
	cr_ns age = clock_now() - connection->since;
	char peer[INET6_ADDRSTRLEN] = "?";

	(void)inet_ntop(AF_INET6, &connection->host, peer, sizeof(peer));
	end(connection);
	g->count.cut++;
	log_event(LOG_WARN, "http-cut", LOG_WORD("peer", peer),
		  LOG_INT("age_s", (age / CR_SEC)));
}

/* --- they come --- */

static bool same_host(const struct in6_addr *a, const struct in6_addr *b)
{
	size_t bytes = IN6_IS_ADDR_V4MAPPED(a) ? 16 : 8;

	return !memcmp(a, b, bytes);
}

static bool waits_for_answer(const struct connection *connection)
{
	return evbuffer_get_length(bufferevent_get_output(connection->b));
}

/* If there are too many of @host. */
static void cut_one_of(struct gate *g, const struct in6_addr *host)
{
	const struct connection *idle = NULL, *oldest = NULL;
	unsigned n = 0;

	forget_gone(g);
	for (unsigned i = 0; i < g->nconnections; i++) {
		const struct connection *each = &g->connection[i];

		if (!same_host(&each->host, host))
			continue;
		n++;
		if (!oldest)
			oldest = each;
		if (!idle && !waits_for_answer(each))
			idle = each;
	}
	if (n <= g->cfg.most_of_host)
		return;
	cut(g, idle ? idle : oldest);
	forget_gone(g);
}

/* evhttp takes its functions off what it has no use for any more. */
static bool is_in_use(struct bufferevent *b)
{
	bufferevent_event_cb cb;

	bufferevent_getcb(b, NULL, NULL, &cb, NULL);
	return cb;
}

static void greet(struct gate *g, struct bufferevent *b)
{
	struct sockaddr_storage from = { .ss_family = AF_UNSPEC };
	socklen_t size = sizeof(from);
	int fd = (int)bufferevent_getfd(b);
	struct connection fresh = { .fd = fd, .b = b, .since = clock_now() };
	struct stat st;

	if (fd < 0 || !is_in_use(b) || fstat(fd, &st)) {
		bufferevent_decref(b);
		return;
	}
	(void)getpeername(fd, (struct sockaddr *)&from, &size);
	fresh.socket = st.st_ino;
	fresh.host = address_mapped(&from);
	g->connection[g->nconnections++] = fresh;
	bufferevent_decref(b);
	if (g->cfg.most_of_host)
		cut_one_of(g, &fresh.host);
}

static void open_again(struct gate *g)
{
	if (is_full(g))
		return;
	g->was_full = false;
	if (!evconnlistener_enable(g->listener))
		(void)event_del(g->look);
	else
		shut(g);
}

/* They have their descriptors by now, and nothing has come by these yet. */
static void on_arrived(evutil_socket_t fd, short what, void *arg)
{
	struct gate *g = arg;

	(void)fd, (void)what;
	for (unsigned i = 0; i < g->nfresh; i++)
		greet(g, g->fresh[i]);
	g->nfresh = 0;
	watch_later(g);
	open_again(g);
}

/* For a connection that has been accepted. NULL: libevent makes one. */
static struct bufferevent *on_connection(struct event_base *base, void *arg)
{
	struct gate *g = arg;
	struct bufferevent *b = bufferevent_socket_new(base, -1, 0);

	if (!b)
		return NULL;
	bufferevent_setwatermark(b, EV_READ, 0, g->cfg.unread);
	g->count.came++;
	if (is_full(g)) /* there is no place to know it by */
		return b;
	bufferevent_incref(b);
	g->fresh[g->nfresh++] = b;
	event_active(g->arrived, EV_TIMEOUT, 0);
	shut_if_full(g);
	return b;
}

/* EMFILE and the like: it would come again at once. Who wants to connect waits
 * in the kernel meanwhile. */
static void on_no_accept(struct evconnlistener *listener, void *arg)
{
	struct gate *g;

	(void)arg; /* libevent's own */
	LIST_FOREACH(g, &all, link)
	if (g->listener == listener) {
		g->count.paused++;
		shut(g);
	}
}

/* --- while it is shut --- */

static bool somebody_waits(const struct gate *g)
{
	struct pollfd p = { .fd = (int)evconnlistener_get_fd(g->listener),
			    .events = POLLIN };

	return poll(&p, 1, 0) > 0;
}

static void cut_oldest(struct gate *g)
{
	if (g->nconnections && somebody_waits(g) &&
	    clock_now() - g->connection[0].since >= GATE_STAY_S * CR_SEC)
		cut(g, &g->connection[0]);
}

static void on_look(evutil_socket_t fd, short what, void *arg)
{
	struct gate *g = arg;

	(void)fd, (void)what;
	forget_gone(g);
	if (is_full(g)) {
		cut_oldest(g);
		shut(g);
		return;
	}
	open_again(g);
}

/* --- life --- */

int gate_open(struct gate **out, const struct gate_config *cfg,
	      struct cr_err *e)
{
	struct gate *g = calloc(1, sizeof(*g));

	if (!g)
		return cr_fail(e, -ENOMEM, "out of memory");
	g->cfg = *cfg;
	g->listener = evhttp_bound_socket_get_listener(cfg->bound);
	LIST_INSERT_HEAD(&all, g, link);
	g->look = evtimer_new(cfg->base, on_look, g);
	g->arrived = evtimer_new(cfg->base, on_arrived, g);
	g->watch = evtimer_new(cfg->base, on_watch, g);
	g->fresh = calloc(cfg->most, sizeof(struct bufferevent *));
	g->connection = calloc(cfg->most, sizeof(*g->connection));
	if (!g->look || !g->arrived || !g->watch || !g->fresh ||
	    !g->connection) {
		gate_close(g);
		return cr_fail(e, -ENOMEM, "out of memory");
	}
	evconnlistener_set_error_cb(g->listener, on_no_accept);
	evhttp_set_bevcb(cfg->server, on_connection, g);
	*out = g;
	return 0;
}

void gate_close(struct gate *g)
{
	if (!g)
		return;
	while (g->nfresh)
		/* None is counted before there is room.
		 * NOLINTNEXTLINE(clang-analyzer-core.NullDereference) */
		bufferevent_decref(g->fresh[--g->nfresh]);
	evhttp_set_bevcb(g->cfg.server, NULL, NULL);
	LIST_REMOVE(g, link);
	if (g->look)
		event_free(g->look);
	if (g->arrived)
		event_free(g->arrived);
	if (g->watch)
		event_free(g->watch);
	free(g->fresh);
	free(g->connection);
	free(g);
}

void gate_stats(struct gate *g, struct gate_stats *out)
{
	forget_gone(g);
	*out = g->count;
	out->open = g->nconnections + g->nfresh;
}
