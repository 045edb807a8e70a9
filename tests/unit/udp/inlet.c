/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A packet to any of many sockets comes out once, in order, with the tag of
 * its socket; what comes to a removed one does not come out. By epoll, by
 * io_uring, and by an io_uring that is too small for so many sockets: its
 * buffers and its completion queue run out all the time.
 */
#include <errno.h>
#include <pthread.h>

#include "base/clock.h"
#include "emulator.h"
#include "inlet_fixture.h"
#include "patience.h"
#include "udp/socket.h"

static void all_that_comes_comes_out_in_order(void **state)
{
	static uint32_t sent[PORTS], next[PORTS];
	unsigned total = 0;

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

/* Where it is known at all, and then as it comes. */
static void what_comes_next_is_told_ahead(void **state)
{
	uint64_t first = 0, second = 0;
	struct inlet_packet p;
	unsigned reported = 0, n = 0;

	for (unsigned i = 1; i < PORTS; i++)
		send_to(i, 0);
	while (n < PORTS - 1) {
		assert_true(inlet_wait(in, CR_NEVER) >= 0);
		while (inlet_next(in, &p)) {
			n += address_equal(p.packet.from, &peer_at);
			if (first)
				assert_int_equal(p.tag, first);
			reported += first != 0;
			first = inlet_ahead(in, 0);
			if (second)
				assert_int_equal(first, second);
			second = inlet_ahead(in, 1);
		}
	}
	assert_int_equal(reported > 0, inlet_io(in) == UDP_IO_URING);
}

static void what_is_removed_is_not_heard(void **state)
{
	uint32_t next[PORTS] = { 0 };

	for (unsigned i = 1; i < PORTS; i += 2)
		inlet_del(in, port[i].key);
	(void)inlet_wait(in, 0); /* a way may need a look to learn of it */
	while (next_packet(&(struct inlet_packet){ 0 }))
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
	inlet_wake(in);
	assert_true(inlet_wait(in, CR_NEVER) >= 0);
	assert_false(next_packet(&(struct inlet_packet){ 0 }));
	assert_int_equal(inlet_wait(in, 0), 0); /* once */
}

/* Adding and removing many sockets wakes the receiver once, at the end of the
 * outermost pair; and not at all when there was nothing new. */
static void what_is_gathered_is_told_once(void **state)
{
	struct inlet_packet p;

	inlet_gather(in);
	inlet_notify(in);
	assert_int_equal(inlet_wait(in, 0), 0);
	inlet_gather(in);
	inlet_gather(in);
	inlet_wake_too(in);
	inlet_wake_too(in);
	inlet_notify(in);
	inlet_notify(in);
	assert_true(inlet_wait(in, CR_NEVER) >= 0);
	assert_false(next_packet(&p));
	assert_int_equal(inlet_wait(in, 0), 0); /* once */
}

/* Sockets of a pair are heard although nothing woke the thread for each. */
static void what_is_gathered_is_heard(void **state)
{
	uint32_t next[PORTS] = { 0 };

	inlet_gather(in);
	for (unsigned i = 1; i < PORTS; i += 2)
		inlet_del(in, port[i].key);
	for (unsigned i = 1; i < PORTS; i += 2)
		watch(i);
	inlet_notify(in);
	for (unsigned i = 0; i < PORTS; i++)
		send_to(i, 0);
	take(PORTS, next);
	for (unsigned i = 0; i < PORTS; i++)
		assert_int_equal(next[i], 1);
}

static void send_bytes(unsigned i, size_t bytes)
{
	static const uint8_t zeros[5000];

	assert_int_equal(sendto(peer, zeros, bytes, 0,
				(struct sockaddr *)&port[i].at,
				address_length(&port[i].at)),
			 bytes);
}

/* Of one that is too long, no more is promised than that it is seen to be. */
static void a_packet_of_any_length_is_a_packet(void **state)
{
	static const size_t bytes[] = { 0,    1, INLET_BYTES, INLET_BYTES + 1,
					5000, 0, 0,	      1500 };
	struct inlet_packet p;

	for (unsigned to = 0; to < 2; to++)
		for (unsigned k = 0; k < sizeof(bytes) / sizeof(*bytes); k++) {
			send_bytes(to, bytes[k]);
			take_one(&p);
			assert_int_equal(p.tag, tag_of(to));
			if (bytes[k] <= INLET_BYTES)
				assert_int_equal(p.packet.bytes, bytes[k]);
			else
				assert_in_range(p.packet.bytes, INLET_BYTES + 1,
						bytes[k]);
		}
	assert_false(next_packet(&p));
}

/* Nobody receives while more comes than the socket holds. */
static void what_the_kernel_drops_is_told_exactly(void **state)
{
	enum { SENT = 5000 };
	int small = 4096;
	uint32_t drops = 0;

	if (emulator_lacks("SO_RXQ_OVFL"))
		skip();
	for (unsigned i = 0; i < 2; i++) {
		struct inlet_packet p = { .tag = 0 };
		unsigned came = 0;

		assert_int_equal(setsockopt(port[i].fd, SOL_SOCKET, SO_RCVBUF,
					    &small, sizeof(small)),
				 0);
		for (unsigned k = 0; k < SENT; k++)
			send_bytes(i, 100);
		while (inlet_wait(in, 0) > 0)
			while (next_packet(&p))
				came++;
		assert_true(came > 0 && came < SENT);
		send_bytes(i, 100); /* the next one shows it */
		take_one(&p);
		drops = p.drops;
		assert_int_equal(came + drops, SENT);
	}
}

/* A removed socket that is closed is given up by the kernel when the receiver
 * has learned of it. */
static void a_removed_port_is_free_again(void **state)
{
	(void)inlet_wait(in, 0); /* it is being received from */
	for (unsigned i = 0; i < PORTS; i++) {
		int fd = -EADDRINUSE;

		inlet_del(in, port[i].key);
		(void)close(port[i].fd);
		for (cr_ns end = clock_now() + PATIENCE;
		     fd == -EADDRINUSE && clock_now() < end;) {
			(void)inlet_wait(in, CR_MS);
			assert_false(next_packet(&(struct inlet_packet){ 0 }));
			fd = udp_socket(&port[i].at, NULL);
		}
		assert_true(fd >= 0);
		port[i].fd = fd;
		watch(i);
	}
	send_to(PORTS - 1, 0);
	take_one(&(struct inlet_packet){ 0 });
}

static void *wait_and_leave(void *arg)
{
	void *failed = inlet_wait(arg, 0) < 0 ? arg : NULL;

	inlet_leave(arg);
	return failed;
}

/* At once: a daemon may be started again. */
static void the_ports_are_free_when_the_receiver_has_left(void **state)
{
	struct sockaddr_storage at;
	struct inlet *other;
	pthread_t thread;
	void *failed;
	uint64_t key;
	int fd;

	for (unsigned i = 0; i < 50; i++) {
		fd = loopback_socket(&at);
		assert_int_equal(open_one(&other, NULL), 0);
		assert_int_equal(inlet_add(other, fd, 1,
					   i % 2 ? INLET_ONE : INLET_MANY, &key,
					   NULL),
				 0);
		assert_int_equal(
			pthread_create(&thread, NULL, wait_and_leave, other),
			0);
		(void)pthread_join(thread, &failed);
		assert_null(failed);
		(void)close(fd);
		fd = udp_socket(&at, NULL);
		assert_true(fd >= 0);
		(void)close(fd);
		inlet_close(other);
	}
}

#define TESTS(setup)                                                           \
	TEST(the_ports_are_free_when_the_receiver_has_left, setup),            \
		TEST(all_that_comes_comes_out_in_order, setup),                \
		TEST(what_is_removed_is_not_heard, setup),                     \
		TEST(a_wake_ends_the_wait, setup),                             \
		TEST(what_is_gathered_is_told_once, setup),                    \
		TEST(what_is_gathered_is_heard, setup),                        \
		TEST(what_comes_next_is_told_ahead, setup),                    \
		TEST(a_packet_of_any_length_is_a_packet, setup),               \
		TEST(what_the_kernel_drops_is_told_exactly, setup),            \
		TEST(a_removed_port_is_free_again, setup)

int main(void)
{
	const struct CMUnitTest epoll[] = { TESTS(setup_epoll) };
	const struct CMUnitTest uring[] = { TESTS(setup_uring),
					    TESTS(setup_tiny) };

	return INLET_RUN(epoll, uring);
}
