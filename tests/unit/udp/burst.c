/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Packets sent together arrive as they were put: whole, in order, each at its
 * own peer.
 */
#include <string.h>
#include <unistd.h>

#include "loopback.h"
#include "udp/burst.h"

#define PEERS 2

static struct burst burst; /* 130 KiB: not for the stack */
static int from, peer[PEERS];
static struct sockaddr_storage at[PEERS];

static int setup(void **state)
{
	memset(&burst, 0, sizeof(burst));
	from = loopback_socket(NULL);
	for (int i = 0; i < PEERS; i++)
		peer[i] = loopback_socket(&at[i]);
	return 0;
}

static int teardown(void **state)
{
	(void)close(from);
	for (int i = 0; i < PEERS; i++)
		(void)close(peer[i]);
	return 0;
}

/* A packet that says which one it is, in its first octet. */
static void put(unsigned number, int to, size_t bytes)
{
	uint8_t data[BURST_BYTES];

	memset(data, (int)(number * 7), sizeof(data));
	data[0] = (uint8_t)number;
	burst_put(&burst, from, &at[to], number, data, bytes);
}

static void expect(unsigned number, int to, size_t bytes)
{
	uint8_t data[BURST_BYTES + 1];
	ssize_t n = recv(peer[to], data, sizeof(data), MSG_DONTWAIT);

	assert_int_equal(n, bytes);
	assert_int_equal(data[0], number);
	for (size_t i = 1; i < bytes; i++)
		assert_int_equal(data[i], (uint8_t)(number * 7));
}

static void expect_no_more(void)
{
	uint8_t data[8];

	for (int i = 0; i < PEERS; i++)
		assert_int_equal(
			recv(peer[i], data, sizeof(data), MSG_DONTWAIT), -1);
}

static void send_all(void)
{
	burst_send(&burst);
	for (unsigned i = 0; i < burst.count; i++)
		assert_false(burst.packet[i].failed);
	burst_clear(&burst);
}

static void equal_packets_to_one_peer(void **state)
{
	for (unsigned i = 0; i < BURST_PACKETS; i++)
		put(i, 0, 45);
	assert_true(burst_full(&burst));
	send_all();
	for (unsigned i = 0; i < BURST_PACKETS; i++)
		expect(i, 0, 45);
	expect_no_more();
}

/* Two trains: the kernel would refuse one. */
static void more_octets_than_a_datagram_holds(void **state)
{
	for (unsigned i = 0; i < BURST_PACKETS; i++)
		put(i, 0, 1400);
	send_all();
	assert_false(burst.plain);
	for (unsigned i = 0; i < BURST_PACKETS; i++)
		expect(i, 0, 1400);
	expect_no_more();
}

static void sizes_and_peers_in_any_mixture(void **state)
{
	static const struct {
		int to;
		size_t bytes;
	} mix[] = { { 0, 45 }, { 0, 45 }, { 0, 19 },   { 1, 19 }, { 1, 19 },
		    { 0, 19 }, { 0, 45 }, { 1, 2048 }, { 1, 12 }, { 0, 45 } };
	const unsigned n = sizeof(mix) / sizeof(mix[0]);

	for (unsigned round = 0; round < 3; round++) {
		for (unsigned i = 0; i < n; i++)
			put(i, mix[i].to, mix[i].bytes);
		send_all();
		for (unsigned i = 0; i < n; i++)
			expect(i, mix[i].to, mix[i].bytes);
		expect_no_more();
	}
}

static void a_kernel_that_cannot_cut_gets_single_packets(void **state)
{
	burst.plain = true;
	for (unsigned i = 0; i < 5; i++)
		put(i, 0, 45);
	send_all();
	for (unsigned i = 0; i < 5; i++)
		expect(i, 0, 45);
	expect_no_more();
}

static void a_refused_packet_is_marked_and_the_others_leave(void **state)
{
	struct sockaddr_storage nowhere = { .ss_family = AF_INET6 };

	put(0, 0, 45);
	burst_put(&burst, from, &nowhere, 1, (const uint8_t *)"x", 1);
	put(2, 0, 45);
	burst_send(&burst);
	assert_false(burst.packet[0].failed);
	assert_true(burst.packet[1].failed);
	assert_false(burst.packet[2].failed);
	expect(0, 0, 45);
	expect(2, 0, 45);
	burst_clear(&burst);
}

/* One unreachable peer does not cost the others their trains. */
static void a_refused_train_says_nothing_about_the_kernel(void **state)
{
	struct sockaddr_storage nowhere = { .ss_family = AF_INET6 };

	for (unsigned i = 0; i < 3; i++)
		burst_put(&burst, from, &nowhere, i, (const uint8_t *)"x", 1);
	burst_send(&burst);
	for (unsigned i = 0; i < 3; i++)
		assert_true(burst.packet[i].failed);
	assert_false(burst.plain);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(equal_packets_to_one_peer,
						setup, teardown),
		cmocka_unit_test_setup_teardown(
			more_octets_than_a_datagram_holds, setup, teardown),
		cmocka_unit_test_setup_teardown(sizes_and_peers_in_any_mixture,
						setup, teardown),
		cmocka_unit_test_setup_teardown(
			a_kernel_that_cannot_cut_gets_single_packets, setup,
			teardown),
		cmocka_unit_test_setup_teardown(
			a_refused_packet_is_marked_and_the_others_leave, setup,
			teardown),
		cmocka_unit_test_setup_teardown(
			a_refused_train_says_nothing_about_the_kernel, setup,
			teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
