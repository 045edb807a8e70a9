/* SPDX-License-Identifier: Apache-2.0 */
/*
 * SCTP by usrsctp over UDP (RFC 6951), in its owner's libevent thread: the
 * transport's sockets, timers, input and output; data and notifications of the
 * stack become transport events. Addresses are kept by sctp_user_peers.c.
 * Includes <usrsctp.h>: <netinet/sctp.h> must not be seen here.
 *
 * usrsctp never sees the UDP socket: packets go in by usrsctp_conninput() and
 * come out by conn_output(), with slots of sctp_user_peers.c as AF_CONN
 * addresses.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <usrsctp.h>

#include "base/address.h"
#include "base/clock.h"
#include "base/memory.h"
#include "observe/store.h"
#include "transport/sctp_user_peers.h"

/** One association that came up; holds its peer. */
struct user_assoc {
	struct transport_assoc a; /**< first */
	struct user_peer *peer;
};

struct user {
	struct transport t;   /**< first */
	struct address local; /**< of the UDP socket */
	int fd;
	struct socket *so;
	struct event *readable, *tick;
	struct user_peer *server; /**< of a client */
	struct silence silence;
	cr_ns earliest; /**< heard before this: lost. Never later than the
			     silence allows */

	bool ready;	  /**< usrsctp has something for us          */
	bool udp_refused; /**< ICMP: nothing at the server's port    */
	_Alignas(16) unsigned char buffer[65536]; /**< a datagram, or a part of
						       a message */
};

/* The peer of the association @id; NULL: its slot has been given to somebody
 * else. */
static struct user_peer *peer_of(const struct user *u, uint32_t id)
{
	struct sockaddr *list = NULL;
	struct user_peer *p;

	if (usrsctp_getpaddrs(u->so, id, &list) <= 0)
		return NULL;
	p = peers_at((unsigned)(uintptr_t)((struct sockaddr_conn *)(void *)list)
			     ->sconn_addr);
	usrsctp_freepaddrs(list);
	return p && p->owner == u ? p : NULL;
}

static struct transport_assoc *user_up(struct transport *t, uint32_t id,
				       struct transport_assoc *known,
				       char *peer, size_t size)
{
	struct user_assoc *a = (struct user_assoc *)known;

	if (!a) {
		struct user_peer *p = peer_of((struct user *)t, id);

		a = p ? calloc(1, sizeof(*a)) : NULL;
		if (!a)
			return NULL;
		a->peer = p;
		peers_hold(p);
	}
	peer_address_text(&a->peer->addr, peer, size);
	return &a->a;
}

static void user_down(struct transport_assoc *a)
{
	struct user_peer *p = ((struct user_assoc *)a)->peer;

	if (p->held)
		peers_release(p);
}

static cr_ns user_heard(struct transport *t, struct transport_assoc *a)
{
	(void)t;
	return ((struct user_assoc *)a)->peer->heard;
}

static void user_assoc_change(struct user *u, const struct sctp_assoc_change *c)
{
	static const enum transport_event_kind what[] = {
		[SCTP_COMM_UP] = TRANSPORT_UP,
		[SCTP_RESTART] = TRANSPORT_RESTART,
		[SCTP_SHUTDOWN_COMP] = TRANSPORT_SHUTDOWN,
		[SCTP_COMM_LOST] = TRANSPORT_LOST,
		[SCTP_CANT_STR_ASSOC] = TRANSPORT_CANT_START,
	};

	if (c->sac_state < SCTP_COMM_UP || c->sac_state > SCTP_CANT_STR_ASSOC)
		return;
	sctp_change(&u->t, c->sac_assoc_id, what[c->sac_state],
		    c->sac_length > sizeof(*c));
}

/* Take one message, part or notification; false: there was none. */
static bool user_receive(struct user *u)
{
	struct transport_event ev = { .data = u->buffer };
	struct sctp_rcvinfo info = { 0 };
	socklen_t info_bytes = sizeof(info), from_bytes = 0;
	unsigned type = 0;
	int flags = 0;
	ssize_t n =
		usrsctp_recvv(u->so, u->buffer, sizeof(u->buffer), NULL,
			      &from_bytes, &info, &info_bytes, &type, &flags);
	const union sctp_notification *note = (const void *)u->buffer;

	if (n <= 0)
		return false;
	if (flags & MSG_NOTIFICATION) {
		if (note->sn_header.sn_type == SCTP_ASSOC_CHANGE &&
		    !u->t.failed)
			user_assoc_change(u, &note->sn_assoc_change);
		return true;
	}
	ev.assoc = info.rcv_assoc_id;
	ev.bytes = (size_t)n;
	ev.end = flags & MSG_EOR;
	sctp_data(&u->t, &ev);
	return true;
}

/* Hand everything usrsctp holds to the owner. May free @u. */
static void user_deliver(struct user *u)
{
	transport_enter(&u->t);
	while (u->ready && !u->t.closed) {
		u->ready = false;
		while (!u->t.closed && user_receive(u))
			;
	}
	sctp_drop_silent(&u->t, u->earliest);
	if (u->udp_refused) {
		u->udp_refused = false;
		transport_cant_start(&u->t, "nothing listens at the UDP port");
	}
	transport_say_room(&u->t);
	transport_leave(&u->t);
}

/* Datagrams taken before the owner hears of them. */
enum { INPUT_BATCH = 64 };

/* More than usrsctp takes when it begins, where it looks at no malloc(). */
#define STACK_BYTES ((size_t)8 << 20)

/* A tick that is later than so many is a stall of ours. */
enum { TICK_STEPS = 5 };

/* usrsctp is initialised once in a process and then stays: finishing it needs
 * UDP input until the last association is gone, and it cannot be begun again
 * while its iterator thread lives. */
static bool stack_up;
static struct awake stack_awake;
static cr_ns stack_reported; /* of that time */

static int conn_output(void *addr, void *data, size_t bytes, uint8_t tos,
		       uint8_t set_df)
{
	struct user_peer *p = peers_at((unsigned)(uintptr_t)addr);
	struct user *u = p ? p->owner : NULL;
	bool connected = u && p == u->server;
	ssize_t n;

	(void)tos;
	(void)set_df;
	if (!u)
		return EHOSTUNREACH;
	n = sendto(u->fd, data, bytes, MSG_NOSIGNAL,
		   connected ? NULL : (const struct sockaddr *)&p->addr.sa,
		   connected ? 0 : p->addr.len);
	if (n < 0 && errno == ECONNREFUSED)
		u->udp_refused = true;
	return n < 0 ? errno : 0;
}

/* Even without threads usrsctp starts one, the "iterator": keep the process's
 * signals away from it. */
static int stack_init(struct cr_err *e)
{
	sigset_t all, before;

	if (stack_up)
		return 0;
	if (!memory_there(STACK_BYTES))
		return cr_fail(e, -ENOMEM, "out of memory for usrsctp");
	(void)sigfillset(&all);
	(void)pthread_sigmask(SIG_BLOCK, &all, &before);
	usrsctp_init_nothreads(0, conn_output, NULL);
	(void)pthread_sigmask(SIG_SETMASK, &before, NULL);
	(void)usrsctp_sysctl_set_sctp_ecn_enable(0);
	(void)usrsctp_sysctl_set_sctp_asconf_enable(0);
	(void)usrsctp_sysctl_set_sctp_auto_asconf(0);
	(void)usrsctp_sysctl_set_sctp_no_csum_on_loopback(0);
	stack_up = true;
	return 0;
}

/* After a stall of this process it hears of one long tick: what has come
 * meanwhile is read before anything times out. */
static void stack_timers(void)
{
	cr_ns now = awake_look(&stack_awake, clock_now(),
			       TICK_STEPS * TIMING_TICK_MS * CR_MS);
	cr_ns ms = (now - stack_reported) / CR_MS;

	if (ms <= 0)
		return;
	stack_reported += ms * CR_MS;
	usrsctp_handle_timers((uint32_t)ms);
}

/* Only a flag: usrsctp holds its locks here. */
static void upcall(struct socket *so, void *arg, int flags)
{
	struct user *u = arg;

	(void)so;
	(void)flags;
	u->ready = true;
}

static int set_option(struct socket *so, int option, const void *value,
		      size_t size)
{
	return usrsctp_setsockopt(so, IPPROTO_SCTP, option, value,
				  (socklen_t)size);
}

static int user_set_timing(struct socket *so, const struct silence *silence)
{
	const struct sctp_rtoinfo rto = { .srto_initial = TIMING_RTO_INITIAL_MS,
					  .srto_max = TIMING_RTO_MAX_MS,
					  .srto_min = TIMING_RTO_MIN_MS };
	const struct sctp_assocparams assoc = {
		.sasoc_asocmaxrxt = silence->retransmissions
	};
	struct sctp_paddrparams path = {
		.spp_hbinterval = silence->heartbeat_ms,
		.spp_pathmaxrxt = silence->retransmissions,
		.spp_flags = SPP_HB_ENABLE,
	};
	const struct sctp_initmsg init = {
		.sinit_num_ostreams = TRANSPORT_STREAMS,
		.sinit_max_instreams = TRANSPORT_STREAMS,
		.sinit_max_attempts = TIMING_INIT_TRIES,
		.sinit_max_init_timeo = TIMING_RTO_INITIAL_MS,
	};

	path.spp_address.ss_family = AF_CONN;
	return set_option(so, SCTP_RTOINFO, &rto, sizeof(rto)) ||
	       set_option(so, SCTP_ASSOCINFO, &assoc, sizeof(assoc)) ||
	       set_option(so, SCTP_PEER_ADDR_PARAMS, &path, sizeof(path)) ||
	       set_option(so, SCTP_INITMSG, &init, sizeof(init));
}

static int user_set_options(struct socket *so, const struct silence *silence)
{
	const int on = 1, buffer = (int)TRANSPORT_MESSAGE_MAX, interleave = 1;
	const struct linger kill = { .l_onoff = 1, .l_linger = 0 };
	const struct sctp_event event = { .se_assoc_id = SCTP_FUTURE_ASSOC,
					  .se_type = SCTP_ASSOC_CHANGE,
					  .se_on = 1 };

	if (usrsctp_set_non_blocking(so, 1) ||
	    usrsctp_setsockopt(so, SOL_SOCKET, SO_SNDBUF, &buffer,
			       sizeof(buffer)) ||
	    usrsctp_setsockopt(so, SOL_SOCKET, SO_LINGER, &kill, sizeof(kill)))
		return -1;
	return set_option(so, SCTP_NODELAY, &on, sizeof(on)) ||
	       set_option(so, SCTP_RECVRCVINFO, &on, sizeof(on)) ||
	       set_option(so, SCTP_FRAGMENT_INTERLEAVE, &interleave,
			  sizeof(interleave)) ||
	       set_option(so, SCTP_EVENT, &event, sizeof(event)) ||
	       user_set_timing(so, silence);
}

/* The first packet of a new address must be an INIT (RFC 9260 section 5.1):
 * nothing else makes a peer. */
static struct user_peer *sender(struct user *u, const struct address *from,
				const unsigned char *packet, size_t bytes)
{
	struct user_peer *p;
	bool fresh;

	if (bytes < sizeof(struct sctp_common_header) + 4)
		return NULL;
	if (packet[sizeof(struct sctp_common_header)] != SCTP_INITIATION)
		return peers_find(u, from);
	p = peers_get(u, from, &fresh);
	if (p && fresh)
		usrsctp_register_address((void *)(uintptr_t)p->slot);
	return p;
}

static void user_on_readable(evutil_socket_t fd, short what, void *arg)
{
	struct user *u = arg;

	(void)what;
	for (unsigned i = 0; i < INPUT_BATCH; i++) {
		struct address from = { .len = sizeof(from.sa) };
		struct user_peer *p;
		ssize_t n =
			recvfrom(fd, u->buffer, sizeof(u->buffer), MSG_DONTWAIT,
				 (struct sockaddr *)&from.sa, &from.len);

		if (n < 0) {
			if (errno == ECONNREFUSED)
				u->udp_refused = true;
			break;
		}
		p = sender(u, &from, u->buffer, (size_t)n);
		if (!p)
			continue;
		p->heard = stack_awake.now;
		if (!memory_there(MEMORY_FOR_LIBRARY))
			continue; /* as if it were lost: it comes again */
		usrsctp_conninput((void *)(uintptr_t)p->slot, u->buffer,
				  (size_t)n, 0);
	}
	user_deliver(u);
}

/* A heartbeat's time-out raises no upcall, so look for events ourselves. */
static void user_on_tick(evutil_socket_t fd, short what, void *arg)
{
	struct user *u = arg;

	(void)fd;
	(void)what;
	stack_timers();
	if (usrsctp_get_events(u->so) & SCTP_EVENT_READ)
		u->ready = true;
	u->earliest = stack_awake.now - u->silence.limit;
	user_deliver(u);
}

/* The name of a server's socket in the store. */
#define HELD "listen-sctp"

static int open_udp(struct user *u, const struct address *local,
		    struct cr_err *e)
{
	const int buffer = (int)TRANSPORT_MESSAGE_MAX;
	struct notify *store = u->t.cfg.store;
	char name[80];
	bool held;
	int rc;

	peer_address_text(local, name, sizeof(name));
	if (store)
		u->fd = store_take_listener(store, HELD, &local->sa);
	held = u->fd >= 0;
	if (!held)
		u->fd = socket(local->sa.ss_family,
			       SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (u->fd < 0)
		return cr_fail(e, -errno, "UDP socket: %s", strerror(errno));
	/* The kernel caps these; SCTP retransmits what does not fit. */
	(void)setsockopt(u->fd, SOL_SOCKET, SO_RCVBUF, &buffer, sizeof(buffer));
	(void)setsockopt(u->fd, SOL_SOCKET, SO_SNDBUF, &buffer, sizeof(buffer));
	u->local.len = sizeof(u->local.sa);
	if ((!held &&
	     bind(u->fd, (const struct sockaddr *)&local->sa, local->len)) ||
	    getsockname(u->fd, (struct sockaddr *)&u->local.sa,
			&u->local.len)) {
		rc = -errno;
		return cr_fail(e, rc, "bind UDP %s for SCTP: %s", name,
			       strerror(errno));
	}
	if (store && !held)
		(void)store_put(store, HELD, &u->fd, 1);
	u->readable = event_new(u->t.cfg.base, u->fd, EV_READ | EV_PERSIST,
				user_on_readable, u);
	if (!u->readable || event_add(u->readable, NULL))
		return cr_fail(e, -ENOMEM, "out of memory");
	return 0;
}

static int open_sctp(struct user *u, struct cr_err *e)
{
	const struct timeval tick = { .tv_usec = TIMING_TICK_MS * 1000 };

	int err = stack_init(e);

	if (err)
		return err;
	u->so = usrsctp_socket(AF_CONN, SOCK_SEQPACKET, IPPROTO_SCTP, NULL,
			       NULL, 0, NULL);
	if (!u->so)
		return cr_fail(e, -errno, "usrsctp socket: %s",
			       strerror(errno));
	if (user_set_options(u->so, &u->silence))
		return cr_fail(e, -errno, "usrsctp options: %s",
			       strerror(errno));
	if (usrsctp_set_upcall(u->so, upcall, u))
		return cr_fail(e, -errno, "usrsctp upcall: %s",
			       strerror(errno));
	u->tick = event_new(u->t.cfg.base, -1, EV_PERSIST, user_on_tick, u);
	if (!u->tick || event_add(u->tick, &tick))
		return cr_fail(e, -ENOMEM, "out of memory");
	return 0;
}

static void user_close(struct transport *t)
{
	struct user *u = (struct user *)t;

	u->t.closed = true;
	if (u->so)
		usrsctp_close(u->so); /* linger 0: aborts its associations */
	u->so = NULL;
	if (u->tick)
		event_free(u->tick);
	if (u->readable)
		event_free(u->readable);
	u->tick = u->readable = NULL;
	peers_disown(u);
	if (u->fd >= 0)
		(void)close(u->fd);
	u->fd = -1;
	transport_forget_all(t);
	if (!t->busy)
		free(u);
}

static int user_open(struct transport **t, const struct transport_config *cfg,
		     struct cr_err *e)
{
	struct user *u = calloc(1, sizeof(*u));
	int rc;

	if (!u)
		return cr_fail(e, -ENOMEM, "out of memory");
	u->t.ops = &transport_user_ops;
	u->t.cfg = *cfg;
	u->silence = silence_for(cfg->peer_timeout);
	u->fd = -1;
	rc = open_sctp(u, e);
	if (rc) {
		user_close(&u->t);
		return rc;
	}
	*t = &u->t;
	return 0;
}

static int bind_sctp(struct user *u, struct cr_err *e)
{
	struct sockaddr_conn any = {
		.sconn_family = AF_CONN,
		.sconn_port = htons(u->t.cfg.local.sctp_port),
	};

	if (!usrsctp_bind(u->so, (struct sockaddr *)&any, sizeof(any)))
		return 0;
	return cr_fail(e, -errno, "bind SCTP port %u: %s",
		       (unsigned)u->t.cfg.local.sctp_port, strerror(errno));
}

static int user_listen(struct transport *t, struct cr_err *e)
{
	struct user *u = (struct user *)t;
	struct address local;
	int rc;

	if (!u->t.cfg.local.sctp_port)
		return cr_fail(e, -EINVAL, "an SCTP port is needed to listen");
	rc = peer_address_resolve(&local, u->t.cfg.local.host,
				  u->t.cfg.local.udp_port, e);
	if (!rc)
		rc = bind_sctp(u, e);
	if (!rc)
		rc = open_udp(u, &local, e);
	if (rc)
		return rc;
	if (usrsctp_listen(u->so, 1))
		return cr_fail(e, -errno, "listen on SCTP port %u: %s",
			       (unsigned)u->t.cfg.local.sctp_port,
			       strerror(errno));
	return 0;
}

/* Connected, so that a closed UDP port is known at once (ICMP) and nobody
 * else can reach us. */
static int open_towards(struct user *u, const struct address *server,
			struct cr_err *e)
{
	struct address local;
	int rc = transport_address_towards(&u->t, &local, server,
					   u->t.cfg.local.udp_port, e);

	if (rc)
		return rc;
	rc = open_udp(u, &local, e);
	if (rc)
		return rc;
	if (connect(u->fd, (const struct sockaddr *)&server->sa, server->len))
		return cr_fail(e, -errno, "connect UDP: %s", strerror(errno));
	return 0;
}

static int user_connect(struct transport *t, const struct transport_addr *to,
			struct cr_err *e)
{
	struct user *u = (struct user *)t;
	struct sockaddr_conn sc = { .sconn_family = AF_CONN,
				    .sconn_port = htons(to->sctp_port) };
	struct address server;
	bool fresh;
	int rc = peer_address_resolve(&server, to->host, to->udp_port, e);

	if (!rc)
		rc = open_towards(u, &server, e);
	if (!rc && u->t.cfg.local.sctp_port)
		rc = bind_sctp(u, e);
	if (rc)
		return rc;
	u->server = peers_get(u, &server, &fresh);
	if (!u->server)
		return cr_fail(e, -ENOBUFS, "too many associations");
	if (fresh)
		usrsctp_register_address((void *)(uintptr_t)u->server->slot);
	peers_hold(u->server);
	u->t.connecting = true;
	sc.sconn_addr = (void *)(uintptr_t)u->server->slot;
	if (usrsctp_connect(u->so, (struct sockaddr *)&sc, sizeof(sc)) &&
	    errno != EINPROGRESS)
		return cr_fail(e, -errno, "connect SCTP: %s", strerror(errno));
	return 0;
}

static int send_flags(struct user *u, uint32_t assoc, uint16_t flags)
{
	struct sctp_sndinfo info = { .snd_flags = flags,
				     .snd_assoc_id = assoc };

	/* "": with NULL and no bytes it answers "Bad address". */
	return usrsctp_sendv(u->so, "", 0, NULL, 0, &info, sizeof(info),
			     SCTP_SENDV_SNDINFO, 0) < 0
		       ? -errno
		       : 0;
}

static int user_send(struct transport *t, uint32_t assoc, const void *data,
		     size_t bytes)
{
	struct user *u = (struct user *)t;
	struct sctp_sndinfo info = { .snd_ppid = htonl(MSG_PPID),
				     .snd_assoc_id = assoc };

	if (usrsctp_sendv(u->so, data, bytes, NULL, 0, &info, sizeof(info),
			  SCTP_SENDV_SNDINFO, 0) >= 0)
		return 0;
	if (errno != EWOULDBLOCK && errno != ENOBUFS)
		return -errno;
	/* The socket never reports that it can be written: ROOM is said after
	 * every input and tick. */
	u->t.refused = true;
	return -EAGAIN;
}

static void user_abort(struct transport *t, uint32_t assoc)
{
	(void)send_flags((struct user *)t, assoc, SCTP_ABORT);
}

static int user_shutdown(struct transport *t, uint32_t assoc)
{
	return send_flags((struct user *)t, assoc, SCTP_EOF);
}

static size_t user_message_max(const struct transport *t)
{
	(void)t;
	return TRANSPORT_MESSAGE_MAX; /* user_set_options() got such a buffer */
}

static void user_local(const struct transport *t, struct transport_addr *addr)
{
	const struct user *u = (const struct user *)t;

	*addr = u->t.cfg.local;
	if (u->fd < 0)
		return;
	peer_address_host(&u->local, addr->host, sizeof(addr->host));
	addr->udp_port = (uint16_t)address_port(&u->local.sa);
}

const struct transport_ops transport_user_ops = {
	.name = "user",
	.open = user_open,
	.listen = user_listen,
	.connect = user_connect,
	.send = user_send,
	.abort = user_abort,
	.shutdown = user_shutdown,
	.message_max = user_message_max,
	.local = user_local,
	.close = user_close,
	.up = user_up,
	.down = user_down,
	.heard = user_heard,
};
