/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One connection of a Unix socket: octets to messages and back, and its end.
 *
 *             EOF, the peer still reads
 *   up ---------------------------------> finished --+
 *    |  EOF, the peer has closed: SHUTDOWN            | SHUTDOWN, LOST
 *    |  write or read fails:      LOST                |
 *    |  we leave, all is out:     SHUTDOWN            |
 *    +------------------> gone <----------------------+
 *
 * A message that goes out in part is kept by us, the next is refused until it
 * is out: so no queue grows here.
 */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "transport/lines.h"
#include "transport/unix_socket.h"

/* Reads that throw away what a peer has sent after we said goodbye. */
enum { DRAIN_READS = 16 };

static struct unix_chain *chain_of(struct unix_socket *u, uint32_t id)
{
	return &u->conns[id % UNIX_BUCKETS];
}

struct unix_conn *unix_conn_find(struct unix_socket *u, uint32_t id)
{
	struct unix_conn *c;

	LIST_FOREACH(c, chain_of(u, id), link)
	{
		if (c->id == id)
			return c;
	}
	return NULL;
}

void unix_conn_close(struct unix_conn *c)
{
	struct unix_socket *u = c->owner;

	LIST_REMOVE(c, link);
	if (c->readable)
		event_free(c->readable);
	if (c->writable)
		event_free(c->writable);
	c->readable = c->writable = NULL;
	(void)close(c->fd);
	c->fd = -1;
	free(c->rest);
	c->rest = NULL;
	LIST_INSERT_HEAD(&u->gone, c, link); /* freed by unix_leave() */
}

static void end(struct unix_conn *c, enum transport_event_kind kind,
		const char *reason)
{
	struct unix_socket *u = c->owner;
	const struct transport_event ev = { .kind = kind,
					    .assoc = c->id,
					    .reason = reason };

	unix_conn_close(c);
	unix_say(u, &ev);
}

static void lines(struct unix_conn *c, const char *text, size_t bytes)
{
	struct line_part part;

	while (c->fd >= 0 && lines_next(&c->begun, &text, &bytes, &part)) {
		const struct transport_event ev = { .kind = TRANSPORT_DATA,
						    .assoc = c->id,
						    .data = part.data,
						    .bytes = part.bytes,
						    .end = part.end };

		unix_say(c->owner, &ev);
	}
}

/* A peer that has only ended its own writing, as "nc -N" and shell pipes do,
 * waits for its replies; one that has closed does not. */
static void end_of_file(struct unix_conn *c)
{
	const struct transport_event done = { .kind = TRANSPORT_DONE,
					      .assoc = c->id };
	struct pollfd p = { .fd = c->fd };

	if (c->broken || poll(&p, 1, 0) < 0 || p.revents & POLLHUP) {
		end(c, TRANSPORT_SHUTDOWN, NULL);
		return;
	}
	c->finished = true;
	(void)event_del(c->readable);
	unix_say(c->owner, &done);
}

/* Also made active by a failed write, which must not end @c by itself: what the
 * peer said before comes first. */
static void on_readable(evutil_socket_t fd, short what, void *arg)
{
	struct unix_conn *c = arg;
	struct unix_socket *u = c->owner;
	ssize_t n = -1;

	(void)what;
	unix_enter(u);
	errno = EAGAIN;
	if (!c->finished)
		n = recv(fd, u->buffer, sizeof(u->buffer), MSG_DONTWAIT);
	if (n > 0)
		lines(c, u->buffer, (size_t)n);
	else if (n == 0)
		end_of_file(c);
	else if (errno != EAGAIN && errno != EINTR)
		end(c, TRANSPORT_LOST, strerror(errno));
	else if (c->broken)
		end(c, TRANSPORT_LOST, strerror(c->broken));
	if (c->fd >= 0 && c->broken)
		event_active(c->readable, EV_READ, 0);
	unix_leave(u);
}

static void write_failed(struct unix_conn *c, int err)
{
	c->broken = err;
	event_active(c->readable, EV_READ, 0);
}

static bool would_block(void)
{
	return errno == EAGAIN || errno == EINTR || errno == ENOBUFS;
}

static void send_rest(struct unix_conn *c)
{
	ssize_t n =
		send(c->fd, c->rest + c->rest_sent,
		     c->rest_bytes - c->rest_sent, MSG_NOSIGNAL | MSG_DONTWAIT);

	if (n < 0 && would_block())
		return;
	if (n < 0)
		write_failed(c, errno);
	else
		c->rest_sent += (size_t)n;
	if (n >= 0 && c->rest_sent < c->rest_bytes)
		return;
	free(c->rest);
	c->rest = NULL;
}

/* With something unread in it, closing a socket is an error at its other end.
 */
static void say_goodbye(struct unix_conn *c)
{
	for (unsigned i = 0; i < DRAIN_READS; i++)
		if (recv(c->fd, c->owner->buffer, sizeof(c->owner->buffer),
			 MSG_DONTWAIT) <= 0)
			break;
	end(c, TRANSPORT_SHUTDOWN, NULL);
}

static void on_writable(evutil_socket_t fd, short what, void *arg)
{
	const struct transport_event room = { .kind = TRANSPORT_ROOM };
	struct unix_conn *c = arg;
	struct unix_socket *u = c->owner;

	(void)fd;
	(void)what;
	unix_enter(u);
	if (c->rest)
		send_rest(c);
	if (c->rest) {
		if (event_add(c->writable, NULL))
			write_failed(c, ENOMEM);
	} else if (c->leaving) {
		say_goodbye(c);
	} else if (c->refused) {
		c->refused = false;
		unix_say(u, &room);
	}
	unix_leave(u);
}

int unix_conn_open(struct unix_socket *u, int fd, const char *peer)
{
	struct unix_conn *c = calloc(1, sizeof(*c));
	struct transport_event ev = { .kind = TRANSPORT_UP, .peer = peer };

	if (!c) {
		(void)close(fd);
		return -ENOMEM;
	}
	c->owner = u;
	c->fd = fd;
	ev.assoc = c->id = ++u->last_id;
	LIST_INSERT_HEAD(chain_of(u, c->id), c, link);
	c->readable = event_new(u->cfg.base, fd, EV_READ | EV_PERSIST,
				on_readable, c);
	c->writable = event_new(u->cfg.base, fd, EV_WRITE, on_writable, c);
	if (!c->readable || !c->writable || event_add(c->readable, NULL)) {
		unix_conn_close(c);
		return -ENOMEM;
	}
	unix_say(u, &ev);
	return 0;
}

/* Keep what is left of @data and its line feed after @sent octets. */
static int keep_rest(struct unix_conn *c, const void *data, size_t bytes,
		     size_t sent)
{
	c->rest = malloc(bytes - sent + 1);
	if (!c->rest)
		return -ENOMEM;
	memcpy(c->rest, (const char *)data + sent, bytes - sent);
	c->rest[bytes - sent] = '\n';
	c->rest_bytes = bytes - sent + 1;
	c->rest_sent = 0;
	return event_add(c->writable, NULL);
}

int unix_conn_send(struct unix_conn *c, const void *data, size_t bytes)
{
	static const char feed[] = "\n";
	struct iovec iov[2] = { { (void *)(uintptr_t)data, bytes },
				{ (void *)(uintptr_t)feed, 1 } };
	const struct msghdr m = { .msg_iov = iov, .msg_iovlen = 2 };
	ssize_t n;

	if (c->broken || c->leaving)
		return -EPIPE;
	if (memchr(data, '\n', bytes))
		return -EINVAL;
	errno = EAGAIN;
	n = c->rest ? -1 : sendmsg(c->fd, &m, MSG_NOSIGNAL | MSG_DONTWAIT);
	if (n < 0 && would_block()) {
		c->refused = true;
		return event_add(c->writable, NULL) ? -ENOMEM : -EAGAIN;
	}
	if (n < 0) {
		write_failed(c, errno);
		return -c->broken;
	}
	if ((size_t)n <= bytes && keep_rest(c, data, bytes, (size_t)n))
		write_failed(c, ENOMEM); /* half a line: nothing can follow */
	return c->broken ? -c->broken : 0;
}

void unix_conn_shutdown(struct unix_conn *c)
{
	c->leaving = true;
	if (!c->rest)
		event_active(c->writable, EV_WRITE, 0);
}

void unix_conn_hold(struct unix_conn *c, bool held)
{
	if (c->finished)
		return;
	if (held)
		(void)event_del(c->readable);
	else if (event_add(c->readable, NULL))
		write_failed(c, ENOMEM); /* it would not be heard again */
}
