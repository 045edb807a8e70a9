/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Messages over a Unix socket, in its owner's libevent thread: listening,
 * accepting, connecting, the connections, and the file of the socket.
 *
 * A connection is an association, a line is a message: it ends with a line
 * feed, and none may be inside. A connection and its end:
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
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/queue.h>
#include <sys/stat.h>
#include <unistd.h>

#include "observe/store.h"
#include "transport/transport.h"
#include "transport/ops.h"

/* --- the file of a listening socket --- */

/*
 * Makes and removes the file of a listening socket. The kernel leaves the file
 * of a process that died, and refuses to bind where one is: we look whether
 * somebody listens. Between bind() and listen() a socket looks dead, so
 * processes that do this at one path take turns, by an empty file of theirs
 * beside it. It is there for that moment only. What somebody else has there is
 * left alone, and keeps us from starting: only a folder that others may not
 * write to keeps them from that.
 */

int unix_address(struct sockaddr_un *to, const char *path, struct cr_err *e)
{
	size_t bytes = strlen(path);

	if (!bytes)
		return cr_fail(e, -EINVAL, "a socket needs a path");
	if (bytes >= sizeof(to->sun_path))
		return cr_fail(e, -ENAMETOOLONG,
			       "%s: %zu bytes; the path of a socket may have "
			       "%zu",
			       path, bytes, sizeof(to->sun_path) - 1);
	*to = (struct sockaddr_un){ .sun_family = AF_UNIX };
	memcpy(to->sun_path, path, bytes);
	return 0;
}

/* Behind the path: a name that nobody else has for a file of his own, as
 * wrappers have PATH.lock. */
#define LOCK_SUFFIX ".codec-runner-start"

/* A lock that is held. */
struct lock {
	int fd;
	char path[sizeof(((struct sockaddr_un *)0)->sun_path) +
		  sizeof(LOCK_SUFFIX)];
};

/* Is the file that was locked still there by its name? Who has had it before
 * has removed it, and somebody else may have another one by now. */
static bool is_lock_there(const struct lock *l)
{
	struct stat ours, named;

	return !fstat(l->fd, &ours) && !lstat(l->path, &named) &&
	       ours.st_dev == named.st_dev && ours.st_ino == named.st_ino;
}

/* We, or one like us that died, have made it: else it is not ours to remove,
 * nor to wait for. */
static bool is_ours(const struct lock *l)
{
	struct stat st;

	return !fstat(l->fd, &st) && S_ISREG(st.st_mode) &&
	       st.st_uid == geteuid() && !st.st_size;
}

/* 0, or -errno; the file is closed then. */
static int take_lock(const struct lock *l, const char *path, struct cr_err *e)
{
	int err;

	if (!is_ours(l)) {
		(void)close(l->fd);
		return cr_fail(e, -EEXIST,
			       "%s: %s is there and is not ours (an empty file "
			       "of this user)",
			       path, l->path);
	}
	if (!flock(l->fd, LOCK_EX | LOCK_NB))
		return 0;
	err = errno;
	(void)close(l->fd);
	if (err != EWOULDBLOCK)
		return cr_fail(e, -err, "%s: cannot lock %s: %s", path, l->path,
			       strerror(err));
	return cr_fail(e, -EADDRINUSE,
		       "%s: another process has locked %s, as one that starts "
		       "does for a moment; try again, or see lslocks(8)",
		       path, l->path);
}

/* A file, and not the folder: whoever may read that could lock it, and nobody
 * would start any more. */
static int open_lock(struct lock *l, const char *path, struct cr_err *e)
{
	l->fd = open(l->path,
		     O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC,
		     0600);
	if (l->fd < 0)
		return cr_fail(e, -errno, "%s: cannot make %s: %s", path,
			       l->path, strerror(errno));
	return take_lock(l, path, e);
}

/* Nobody else starts at @path until its descriptor is closed. */
static int lock(struct lock *l, const char *path, struct cr_err *e)
{
	int rc;

	(void)snprintf(l->path, sizeof(l->path), "%s" LOCK_SUFFIX, path);
	while (!(rc = open_lock(l, path, e)) && !is_lock_there(l))
		(void)close(l->fd);
	return rc;
}

/* Connect to it, and close that again: 0 or -errno. */
static int knock(const struct sockaddr_un *at)
{
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	int rc = 0;

	if (fd < 0)
		return -errno;
	if (connect(fd, (const struct sockaddr *)at, sizeof(*at)))
		rc = -errno;
	(void)close(fd);
	return rc;
}

/* Nothing is at @at afterwards; or -errno. */
static int clear_path(const struct sockaddr_un *at, struct cr_err *e)
{
	const char *path = at->sun_path;
	struct stat st;
	int rc;

	if (lstat(path, &st))
		return errno == ENOENT ? 0
				       : cr_fail(e, -errno, "%s: %s", path,
						 strerror(errno));
	if (!S_ISSOCK(st.st_mode))
		return cr_fail(e, -EEXIST, "%s: is there and is not a socket",
			       path);
	rc = knock(at);
	if (!rc || rc == -EAGAIN || rc == -EPROTOTYPE)
		return cr_fail(e, -EADDRINUSE,
			       "%s: another process listens there", path);
	if (rc != -ECONNREFUSED)
		return cr_fail(e, rc, "%s: is somebody there? %s", path,
			       strerror(-rc));
	if (unlink(path) && errno != ENOENT)
		return cr_fail(e, -errno,
			       "%s: cannot remove the old socket: %s", path,
			       strerror(errno));
	return 0;
}

/* bind() takes the mode from the socket, less the umask: never more than we
 * want; then the umask's part is given back. */
static int bind_file(int fd, const struct sockaddr_un *at,
		     struct unix_file *mine, struct cr_err *e)
{
	struct stat st;

	if (fchmod(fd, UNIX_FILE_MODE) ||
	    bind(fd, (const struct sockaddr *)at, sizeof(*at)))
		return cr_fail(e, -errno, "%s: %s", at->sun_path,
			       strerror(errno));
	if (lstat(at->sun_path, &st))
		return cr_fail(e, -errno, "%s: %s", at->sun_path,
			       strerror(errno));
	*mine = (struct unix_file){ st.st_dev, st.st_ino };
	if (chmod(at->sun_path, UNIX_FILE_MODE) || listen(fd, SOMAXCONN)) {
		int rc = -errno;

		unix_file_remove(at->sun_path, mine);
		*mine = (struct unix_file){ 0 };
		return cr_fail(e, rc, "%s: %s", at->sun_path, strerror(-rc));
	}
	return 0;
}

int unix_file_listen(int fd, const char *path, struct unix_file *mine,
		     struct cr_err *e)
{
	struct sockaddr_un at;
	int rc = unix_address(&at, path, e);
	struct lock held;

	if (!rc)
		rc = lock(&held, path, e);
	if (rc)
		return rc;
	rc = clear_path(&at, e);
	if (!rc)
		rc = bind_file(fd, &at, mine, e);
	/* Nothing is left of it. */
	(void)unlink(held.path);
	(void)close(held.fd);
	return rc;
}

void unix_file_remove(const char *path, const struct unix_file *mine)
{
	struct stat st;

	if (mine->inode && !lstat(path, &st) && st.st_ino == mine->inode &&
	    st.st_dev == mine->device)
		(void)unlink(path);
}

/* --- connections --- */

struct unix_socket;

/** One connection. */
struct unix_conn {
	struct transport_assoc a; /**< first */
	struct unix_socket *owner;
	int fd; /**< -1: gone, waits to be freed */
	struct event *readable, *writable;

	char *rest; /**< of a message that did not go out whole */
	size_t rest_bytes, rest_sent;

	bool begun;    /**< a line has, its end has not come        */
	bool finished; /**< the peer writes no more, but may read    */
	bool leaving;  /**< closes when the rest is out              */
	bool refused;  /**< a send got -EAGAIN: say ROOM             */
	int broken;    /**< errno of a write: LOST when all is read  */
};

struct unix_socket {
	struct transport t;	  /**< first */
	struct transport_addr to; /**< a client's server */
	int fd;			  /**< listening, or -1 */
	struct unix_file file;
	struct event *acceptable;
	struct event *again; /**< accept or connect, after a pause */
	unsigned attempts;   /**< to connect */

	uint32_t last_id;
	struct transport_chain gone; /**< freed when no callback has them */
	char buffer[65536];
};

/* Reads that throw away what a peer has sent after we said goodbye. */
enum { DRAIN_READS = 16 };

static struct unix_conn *unix_conn_find(struct transport *t, uint32_t id)
{
	return (struct unix_conn *)transport_find(t, id);
}

/* In place of transport_leave(). */
static void unix_leave(struct unix_socket *u)
{
	struct transport_assoc *a;

	while (u->t.busy == 1 && (a = LIST_FIRST(&u->gone))) {
		LIST_REMOVE(a, chain);
		free(a);
	}
	transport_leave(&u->t);
}

/* Close it at once, silently. */
static void unix_conn_close(struct unix_conn *c)
{
	struct unix_socket *u = c->owner;

	LIST_REMOVE(&c->a, chain);
	if (c->readable)
		event_free(c->readable);
	if (c->writable)
		event_free(c->writable);
	c->readable = c->writable = NULL;
	(void)close(c->fd);
	c->fd = -1;
	free(c->rest);
	c->rest = NULL;
	LIST_INSERT_HEAD(&u->gone, &c->a, chain); /* see unix_leave() */
}

static void end_unix_conn(struct unix_conn *c, enum transport_event_kind kind,
			  const char *reason)
{
	struct unix_socket *u = c->owner;
	const struct transport_event ev = { .kind = kind,
					    .assoc = c->a.id,
					    .reason = reason };

	unix_conn_close(c);
	transport_say(&u->t, &ev);
}

/* A peer that has only ended its own writing, as "nc -N" and shell pipes do,
 * waits for its replies; one that has closed does not. */
static void end_of_file(struct unix_conn *c)
{
	const struct transport_event done = { .kind = TRANSPORT_DONE,
					      .assoc = c->a.id };
	struct pollfd p = { .fd = c->fd };

	if (c->broken || poll(&p, 1, 0) < 0 || p.revents & POLLHUP) {
		end_unix_conn(c, TRANSPORT_SHUTDOWN, NULL);
		return;
	}
	c->finished = true;
	(void)event_del(c->readable);
	transport_say(&c->owner->t, &done);
}

/* Also made active by a failed write, which must not end @c by itself: what the
 * peer said before comes first. */
static void unix_on_readable(evutil_socket_t fd, short what, void *arg)
{
	struct unix_conn *c = arg;
	struct unix_socket *u = c->owner;
	ssize_t n = -1;

	(void)what;
	transport_enter(&u->t);
	errno = EAGAIN;
	if (!c->finished)
		n = recv(fd, u->buffer, sizeof(u->buffer), MSG_DONTWAIT);
	if (n > 0) {
		const char *text = u->buffer;
		size_t bytes = (size_t)n;
		struct line_part part;

		while (c->fd >= 0 &&
		       lines_next(&c->begun, &text, &bytes, &part)) {
			const struct transport_event ev = {
				.kind = TRANSPORT_DATA,
				.assoc = c->a.id,
				.data = part.data,
				.bytes = part.bytes,
				.end = part.end
			};

			transport_say(&u->t, &ev);
		}
	} else if (n == 0) {
		end_of_file(c);
	} else if (errno != EAGAIN && errno != EINTR) {
		end_unix_conn(c, TRANSPORT_LOST, strerror(errno));
	} else if (c->broken) {
		end_unix_conn(c, TRANSPORT_LOST, strerror(c->broken));
	}
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

static void on_writable(evutil_socket_t fd, short what, void *arg)
{
	const struct transport_event room = { .kind = TRANSPORT_ROOM };
	struct unix_conn *c = arg;
	struct unix_socket *u = c->owner;

	(void)fd;
	(void)what;
	transport_enter(&u->t);
	if (c->rest)
		send_rest(c);
	if (c->rest) {
		if (event_add(c->writable, NULL))
			write_failed(c, ENOMEM);
	} else if (c->leaving) {
		/* With something unread in it, closing a socket is an error at
		 * its other end. */
		for (unsigned i = 0; i < DRAIN_READS; i++)
			if (recv(c->fd, c->owner->buffer,
				 sizeof(c->owner->buffer), MSG_DONTWAIT) <= 0)
				break;
		end_unix_conn(c, TRANSPORT_SHUTDOWN, NULL);
	} else if (c->refused) {
		c->refused = false;
		transport_say(&u->t, &room);
	}
	unix_leave(u);
}

/*
 * A connection on @fd, which it takes over; says UP with the name @peer.
 * Between transport_enter() and unix_leave(). Returns 0 or -ENOMEM.
 */
static int unix_conn_open(struct unix_socket *u, int fd, const char *peer)
{
	struct unix_conn *c = calloc(1, sizeof(*c));
	struct transport_event ev = { .kind = TRANSPORT_UP, .peer = peer };

	if (!c) {
		(void)close(fd);
		return -ENOMEM;
	}
	c->owner = u;
	c->fd = fd;
	ev.assoc = ++u->last_id;
	transport_add(&u->t, &c->a, ev.assoc);
	c->readable = event_new(u->t.cfg.base, fd, EV_READ | EV_PERSIST,
				unix_on_readable, c);
	c->writable = event_new(u->t.cfg.base, fd, EV_WRITE, on_writable, c);
	if (!c->readable || !c->writable || event_add(c->readable, NULL)) {
		unix_conn_close(c);
		return -ENOMEM;
	}
	transport_say(&u->t, &ev);
	return 0;
}

/* As in transport.h. */
static int unix_conn_send(struct unix_conn *c, const void *data, size_t bytes)
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
	if ((size_t)n <= bytes) { /* the rest and its line feed are kept */
		c->rest_sent = 0;
		c->rest_bytes = bytes - (size_t)n + 1;
		c->rest = malloc(c->rest_bytes);
		if (c->rest) {
			memcpy(c->rest, (const char *)data + n,
			       c->rest_bytes - 1);
			c->rest[c->rest_bytes - 1] = '\n';
		}
		if (!c->rest || event_add(c->writable, NULL))
			/* half a line: nothing can follow */
			write_failed(c, ENOMEM);
	}
	return c->broken ? -c->broken : 0;
}

enum {
	ACCEPTS = 16,	/* at a time: those who are in have their turn */
	PAUSE_MS = 100, /* when there is no descriptor to accept with  */
	RETRY_MS = 20,	/* when the server's queue is full             */
	ATTEMPTS_MAX = 250
};

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
static bool unix_accept_one(struct unix_socket *u)
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

static void unix_on_acceptable(evutil_socket_t fd, short what, void *arg)
{
	struct unix_socket *u = arg;

	(void)fd;
	(void)what;
	transport_enter(&u->t);
	for (unsigned i = 0; i < ACCEPTS && !u->t.closed; i++)
		if (!unix_accept_one(u))
			break;
	unix_leave(u);
}

static void unix_on_accept_again(evutil_socket_t fd, short what, void *arg)
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

	transport_enter(&u->t);
	u->t.closed = true;
	for (unsigned i = 0; i < ASSOC_BUCKETS; i++) {
		struct transport_assoc *a;

		while ((a = LIST_FIRST(&t->assocs[i])))
			unix_conn_close((struct unix_conn *)a);
	}
	if (u->acceptable)
		event_free(u->acceptable);
	if (u->again)
		event_free(u->again);
	u->acceptable = u->again = NULL;
	if (u->fd >= 0) {
		unix_file_remove(u->t.cfg.local.path, &u->file);
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
	u->t.cfg = *cfg;
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

/* The name of the listening socket in the store. */
#define HELD "listen-unix"

/* That of a former process, if its file is still there. */
static bool take_held(struct unix_socket *u)
{
	struct sockaddr_storage at = { .ss_family = AF_UNSPEC };
	const char *path = u->t.cfg.local.path;
	struct stat st;

	if (!u->t.cfg.store ||
	    unix_address((struct sockaddr_un *)&at, path, NULL) ||
	    lstat(path, &st) || !S_ISSOCK(st.st_mode))
		return false;
	u->fd = store_take_listener(u->t.cfg.store, HELD, &at);
	if (u->fd < 0)
		return false;
	u->file = (struct unix_file){ st.st_dev, st.st_ino };
	return true;
}

static int unix_listen(struct transport *t, struct cr_err *e)
{
	struct unix_socket *u = (struct unix_socket *)t;
	int rc;

	if (!take_held(u)) {
		u->fd = stream(SOCK_NONBLOCK, e);
		if (u->fd < 0)
			return u->fd;
		rc = unix_file_listen(u->fd, u->t.cfg.local.path, &u->file, e);
		if (rc)
			return rc;
		if (u->t.cfg.store)
			(void)store_put(u->t.cfg.store, HELD, &u->fd, 1);
	}
	u->acceptable = event_new(u->t.cfg.base, u->fd, EV_READ | EV_PERSIST,
				  unix_on_acceptable, u);
	u->again = evtimer_new(u->t.cfg.base, unix_on_accept_again, u);
	if (!u->acceptable || !u->again || event_add(u->acceptable, NULL))
		return cr_fail(e, -ENOMEM, "out of memory");
	return 0;
}

static void unix_cant_start(struct unix_socket *u, int err)
{
	char reason[200];
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
	transport_cant_start(&u->t, reason);
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
	transport_enter(&u->t);
	err = try_to_connect(u);
	if (err == EAGAIN && u->attempts++ < ATTEMPTS_MAX)
		pause_for(u, RETRY_MS);
	else if (err)
		unix_cant_start(u, err);
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
	u->again = evtimer_new(u->t.cfg.base, on_connect, u);
	if (!u->again)
		return cr_fail(e, -ENOMEM, "out of memory");
	t->connecting = true;
	pause_for(u, 0);
	return 0;
}

static int unix_send(struct transport *t, uint32_t assoc, const void *data,
		     size_t bytes)
{
	struct unix_conn *c = unix_conn_find(t, assoc);

	return c ? unix_conn_send(c, data, bytes) : -ENOTCONN;
}

static void unix_abort(struct transport *t, uint32_t assoc)
{
	struct unix_socket *u = (struct unix_socket *)t;
	struct unix_conn *c = unix_conn_find(t, assoc);

	transport_enter(&u->t);
	if (c)
		unix_conn_close(c);
	unix_leave(u);
}

static int unix_shutdown(struct transport *t, uint32_t assoc)
{
	struct unix_conn *c = unix_conn_find(t, assoc);

	if (!c)
		return -ENOTCONN;
	c->leaving = true;
	if (!c->rest)
		event_active(c->writable, EV_WRITE, 0);
	return 0;
}

static void unix_hold(struct transport *t, uint32_t assoc, bool held)
{
	struct unix_conn *c = unix_conn_find(t, assoc);

	if (!c || c->finished)
		return;
	if (held)
		(void)event_del(c->readable);
	else if (event_add(c->readable, NULL))
		write_failed(c, ENOMEM); /* it would not be heard again */
}

static size_t unix_queued(struct transport *t, uint32_t assoc)
{
	const struct unix_conn *c = unix_conn_find(t, assoc);

	return c && c->rest ? c->rest_bytes : 0;
}

static int unix_connection(struct transport *t, uint32_t assoc)
{
	const struct unix_conn *c = unix_conn_find(t, assoc);

	return c && !c->rest && !c->begun && !c->finished && !c->leaving &&
			       !c->broken
		       ? c->fd
		       : -1;
}

static int unix_adopt(struct transport *t, int fd)
{
	struct unix_socket *u = (struct unix_socket *)t;
	char peer[64];
	int err;

	name_peer(fd, peer, sizeof(peer));
	transport_enter(&u->t);
	err = unix_conn_open(u, fd, peer);
	unix_leave(u);
	return err;
}

static size_t unix_message_max(const struct transport *t)
{
	(void)t;
	return TRANSPORT_MESSAGE_MAX;
}

static void unix_local(const struct transport *t, struct transport_addr *addr)
{
	*addr = t->cfg.local;
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
	.connection = unix_connection,
	.adopt = unix_adopt,
	.message_max = unix_message_max,
	.local = unix_local,
	.close = unix_close,
};
