/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The receiving thread.
 *
 * It outranks the workers where it may (real-time priority): otherwise packets
 * die in the socket while every scheduler looks the same (thesis 6.1).
 */
#define _GNU_SOURCE
#include "media/rx.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "base/address.h"
#include "base/clock.h"

#define BATCH 64u
/* Larger than any packet that fits a ring; more is counted as truncated. */
#define DATAGRAM_MAX 2048u
/* Full batches from one socket before the others (and stop) get a look. */
#define ROUNDS_MAX 16u
#define SOCKET_BUFFER (8 << 20)

struct batch {
	struct mmsghdr msg[BATCH];
	struct iovec iov[BATCH];
	struct sockaddr_storage from[BATCH];
	union {
		char bytes[CMSG_SPACE(sizeof(struct timespec))];
		struct cmsghdr align;
	} control[BATCH];
	uint8_t data[BATCH][DATAGRAM_MAX];
	struct live_task *release[BATCH];
};

struct rx {
	struct rx_config cfg;
	struct packet_path path;
	int epoll, stop;
	pthread_t thread;
	struct batch batch;
	/* Orders what this thread did to a call before its reclaim; released
	 * after every batch, acquired by rx_forget(). TSan cannot see the
	 * grace period itself. */
	atomic_ullong batches;
};

int rx_socket(const struct sockaddr_storage *addr, struct cr_err *e)
{
	int on = 1, size = SOCKET_BUFFER, err;
	int fd = socket(addr->ss_family,
			SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return cr_fail(e, -errno, "UDP socket: %s", strerror(errno));
	(void)setsockopt(fd, SOL_SOCKET, SO_TIMESTAMPNS, &on, sizeof(on));
	/* beyond the administrator's limit only with the privilege */
	if (setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &size, sizeof(size)))
		(void)setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &size,
				 sizeof(size));
	if (setsockopt(fd, SOL_SOCKET, SO_SNDBUFFORCE, &size, sizeof(size)))
		(void)setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &size,
				 sizeof(size));
	if (!bind(fd, (const struct sockaddr *)addr, address_length(addr)))
		return fd;
	err = errno;
	(void)close(fd);
	return cr_fail(e, -err, "UDP socket: bind: %s", strerror(err));
}

static void batch_init(struct batch *b)
{
	for (unsigned i = 0; i < BATCH; i++) {
		b->iov[i] = (struct iovec){ b->data[i], DATAGRAM_MAX };
		b->msg[i].msg_hdr = (struct msghdr){
			.msg_name = &b->from[i],
			.msg_iov = &b->iov[i],
			.msg_iovlen = 1,
			.msg_control = b->control[i].bytes,
		};
	}
}

/* Kernel receive time in monotonic time; @skew is real-time - monotonic. */
static cr_ns arrival_of(struct msghdr *hdr, cr_ns skew, cr_ns now)
{
	struct cmsghdr *c = CMSG_FIRSTHDR(hdr);
	struct timespec t;

	if (!c || c->cmsg_level != SOL_SOCKET ||
	    c->cmsg_type != SCM_TIMESTAMPNS)
		return now;
	memcpy(&t, CMSG_DATA(c), sizeof(t));
	return cr_ns_min((cr_ns)t.tv_sec * CR_SEC + t.tv_nsec - skew, now);
}

static void take_batch(struct rx *rx, unsigned n, struct call *only)
{
	struct batch *b = &rx->batch;
	cr_ns now = clock_now(), skew = clock_read(CLOCK_REALTIME) - now;
	unsigned nrelease = 0;

	for (unsigned i = 0; i < n; i++) {
		struct msghdr *hdr = &b->msg[i].msg_hdr;
		struct packet_datagram d = {
			.data = b->data[i],
			.bytes = b->msg[i].msg_len,
			.truncated = hdr->msg_flags & MSG_TRUNC,
			.from = &b->from[i],
			.arrival = arrival_of(hdr, skew, now),
		};
		struct call *c = packet_take(&rx->path, &d, only);

		if (c)
			b->release[nrelease++] = &c->lt;
	}
	if (nrelease)
		live_release(rx->cfg.live, b->release, nrelease);
}

/* One batch from @fd. Returns how many datagrams there were. */
static unsigned receive(struct rx *rx, int fd, struct call *only)
{
	struct batch *b = &rx->batch;
	int n;

	for (unsigned i = 0; i < BATCH; i++) {
		b->msg[i].msg_hdr.msg_namelen = sizeof(b->from[i]);
		b->msg[i].msg_hdr.msg_controllen = sizeof(b->control[i]);
	}
	n = recvmmsg(fd, b->msg, BATCH, MSG_DONTWAIT, NULL);
	if (n <= 0)
		return 0;
	take_batch(rx, (unsigned)n, only);
	return (unsigned)n;
}

/* Events carry an SSRC, not a pointer: the call is looked up afresh, so that a
 * stale event cannot reach a dead call. */
static unsigned receive_event(struct rx *rx, const struct epoll_event *ev)
{
	struct call *c;

	if (ev->data.u64 >> 32 == 0)
		return receive(rx, rx->cfg.fd, NULL);
	c = call_table_find(rx->path.table, (uint32_t)ev->data.u64);
	return c && c->cfg.port_fd >= 0 ? receive(rx, c->cfg.port_fd, c) : 0;
}

enum { EVENT_SHARED = 0, EVENT_PORT = 1, EVENT_STOP = 2 };

static uint64_t event_key(unsigned kind, uint32_t ssrc)
{
	return (uint64_t)kind << 32 | ssrc;
}

static int watch(struct rx *rx, int fd, uint64_t key)
{
	struct epoll_event ev = { .events = EPOLLIN, .data.u64 = key };

	return epoll_ctl(rx->epoll, EPOLL_CTL_ADD, fd, &ev) ? -errno : 0;
}

static void pause_for(cr_ns t)
{
	struct timespec ts = { t / CR_SEC, t % CR_SEC };

	if (t)
		(void)clock_nanosleep(CLOCK_MONOTONIC, 0, &ts, NULL);
}

/* Returns false when told to stop. */
static bool receive_ready(struct rx *rx, const struct epoll_event *ev, int n)
{
	for (int i = 0; i < n; i++)
		if (ev[i].data.u64 >> 32 == EVENT_STOP)
			return false;
	rcu_read_lock();
	for (int i = 0; i < n; i++)
		for (unsigned more = ROUNDS_MAX; more; more--)
			if (receive_event(rx, &ev[i]) < BATCH)
				break;
	rcu_read_unlock();
	/* release, pairs with rx_forget() */
	atomic_fetch_add_explicit(&rx->batches, 1, memory_order_release);
	return true;
}

/* Level-triggered: what came during the pause makes epoll_wait() return at
 * once, and when nothing came it blocks. */
static void *rx_main(void *arg)
{
	struct rx *rx = arg;
	struct epoll_event ev[16];
	int n;

	(void)pthread_setname_np(pthread_self(), "cr-rx");
	(void)prctl(PR_SET_TIMERSLACK, 1000UL, 0UL, 0UL, 0UL);
	rcu_register_thread();
	for (;;) {
		n = epoll_wait(rx->epoll, ev, 16, -1);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 || !receive_ready(rx, ev, n))
			break;
		pause_for(rx->cfg.coalesce);
	}
	rcu_unregister_thread();
	return NULL;
}

/* Affinity before the thread runs; real-time priority if it is granted. */
static void place(struct rx *rx, struct cr_err *warn)
{
	struct sched_param prio = { .sched_priority = rx->cfg.rt_priority };
	cpu_set_t set;
	int err;

	if (rx->cfg.cpu >= 0) {
		CPU_ZERO(&set);
		CPU_SET((unsigned)rx->cfg.cpu, &set);
		err = pthread_setaffinity_np(rx->thread, sizeof(set), &set);
		if (err)
			(void)cr_fail(warn, -err,
				      "rx thread not pinned to CPU %d: %s",
				      rx->cfg.cpu, strerror(err));
	}
	if (!rx->cfg.rt_priority)
		return;
	err = pthread_setschedparam(rx->thread, SCHED_FIFO, &prio);
	if (err)
		(void)cr_fail(warn, -err,
			      "rx thread without real-time priority %d: %s; "
			      "it needs CAP_SYS_NICE or an rtprio limit",
			      rx->cfg.rt_priority, strerror(err));
}

int rx_open(struct rx **out, const struct rx_config *cfg, struct cr_err *warn,
	    struct cr_err *e)
{
	struct rx *rx = calloc(1, sizeof(*rx));
	int err;

	if (!rx)
		return cr_fail(e, -ENOMEM, "out of memory for the rx thread");
	rx->cfg = *cfg;
	rx->path.table = cfg->table;
	rx->path.trace = cfg->trace;
	batch_init(&rx->batch);
	rx->epoll = epoll_create1(EPOLL_CLOEXEC);
	rx->stop = eventfd(0, EFD_CLOEXEC);
	err = rx->epoll < 0 || rx->stop < 0 ? -errno : 0;
	if (!err)
		err = watch(rx, rx->stop, event_key(EVENT_STOP, 0));
	if (!err)
		err = watch(rx, cfg->fd, event_key(EVENT_SHARED, 0));
	if (!err)
		err = -pthread_create(&rx->thread, NULL, rx_main, rx);
	if (err) {
		(void)close(rx->epoll);
		(void)close(rx->stop);
		free(rx);
		return cr_fail(e, err, "rx thread: %s", strerror(-err));
	}
	place(rx, warn);
	*out = rx;
	return 0;
}

void rx_close(struct rx *rx)
{
	uint64_t one = 1;

	if (!rx)
		return;
	if (write(rx->stop, &one, sizeof(one)) == sizeof(one))
		(void)pthread_join(rx->thread, NULL);
	(void)close(rx->epoll);
	(void)close(rx->stop);
	free(rx);
}

int rx_add_port(struct rx *rx, struct call *c, struct cr_err *e)
{
	int err = watch(rx, c->cfg.port_fd,
			event_key(EVENT_PORT, c->cfg.ssrc_in));

	return err ? cr_fail(e, err, "cannot watch the call's port: %s",
			     strerror(-err))
		   : 0;
}

void rx_del_port(struct rx *rx, struct call *c)
{
	(void)epoll_ctl(rx->epoll, EPOLL_CTL_DEL, c->cfg.port_fd, NULL);
}

void rx_forget(struct rx *rx)
{
	/* acquire, pairs with receive_ready() */
	(void)atomic_load_explicit(&rx->batches, memory_order_acquire);
}

const struct packet_counters *rx_counters(const struct rx *rx)
{
	return &rx->path.count;
}

cr_ns rx_cpu(const struct rx *rx)
{
	clockid_t id;

	return pthread_getcpuclockid(rx->thread, &id) ? 0 : clock_read(id);
}
