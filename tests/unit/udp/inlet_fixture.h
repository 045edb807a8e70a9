/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An inlet with many ports, one of which has many peers, and one peer of them
 * all; by epoll, by io_uring, and by an io_uring with hardly any room.
 */
#ifndef TESTS_UNIT_UDP_INLET_FIXTURE_H
#define TESTS_UNIT_UDP_INLET_FIXTURE_H

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/address.h"
#include "cmocka_cr.h"
#include "loopback.h"
#include "udp/inlet_ops.h"

enum { PORTS = 200 }; /* more than one look reports */

struct port {
	int fd;
	uint64_t key;
	struct sockaddr_storage at;
};

static struct inlet *in;
static struct port port[PORTS];
static int peer;
static struct sockaddr_storage peer_at;

/* inlet_next(), without what other programs send to ports that were theirs: the
 * sender comes with each packet. */
static inline bool next_packet(struct inlet_packet *p)
{
	while (inlet_next(in, p))
		if (address_equal(p->packet.from, &peer_at))
			return true;
	return false;
}

static inline uint64_t tag_of(unsigned i)
{
	return (uint64_t)i << 32 | 7;
}

static inline void watch(unsigned i)
{
	struct cr_err e = { "" };

	if (inlet_add(in, port[i].fd, tag_of(i), i ? INLET_ONE : INLET_MANY,
		      &port[i].key, &e))
		fail_msg("%s", e.text);
}

static int (*open_one)(struct inlet **in, struct cr_err *e);

static inline int setup_with(int (*open)(struct inlet **in, struct cr_err *e))
{
	struct cr_err e = { "" };

	open_one = open;
	if (open(&in, &e))
		fail_msg("%s", e.text);
	peer = loopback_socket(&peer_at);
	for (unsigned i = 0; i < PORTS; i++) {
		port[i].fd = loopback_socket(&port[i].at);
		watch(i);
	}
	return 0;
}

static inline int open_epoll(struct inlet **i, struct cr_err *e)
{
	return inlet_open(i, UDP_IO_EPOLL, e);
}

static inline int open_uring(struct inlet **i, struct cr_err *e)
{
	return inlet_open(i, UDP_IO_URING, e);
}

static inline int open_tiny(struct inlet **i, struct cr_err *e)
{
	static const struct receive_ring_sizes tiny = { 4, 8, 4 };

	return inlet_uring_open(i, &tiny, e);
}

static inline int setup_epoll(void **state)
{
	return setup_with(open_epoll);
}

static inline int setup_uring(void **state)
{
	return setup_with(open_uring);
}

static inline int setup_tiny(void **state)
{
	return setup_with(open_tiny);
}

static inline int teardown(void **state)
{
	inlet_close(in);
	for (unsigned i = 0; i < PORTS; i++)
		(void)close(port[i].fd);
	(void)close(peer);
	return 0;
}

static inline void send_to(unsigned i, uint32_t number)
{
	assert_int_equal(sendto(peer, &number, sizeof(number), 0,
				(struct sockaddr *)&port[i].at,
				address_length(&port[i].at)),
			 sizeof(number));
}

/* Take until @n have come; each port's numbers must rise from @first[]. */
static inline void take(unsigned n, uint32_t *next)
{
	struct inlet_packet p;
	uint32_t number;

	while (n) {
		assert_true(inlet_wait(in, CR_NEVER) >= 0);
		while (next_packet(&p)) {
			unsigned i = (unsigned)(p.tag >> 32);

			assert_true(i < PORTS);
			assert_int_equal(p.tag, tag_of(i));
			assert_int_equal(p.packet.bytes, sizeof(number));
			memcpy(&number, p.packet.data, sizeof(number));
			assert_int_equal(number, next[i]++);
			assert_true(p.packet.arrival > 0);
			assert_true(n-- > 0);
		}
	}
	(void)inlet_wait(in, 0);
	assert_false(next_packet(&(struct inlet_packet){ 0 }));
}

/* The next packet that comes, which there must be. */
static inline void take_one(struct inlet_packet *p)
{
	while (!next_packet(p))
		assert_true(inlet_wait(in, CR_NEVER) >= 0);
}

#define TEST(f, setup) cmocka_unit_test_setup_teardown(f, setup, teardown)

static inline bool has_uring(void)
{
	struct cr_err why = { "" };

	if (udp_io_uring(&why))
		return true;
	(void)printf("skipped with io_uring: %s\n", why.text);
	return false;
}

/* Run the groups, the second of them where there is io_uring. */
#define INLET_RUN(epoll, uring)                                                \
	(cmocka_run_group_tests(epoll, NULL, NULL) +                           \
	 (has_uring() ? cmocka_run_group_tests(uring, NULL, NULL) : 0))

#endif
