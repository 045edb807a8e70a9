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

#include "base/clock.h"
#include "udp/intake.h"

/* Calls released under one lock: workers wait meanwhile. */
#define RELEASES 16u
/* Full batches from one socket before the others (and stop) get a look. */
#define ROUNDS_MAX 16u
/* Sockets told by one look; a turn takes as many looks as it needs. */
#define EVENTS 64

struct rx {
	struct rx_config cfg;
	struct packet_path path;
	int epoll, stop;
	pthread_t thread;
	struct intake *in;
	uint32_t drops; /* of the shared socket, counted so far */
	struct live_task *release[RELEASES];
	unsigned nrelease;
};

static void release(struct rx *rx)
{
	if (rx->nrelease)
		live_release(rx->cfg.live, rx->release, rx->nrelease);
	rx->nrelease = 0;
}

static void take_batch(struct rx *rx, struct call *only)
{
	struct intake_packet p;

	while (intake_next(rx->in, &p)) {
		struct call *c = packet_take(&rx->path, &p, only);

		if (!c)
			continue;
		call_fetch_for_release(c);
		rx->release[rx->nrelease++] = &c->lt;
		if (rx->nrelease == RELEASES)
			release(rx);
	}
	release(rx);
}

/* One batch from @fd. Returns whether there may be more. */
static bool receive(struct rx *rx, int fd, struct call *only)
{
	uint32_t drops;

	if (!intake_receive(rx->in, fd))
		return false;
	take_batch(rx, only);
	drops = intake_drops(rx->in);
	if (!only && drops) {
		call_count(&rx->path.count.socket_drops, drops - rx->drops);
		rx->drops = drops;
	}
	return intake_full(rx->in);
}

/* Events carry an SSRC, not a pointer: the call is looked up afresh, so that a
 * stale event cannot reach a dead call. */
static bool receive_event(struct rx *rx, const struct epoll_event *ev)
{
	struct call *c;

	if (ev->data.u64 >> 32 == 0)
		return receive(rx, rx->cfg.fd, NULL);
	c = call_table_find(rx->path.table, (uint32_t)ev->data.u64);
	return c && c->cfg.port_fd >= 0 && receive(rx, c->cfg.port_fd, c);
}

enum { EVENT_SHARED = 0, EVENT_PORT = 1, EVENT_STOP = 2 };

static int watch(struct rx *rx, int fd, unsigned kind, uint32_t ssrc)
{
	struct epoll_event ev = { .events = EPOLLIN,
				  .data.u64 = (uint64_t)kind << 32 | ssrc };

	if (kind != EVENT_STOP)
		intake_take_trains(fd);
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
	rcu_read_begin();
	for (int i = 0; i < n; i++)
		for (unsigned more = ROUNDS_MAX; more; more--)
			if (!receive_event(rx, &ev[i]))
				break;
	rcu_read_end();
	return true;
}

/* One turn: block until a socket is ready, then serve all that are, however
 * many. A look that is full does not tell of the rest; what it told of goes to
 * the end of the kernel's list, so that the next one tells of others. Returns
 * false when told to stop. */
static bool take_turn(struct rx *rx)
{
	struct epoll_event ev[EVENTS];
	int n = epoll_wait(rx->epoll, ev, EVENTS, -1);

	while (n > 0) {
		if (!receive_ready(rx, ev, n))
			return false;
		if (n < EVENTS)
			return true;
		n = epoll_wait(rx->epoll, ev, EVENTS, 0);
	}
	return n == 0 || errno == EINTR;
}

/* Level-triggered: what came during the pause makes epoll_wait() return at
 * once, and when nothing came it blocks. */
static void *rx_main(void *arg)
{
	struct rx *rx = arg;

	(void)pthread_setname_np(pthread_self(), "cr-rx");
	(void)prctl(PR_SET_TIMERSLACK, 1000UL, 0UL, 0UL, 0UL);
	rcu_register_thread();
	while (take_turn(rx))
		pause_for(rx->cfg.coalesce);
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

static void rx_free(struct rx *rx)
{
	(void)close(rx->epoll);
	(void)close(rx->stop);
	intake_close(rx->in);
	free(rx);
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
	rx->in = intake_open();
	rx->epoll = epoll_create1(EPOLL_CLOEXEC);
	rx->stop = eventfd(0, EFD_CLOEXEC);
	err = rx->epoll < 0 || rx->stop < 0 ? -errno : 0;
	if (!rx->in)
		err = -ENOMEM;
	if (!err)
		err = watch(rx, rx->stop, EVENT_STOP, 0);
	if (!err)
		err = watch(rx, cfg->fd, EVENT_SHARED, 0);
	if (!err)
		err = -pthread_create(&rx->thread, NULL, rx_main, rx);
	if (err) {
		rx_free(rx);
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
	rx_free(rx);
}

int rx_add_port(struct rx *rx, struct call *c, struct cr_err *e)
{
	int err = watch(rx, c->cfg.port_fd, EVENT_PORT, c->cfg.ssrc_in);

	return err ? cr_fail(e, err, "cannot watch the call's port: %s",
			     strerror(-err))
		   : 0;
}

void rx_del_port(struct rx *rx, struct call *c)
{
	(void)epoll_ctl(rx->epoll, EPOLL_CTL_DEL, c->cfg.port_fd, NULL);
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
