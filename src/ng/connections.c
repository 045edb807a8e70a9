/* SPDX-License-Identifier: Apache-2.0 */
/*
 * NG by TCP: who may connect. What a connection carries is connection.c's.
 */
#define _GNU_SOURCE /* accept4 */

#include <errno.h>
#include <netinet/tcp.h>
#include <string.h>
#include <unistd.h>

#include "base/address.h"
#include "base/descriptors.h"
#include "ng/listener_impl.h"
#include "observe/log.h"

enum {
	ACCEPTS = 16,	/* at a time: those who are in have their turn */
	PAUSE_MS = 100, /* when there is no descriptor to accept with  */
	BACKLOG = 128
};

static bool may_connect(const struct ng_listener *l,
			const struct sockaddr_storage *from)
{
	const struct ng_connection *c;
	unsigned n = 0;

	for (c = TAILQ_FIRST(&l->connections); c; c = connection_next(c))
		n += address_same_host(connection_from(c), from);
	return l->count.connections < l->limits.connections &&
	       n < l->limits.of_host;
}

static void refuse(struct ng_listener *l, int fd,
		   const struct sockaddr_storage *from)
{
	char text[64];

	l->count.refused++;
	log_event(LOG_WARN, "ng-refused", "from=%s connections=%u",
		  address_text(from, text, sizeof(text)), l->count.connections);
	(void)close(fd);
}

static void welcome(struct ng_listener *l, int fd,
		    const struct sockaddr_storage *from)
{
	const int on = 1;

	if (!ng_listener_admits(l, from)) {
		(void)close(fd);
		return;
	}
	if (!may_connect(l, from)) {
		refuse(l, fd, from);
		return;
	}
	(void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	(void)setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on));
	connection_open(l, fd, from);
}

/* EMFILE and the like: it would come again at once. Who wants to connect waits
 * in the kernel meanwhile. */
static void accept_later(struct ng_listener *l)
{
	const struct timeval pause = { .tv_usec = PAUSE_MS * 1000 };

	(void)evtimer_add(l->accept_again, &pause);
}

static void pause_accepting(struct ng_listener *l, int err)
{
	log_event(LOG_WARN, "ng-accept", "why=\"%s\"", strerror(err));
	(void)event_del(l->acceptable);
	accept_later(l);
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
	if (errno != EAGAIN)
		pause_accepting(l, errno);
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

static int listen_at(int fd, const struct sockaddr_storage *local,
		     struct cr_err *e)
{
	const int on = 1;
	char text[64];

	(void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (!bind(fd, (const struct sockaddr *)local, address_length(local)) &&
	    !listen(fd, BACKLOG))
		return 0;
	return cr_fail(e, -errno, "TCP socket: %s: %s",
		       address_text(local, text, sizeof(text)),
		       strerror(errno));
}

int connections_open(struct ng_listener *l, struct cr_err *e)
{
	int rc;

	l->tcp = socket(l->local.ss_family,
			SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (l->tcp < 0 && (errno == EMFILE || errno == ENFILE))
		return descriptors_fail(e, -errno, "TCP socket");
	/* analyzer: connections_close() closes it */
	if (l->tcp < 0)
		return cr_fail(e, -errno, "TCP socket: %s", strerror(errno));
	rc = listen_at(l->tcp, &l->local, e);
	if (rc)
		return rc;
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
