/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The probe says whether io_uring can be used, and why it cannot, in a process
 * of its own under the limit at hand.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <liburing.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cmocka_cr.h"
#include "emulator.h"
#include "forbid.h"
#include "udp/io.h"

enum { USABLE = 10, REFUSED, WORDLESS };

static bool sandboxed(void)
{
	return test_forbid(SYS_io_uring_setup, EPERM);
}

static bool old_kernel(void)
{
	return test_forbid(SYS_io_uring_setup, ENOSYS);
}

static bool half_forbidden(void)
{
	return test_forbid(SYS_io_uring_register, EACCES);
}

static bool out_of_descriptors(void)
{
	const struct rlimit none = { 3, 3 };

	return !setrlimit(RLIMIT_NOFILE, &none);
}

/* The probe's answer in a child, whose message must have @word in it. */
static int answer(bool (*limit)(void), const char *word)
{
	pid_t pid = fork();
	int status;

	assert_true(pid >= 0);
	if (!pid) {
		struct cr_err e = { "" };

		if (limit && !limit())
			_exit(1);
		if (udp_io_uring(&e))
			_exit(USABLE);
		_exit(strstr(e.text, word) ? REFUSED : WORDLESS);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

/* By the kernel's word: it is new enough, and makes a ring. */
static bool expected(void)
{
	struct utsname u;
	struct io_uring ring;
	unsigned major, minor;

	assert_int_equal(uname(&u), 0);
	if (sscanf(u.release, "%u.%u", &major, &minor) != 2 ||
	    major * 100 + minor < 601 || io_uring_queue_init(4, &ring, 0))
		return false;
	io_uring_queue_exit(&ring);
	return true;
}

static void it_is_found_where_it_is(void **state)
{
	struct cr_err why = { "" };
	bool usable = udp_io_uring(&why);

	assert_string_equal(expected() ? why.text : "", "");
	assert_int_equal(usable, expected());
}

static void what_forbids_it_is_named(void **state)
{
	if (emulator_lacks("seccomp"))
		skip();
	assert_int_equal(answer(sandboxed, "seccomp"), REFUSED);
	assert_int_equal(answer(old_kernel, "no io_uring"), REFUSED);
	if (answer(NULL, "") != USABLE)
		return; /* it does not get as far as the others */
	assert_int_equal(answer(half_forbidden, "seccomp"), REFUSED);
	assert_int_equal(answer(out_of_descriptors, "ulimit -n"), REFUSED);
}

static int choose(enum udp_io asked, enum udp_io want, const char *word)
{
	pid_t pid = fork();
	int status;

	assert_true(pid >= 0);
	if (!pid) {
		struct cr_err why = { "" };
		enum udp_io io = UDP_IO_AUTO;
		int rc = sandboxed() ? udp_io_choose(asked, &io, &why) : 1;

		if (word ? !strstr(why.text, word) : *why.text != '\0')
			_exit(WORDLESS);
		_exit(rc == -ENOTSUP	  ? REFUSED
		      : !rc && io == want ? USABLE
					  : 1);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static void a_sandbox_leaves_epoll(void **state)
{
	if (emulator_lacks("seccomp"))
		skip();
	assert_int_equal(choose(UDP_IO_AUTO, UDP_IO_EPOLL, "seccomp"), USABLE);
	assert_int_equal(choose(UDP_IO_EPOLL, UDP_IO_EPOLL, NULL), USABLE);
	assert_int_equal(choose(UDP_IO_URING, UDP_IO_URING, "seccomp"),
			 REFUSED);
}

static void it_leaves_no_descriptor_behind(void **state)
{
	int before = dup(0), after;

	(void)close(before);
	for (int i = 0; i < 3; i++)
		(void)udp_io_uring(NULL);
	after = dup(0);
	(void)close(after);
	assert_int_equal(before, after);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(it_is_found_where_it_is),
		cmocka_unit_test(what_forbids_it_is_named),
		cmocka_unit_test(a_sandbox_leaves_epoll),
		cmocka_unit_test(it_leaves_no_descriptor_behind),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
