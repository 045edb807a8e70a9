/* SPDX-License-Identifier: Apache-2.0 */
/*
 * SCTP by the kernel through libsctp: one one-to-many socket in its owner's
 * libevent thread. Reports of the socket become transport events. Includes
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
#include <unistd.h>

#include "base/address.h"
#include "base/clock.h"
#include "transport/ops.h"

enum { KERNEL_BUDGET = 1 << 20 }; /* bytes on the way to one peer */

struct kernel_assoc {
	struct transport_assoc a; /**< first */
	size_t in_flight; /**< bytes given to the kernel since it was dry */
	uint64_t packets; /**< that came, at the last look                */
	cr_ns heard;	  /**< k->awake.now when there were more         */
};

struct kernel {
	struct transport t;   /**< first */
	struct address local; /**< once bound */
	int family;
	int fd;
	size_t message_max; /**< of the send buffer that was granted */
	struct event *readable, *retry, *look;
	struct silence silence;
	struct awake awake;
	bool looking; /**< time to look for silent peers */
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
	 * there is, and message_max says so. */
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

static struct transport_assoc *kernel_up(struct transport *t, uint32_t id,
					 struct transport_assoc *known,
					 char *peer, size_t size)
{
	struct kernel *k = (struct kernel *)t;
	struct kernel_assoc *a = (struct kernel_assoc *)known;

	if (!a)
		a = calloc(1, sizeof(*a));
	if (!a)
		return NULL;
	a->in_flight = 0;
	a->heard = k->awake.now;
	peer_text(k, (sctp_assoc_t)id, peer, size);
	return &a->a;
}

static void notification(struct kernel *k, const union sctp_notification *note)
{
	static const enum transport_event_kind what[] = {
		[SCTP_COMM_UP] = TRANSPORT_UP,
		[SCTP_COMM_LOST] = TRANSPORT_LOST,
		[SCTP_RESTART] = TRANSPORT_RESTART,
		[SCTP_SHUTDOWN_COMP] = TRANSPORT_SHUTDOWN,
		[SCTP_CANT_STR_ASSOC] = TRANSPORT_CANT_START,
	};
	const struct sctp_assoc_change *c = &note->sn_assoc_change;
	struct kernel_assoc *a;

	if (note->sn_header.sn_type == SCTP_ASSOC_CHANGE &&
	    c->sac_state < sizeof(what) / sizeof(*what))
		sctp_change(&k->t, (uint32_t)c->sac_assoc_id,
			    what[c->sac_state],
			    c->sac_state == SCTP_CANT_STR_ASSOC
				    ? c->sac_error
				    : c->sac_length > sizeof(*c));
	if (note->sn_header.sn_type != SCTP_SENDER_DRY_EVENT)
		return;
	a = (struct kernel_assoc *)transport_find(
		&k->t, (uint32_t)note->sn_sender_dry_event.sender_dry_assoc_id);
	if (a)
		a->in_flight = 0;
}

/* Take one message, part or notification; false: there was none. */
static bool kernel_receive(struct kernel *k)
{
	struct transport_event ev = { .data = k->buffer };
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
	ev.assoc = (uint32_t)info.rcv_assoc_id;
	ev.bytes = (size_t)n;
	ev.end = flags & MSG_EOR;
	sctp_data(&k->t, &ev);
	return true;
}

/* The interval between two looks for silent peers. */
static cr_ns kernel_look_every(const struct kernel *k)
{
	return k->silence.limit / LOOKS < CR_SEC ? k->silence.limit / LOOKS
						 : CR_SEC;
}

/* Heartbeats and their answers count, too. */
static cr_ns kernel_heard(struct transport *t, struct transport_assoc *assoc)
{
	struct kernel *k = (struct kernel *)t;
	struct kernel_assoc *a = (struct kernel_assoc *)assoc;
	struct sctp_assoc_stats s = { .sas_assoc_id = (sctp_assoc_t)a->a.id };
	socklen_t bytes = sizeof(s);

	if (getsockopt(k->fd, IPPROTO_SCTP, SCTP_GET_ASSOC_STATS, &s, &bytes))
		return a->heard; /* it is going: an event will follow */
	if (s.sas_ipackets != a->packets)
		a->heard = k->awake.now;
	a->packets = s.sas_ipackets;
	return a->heard;
}

/* Hand everything the socket holds to the owner. May free @k. */
static void kernel_deliver(struct kernel *k)
{
	transport_enter(&k->t);
	while (!k->t.closed && kernel_receive(k))
		;
	if (k->looking) {
		k->looking = false;
		(void)awake_look(&k->awake, clock_now(),
				 2 * kernel_look_every(k));
		sctp_drop_silent(&k->t, k->awake.now - k->silence.limit);
	}
	transport_say_room(&k->t);
	transport_leave(&k->t);
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

	k->readable = event_new(k->t.cfg.base, k->fd, EV_READ | EV_PERSIST,
				kernel_on_readable, k);
	k->retry = evtimer_new(k->t.cfg.base, kernel_on_readable, k);
	k->look = event_new(k->t.cfg.base, -1, EV_PERSIST, kernel_on_look, k);
	if (!k->readable || !k->retry || !k->look ||
	    event_add(k->readable, NULL) || event_add(k->look, &tv))
		return cr_fail(e, -ENOMEM, "out of memory");
	return 0;
}

static void kernel_close(struct transport *t)
{
	struct kernel *k = (struct kernel *)t;

	k->t.closed = true;
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
	transport_forget_all(t);
	if (!t->busy)
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
	k->t.cfg = *cfg;
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

	address_set_port(&local->sa, k->t.cfg.local.sctp_port);
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

	if (!k->t.cfg.local.sctp_port)
		return cr_fail(e, -EINVAL, "an SCTP port is needed to listen");
	rc = peer_address_resolve(&local, k->t.cfg.local.host, 0, e);
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
		rc = transport_address_towards(t, &local, &server, 0, e);
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
	k->t.connecting = true;
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

static int kernel_send(struct transport *t, uint32_t assoc, const void *data,
		       size_t bytes)
{
	static const struct timeval soon = { 0, TIMING_RETRY_MS * 1000 };
	struct kernel *k = (struct kernel *)t;
	struct kernel_assoc *a =
		(struct kernel_assoc *)transport_find(t, assoc);
	struct sctp_sndinfo info = { .snd_ppid = htonl(MSG_PPID),
				     .snd_assoc_id = (sctp_assoc_t)assoc };
	int rc;

	if (!a)
		return -ENOTCONN;
	if (a->in_flight && a->in_flight + bytes > KERNEL_BUDGET) {
		k->t.refused = true; /* ROOM when it is dry */
		return -EAGAIN;
	}
	rc = kernel_transmit(k, &info, data, bytes);
	if (rc == -EAGAIN || rc == -ENOBUFS) {
		k->t.refused = true;
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

	*addr = k->t.cfg.local;
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
	.up = kernel_up,
	.heard = kernel_heard,
};
