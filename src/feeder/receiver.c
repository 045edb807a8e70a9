/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The receiving thread and its table of SSRCs: open addressing, written by the
 * main thread only, read without a lock; entries are never removed.
 */
#define _GNU_SOURCE
#include "feeder/receiver.h"

#include <errno.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "feeder/dump.h"
#include "feeder/thread.h"

#define BATCH 64u
#define PACKET_BYTES 2048u
#define NAP (2 * CR_MS)
#define SOCKET_BYTES (8 << 20)

struct receiver {
	int fd;
	pthread_t thread;
	bool running;
	atomic_bool stop; /* release, pairs with run()'s acquire */
	/* main stores (release), thread loads (acquire) */
	struct feeder_call *_Atomic *table;
	size_t mask;

	/* thread */
	struct receiver_stats stats;
	cr_ns realtime_offset; /* CLOCK_REALTIME - CLOCK_MONOTONIC */
	struct mmsghdr msgs[BATCH];
	struct iovec iov[BATCH];
	uint8_t data[BATCH][PACKET_BYTES];
	_Alignas(struct cmsghdr) uint8_t control[BATCH][128];
};

static size_t place_of(const struct receiver *r, uint32_t ssrc)
{
	return (size_t)(ssrc * UINT32_C(0x9e3779b1)) & r->mask;
}

static struct feeder_call *find(const struct receiver *r, uint32_t ssrc)
{
	for (size_t i = place_of(r, ssrc);; i = (i + 1) & r->mask) {
		struct feeder_call *c = atomic_load_explicit(
			&r->table[i], memory_order_acquire);

		if (!c || c->ssrc_out == ssrc)
			return c;
	}
}

int receiver_add(struct receiver *r, struct feeder_call *call)
{
	size_t i = place_of(r, call->ssrc_out);

	if (find(r, call->ssrc_out))
		return -EEXIST;
	while (atomic_load_explicit(&r->table[i], memory_order_relaxed))
		i = (i + 1) & r->mask;
	atomic_store_explicit(&r->table[i], call, memory_order_release);
	return 0;
}

static void take(struct receiver *r, const uint8_t *data, size_t n, cr_ns at)
{
	struct rtp_packet p;
	struct feeder_call *c;
	uint64_t index;

	r->stats.packets++;
	if (rtp_parse(data, n, &p)) {
		r->stats.malformed++;
		return;
	}
	c = find(r, p.ssrc);
	if (!c) {
		r->stats.unknown_ssrc++;
		return;
	}
	if (match_received(c->match, &p, at, &index) && c->dump)
		dump_put(c->dump, index, p.payload, p.payload_bytes);
}

/* When the packet came, on the monotonic clock; @now without a timestamp. */
static cr_ns arrival(struct receiver *r, struct msghdr *m, cr_ns now)
{
	cr_ns at = now;

	for (struct cmsghdr *c = CMSG_FIRSTHDR(m); c; c = CMSG_NXTHDR(m, c)) {
		if (c->cmsg_level != SOL_SOCKET)
			continue;
		if (c->cmsg_type == SCM_TIMESTAMPNS) {
			struct timespec t;

			memcpy(&t, CMSG_DATA(c), sizeof(t));
			at = (cr_ns)t.tv_sec * CR_SEC + t.tv_nsec -
			     r->realtime_offset;
		} else if (c->cmsg_type == SO_RXQ_OVFL) {
			uint32_t drops;

			memcpy(&drops, CMSG_DATA(c), sizeof(drops));
			r->stats.kernel_drops = drops;
		}
	}
	return at;
}

/* One batch; false when the socket is empty. */
static bool read_batch(struct receiver *r)
{
	cr_ns now;
	int n;

	for (unsigned i = 0; i < BATCH; i++) {
		r->iov[i] = (struct iovec){ r->data[i], PACKET_BYTES };
		r->msgs[i].msg_hdr = (struct msghdr){
			.msg_iov = &r->iov[i],
			.msg_iovlen = 1,
			.msg_control = r->control[i],
			.msg_controllen = sizeof(r->control[i]),
		};
	}
	n = recvmmsg(r->fd, r->msgs, BATCH, MSG_DONTWAIT, NULL);
	if (n <= 0)
		return false; /* empty, or an ICMP error of a dead daemon */
	now = clock_now();
	r->realtime_offset = clock_read(CLOCK_REALTIME) - now;
	r->stats.batches++;
	for (unsigned i = 0; i < (unsigned)n; i++)
		take(r, r->data[i], r->msgs[i].msg_len,
		     arrival(r, &r->msgs[i].msg_hdr, now));
	return (unsigned)n == BATCH;
}

static void *run(void *arg)
{
	struct receiver *r = arg;
	const struct timespec nap = { .tv_nsec = NAP };

	while (!atomic_load_explicit(&r->stop, memory_order_acquire)) {
		while (read_batch(r))
			;
		(void)nanosleep(&nap, NULL);
	}
	while (read_batch(r))
		;
	r->stats.cpu = clock_thread_cpu();
	return NULL;
}

int receiver_open(struct receiver **out, int fd, size_t calls, int cpu,
		  struct cr_err *e)
{
	struct receiver *r = calloc(1, sizeof(*r));
	size_t room = 64;
	int rc;

	if (!r)
		return cr_fail(e, -ENOMEM, "out of memory");
	while (room < 2 * calls)
		room *= 2;
	r->fd = fd;
	r->mask = room - 1;
	r->table = calloc(room, sizeof(*r->table));
	rc = r->table ? thread_start(&r->thread, run, r, cpu) : -ENOMEM;
	if (rc) {
		receiver_close(r);
		return cr_fail(e, rc, "receiving thread: %s", strerror(-rc));
	}
	r->running = true;
	*out = r;
	return 0;
}

void receiver_stop(struct receiver *r)
{
	if (!r->running)
		return;
	atomic_store_explicit(&r->stop, true, memory_order_release);
	(void)pthread_join(r->thread, NULL);
	r->running = false;
}

void receiver_stats(const struct receiver *r, struct receiver_stats *out)
{
	*out = r->stats;
}

void receiver_close(struct receiver *r)
{
	if (!r)
		return;
	receiver_stop(r);
	free((void *)r->table);
	free(r);
}

int receiver_socket(const struct sockaddr_storage *local, struct cr_err *e)
{
	socklen_t n = local->ss_family == AF_INET6 ? sizeof(struct sockaddr_in6)
						   : sizeof(struct sockaddr_in);
	int fd = socket(local->ss_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	int on = 1, bytes = SOCKET_BYTES;

	if (fd < 0)
		return cr_fail(e, -errno, "UDP socket: %s", strerror(errno));
	/* the first needs a privilege and passes the system's limit */
	if (setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &bytes, sizeof(bytes)))
		(void)setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &bytes,
				 sizeof(bytes));
	(void)setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &bytes, sizeof(bytes));
	(void)setsockopt(fd, SOL_SOCKET, SO_RXQ_OVFL, &on, sizeof(on));
	if (setsockopt(fd, SOL_SOCKET, SO_TIMESTAMPNS, &on, sizeof(on)) ||
	    bind(fd, (const struct sockaddr *)local, n)) {
		int rc = cr_fail(e, -errno, "UDP socket: %s", strerror(errno));

		(void)close(fd);
		return rc;
	}
	return fd;
}
