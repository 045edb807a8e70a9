/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Messages to a service manager: a socket of a path or of the abstract
 * namespace, read as systemd reads it.
 */
#define _GNU_SOURCE
#include "cmocka_cr.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "observe/notify.h"
#include "scratch.h"

/* A manager's socket at @name; '@' is of the abstract namespace. */
static int manager(const char *name)
{
	struct sockaddr_un at = { .sun_family = AF_UNIX };
	socklen_t len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) +
				    strlen(name));
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK, 0);

	assert_true(fd >= 0);
	memcpy(at.sun_path, name, strlen(name));
	if (name[0] == '@')
		at.sun_path[0] = '\0';
	assert_int_equal(bind(fd, (struct sockaddr *)&at, len), 0);
	return fd;
}

static void expect(int fd, const char *want)
{
	char got[256] = "";

	assert_int_equal(read(fd, got, sizeof(got) - 1), strlen(want));
	assert_string_equal(got, want);
}

static void expect_nothing(int fd)
{
	char byte;

	assert_int_equal(read(fd, &byte, 1), -1);
	assert_int_equal(errno, EAGAIN);
}

static void report_by(const char *name)
{
	struct cr_err e = { "" };
	struct notify n;
	int fd = manager(name);

	assert_int_equal(setenv("NOTIFY_SOCKET", name, 1), 0);
	assert_int_equal(notify_open(&n, &e), 0);
	assert_null(getenv("NOTIFY_SOCKET"));
	assert_int_equal(notify_send(&n, "READY=1\nSTATUS=%d calls", 7), 0);
	expect(fd, "READY=1\nSTATUS=7 calls");
	assert_int_equal(notify_send(&n, "STOPPING=1"), 0);
	expect(fd, "STOPPING=1");
	notify_close(&n);
	assert_int_equal(notify_send(&n, "READY=1"), 0);
	expect_nothing(fd);
	(void)close(fd);
}

static void it_is_told_by_a_path(void **state)
{
	char name[SCRATCH_MAX + 16], folder[SCRATCH_MAX];

	(void)snprintf(name, sizeof(name), "%s/notify", scratch_folder(folder));
	report_by(name);
}

static void and_by_an_abstract_name(void **state)
{
	char name[64];

	(void)snprintf(name, sizeof(name), "@cr-notify-%d", (int)getpid());
	report_by(name);
}

/* The name fills sun_path: an abstract one to the last byte, a path needs its
 * NUL. */
static void the_longest_name_is_taken_and_no_longer_one(void **state)
{
	char name[sizeof(((struct sockaddr_un *)0)->sun_path) + 2];
	struct cr_err e = { "" };
	struct notify n;

	memset(name, 'x', sizeof(name));
	(void)snprintf(name, 16, "@%d", (int)getpid());
	name[strlen(name)] = '-';
	name[sizeof(name) - 2] = '\0';
	report_by(name);
	name[sizeof(name) - 2] = 'x';
	name[sizeof(name) - 1] = '\0';
	assert_int_equal(setenv("NOTIFY_SOCKET", name, 1), 0);
	assert_int_equal(notify_open(&n, &e), -ENAMETOOLONG);
	name[sizeof(name) - 2] = '\0';
	name[0] = '/';
	assert_int_equal(setenv("NOTIFY_SOCKET", name, 1), 0);
	assert_int_equal(notify_open(&n, &e), -ENAMETOOLONG);
	assert_int_equal(n.fd, -1);
}

static void without_a_manager_nothing_is_done(void **state)
{
	struct cr_err e = { "" };
	struct notify n;

	assert_int_equal(unsetenv("NOTIFY_SOCKET"), 0);
	assert_int_equal(setenv("WATCHDOG_USEC", "1000", 1), 0);
	assert_int_equal(notify_open(&n, &e), 0);
	assert_int_equal(n.watchdog, 0);
	assert_int_equal(notify_send(&n, "READY=1"), 0);
	notify_close(&n);
	/* a host's socket, for reports of virtual machines, is none of ours */
	assert_int_equal(setenv("NOTIFY_SOCKET", "vsock:2:1234", 1), 0);
	assert_int_equal(notify_open(&n, &e), -EAFNOSUPPORT);
	assert_non_null(strstr(e.text, "vsock:2:1234"));
	assert_int_equal(notify_send(&n, "READY=1"), 0);
}

static cr_ns watchdog_of(const char *usec, const char *pid)
{
	struct cr_err e = { "" };
	struct notify n;

	assert_int_equal(setenv("NOTIFY_SOCKET", "/nowhere", 1), 0);
	assert_int_equal(setenv("WATCHDOG_USEC", usec, 1), 0);
	if (pid)
		assert_int_equal(setenv("WATCHDOG_PID", pid, 1), 0);
	assert_int_equal(notify_open(&n, &e), 0);
	assert_null(getenv("WATCHDOG_USEC"));
	assert_null(getenv("WATCHDOG_PID"));
	assert_int_equal(notify_send(&n, "WATCHDOG=1"), -ENOENT);
	notify_close(&n);
	return n.watchdog;
}

static void the_watchdog_is_of_this_process_and_a_number(void **state)
{
	char pid[16];

	(void)snprintf(pid, sizeof(pid), "%d", (int)getpid());
	assert_int_equal(watchdog_of("30000000", NULL), 30 * CR_SEC);
	assert_int_equal(watchdog_of("30000000", pid), 30 * CR_SEC);
	assert_int_equal(watchdog_of("30000000", ""), 30 * CR_SEC);
	assert_int_equal(watchdog_of("30000000", "1"), 0);
	assert_int_equal(watchdog_of("soon", NULL), 0);
	assert_int_equal(watchdog_of("", NULL), 0);
	assert_int_equal(watchdog_of("-1", NULL), 0);
	assert_int_equal(watchdog_of("9223372036854775807", NULL), 0);
	assert_int_equal(watchdog_of("99999999999999999999", NULL), 0);
}

/* A manager that does not read takes what its buffer holds, whole. */
static void nobody_waits_for_a_manager_that_does_not_read(void **state)
{
	char name[64], got[256];
	unsigned long sent = 0, heard = 0;
	struct cr_err e = { "" };
	struct notify n;
	int fd, err;

	(void)snprintf(name, sizeof(name), "@cr-deaf-%d", (int)getpid());
	fd = manager(name);
	assert_int_equal(setenv("NOTIFY_SOCKET", name, 1), 0);
	assert_int_equal(notify_open(&n, &e), 0);
	while (!(err = notify_send(&n, "WATCHDOG=1")))
		sent++;
	assert_int_equal(err, -EAGAIN);
	while (read(fd, got, sizeof(got)) == 10)
		heard++;
	assert_true(sent > 0);
	assert_int_equal(heard, sent);
	assert_int_equal(notify_send(&n, "%1024s", ""), -EMSGSIZE);
	expect_nothing(fd);
	notify_close(&n);
	(void)close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(it_is_told_by_a_path),
		cmocka_unit_test(and_by_an_abstract_name),
		cmocka_unit_test(the_longest_name_is_taken_and_no_longer_one),
		cmocka_unit_test(without_a_manager_nothing_is_done),
		cmocka_unit_test(the_watchdog_is_of_this_process_and_a_number),
		cmocka_unit_test(nobody_waits_for_a_manager_that_does_not_read),
	};

	return cmocka_run_group_tests_name("notify", tests, NULL, NULL);
}
