/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Messages over a Unix socket, in its owner's libevent thread: listening,
 * accepting, connecting. What a connection carries is unix_conn.c's; the
 * socket's file unix_file.c's.
 */
#define _GNU_SOURCE /* accept4, struct ucred */

#include "transport/unix_socket.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
	ACCEPTS = 16,	/* at a time: those who are in have their turn */
	PAUSE_MS = 100, /* when there is no descriptor to accept with  */
	RETRY_MS = 20,	/* when the server's queue is full             */
	ATTEMPTS_MAX = 250
};

void unix_enter(struct unix_socket *u)
{
	u->busy++;
}

void unix_leave(struct unix_socket *u)
{
	struct unix_conn *c;

	if (--u->busy)
		return;
	while ((c = LIST_FIRST(&u->gone))) {
		LIST_REMOVE(c, link);
		free(c);
	}
	if (u->closed)
		free(u);
}

void unix_say(struct unix_socket *u, const struct transport_event *ev)
{
	if (!u->closed)
		u->cfg.event(u->cfg.arg, ev);
}

static void pause_for(struct unix_socket *u, int ms)
{
	const struct timeval t = { .tv_usec = ms * 1000 };

	(void)evtimer_add(u->again, &t);
}

/* "unix:pid=4711,uid=1000", as the peer was when it connected. */
static void name_peer(int fd, char *buf, size_t size)
{
	struct ucred who = { 0 };
	socklen_t bytes = sizeof(who);

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &bytes))
		(void)snprintf(buf, size, "unix:?");
	else
		(void)snprintf(buf, size, "unix:pid=%ld,uid=%lu", (long)who.pid,
			       (unsigned long)who.uid);
}

/* False: there is nobody to accept, or nothing to do it with. */
static bool accept_one(struct unix_socket *u)
{
	char peer[64];
	int fd = accept4(u->fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);

	if (fd >= 0) {
		name_peer(fd, peer, sizeof(peer));
		return !unix_conn_open(u, fd, peer);
	}
	if (errno == ECONNABORTED || errno == EINTR)
		return true;
	if (errno != EAGAIN) { /* EMFILE and the like: it would come at once */
		(void)event_del(u->acceptable);
		pause_for(u, PAUSE_MS);
	}
	return false;
}

static void on_acceptable(evutil_socket_t fd, short what, void *arg)
{
	struct unix_socket *u = arg;

	(void)fd;
	(void)what;
	unix_enter(u);
	for (unsigned i = 0; i < ACCEPTS && !u->closed; i++)
		if (!accept_one(u))
			break;
	unix_leave(u);
}

static void on_accept_again(evutil_socket_t fd, short what, void *arg)
{
	struct unix_socket *u = arg;

	(void)fd;
	(void)what;
	if (event_add(u->acceptable, NULL))
		pause_for(u, PAUSE_MS);
}

static void unix_close(struct transport *t)
{
	struct unix_socket *u = (struct unix_socket *)t;

	unix_enter(u);
	u->closed = true;
	for (unsigned i = 0; i < UNIX_BUCKETS; i++) {
		struct unix_conn *c;

		while ((c = LIST_FIRST(&u->conns[i])))
			unix_conn_close(c);
	}
	if (u->acceptable)
		event_free(u->acceptable);
	if (u->again)
		event_free(u->again);
	u->acceptable = u->again = NULL;
	if (u->fd >= 0) {
		unix_file_remove(u->cfg.local.path, &u->file);
		(void)close(u->fd);
	}
	u->fd = -1;
	unix_leave(u);
}

static int unix_open(struct transport **t, const struct transport_config *cfg,
		     struct cr_err *e)
{
	struct unix_socket *u = calloc(1, sizeof(*u));

	if (!u)
		return cr_fail(e, -ENOMEM, "out of memory");
	u->t.ops = &transport_unix_ops;
	u->cfg = *cfg;
	u->fd = -1;
	*t = &u->t;
	return 0;
}

static int stream(int flags, struct cr_err *e)
{
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | flags, 0);

	return fd >= 0 ? fd
		       : cr_fail(e, -errno, "Unix socket: %s", strerror(errno));
}

static int unix_listen(struct transport *t, struct cr_err *e)
{
	struct unix_socket *u = (struct unix_socket *)t;
	int rc;

	u->fd = stream(SOCK_NONBLOCK, e);
	if (u->fd < 0)
		return u->fd;
	rc = unix_file_listen(u->fd, u->cfg.local.path, &u->file, e);
	if (rc)
		return rc;
	u->acceptable = event_new(u->cfg.base, u->fd, EV_READ | EV_PERSIST,
				  on_acceptable, u);
	u->again = evtimer_new(u->cfg.base, on_accept_again, u);
	if (!u->acceptable || !u->again || event_add(u->acceptable, NULL))
		return cr_fail(e, -ENOMEM, "out of memory");
	return 0;
}

static void cant_start(struct unix_socket *u, int err)
{
	char reason[200];
	const struct transport_event ev = { .kind = TRANSPORT_CANT_START,
					    .reason = reason };
	const char *path = u->to.path;

	if (err == ENOENT)
		(void)snprintf(reason, sizeof(reason), "there is no socket %s",
			       path);
	else if (err == ECONNREFUSED)
		(void)snprintf(reason, sizeof(reason), "nothing listens at %s",
			       path);
	else if (err == EAGAIN)
		(void)snprintf(reason, sizeof(reason),
			       "%s: the server accepts nobody", path);
	else
		(void)snprintf(reason, sizeof(reason), "%s: %s", path,
			       strerror(err));
	unix_say(u, &ev);
}

/* 0 or errno. */
static int try_to_connect(struct unix_socket *u)
{
	struct sockaddr_un to;
	char peer[120];
	int fd, err = 0;

	if (unix_address(&to, u->to.path, NULL))
		return EINVAL;
	fd = stream(SOCK_NONBLOCK, NULL);
	if (fd < 0)
		return -fd;
	if (connect(fd, (const struct sockaddr *)&to, sizeof(to))) {
		err = errno;
		(void)close(fd);
		return err;
	}
	(void)snprintf(peer, sizeof(peer), "unix:%s", u->to.path);
	return -unix_conn_open(u, fd, peer);
}

/* From the event loop: events never come before unix_connect() returns. */
static void on_connect(evutil_socket_t fd, short what, void *arg)
{
	struct unix_socket *u = arg;
	int err;

	(void)fd;
	(void)what;
	unix_enter(u);
	err = try_to_connect(u);
	if (err == EAGAIN && u->attempts++ < ATTEMPTS_MAX)
		pause_for(u, RETRY_MS);
	else if (err)
		cant_start(u, err);
	unix_leave(u);
}

static int unix_connect(struct transport *t, const struct transport_addr *to,
			struct cr_err *e)
{
	struct unix_socket *u = (struct unix_socket *)t;
	struct sockaddr_un probe;
	int rc = unix_address(&probe, to->path, e);

	if (rc)
		return rc;
	u->to = *to;
	u->again = evtimer_new(u->cfg.base, on_connect, u);
	if (!u->again)
		return cr_fail(e, -ENOMEM, "out of memory");
	pause_for(u, 0);
	return 0;
}

static int unix_send(struct transport *t, uint32_t assoc, uint16_t stream_id,
		     uint32_t ppid, const void *data, size_t bytes)
{
	struct unix_conn *c = unix_conn_find((struct unix_socket *)t, assoc);

	(void)stream_id;
	(void)ppid;
	return c ? unix_conn_send(c, data, bytes) : -ENOTCONN;
}

static void unix_abort(struct transport *t, uint32_t assoc)
{
	struct unix_socket *u = (struct unix_socket *)t;
	struct unix_conn *c = unix_conn_find(u, assoc);

	unix_enter(u);
	if (c)
		unix_conn_close(c);
	unix_leave(u);
}

static int unix_shutdown(struct transport *t, uint32_t assoc)
{
	struct unix_conn *c = unix_conn_find((struct unix_socket *)t, assoc);

	if (!c)
		return -ENOTCONN;
	unix_conn_shutdown(c);
	return 0;
}

static void unix_hold(struct transport *t, uint32_t assoc, bool held)
{
	struct unix_conn *c = unix_conn_find((struct unix_socket *)t, assoc);

	if (c)
		unix_conn_hold(c, held);
}

static size_t unix_queued(struct transport *t, uint32_t assoc)
{
	const struct unix_conn *c =
		unix_conn_find((struct unix_socket *)t, assoc);

	return c && c->rest ? c->rest_bytes : 0;
}

static size_t unix_message_max(const struct transport *t)
{
	(void)t;
	return TRANSPORT_MESSAGE_MAX;
}

static void unix_local(const struct transport *t, struct transport_addr *addr)
{
	*addr = ((const struct unix_socket *)t)->cfg.local;
}

const struct transport_ops transport_unix_ops = {
	.name = "unix",
	.sees_ends = true,
	.open = unix_open,
	.listen = unix_listen,
	.connect = unix_connect,
	.send = unix_send,
	.abort = unix_abort,
	.shutdown = unix_shutdown,
	.hold = unix_hold,
	.queued = unix_queued,
	.message_max = unix_message_max,
	.local = unix_local,
	.close = unix_close,
};
