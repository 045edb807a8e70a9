/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Packets of many sockets, sent together with and without io_uring: each peer
 * gets them in the order in which they were put, whatever else is refused.
 * Equal neighbours travel as trains, and nothing else does.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <netinet/udp.h>
#include <pthread.h>
#include <sys/wait.h>

#include "burst_fixture.h"
#include "forbid.h"
#include "seed.h"

#ifndef UDP_GRO
#define UDP_GRO 104
#endif

static enum udp_io with_ring = UDP_IO_URING, without = UDP_IO_EPOLL;

static int setup(void **state)
{
	const enum udp_io *io = *state;

	fixture_open(*io);
	assert_int_equal(fixture.burst.ring != NULL,
			 *io != UDP_IO_EPOLL && udp_io_uring(NULL));
	return 0;
}

static int teardown(void **state)
{
	fixture_close();
	return 0;
}

static void a_packet_of_each_socket(void **state)
{
	for (unsigned n = 1; n <= BURST_PACKETS; n++) {
		for (unsigned i = 0; i < n; i++)
			fixture_put(i % SOCKETS, i % PEERS, 172);
		fixture_send();
	}
}

static void one_socket_to_many_peers(void **state)
{
	for (unsigned i = 0; i < BURST_PACKETS; i++)
		fixture_put(3, i % PEERS, 172);
	fixture_send();
}

/* The first, the last, several in a row, all. */
static void refused_ones_are_marked_and_the_others_leave(void **state)
{
	static const uint64_t refused[] = {
		1, UINT64_C(1) << 63, 0xf0, 0x5555555555555555, ~0ul, ~1ul, 2, 0
	};

	for (unsigned why = 0; why < REFUSALS; why++)
		for (unsigned k = 0; k < sizeof(refused) / 8; k++) {
			for (unsigned i = 0; i < BURST_PACKETS; i++)
				if (refused[k] >> i & 1)
					fixture_put_refused(why, i % SOCKETS,
							    40 + i);
				else
					fixture_put(i % SOCKETS, i % PEERS,
						    40 + i);
			fixture_send();
		}
}

static void refused_ones_between_those_of_one_socket(void **state)
{
	for (unsigned i = 0; i < BURST_PACKETS; i++)
		if (i % 5 == 2)
			fixture_put_refused(REFUSED_BROADCAST, 0, 100);
		else
			fixture_put(0, i % PEERS, 100);
	fixture_send();
}

/* Half of them like the one before, so that there are trains. */
static void put_any(uint64_t *seed)
{
	static const size_t sizes[] = { 2, 45, 172, 1400, 1401 };
	static unsigned from, to, why, bytes;

	if (test_below(seed, 2)) {
		from = test_below(seed, SOCKETS);
		to = test_below(seed, PEERS);
		why = test_below(seed, 6 * REFUSALS);
		bytes = test_below(seed, 5);
	}
	if (why < REFUSALS)
		fixture_put_refused(why, from, sizes[bytes]);
	else
		fixture_put(from, to, sizes[bytes]);
}

static void any_mixture_keeps_its_order(void **state)
{
	uint64_t seed = test_seed();

	for (unsigned try = TEST_TRIES(2000); try; try--) {
		for (unsigned n = test_below(&seed, BURST_PACKETS + 1); n; n--)
			put_any(&seed);
		fixture_send();
	}
	assert_false(fixture.burst.plain);
}

/* As a worker does whose burst overflows. */
static void more_packets_than_fit(void **state)
{
	unsigned bursts = 0;

	for (unsigned i = 0; i < 5 * BURST_PACKETS / 2; i++) {
		if (burst_full(&fixture.burst)) {
			bursts++;
			fixture_send();
		}
		fixture_put(i % SOCKETS, 0, 172);
	}
	assert_int_equal(bursts, 2);
	assert_int_equal(fixture.burst.count, BURST_PACKETS / 2);
	fixture_send();
}

/* A peer that takes trains whole sees what was one. */
static void expect_octets(unsigned to, size_t octets)
{
	uint8_t data[BURST_PACKETS * 200];

	assert_int_equal(
		recv(fixture.peer[to], data, sizeof(data), MSG_DONTWAIT),
		octets);
}

static void only_equal_neighbours_are_a_train(void **state)
{
	const int on = 1;

	for (int i = 0; i < PEERS; i++)
		assert_int_equal(setsockopt(fixture.peer[i], SOL_UDP, UDP_GRO,
					    &on, sizeof(on)),
				 0);
	fixture_put(0, 0, 100);
	fixture_put(0, 0, 100);
	fixture_put(0, 0, 100); /* three */
	fixture_put(0, 0, 99);	/* another size */
	fixture_put(1, 0, 99);	/* another socket */
	fixture_put(1, 1, 99);	/* another peer */
	fixture_put(2, 1, 99);
	fixture_put(2, 1, 99); /* two */
	fixture_put(1, 1, 99); /* not neighbours */
	burst_send(&fixture.burst);
	expect_octets(0, 300);
	expect_octets(0, 99);
	expect_octets(0, 99);
	expect_octets(1, 99);
	expect_octets(1, 198);
	expect_octets(1, 99);
	fixture_expect_no_more();
}

/* An address has as many octets as its family wants. */
static void both_families_leave_together(void **state)
{
	static const char *const text[] = { "127.0.0.1:0", "[::1]:0" };
	struct sockaddr_storage at[2];
	int fd[2];

	for (unsigned i = 0; i < 2; i++) {
		socklen_t len = sizeof(at[i]);

		assert_int_equal(address_parse(text[i], &at[i]), 0);
		fd[i] = socket(at[i].ss_family, SOCK_DGRAM, 0);
		if (bind(fd[i], (struct sockaddr *)&at[i], len)) {
			assert_int_equal(i, 1); /* a machine without IPv6 */
			(void)close(fd[0]);
			return;
		}
		assert_int_equal(
			getsockname(fd[i], (struct sockaddr *)&at[i], &len), 0);
	}
	for (uint8_t i = 0; i < 8; i++)
		burst_put(&fixture.burst, fd[i % 2], &at[i % 2], 0, &i, 1);
	burst_send(&fixture.burst);
	burst_clear(&fixture.burst);
	for (uint8_t i = 0, got; i < 8; i++) {
		assert_int_equal(recv(fd[i % 2], &got, 1, MSG_DONTWAIT), 1);
		assert_int_equal(got, i);
	}
	(void)close(fd[0]);
	(void)close(fd[1]);
}

/* A socket without checksums has no trains either. */
static void a_train_that_is_refused_does_not_fall_behind(void **state)
{
	const int on = 1;

	assert_int_equal(setsockopt(fixture.from[1], SOL_SOCKET, SO_NO_CHECK,
				    &on, sizeof(on)),
			 0);
	for (unsigned round = 0; round < 2; round++) {
		fixture_put(0, 1, 100);
		for (unsigned i = 0; i < 3; i++)
			fixture_put(1, 0, 100);
		fixture_put(1, 0, 50); /* stays behind the train */
		fixture_put(2, 0, 100);
		fixture_put(2, 0, 100);
		fixture_put(1, 0, 100);
		fixture_put(1, 0, 100); /* a second train */
		fixture_put(1, 0, 50);
		fixture_put(3, 1, 100);
		assert_int_equal(fixture.burst.plain, round);
		fixture_send();
		assert_true(fixture.burst.plain);
	}
}

/* Threads that take turns, as a worker and who flushes for it do. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void *send_for_another(void *arg)
{
	(void)arg;
	fixture_stay();
	(void)pthread_mutex_lock(&lock);
	burst_send(&fixture.burst);
	(void)pthread_mutex_unlock(&lock);
	return NULL;
}

/* By a new thread each time, which has ended when the next one sends. */
static void another_thread_sends(void **state)
{
	for (unsigned round = 0; round < 20; round++) {
		pthread_t other;

		(void)pthread_mutex_lock(&lock);
		for (unsigned i = 0; i < BURST_PACKETS; i++)
			fixture_put(i % SOCKETS, i % PEERS, 60 + round);
		(void)pthread_mutex_unlock(&lock);
		assert_int_equal(
			pthread_create(&other, NULL, send_for_another, NULL),
			0);
		assert_int_equal(pthread_join(other, NULL), 0);
		fixture_check();
		for (unsigned i = 0; i < BURST_PACKETS; i++)
			fixture_put(i % SOCKETS, i % PEERS, 61 + round);
		fixture_send();
	}
}

#define TURNS 500

/* Both put one packet and send, whoever comes first. */
static void *put_and_send(void *arg)
{
	unsigned *sent = arg;

	for (unsigned i = 0; i < TURNS; i++) {
		(void)pthread_mutex_lock(&lock);
		for (unsigned k = 0; k < 4; k++)
			fixture_put(k, 0, 60);
		burst_send(&fixture.burst);
		for (unsigned k = 0; k < 4; k++)
			*sent += !fixture.burst.packet[k].failed;
		burst_clear(&fixture.burst);
		(void)pthread_mutex_unlock(&lock);
	}
	return NULL;
}

static void threads_take_turns(void **state)
{
	unsigned sent[2] = { 0, 0 };
	pthread_t other;

	assert_int_equal(pthread_create(&other, NULL, put_and_send, &sent[0]),
			 0);
	(void)put_and_send(&sent[1]);
	assert_int_equal(pthread_join(other, NULL), 0);
	assert_int_equal(sent[0], 4 * TURNS);
	assert_int_equal(sent[1], 4 * TURNS);
	assert_int_equal(fixture.burst.ring != NULL,
			 **(enum udp_io **)state == UDP_IO_URING &&
				 udp_io_uring(NULL));
}

/* In a child; an assert that fails makes it go on as a test run that fails. */
static void in_child(void (*test)(void))
{
	pid_t pid = fork();
	int status;

	assert_true(pid >= 0);
	if (!pid) {
		test();
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

static bool all_arrived(void)
{
	for (unsigned i = 0; i < BURST_PACKETS; i++)
		fixture_put(i % SOCKETS, i % PEERS, 80);
	fixture_send();
	return true;
}

static void no_ring_at_all(void)
{
	if (!test_forbid(SYS_io_uring_setup, EPERM))
		return;
	fixture_open(UDP_IO_URING);
	if (fixture.burst.ring || !all_arrived())
		_exit(1);
}

static void a_ring_that_breaks(void)
{
	fixture_open(UDP_IO_AUTO);
	if (!all_arrived() || !test_forbid(SYS_io_uring_enter, EPERM))
		return;
	if (!all_arrived() || fixture.burst.ring || !all_arrived())
		_exit(1);
}

static void without_a_ring_packets_leave_as_well(void **state)
{
	in_child(no_ring_at_all);
	in_child(a_ring_that_breaks);
}

/* clang-format off */
#define BOTH(test)                                                             \
	{ #test ", with io_uring", test, setup, teardown, &with_ring },        \
	{ #test ", without", test, setup, teardown, &without }
/* clang-format on */

int main(void)
{
	const struct CMUnitTest tests[] = {
		BOTH(a_packet_of_each_socket),
		BOTH(one_socket_to_many_peers),
		BOTH(refused_ones_are_marked_and_the_others_leave),
		BOTH(refused_ones_between_those_of_one_socket),
		BOTH(any_mixture_keeps_its_order),
		BOTH(more_packets_than_fit),
		BOTH(only_equal_neighbours_are_a_train),
		BOTH(a_train_that_is_refused_does_not_fall_behind),
		BOTH(both_families_leave_together),
		BOTH(another_thread_sends),
		BOTH(threads_take_turns),
		cmocka_unit_test(without_a_ring_packets_leave_as_well),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
