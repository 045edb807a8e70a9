/* SPDX-License-Identifier: Apache-2.0 */
/*
 * SCTP by the kernel through libsctp: one one-to-many socket in its owner's
 * libevent thread. Opening and options are here and in sctp_kernel_socket.c;
 * what the socket reports becomes events in sctp_kernel_events.c.
 *
 * All associations share the socket's send buffer, so a peer that does not
 * read could starve the others: each may have KERNEL_BUDGET bytes on the way,
 * counted until the kernel says that it has nothing left to send ("dry").
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/address.h"
#include "transport/sctp_kernel.h"

enum { BACKLOG = 64 };

static void on_readable(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	kernel_deliver(arg);
}

/* A one-to-many socket does not say for whom it can be written: try again. */
static void on_retry(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	kernel_deliver(arg);
}

static void on_look(evutil_socket_t fd, short what, void *arg)
{
	struct kernel *k = arg;

	(void)fd;
	(void)what;
	k->looking = true;
	kernel_deliver(k);
}

static int watch(struct kernel *k, struct cr_err *e)
{
	/* analyzer: kernel_close() closes k->fd */
	cr_ns every = kernel_look_every(k);
	const struct timeval tv = { every / CR_SEC, every % CR_SEC / CR_US };

	k->readable = event_new(k->cfg.base, k->fd, EV_READ | EV_PERSIST,
				on_readable, k);
	k->retry = evtimer_new(k->cfg.base, on_retry, k);
	k->look = event_new(k->cfg.base, -1, EV_PERSIST, on_look, k);
	if (!k->readable || !k->retry || !k->look ||
	    event_add(k->readable, NULL) || event_add(k->look, &tv))
		return cr_fail(e, -ENOMEM, "out of memory");
	return 0;
}

static void kernel_close(struct transport *t)
{
	struct kernel *k = (struct kernel *)t;

	k->closed = true;
	if (k->readable)
		event_free(k->readable);
	if (k->retry)
		event_free(k->retry);
	if (k->look)
		event_free(k->look);
	k->readable = k->retry = k->look = NULL;
	if (k->fd >= 0)
		(void)close(k->fd); /* linger 0: aborts its associations */
	k->fd = -1;
	kernel_free_assocs(k);
	if (!k->delivering)
		free(k);
}

/* The socket made here only probes for SCTP; the address family that listen
 * or connect needs may be another. */
static int kernel_open(struct transport **t, const struct transport_config *cfg,
		       struct cr_err *e)
{
	struct kernel *k = calloc(1, sizeof(*k));
	int rc;

	if (!k)
		return cr_fail(e, -ENOMEM, "out of memory");
	k->t.ops = &transport_kernel_ops;
	k->cfg = *cfg;
	k->silence = silence_for(cfg->peer_timeout);
	k->fd = -1;
	rc = kernel_socket(k, strchr(cfg->local.host, ':') ? AF_INET6 : AF_INET,
			   e);
	if (rc) {
		kernel_close(&k->t);
		return rc;
	}
	*t = &k->t;
	return 0;
}

static int bind_to(struct kernel *k, struct address *local, struct cr_err *e)
{
	char name[80];

	address_set_port(&local->sa, k->cfg.local.sctp_port);
	peer_address_text(local, name, sizeof(name));
	/* analyzer: kernel_close() closes it */
	if (bind(k->fd, (const struct sockaddr *)&local->sa, local->len))
		return cr_fail(e, -errno, "bind SCTP %s: %s", name,
			       strerror(errno));
	/* analyzer: kernel_close() closes it */
	k->local.len = sizeof(k->local.sa);
	if (getsockname(k->fd, (struct sockaddr *)&k->local.sa, &k->local.len))
		return cr_fail(e, -errno, "SCTP %s: %s", name, strerror(errno));
	return 0;
}

static int kernel_listen(struct transport *t, struct cr_err *e)
{
	struct kernel *k = (struct kernel *)t;
	struct address local;
	char name[80] = "";
	int rc;

	if (!k->cfg.local.sctp_port)
		return cr_fail(e, -EINVAL, "an SCTP port is needed to listen");
	rc = peer_address_resolve(&local, k->cfg.local.host, 0, e);
	if (!rc)
		rc = kernel_socket(k, local.sa.ss_family, e);
	if (!rc)
		rc = bind_to(k, &local, e);
	if (!rc)
		peer_address_text(&local, name, sizeof(name));
	/* analyzer: kernel_close() closes it */
	if (!rc && listen(k->fd, BACKLOG))
		rc = cr_fail(e, -errno, "listen on SCTP %s: %s", name,
			     strerror(errno));
	return rc ? rc : watch(k, e);
}

static int kernel_connect(struct transport *t, const struct transport_addr *to,
			  struct cr_err *e)
{
	struct kernel *k = (struct kernel *)t;
	struct address server, local;
	int rc = peer_address_resolve(&server, to->host, to->sctp_port, e);

	if (!rc)
		rc = k->cfg.local.host[0]
			     ? peer_address_resolve(&local, k->cfg.local.host,
						    0, e)
			     : peer_address_towards(&local, &server, e);
	if (!rc)
		rc = kernel_socket(k, server.sa.ss_family, e);
	if (!rc)
		rc = bind_to(k, &local, e);
	if (!rc)
		rc = kernel_encapsulate(k, to->udp_port, e);
	if (!rc)
		rc = watch(k, e);
	if (rc)
		return rc;
	k->connecting = true;
	if (connect(k->fd, (const struct sockaddr *)&server.sa, server.len) &&
	    errno != EINPROGRESS)
		return cr_fail(e, -errno, "connect SCTP: %s", strerror(errno));
	return 0;
}

/* Not sctp_sendv(), which forgets its flags: a message to an association that
 * has just gone would be a SIGPIPE (RFC 6458 section 5.3.4). */
static int transmit(const struct kernel *k, const struct sctp_sndinfo *info,
		    const void *data, size_t bytes)
{
	_Alignas(struct cmsghdr) unsigned char
		control[CMSG_SPACE(sizeof(struct sctp_sndinfo))] = { 0 };
	struct iovec iov = { .iov_base = (void *)(uintptr_t)data,
			     .iov_len = bytes };
	struct msghdr m = { .msg_iov = &iov,
			    .msg_iovlen = bytes ? 1 : 0,
			    .msg_control = control,
			    .msg_controllen = sizeof(control) };
	struct cmsghdr *c = CMSG_FIRSTHDR(&m);

	c->cmsg_level = IPPROTO_SCTP;
	c->cmsg_type = SCTP_SNDINFO;
	c->cmsg_len = CMSG_LEN(sizeof(*info));
	memcpy(CMSG_DATA(c), info, sizeof(*info));
	return sendmsg(k->fd, &m, MSG_NOSIGNAL | MSG_DONTWAIT) < 0 ? -errno : 0;
}

static int kernel_send(struct transport *t, uint32_t assoc, uint16_t stream,
		       uint32_t ppid, const void *data, size_t bytes)
{
	static const struct timeval soon = { 0, TIMING_RETRY_MS * 1000 };
	struct kernel *k = (struct kernel *)t;
	struct kernel_assoc *a = kernel_find(k, (sctp_assoc_t)assoc);
	struct sctp_sndinfo info = { .snd_sid = stream,
				     .snd_ppid = htonl(ppid),
				     .snd_assoc_id = (sctp_assoc_t)assoc };
	int rc;

	if (!a)
		return -ENOTCONN;
	if (a->under_way && a->under_way + bytes > KERNEL_BUDGET) {
		k->refused = true; /* ROOM when it is dry */
		return -EAGAIN;
	}
	rc = transmit(k, &info, data, bytes);
	if (rc == -EAGAIN || rc == -ENOBUFS) {
		k->refused = true;
		(void)evtimer_add(k->retry, &soon);
		return -EAGAIN;
	}
	if (!rc)
		a->under_way += bytes;
	return rc;
}

static void kernel_abort(struct transport *t, uint32_t assoc)
{
	struct sctp_sndinfo info = { .snd_flags = SCTP_ABORT,
				     .snd_assoc_id = (sctp_assoc_t)assoc };

	(void)transmit((struct kernel *)t, &info, NULL, 0);
}

static int kernel_shutdown(struct transport *t, uint32_t assoc)
{
	struct sctp_sndinfo info = { .snd_flags = SCTP_EOF,
				     .snd_assoc_id = (sctp_assoc_t)assoc };

	return transmit((struct kernel *)t, &info, NULL, 0);
}

static size_t kernel_message_max(const struct transport *t)
{
	const struct kernel *k = (const struct kernel *)t;

	return k->message_max;
}

static void kernel_local(const struct transport *t, struct transport_addr *addr)
{
	const struct kernel *k = (const struct kernel *)t;

	*addr = k->cfg.local;
	if (!k->local.len)
		return;
	peer_address_host(&k->local, addr->host, sizeof(addr->host));
	addr->sctp_port = (uint16_t)address_port(&k->local.sa);
}

const struct transport_ops transport_kernel_ops = {
	.name = "kernel",
	.open = kernel_open,
	.listen = kernel_listen,
	.connect = kernel_connect,
	.send = kernel_send,
	.abort = kernel_abort,
	.shutdown = kernel_shutdown,
	.message_max = kernel_message_max,
	.local = kernel_local,
	.close = kernel_close,
};
