/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What comes to any of many sockets comes out once, in order, with the tag of
 * its socket; what comes to a removed one does not come out.
 */
#include <string.h>
#include <unistd.h>

#include "base/address.h"
#include "cmocka_cr.h"
#include "udp/inlet.h"
#include "udp/socket.h"

enum { PORTS = 200 }; /* more than one look tells of */

struct port {
	int fd;
	uint64_t key;
	struct sockaddr_storage at;
};

static struct inlet *in;
static struct port port[PORTS];
static int peer;

static int open_socket(struct sockaddr_storage *at)
{
	socklen_t len = sizeof(*at);
	int fd;

	assert_int_equal(address_parse("127.0.0.1:0", at), 0);
	fd = udp_socket(at, NULL);
	assert_true(fd >= 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)at, &len), 0);
	return fd;
}

static uint64_t tag_of(unsigned i)
{
	return (uint64_t)i << 32 | 7;
}

static void watch(unsigned i)
{
	struct cr_err e = { "" };

	if (inlet_add(in, port[i].fd, tag_of(i), i ? INLET_ONE : INLET_MANY,
		      &port[i].key, &e))
		fail_msg("%s", e.text);
}

static int setup_io(enum udp_io io)
{
	struct sockaddr_storage at;
	struct cr_err e = { "" };

	if (inlet_open(&in, io, &e))
		return -1;
	peer = open_socket(&at);
	for (unsigned i = 0; i < PORTS; i++) {
		port[i].fd = open_socket(&port[i].at);
		watch(i);
	}
	return 0;
}

static int setup_epoll(void **state)
{
	(void)state;
	return setup_io(UDP_IO_EPOLL);
}

static int teardown(void **state)
{
	(void)state;
	inlet_close(in);
	for (unsigned i = 0; i < PORTS; i++)
		(void)close(port[i].fd);
	(void)close(peer);
	return 0;
}

static void send_to(unsigned i, uint32_t number)
{
	assert_int_equal(sendto(peer, &number, sizeof(number), 0,
				(struct sockaddr *)&port[i].at,
				address_length(&port[i].at)),
			 sizeof(number));
}

/* Take until @n have come; each port's numbers must rise from @first[]. */
static void take(unsigned n, uint32_t *next)
{
	struct inlet_packet p;
	uint32_t number;

	while (n) {
		assert_true(inlet_wait(in, CR_NEVER) >= 0);
		while (inlet_next(in, &p)) {
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
	assert_int_equal(inlet_wait(in, 0), 0);
}

static void all_that_comes_comes_out_in_order(void **state)
{
	static uint32_t sent[PORTS], next[PORTS];
	unsigned total = 0;

	(void)state;
	for (unsigned round = 0; round < 10; round++) {
		unsigned n = 0;

		for (unsigned i = round % 3; i < PORTS; i += 1 + round % 4)
			for (unsigned k = 0; k <= i % 5; k++, n++)
				send_to(i, sent[i]++);
		take(n, next);
		total += n;
	}
	assert_true(total > 10 * PORTS);
	assert_memory_equal(sent, next, sizeof(sent));
}

static void what_is_removed_is_not_heard(void **state)
{
	uint32_t next[PORTS] = { 0 };

	(void)state;
	for (unsigned i = 1; i < PORTS; i += 2)
		inlet_del(in, port[i].key);
	(void)inlet_wait(in, 0); /* a way may need a look to learn of it */
	while (inlet_next(in, &(struct inlet_packet){ 0 }))
		;
	for (unsigned i = 0; i < PORTS; i++)
		send_to(i, 0);
	take(PORTS / 2, next);
	for (unsigned i = 0; i < PORTS; i++)
		assert_int_equal(next[i], 1 - i % 2);
	for (unsigned i = 1; i < PORTS; i += 2)
		watch(i); /* and what has come meanwhile is */
	take(PORTS / 2, next);
}

static void a_wake_ends_the_wait(void **state)
{
	(void)state;
	inlet_wake(in);
	assert_true(inlet_wait(in, CR_NEVER) >= 0);
	assert_false(inlet_next(in, &(struct inlet_packet){ 0 }));
	assert_int_equal(inlet_wait(in, 0), 0); /* once */
}

/* A socket that gets more than it may give in a turn loses nothing. */
static void a_flood_comes_out_over_turns(void **state)
{
	enum { FLOOD = 3000 };
	uint32_t next[PORTS] = { 0 };

	(void)state;
	for (uint32_t k = 0; k < FLOOD; k++)
		send_to(0, k); /* its buffer holds them: udp_socket() */
	send_to(PORTS - 1, 0);
	take(FLOOD + 1, next);
	assert_int_equal(next[0], FLOOD);
}

#define TEST(f, setup) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(all_that_comes_comes_out_in_order, setup_epoll),
		TEST(what_is_removed_is_not_heard, setup_epoll),
		TEST(a_wake_ends_the_wait, setup_epoll),
		TEST(a_flood_comes_out_over_turns, setup_epoll),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
