/* SPDX-License-Identifier: Apache-2.0 */
/*
 * SCTP by the kernel through libsctp: one one-to-many socket in its owner's
 * libevent thread. What the socket reports becomes transport events. Includes
 * <netinet/sctp.h>: <usrsctp.h> must not be seen here.
 *
 * All associations share the socket's send buffer, so a peer that does not
 * read could starve the others: each may have KERNEL_BUDGET bytes on the way,
 * counted until the kernel says that it has nothing left to send ("dry").
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/sctp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <unistd.h>

#include "base/address.h"
#include "base/clock.h"
#include "transport/ops.h"

enum {
	KERNEL_BUCKETS = 256,
	KERNEL_BUDGET = 1 << 20, /**< bytes on the way to one peer */
};

struct kernel_assoc {
	sctp_assoc_t id;
	size_t in_flight; /**< bytes given to the kernel since it was dry */
	uint64_t packets; /**< that came, at the last look                */
	cr_ns heard;	  /**< k->awake.now when there were more         */
	LIST_ENTRY(kernel_assoc) chain;
};

LIST_HEAD(kernel_chain, kernel_assoc);

struct kernel {
	struct transport t; /**< first */
	struct transport_config cfg;
	struct address local; /**< once bound */
	int family;
	int fd;
	size_t message_max; /**< of the send buffer that was granted */
	struct event *readable, *retry, *look;
	struct silence silence;
	struct awake awake;
	bool looking; /**< time to look for silent peers */

	bool refused;	 /**< a send got -EAGAIN: say ROOM     */
	bool connecting; /**< neither UP nor CANT_START so far */
	bool delivering; /**< in the event callback            */
	bool closed;	 /**< closed there: freed afterwards   */

	struct kernel_chain assocs[KERNEL_BUCKETS];
	_Alignas(16) unsigned char buffer[65536];
};

static int set(const struct kernel *k, int option, const void *value,
	       size_t size)
{
	return setsockopt(k->fd, IPPROTO_SCTP, option, value, (socklen_t)size);
}

static int kernel_set_timing(const struct kernel *k)
{
	const struct silence *silence = &k->silence;
	const struct sctp_rtoinfo rto = { .srto_initial = TIMING_RTO_INITIAL_MS,
					  .srto_max = TIMING_RTO_MAX_MS,
					  .srto_min = TIMING_RTO_MIN_MS };
	const struct sctp_assocparams assoc = {
		.sasoc_asocmaxrxt = silence->retransmissions
	};
	const struct sctp_initmsg init = {
		.sinit_num_ostreams = TRANSPORT_STREAMS,
		.sinit_max_instreams = TRANSPORT_STREAMS,
		.sinit_max_attempts = TIMING_INIT_TRIES,
		.sinit_max_init_timeo = TIMING_RTO_INITIAL_MS,
	};
	struct sctp_paddrparams path = {
		.spp_hbinterval = silence->heartbeat_ms,
		.spp_pathmaxrxt = silence->retransmissions,
		.spp_flags = SPP_HB_ENABLE,
	};

	path.spp_address.ss_family = (sa_family_t)k->family;
	return set(k, SCTP_RTOINFO, &rto, sizeof(rto)) ||
	       set(k, SCTP_ASSOCINFO, &assoc, sizeof(assoc)) ||
	       set(k, SCTP_INITMSG, &init, sizeof(init)) ||
	       set(k, SCTP_PEER_ADDR_PARAMS, &path, sizeof(path));
}

static int kernel_set_options(const struct kernel *k)
{
	const int on = 1, buffer = (int)TRANSPORT_MESSAGE_MAX;
	/* A message longer than the receive window would wait for its own end
	 * for ever unless it may be handed over in parts. */
	const uint32_t part = 32 << 10;
	const struct linger kill = { .l_onoff = 1, .l_linger = 0 };
	const struct sctp_event_subscribe events = {
		.sctp_association_event = 1,
		.sctp_sender_dry_event = 1,
	};

	/* Beyond net.core.wmem_max only for the privileged; the rest get what
	 * there is, and message_max tells. */
	if (setsockopt(k->fd, SOL_SOCKET, SO_SNDBUFFORCE, &buffer,
		       sizeof(buffer)))
		(void)setsockopt(k->fd, SOL_SOCKET, SO_SNDBUF, &buffer,
				 sizeof(buffer));
	(void)setsockopt(k->fd, SOL_SOCKET, SO_RCVBUF, &buffer, sizeof(buffer));
	if (setsockopt(k->fd, SOL_SOCKET, SO_LINGER, &kill, sizeof(kill)) ||
	    (k->family == AF_INET6 &&
	     setsockopt(k->fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof(on))))
		return -1;
	return set(k, SCTP_NODELAY, &on, sizeof(on)) ||
	       set(k, SCTP_RECVRCVINFO, &on, sizeof(on)) ||
	       set(k, SCTP_FRAGMENT_INTERLEAVE, &on, sizeof(on)) ||
	       set(k, SCTP_PARTIAL_DELIVERY_POINT, &part, sizeof(part)) ||
	       set(k, SCTP_EVENTS, &events, sizeof(events)) ||
	       kernel_set_timing(k);
}

static int learn_message_max(struct kernel *k)
{
	int granted = 0;
	socklen_t size = sizeof(granted);

	if (getsockopt(k->fd, SOL_SOCKET, SO_SNDBUF, &granted, &size))
		return -1;
	k->message_max = (size_t)granted < TRANSPORT_MESSAGE_MAX
				 ? (size_t)granted
				 : TRANSPORT_MESSAGE_MAX;
	return 0;
}

/*
 * Make k->fd a socket of @family with all options set; keeps the one there
 * is when it fits. Returns 0 or -errno with @e.
 */
static int kernel_socket(struct kernel *k, int family, struct cr_err *e)
{
	int rc;

	if (k->fd >= 0 && k->family == family)
		return 0;
	if (k->fd >= 0)
		(void)close(k->fd);
	k->family = family;
	k->fd = socket(family, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC,
		       IPPROTO_SCTP);
	if (k->fd < 0) {
		rc = -errno;
		return cr_fail(e, rc, "no SCTP in this kernel: %s",
			       strerror(errno));
	}
	if (kernel_set_options(k) || learn_message_max(k)) {
		rc = -errno;
		return cr_fail(e, rc, "SCTP socket options: %s",
			       strerror(errno));
	}
	return 0;
}

/* The UDP port at which this host's kernel takes SCTP; 0: at none. */
static unsigned host_udp_port(void)
{
	FILE *f = fopen("/proc/sys/net/sctp/udp_port", "re");
	unsigned port = 0;

	if (!f)
		return 0;
	/* The kernel's number fits: NOLINTNEXTLINE(cert-err34-c) */
	if (fscanf(f, "%u", &port) != 1)
		port = 0;
	(void)fclose(f);
	return port;
}

/*
 * Send by UDP to @udp_port if this host takes SCTP in UDP. Returns 0 or
 * -errno with @e.
 */
static int kernel_encapsulate(struct kernel *k, uint16_t udp_port,
			      struct cr_err *e)
{
	struct sctp_udpencaps encaps = { .sue_port = htons(udp_port) };

	if (!udp_port || !host_udp_port())
		return 0;
	encaps.sue_address.ss_family = (sa_family_t)k->family;
	if (set(k, SCTP_REMOTE_UDP_ENCAPS_PORT, &encaps, sizeof(encaps)))
		return cr_fail(e, -errno, "SCTP over UDP port %u: %s",
			       (unsigned)udp_port, strerror(errno));
	return 0;
}

/* At each association within the silence that it is allowed. */
enum { LOOKS = 20 };

static void kernel_say(struct kernel *k, const struct transport_event *ev)
{
	if (!k->closed)
		k->cfg.event(k->cfg.arg, ev);
}

static struct kernel_assoc *kernel_find(struct kernel *k, sctp_assoc_t id)
{
	struct kernel_assoc *a;

	LIST_FOREACH(a, &k->assocs[(uint32_t)id % KERNEL_BUCKETS], chain)
	{
		if (a->id == id)
			return a;
	}
	return NULL;
}

/* The peer's first address; its port is the SCTP port. */
static void peer_text(const struct kernel *k, sctp_assoc_t id, char *buf,
		      size_t size)
{
	struct sockaddr *list = NULL;
	struct address a = { 0 };

	(void)snprintf(buf, size, "?");
	if (sctp_getpaddrs(k->fd, id, &list) <= 0)
		return;
	a.len = list->sa_family == AF_INET6 ? sizeof(struct sockaddr_in6)
					    : sizeof(struct sockaddr_in);
	memcpy(&a.sa, list, a.len);
	sctp_freepaddrs(list);
	peer_address_text(&a, buf, size);
}

static void kernel_assoc_up(struct kernel *k, sctp_assoc_t id,
			    enum transport_event_kind kind)
{
	struct transport_event ev = { .kind = kind, .assoc = (uint32_t)id };
	struct kernel_assoc *a = kernel_find(k, id);
	char peer[80];

	if (!a) {
		a = calloc(1, sizeof(*a));
		if (!a) {
			k->t.ops->abort(&k->t, (uint32_t)id);
			return;
		}
		a->id = id;
		LIST_INSERT_HEAD(&k->assocs[(uint32_t)id % KERNEL_BUCKETS], a,
				 chain);
	}
	a->in_flight = 0;
	a->heard = k->awake.now;
	k->connecting = false;
	peer_text(k, id, peer, sizeof(peer));
	ev.peer = peer;
	kernel_say(k, &ev);
}

static void kernel_assoc_gone(struct kernel *k, sctp_assoc_t id,
			      enum transport_event_kind kind,
			      const char *reason)
{
	const struct transport_event ev = { .kind = kind,
					    .assoc = (uint32_t)id,
					    .reason = reason };
	struct kernel_assoc *a = kernel_find(k, id);

	if (!a)
		return;
	LIST_REMOVE(a, chain);
	free(a);
	kernel_say(k, &ev);
}

static void kernel_cant_start(struct kernel *k, const char *reason)
{
	const struct transport_event ev = { .kind = TRANSPORT_CANT_START,
					    .reason = reason };

	if (!k->connecting)
		return;
	k->connecting = false;
	kernel_say(k, &ev);
}

static void kernel_assoc_change(struct kernel *k,
				const struct sctp_assoc_change *c)
{
	switch (c->sac_state) {
	case SCTP_COMM_UP:
		kernel_assoc_up(k, c->sac_assoc_id, TRANSPORT_UP);
		break;
	case SCTP_RESTART:
		kernel_assoc_up(k, c->sac_assoc_id, TRANSPORT_RESTART);
		break;
	case SCTP_SHUTDOWN_COMP:
		kernel_assoc_gone(k, c->sac_assoc_id, TRANSPORT_SHUTDOWN, NULL);
		break;
	case SCTP_COMM_LOST:
		kernel_assoc_gone(k, c->sac_assoc_id, TRANSPORT_LOST,
				  c->sac_length > sizeof(*c)
					  ? "aborted by the peer"
					  : "no answer from the peer");
		kernel_cant_start(k, "refused by the server");
		break;
	case SCTP_CANT_STR_ASSOC:
		kernel_cant_start(
			k, c->sac_error ? "nothing listens at the SCTP port"
					: "no answer from the server");
		break;
	default:
		break;
	}
}

static void notification(struct kernel *k, const union sctp_notification *note)
{
	struct kernel_assoc *a;

	if (note->sn_header.sn_type == SCTP_ASSOC_CHANGE)
		kernel_assoc_change(k, &note->sn_assoc_change);
	if (note->sn_header.sn_type != SCTP_SENDER_DRY_EVENT)
		return;
	a = kernel_find(k, note->sn_sender_dry_event.sender_dry_assoc_id);
	if (a)
		a->in_flight = 0;
}

/* Take one message, part or notification; false: there was none. */
static bool kernel_receive(struct kernel *k)
{
	struct transport_event ev = { .kind = TRANSPORT_DATA };
	struct iovec iov = { .iov_base = k->buffer,
			     .iov_len = sizeof(k->buffer) };
	struct sctp_rcvinfo info = { 0 };
	socklen_t info_bytes = sizeof(info);
	unsigned type = 0;
	int flags = MSG_DONTWAIT;
	int n = sctp_recvv(k->fd, &iov, 1, NULL, NULL, &info, &info_bytes,
			   &type, &flags);

	if (n <= 0)
		return false;
	if (flags & MSG_NOTIFICATION) {
		notification(k, (const void *)k->buffer);
		return true;
	}
	if (!kernel_find(k, info.rcv_assoc_id))
		return true;
	ev.assoc = (uint32_t)info.rcv_assoc_id;
	ev.stream = info.rcv_sid;
	ev.ppid = ntohl(info.rcv_ppid);
	ev.data = k->buffer;
	ev.bytes = (size_t)n;
	ev.end = flags & MSG_EOR;
	kernel_say(k, &ev);
	return true;
}

/* How often to look for silent peers. */
static cr_ns kernel_look_every(const struct kernel *k)
{
	return k->silence.limit / LOOKS < CR_SEC ? k->silence.limit / LOOKS
						 : CR_SEC;
}

/* Heartbeats and their answers count, too. */
static void listen_for(struct kernel *k, struct kernel_assoc *a)
{
	struct sctp_assoc_stats s = { .sas_assoc_id = a->id };
	socklen_t bytes = sizeof(s);

	if (getsockopt(k->fd, IPPROTO_SCTP, SCTP_GET_ASSOC_STATS, &s, &bytes))
		return; /* it is going: that will be told */
	if (s.sas_ipackets != a->packets)
		a->heard = k->awake.now;
	a->packets = s.sas_ipackets;
}

static struct kernel_assoc *kernel_find_silent(struct kernel *k)
{
	for (unsigned i = 0; i < KERNEL_BUCKETS; i++) {
		struct kernel_assoc *a;

		LIST_FOREACH(a, &k->assocs[i], chain)
		{
			listen_for(k, a);
			if (k->awake.now - a->heard > k->silence.limit)
				return a;
		}
	}
	return NULL;
}

/* Hand everything the socket holds to the owner. May free @k. */
static void kernel_deliver(struct kernel *k)
{
	const struct transport_event room = { .kind = TRANSPORT_ROOM };

	k->delivering = true;
	while (!k->closed && kernel_receive(k))
		;
	if (k->looking) {
		struct kernel_assoc *a;

		k->looking = false;
		/* The owner may close us, or any association, when it hears of
		 * one. */
		(void)awake_look(&k->awake, clock_now(),
				 2 * kernel_look_every(k));
		while (!k->closed && (a = kernel_find_silent(k))) {
			k->t.ops->abort(&k->t, (uint32_t)a->id);
			kernel_assoc_gone(k, a->id, TRANSPORT_LOST,
					  "no answer from the peer");
		}
	}
	if (k->refused) {
		k->refused = false;
		kernel_say(k, &room);
	}
	k->delivering = false;
	if (k->closed)
		free(k);
}

enum { BACKLOG = 64 };

/* Also by a timer: a one-to-many socket does not say for whom it can be
 * written, so try again. */
static void kernel_on_readable(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	kernel_deliver(arg);
}

static void kernel_on_look(evutil_socket_t fd, short what, void *arg)
{
	struct kernel *k = arg;

	(void)fd;
	(void)what;
	k->looking = true;
	kernel_deliver(k);
}

static int kernel_watch(struct kernel *k, struct cr_err *e)
{
	/* analyzer: kernel_close() closes k->fd */
	cr_ns every = kernel_look_every(k);
	const struct timeval tv = { every / CR_SEC, every % CR_SEC / CR_US };

	k->readable = event_new(k->cfg.base, k->fd, EV_READ | EV_PERSIST,
				kernel_on_readable, k);
	k->retry = evtimer_new(k->cfg.base, kernel_on_readable, k);
	k->look = event_new(k->cfg.base, -1, EV_PERSIST, kernel_on_look, k);
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
	/* Forget all associations, silently. */
	for (unsigned i = 0; i < KERNEL_BUCKETS; i++) {
		struct kernel_assoc *a;

		while ((a = LIST_FIRST(&k->assocs[i]))) {
			LIST_REMOVE(a, chain);
			free(a);
		}
	}
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
	return rc ? rc : kernel_watch(k, e);
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
		rc = kernel_watch(k, e);
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
static int kernel_transmit(const struct kernel *k,
			   const struct sctp_sndinfo *info, const void *data,
			   size_t bytes)
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
	if (a->in_flight && a->in_flight + bytes > KERNEL_BUDGET) {
		k->refused = true; /* ROOM when it is dry */
		return -EAGAIN;
	}
	rc = kernel_transmit(k, &info, data, bytes);
	if (rc == -EAGAIN || rc == -ENOBUFS) {
		k->refused = true;
		(void)evtimer_add(k->retry, &soon);
		return -EAGAIN;
	}
	if (!rc)
		a->in_flight += bytes;
	return rc;
}

static void kernel_abort(struct transport *t, uint32_t assoc)
{
	struct sctp_sndinfo info = { .snd_flags = SCTP_ABORT,
				     .snd_assoc_id = (sctp_assoc_t)assoc };

	(void)kernel_transmit((struct kernel *)t, &info, NULL, 0);
}

static int kernel_shutdown(struct transport *t, uint32_t assoc)
{
	struct sctp_sndinfo info = { .snd_flags = SCTP_EOF,
				     .snd_assoc_id = (sctp_assoc_t)assoc };

	return kernel_transmit((struct kernel *)t, &info, NULL, 0);
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
