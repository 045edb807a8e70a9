/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sockets are added and removed ten thousand times while others receive: those
 * lose nothing, and nothing comes out with the tag of another socket (that of
 * none, INLET_GONE, for one that was removed), however soon its descriptor and
 * its port are used again.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/address.h"
#include "cmocka_cr.h"
#include "loopback.h"
#include "udp/inlet_ops.h"
#include "udp/socket.h"

enum { STEADY = 20, PASSING = 30, CHANGES = 10000 };

struct message {
	uint64_t tag;
	uint32_t number;
};

struct port {
	int fd;
	uint64_t key, tag;
	struct sockaddr_storage at;
	uint32_t sent;
};

struct churn {
	struct inlet *in;
	pthread_t thread;
	pthread_rwlock_t turn; /* read while the receiver is in one */
	atomic_bool stop;
	int peer;
	struct sockaddr_storage peer_at;
	struct port steady[STEADY], passing[PASSING];
	uint64_t tags; /* given so far */

	/* the receiver */
	atomic_uint came[STEADY];
	atomic_uint wrong, passed;
};

static void open_port(struct churn *c, struct port *p)
{
	struct cr_err e = { "" };

	*p = (struct port){ .tag = ++c->tags };
	p->fd = loopback_socket(&p->at);
	if (inlet_add(c->in, p->fd, p->tag,
		      c->tags % 8 ? INLET_ONE : INLET_MANY, &p->key, &e))
		fail_msg("%s", e.text);
}

static void close_port(struct churn *c, struct port *p)
{
	inlet_del(c->in, p->key);
	pthread_rwlock_wrlock(&c->turn); /* the turn that may know it is over */
	pthread_rwlock_unlock(&c->turn);
	(void)close(p->fd);
}

static void send_one(struct churn *c, struct port *p)
{
	const struct message m = { p->tag, p->sent++ };

	assert_int_equal(sendto(c->peer, &m, sizeof(m), 0,
				(struct sockaddr *)&p->at,
				address_length(&p->at)),
			 sizeof(m));
}

static void take(struct churn *c, const struct inlet_packet *p)
{
	struct message m;
	uint32_t expected;

	if (!address_equal(p->packet.from, &c->peer_at))
		return; /* another program's */
	if (p->packet.bytes != sizeof(m)) {
		atomic_fetch_add(&c->wrong, 1);
		return;
	}
	memcpy(&m, p->packet.data, sizeof(m));
	if (m.tag > STEADY) {
		atomic_fetch_add(&c->passed, 1);
	} else {
		expected = atomic_fetch_add(&c->came[m.tag - 1], 1);
		if (m.number != expected)
			atomic_fetch_add(&c->wrong, 1);
	}
	if (m.tag != p->tag && (p->tag != INLET_GONE || m.tag <= STEADY))
		atomic_fetch_add(&c->wrong, 1);
}

static void *receive(void *arg)
{
	struct inlet_packet p;
	struct churn *c = arg;

	while (!atomic_load(&c->stop) && inlet_wait(c->in, CR_NEVER) >= 0) {
		pthread_rwlock_rdlock(&c->turn);
		while (inlet_next(c->in, &p))
			take(c, &p);
		pthread_rwlock_unlock(&c->turn);
	}
	return NULL;
}

static void await(const atomic_uint *count, unsigned n)
{
	while (atomic_load(count) < n)
		(void)usleep(100);
}

static void begin(struct churn *c)
{
	pthread_rwlock_init(&c->turn, NULL);
	c->peer = loopback_socket(&c->peer_at);
	for (unsigned i = 0; i < STEADY; i++)
		open_port(c, &c->steady[i]);
	for (unsigned i = 0; i < PASSING; i++)
		open_port(c, &c->passing[i]);
	assert_int_equal(pthread_create(&c->thread, NULL, receive, c), 0);
}

static void end(struct churn *c)
{
	atomic_store(&c->stop, true);
	inlet_wake(c->in);
	(void)pthread_join(c->thread, NULL);
	inlet_close(c->in);
	for (unsigned i = 0; i < STEADY; i++)
		(void)close(c->steady[i].fd);
	for (unsigned i = 0; i < PASSING; i++)
		(void)close(c->passing[i].fd);
	(void)close(c->peer);
	pthread_rwlock_destroy(&c->turn);
}

static void churn(struct inlet *in)
{
	static struct churn c;
	unsigned k;

	memset(&c, 0, sizeof(c));
	c.in = in;
	begin(&c);
	for (unsigned i = 0; i < CHANGES; i++) {
		k = (unsigned)rand() % PASSING;
		for (unsigned n = (unsigned)rand() % 3; n; n--)
			send_one(&c, &c.passing[k]);
		send_one(&c, &c.steady[i % STEADY]);
		if (rand() % 2)
			k = (unsigned)rand() % PASSING;
		close_port(&c, &c.passing[k]);
		open_port(&c, &c.passing[k]);
		if (i % 100 == 99) /* no more than the buffers hold */
			await(&c.came[i % STEADY], i / STEADY + 1);
	}
	for (unsigned i = 0; i < STEADY; i++)
		await(&c.came[i], CHANGES / STEADY);
	assert_true(atomic_load(&c.passed) > 0);
	assert_int_equal(atomic_load(&c.wrong), 0);
	end(&c);
}

static void with_epoll(void **state)
{
	struct inlet *in;

	assert_int_equal(inlet_open(&in, UDP_IO_EPOLL, NULL), 0);
	churn(in);
}

static void with_io_uring(void **state)
{
	struct cr_err e = { "" };
	struct inlet *in;

	if (inlet_open(&in, UDP_IO_URING, &e)) {
		(void)printf("skipped: %s\n", e.text);
		skip();
	}
	churn(in);
}

/* Buffers and completion queue run out all the time. */
static void with_a_tiny_io_uring(void **state)
{
	static const struct receive_ring_sizes tiny = { 4, 8, 4 };
	struct cr_err e = { "" };
	struct inlet *in;

	if (!udp_io_uring(&e)) {
		(void)printf("skipped: %s\n", e.text);
		skip();
	}
	assert_int_equal(inlet_uring_open(&in, &tiny, &e), 0);
	churn(in);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(with_epoll),
		cmocka_unit_test(with_io_uring),
		cmocka_unit_test(with_a_tiny_io_uring),
	};
	const char *text = getenv("CR_SEED");
	unsigned seed = text ? (unsigned)atoi(text) : 1;

	printf("CR_SEED=%u\n", seed);
	srand(seed);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
