/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every packet comes out of an intake once, whole and in order, with its
 * sender and its time, however the kernel bundled them.
 */
#include <string.h>
#include <unistd.h>

#include "base/address.h"
#include "base/clock.h"
#include "cmocka_cr.h"
#include "emulator.h"
#include "udp/burst.h"
#include "udp/inlet.h"
#include "udp/socket.h"

static struct burst burst; /* 64 KiB: not for the stack */
static struct intake *in;
static int from, to; /* negative: this machine has no IPv6 */
static struct sockaddr_storage at, sender;

static int open_socket(const char *host, struct sockaddr_storage *local)
{
	socklen_t len = sizeof(*local);
	int fd;

	assert_int_equal(address_parse(host, local), 0);
	fd = udp_socket(local, NULL);
	if (fd >= 0)
		assert_int_equal(
			getsockname(fd, (struct sockaddr *)local, &len), 0);
	return fd;
}

static void open_all(const char *host)
{
	memset(&burst, 0, sizeof(burst));
	from = open_socket(host, &sender);
	to = open_socket(host, &at);
	in = intake_open();
	assert_non_null(in);
}

static int setup(void **state)
{
	open_all("127.0.0.1:0");
	assert_true(from >= 0 && to >= 0);
	return 0;
}

static int setup_v6(void **state)
{
	open_all("[::1]:0");
	return 0;
}

static int teardown(void **state)
{
	intake_close(in);
	(void)close(from);
	(void)close(to);
	return 0;
}

/* Packet @number says who it is in its first octet. */
static void put(unsigned number, size_t bytes)
{
	uint8_t data[BURST_BYTES];

	memset(data, (int)(number * 7), sizeof(data));
	data[0] = (uint8_t)number;
	if (burst_full(&burst)) {
		burst_send(&burst);
		burst_clear(&burst);
	}
	burst_put(&burst, from, &at, number, data, bytes);
}

static void leave(void)
{
	burst_send(&burst);
	burst_clear(&burst);
}

static void expect(unsigned number, size_t bytes, cr_ns since)
{
	struct intake_packet p;

	while (!intake_next(in, &p))
		assert_true(intake_receive(in, to));
	assert_int_equal(p.bytes, bytes);
	assert_true(address_equal(p.from, &sender));
	/* two clocks are compared, a moment apart */
	assert_true(p.arrival >= since - CR_MS && p.arrival <= clock_now());
	if (bytes)
		assert_int_equal(p.data[0], (uint8_t)number);
	for (size_t i = 1; i < bytes; i++)
		assert_int_equal(p.data[i], (uint8_t)(number * 7));
}

static void expect_no_more(void)
{
	struct intake_packet p;

	assert_false(intake_next(in, &p));
	assert_false(intake_receive(in, to));
	assert_false(intake_next(in, &p));
}

static const size_t sizes[] = { 45, 45, 45, 19, 19,   45, 172, 0,
				0,  1,	1,  1,	2048, 12, 45 };
#define NSIZES (sizeof(sizes) / sizeof(sizes[0]))

static void send_and_expect(void)
{
	cr_ns since = clock_now();

	for (unsigned i = 0; i < 2 * NSIZES; i++)
		put(i, sizes[i % NSIZES]);
	leave();
	for (unsigned i = 0; i < 2 * NSIZES; i++)
		expect(i, sizes[i % NSIZES], since);
	expect_no_more();
}

static void datagrams_come_one_by_one(void **state)
{
	burst.plain = true;
	send_and_expect();
	send_and_expect();
}

static void trains_are_taken_apart(void **state)
{
	intake_take_trains(to);
	send_and_expect();
	send_and_expect();
}

static void trains_of_ipv6_are_taken_apart(void **state)
{
	if (from < 0 || to < 0)
		skip();
	trains_are_taken_apart(state);
}

/* More packets than a batch has places. */
static void a_train_takes_one_place(void **state)
{
	struct intake_packet p;
	unsigned n = 0;

	intake_take_trains(to);
	for (unsigned i = 0; i < 200; i++)
		put(i, 45);
	leave();
	assert_false(burst.plain);
	assert_true(intake_receive(in, to));
	assert_false(intake_full(in));
	for (; intake_next(in, &p); n++)
		assert_int_equal(p.data[0], n);
	assert_int_equal(n, 200);
	expect_no_more();
}

/* More than one system call's worth. */
static void a_full_batch_says_so(void **state)
{
	struct intake_packet p;
	unsigned n = 0;

	burst.plain = true;
	for (unsigned i = 0; i < 200; i++)
		put(i, 45);
	leave();
	while (intake_receive(in, to)) {
		unsigned before = n;

		for (; intake_next(in, &p); n++)
			assert_int_equal(p.data[0], n);
		assert_int_equal(intake_full(in), n < 200);
		assert_true(n > before);
	}
	assert_int_equal(n, 200);
	assert_int_equal(intake_drops(in), 0);
}

static void what_the_kernel_dropped_is_told(void **state)
{
	int small = 1; /* the kernel makes it its least */
	struct intake_packet p;
	unsigned n = 0, sent = 400;
	uint32_t drops;

	if (emulator_lacks("SO_RXQ_OVFL"))
		skip();
	assert_int_equal(
		setsockopt(to, SOL_SOCKET, SO_RCVBUF, &small, sizeof(small)),
		0);
	burst.plain = true;
	for (unsigned i = 0; i < sent; i++)
		put(i, 45);
	leave();
	while (intake_receive(in, to))
		while (intake_next(in, &p))
			n++;
	assert_true(n > 0 && n < sent);
	/* a later packet carries the count */
	put(0, 45);
	leave();
	assert_true(intake_receive(in, to));
	assert_true(intake_next(in, &p));
	drops = intake_drops(in);
	assert_int_equal(drops, sent - n);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(datagrams_come_one_by_one),
		TEST(trains_are_taken_apart),
		cmocka_unit_test_setup_teardown(trains_of_ipv6_are_taken_apart,
						setup_v6, teardown),
		TEST(a_train_takes_one_place),
		TEST(a_full_batch_says_so),
		TEST(what_the_kernel_dropped_is_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
