/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sockets that cannot be had: the message names the address, or the limit that
 * is reached and how to raise it; and when it is not reached any more, there
 * are sockets again. And how they end.
 */
#define _GNU_SOURCE
#include "loopback.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/descriptors.h"
#include "udp/socket.h"

enum { FIRST = 50000, PORTS = 4, SKIPPED = 77 };

static void an_address_in_use_is_named(void **state)
{
	struct sockaddr_storage at = address_at("127.0.0.1:0");
	socklen_t len = sizeof(at);
	char name[64];
	struct cr_err e = { "" };
	int fd = udp_socket(&at, &e);

	assert_true(fd >= 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&at, &len), 0);
	(void)address_text(&at, name, sizeof(name));
	assert_int_equal(udp_socket(&at, &e), -EADDRINUSE);
	assert_non_null(strstr(e.text, name));
	(void)close(fd);
}

static void an_address_of_others_is_named(void **state)
{
	const struct sockaddr_storage at = address_at("192.0.2.1:5004");
	struct cr_err e = { "" };

	assert_int_equal(udp_socket(&at, &e), -EADDRNOTAVAIL);
	assert_non_null(strstr(e.text, "192.0.2.1:5004"));
}

/* Descriptors: the next one would be beyond the limit. */
static void the_limit_of_descriptors_is_named(void **state)
{
	const struct sockaddr_storage at = address_at("127.0.0.1:0");
	struct rlimit before, none;
	struct cr_err e = { "" };
	char limit[64];
	int fd = udp_socket_small(&at, 1 << 17, &e);

	assert_true(fd >= 0);
	(void)close(fd);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
	none = before;
	none.rlim_cur = (rlim_t)fd;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
	assert_int_equal(udp_socket(&at, &e), -EMFILE);
	(void)snprintf(limit, sizeof(limit), "limit %d (RLIMIT_NOFILE)", fd);
	assert_non_null(strstr(e.text, limit));
	assert_non_null(strstr(e.text, "ulimit -n"));
	assert_int_equal(descriptors_limit(), fd);
	/* any process may raise it as far as it goes */
	descriptors_raise();
	assert_true(descriptors_limit() == before.rlim_max ||
		    before.rlim_max == RLIM_INFINITY);
	fd = udp_socket(&at, &e);
	assert_true(fd >= 0);
	(void)close(fd);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
}

/* A network of our own, with few ports to choose from. */
static bool few_ports(void)
{
	char range[64];
	int fd, n = snprintf(range, sizeof(range), "%d %d", FIRST,
			     FIRST + PORTS - 1);
	bool done;

	if (unshare(CLONE_NEWUSER | CLONE_NEWNET))
		return false;
	fd = open("/proc/sys/net/ipv4/ip_local_port_range",
		  O_WRONLY | O_CLOEXEC);
	done = fd >= 0 && write(fd, range, (size_t)n) == n;
	if (fd >= 0)
		(void)close(fd);
	return done;
}

/* In a child: only a process of one thread may leave its user namespace. What
 * it returns is its exit code. */
static int use_up_the_ports(void)
{
	const struct sockaddr_storage any = address_at("0.0.0.0:0");
	struct cr_err e = { "" };
	int fd[PORTS];

	if (!few_ports())
		return SKIPPED;
	for (unsigned i = 0; i < PORTS; i++) {
		fd[i] = udp_socket_small(&any, 1 << 17, &e);
		if (fd[i] < 0)
			return 1;
	}
	if (udp_socket_small(&any, 1 << 17, &e) != -EADDRINUSE)
		return 2;
	if (!strstr(e.text, "50000-50003") ||
	    !strstr(e.text, "/proc/sys/net/ipv4/ip_local_port_range"))
		return 3;
	(void)close(fd[1]);
	return udp_socket_small(&any, 1 << 17, &e) == fd[1] ? 0 : 4;
}

static void the_range_of_ports_is_named(void **state)
{
	pid_t child = fork();
	int status;

	assert_true(child >= 0);
	if (!child)
		_exit(use_up_the_ports());
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	if (WEXITSTATUS(status) == SKIPPED) {
		print_message("no network namespace of one's own here\n");
		skip();
	}
	assert_int_equal(WEXITSTATUS(status), 0);
}

/* Another stream may still send from it, and RTCP says goodbye: from the same
 * address as before, where it is bound to any. */
static void a_socket_that_has_ended_still_sends(void **state)
{
	const struct sockaddr_storage any = address_at("0.0.0.0:0");
	struct sockaddr_storage before = { 0 }, after = { 0 };
	struct sockaddr_storage to = address_at("127.0.0.1:0");
	socklen_t size = sizeof(before);
	int fd = udp_socket(&any, NULL), peer = udp_socket(&to, NULL);
	char byte = 'x';

	assert_true(fd >= 0 && peer >= 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&before, &size), 0);
	address_set_port(&to, address_port(&before));
	for (unsigned i = 0; i < 3; i++)
		assert_int_equal(
			sendto(peer, &byte, 1, 0, (struct sockaddr *)&to, size),
			1);
	assert_int_equal(udp_socket_end(fd), 3);
	assert_int_equal(recv(fd, &byte, 1, MSG_DONTWAIT), -1);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&after, &size), 0);
	assert_true(address_equal(&before, &after));
	assert_int_equal(getsockname(peer, (struct sockaddr *)&to, &size), 0);
	assert_int_equal(sendto(fd, &byte, 1, 0, (struct sockaddr *)&to, size),
			 1);
	assert_int_equal(recv(peer, &byte, 1, MSG_DONTWAIT), 1);
	(void)close(fd);
	(void)close(peer);
}

/* Else it would be read for ever. */
static void a_flooded_socket_turns_away_what_comes(void **state)
{
	struct sockaddr_storage to = address_at("127.0.0.1:0");
	socklen_t size = sizeof(to);
	int fd = udp_socket(&to, NULL), peer = udp_socket(&to, NULL);
	char byte = 'x';

	assert_true(fd >= 0 && peer >= 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&to, &size), 0);
	for (unsigned i = 0; i < 100; i++)
		assert_int_equal(
			sendto(peer, &byte, 1, 0, (struct sockaddr *)&to, size),
			1);
	assert_int_equal(udp_socket_end(fd), 100);
	(void)sendto(peer, &byte, 1, 0, (struct sockaddr *)&to, size);
	assert_int_equal(recv(fd, &byte, 1, MSG_DONTWAIT), -1);
	(void)close(fd);
	(void)close(peer);
}

/* Without privileges it has what the administrator allows. */
static void a_small_buffer_is_told_with_the_way_out(void **state)
{
	const struct sockaddr_storage at = address_at("127.0.0.1:0");
	const int full = 8 << 20, small = 1 << 16;
	struct cr_err why = { "" };
	int fd = udp_socket(&at, NULL);

	assert_true(fd >= 0);
	if (!setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &full, sizeof(full)))
		assert_false(udp_socket_is_short(fd, &why));
	assert_int_equal(
		setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &small, sizeof(small)),
		0);
	assert_true(udp_socket_is_short(fd, &why));
	assert_string_equal(why.text,
			    "room for 64 KiB instead of 8192 that have come "
			    "and are not received: sysctl "
			    "net.core.rmem_max=8388608, and restart");
	(void)close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_address_in_use_is_named),
		cmocka_unit_test(an_address_of_others_is_named),
		cmocka_unit_test(the_limit_of_descriptors_is_named),
		cmocka_unit_test(the_range_of_ports_is_named),
		cmocka_unit_test(a_socket_that_has_ended_still_sends),
		cmocka_unit_test(a_flooded_socket_turns_away_what_comes),
		cmocka_unit_test(a_small_buffer_is_told_with_the_way_out),
	};

	return cmocka_run_group_tests_name("socket", tests, NULL, NULL);
}
