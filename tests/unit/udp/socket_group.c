/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A group of sockets shares out what comes to its address by a number in the
 * datagrams, and lets nobody else in. Where the kernel cannot do that, there is
 * one socket (the linker's --wrap refuses for the kernel).
 */
#define _GNU_SOURCE
#include <errno.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "loopback.h"
#include "emulator.h"
#include "udp/socket.h"

enum { N = 3, OFFSET = 8, DATAGRAMS = 3000 };

static int refused_option;

int __real_setsockopt(int fd, int level, int name, const void *value,
		      socklen_t len);
int __wrap_setsockopt(int fd, int level, int name, const void *value,
		      socklen_t len);

int __wrap_setsockopt(int fd, int level, int name, const void *value,
		      socklen_t len)
{
	if (level == SOL_SOCKET && name == refused_option) {
		errno = ENOPROTOOPT;
		return -1;
	}
	return __real_setsockopt(fd, level, name, value, len);
}

/* Who has the address, and for how many naps more; nobody sleeps. */
static struct {
	int fd;
	unsigned naps, taken;
} holder;

int __wrap_nanosleep(const struct timespec *time, struct timespec *rest);

int __wrap_nanosleep(const struct timespec *time, struct timespec *rest)
{
	(void)time, (void)rest;
	holder.taken++;
	if (holder.naps && !--holder.naps)
		(void)close(holder.fd);
	return 0;
}

struct group {
	int fd[N];
	unsigned n;
	struct sockaddr_storage at;
};

static struct sockaddr_storage local(int fd)
{
	struct sockaddr_storage a;
	socklen_t len = sizeof(a);

	assert_int_equal(getsockname(fd, (struct sockaddr *)&a, &len), 0);
	return a;
}

static void open_group(struct group *g, unsigned n, struct cr_err *warn)
{
	struct sockaddr_storage a = address_at("127.0.0.1:0");
	struct cr_err e = { "" };
	int got = udp_socket_group(&a, n, OFFSET, g->fd, warn, &e);

	if (got < 0)
		fail_msg("%s", e.text);
	g->n = (unsigned)got;
	g->at = local(g->fd[0]);
}

static void close_group(struct group *g)
{
	for (unsigned i = 0; i < g->n; i++)
		(void)close(g->fd[i]);
}

static bool shares(int fd)
{
	int on = -1;
	socklen_t len = sizeof(on);

	assert_int_equal(getsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &on, &len),
			 0);
	return on;
}

static void send_word(int fd, const struct sockaddr_storage *to, uint32_t word,
		      size_t bytes)
{
	uint8_t data[172] = { 0x80 };

	for (unsigned i = 0; i < 4; i++)
		data[OFFSET + i] = (uint8_t)(word >> (24 - 8 * i));
	assert_int_equal(sendto(fd, data, bytes, 0, (const struct sockaddr *)to,
				address_length(to)),
			 bytes);
}

/* Is there exactly one, and at number @i? */
static void expect_at(const struct group *g, unsigned i)
{
	uint8_t data[200];

	for (unsigned k = 0; k < g->n; k++)
		assert_int_equal(recv(g->fd[k], data, sizeof(data), 0) > 0,
				 k == i);
}

static void a_datagram_goes_where_its_number_says(void **state)
{
	struct sockaddr_storage a = address_at("127.0.0.1:0");
	struct cr_err warn = { "" };
	int peer = udp_socket(&a, NULL);
	struct group g;

	if (emulator_lacks("SO_ATTACH_REUSEPORT_CBPF"))
		skip();
	open_group(&g, N, &warn);
	assert_int_equal(g.n, N);
	assert_string_equal(warn.text, "");
	for (unsigned i = 1; i < N; i++) {
		struct sockaddr_storage at = local(g.fd[i]);

		assert_true(address_equal(&at, &g.at));
	}
	for (uint32_t k = 0; k < DATAGRAMS; k++) {
		uint32_t word = k * 2654435761u;

		send_word(peer, &g.at, word, 172);
		expect_at(&g, word % N);
	}
	/* no whole word: what it would be in longer ones does not count */
	for (size_t bytes = 0; bytes < OFFSET + 4; bytes++) {
		send_word(peer, &g.at, 0x01010101, bytes);
		if (bytes)
			expect_at(&g, 0);
		else
			assert_int_equal(recv(g.fd[0], &a, sizeof(a), 0), 0);
	}
	(void)close(peer);
	close_group(&g);
}

static void the_address_is_refused_to_others(void **state)
{
	struct cr_err warn = { "" }, e = { "" };
	int fd[N];

	for (unsigned n = 1; n <= N; n += N - 1) {
		struct group g;

		open_group(&g, n, &warn);
		for (unsigned theirs = 1; theirs <= N; theirs++)
			assert_int_equal(udp_socket_group(&g.at, theirs, OFFSET,
							  fd, &warn, &e),
					 -EADDRINUSE);
		assert_int_equal(udp_socket(&g.at, &e), -EADDRINUSE);
		close_group(&g);
	}
}

static void who_is_about_to_go_is_waited_for(void **state)
{
	struct cr_err warn = { "" }, e = { "" };
	struct sockaddr_storage at = address_at("127.0.0.1:0");
	struct group g = { .n = 0 };

	if (emulator_lacks("SO_ATTACH_REUSEPORT_CBPF"))
		skip();
	holder.fd = udp_socket(&at, &e);
	assert_true(holder.fd >= 0);
	at = local(holder.fd);
	holder.naps = 3;
	holder.taken = 0;
	assert_int_equal(udp_socket_group(&at, N, OFFSET, g.fd, &warn, &e), N);
	assert_int_equal(holder.taken, 3);
	g.n = N;
	close_group(&g);
}

static void one_socket_shares_nothing(void **state)
{
	struct cr_err warn = { "" }, e = { "" };
	struct group g;

	open_group(&g, 1, &warn);
	assert_int_equal(g.n, 1);
	assert_false(shares(g.fd[0]));
	assert_int_equal(udp_socket_shared(&g.at, &e), -EADDRINUSE);
	close_group(&g);
}

static void falls_back_without(int option)
{
	struct sockaddr_storage a = address_at("127.0.0.1:0");
	struct cr_err warn = { "" }, e = { "" };
	int peer = udp_socket(&a, NULL);
	struct group g;

	refused_option = option;
	open_group(&g, N, &warn);
	refused_option = 0;
	assert_int_equal(g.n, 1);
	assert_non_null(strstr(warn.text, "one receiver"));
	assert_false(shares(g.fd[0]));
	assert_int_equal(udp_socket_shared(&g.at, &e), -EADDRINUSE);
	for (uint32_t k = 0; k < N; k++) {
		send_word(peer, &g.at, k, 172);
		expect_at(&g, 0);
	}
	(void)close(peer);
	close_group(&g);
}

static void what_the_kernel_lacks_leaves_one_socket(void **state)
{
	falls_back_without(SO_ATTACH_REUSEPORT_CBPF);
	falls_back_without(SO_REUSEPORT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_datagram_goes_where_its_number_says),
		cmocka_unit_test(the_address_is_refused_to_others),
		cmocka_unit_test(who_is_about_to_go_is_waited_for),
		cmocka_unit_test(one_socket_shares_nothing),
		cmocka_unit_test(what_the_kernel_lacks_leaves_one_socket),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
