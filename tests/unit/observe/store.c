/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Descriptors that a manager holds: a socket reads what it would be sent, and
 * what it has passes to the next process by the environment.
 */
#define _GNU_SOURCE
#include "cmocka_cr.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "observe/store.h"

static char address[64];

/* The manager's socket. */
static int open_manager(void)
{
	struct sockaddr_un at = { .sun_family = AF_UNIX };
	static unsigned count;
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK, 0);

	(void)snprintf(address, sizeof(address), "@cr-store-%d-%u",
		       (int)getpid(), count++);
	memcpy(at.sun_path, address, strlen(address));
	at.sun_path[0] = '\0';
	assert_true(fd >= 0);
	assert_int_equal(
		bind(fd, (struct sockaddr *)&at,
		     (socklen_t)(offsetof(struct sockaddr_un, sun_path) +
				 strlen(address))),
		0);
	return fd;
}

static void set_number(const char *name, long value)
{
	char text[24];

	(void)snprintf(text, sizeof(text), "%ld", value);
	assert_int_equal(setenv(name, text, 1), 0);
}

static void open_store(struct notify *n, long max)
{
	struct cr_err e = { "" };

	assert_int_equal(setenv("NOTIFY_SOCKET", address, 1), 0);
	if (max)
		set_number("FDSTORE", max);
	assert_int_equal(notify_open(n, &e), 0);
	assert_null(getenv("FDSTORE"));
}

/* Returns the descriptor that came with @want, or -1. */
static int expect(int manager, const char *want)
{
	char text[256] = "", space[CMSG_SPACE(sizeof(int))];
	struct iovec iov = { text, sizeof(text) - 1 };
	struct msghdr m = { .msg_iov = &iov,
			    .msg_iovlen = 1,
			    .msg_control = space,
			    .msg_controllen = sizeof(space) };
	const struct cmsghdr *c;
	int fd = -1;

	assert_true(recvmsg(manager, &m, 0) > 0);
	assert_string_equal(text, want);
	c = CMSG_FIRSTHDR(&m);
	if (c)
		memcpy(&fd, CMSG_DATA(c), sizeof(fd));
	return fd;
}

static void expect_nothing(int manager)
{
	char byte;

	assert_int_equal(read(manager, &byte, 1), -1);
	assert_int_equal(errno, EAGAIN);
}

static bool same_file(int a, int b)
{
	struct stat x, y;

	return !fstat(a, &x) && !fstat(b, &y) && x.st_ino == y.st_ino;
}

static bool is_open(int fd)
{
	return fcntl(fd, F_GETFD) >= 0;
}

static void a_pair_is_put_and_removed_by_its_name(void **state)
{
	int manager = open_manager(), pair[2], got;
	struct store_stats s;
	struct notify n;

	assert_int_equal(pipe(pair), 0);
	open_store(&n, 10);
	assert_true(store_on(&n));
	assert_int_equal(store_put(&n, "call-7.a", pair, 2), 0);
	got = expect(manager, "FDSTORE=1\nFDPOLL=0\nFDNAME=call-7.a+0.2");
	assert_true(same_file(got, pair[0]));
	(void)close(got);
	got = expect(manager, "FDSTORE=1\nFDPOLL=0\nFDNAME=call-7.a+1.2");
	(void)close(got);
	store_stats(&n, &s);
	assert_int_equal(s.names, 1);
	assert_int_equal(s.held, 2);
	store_remove(&n, "call-7.a");
	(void)expect(manager, "FDSTOREREMOVE=1\nFDNAME=call-7.a+1.2");
	(void)expect(manager, "FDSTOREREMOVE=1\nFDNAME=call-7.a+0.2");
	store_remove(&n, "call-7.a");
	expect_nothing(manager);
	assert_true(is_open(pair[0]) && is_open(pair[1]));
	store_stats(&n, &s);
	assert_int_equal(s.names + s.held, 0);
	notify_close(&n);
	(void)close(pair[0]), (void)close(pair[1]), (void)close(manager);
}

static void a_second_put_replaces_the_first(void **state)
{
	int manager = open_manager(), pair[2];
	struct notify n;

	assert_int_equal(pipe(pair), 0);
	open_store(&n, 10);
	assert_int_equal(store_put(&n, "x", pair, 2), 0);
	(void)close(expect(manager, "FDSTORE=1\nFDPOLL=0\nFDNAME=x+0.2"));
	(void)close(expect(manager, "FDSTORE=1\nFDPOLL=0\nFDNAME=x+1.2"));
	assert_int_equal(store_put(&n, "x", pair, 1), 0);
	(void)expect(manager, "FDSTOREREMOVE=1\nFDNAME=x+1.2");
	(void)expect(manager, "FDSTOREREMOVE=1\nFDNAME=x+0.2");
	(void)close(expect(manager, "FDSTORE=1\nFDPOLL=0\nFDNAME=x+0.1"));
	expect_nothing(manager);
	notify_close(&n);
	(void)close(pair[0]), (void)close(pair[1]), (void)close(manager);
}

static void names_numbers_and_the_limit_are_checked(void **state)
{
	char longest[STORE_NAME_MAX + 1];
	int manager = open_manager(), fd = STDIN_FILENO, two[2] = { 0, 1 };
	struct store_stats s;
	struct notify n;

	memset(longest, 'x', sizeof(longest));
	longest[STORE_NAME_MAX] = '\0';
	open_store(&n, 2);
	assert_int_equal(store_put(&n, "", &fd, 1), -EINVAL);
	assert_int_equal(store_put(&n, "a+0", &fd, 1), -EINVAL);
	assert_int_equal(store_put(&n, "a:b", &fd, 1), -EINVAL);
	assert_int_equal(store_put(&n, "a\nb", &fd, 1), -EINVAL);
	assert_int_equal(store_put(&n, longest, &fd, 1), -EINVAL);
	assert_int_equal(store_put(&n, "a", &fd, 0), -EINVAL);
	assert_int_equal(store_put(&n, "a", &fd, STORE_FDS_MAX + 1), -EINVAL);
	expect_nothing(manager);
	assert_int_equal(store_put(&n, "a", &fd, 1), 0);
	assert_int_equal(store_put(&n, "b", two, 2), -ENOSPC);
	assert_int_equal(store_put(&n, "a", two, 2), 0);
	assert_int_equal(store_put(&n, "b", &fd, 1), -ENOSPC);
	store_remove(&n, "a");
	assert_int_equal(store_put(&n, "b", &fd, 1), 0);
	store_stats(&n, &s);
	assert_int_equal(s.refused, 2);
	assert_int_equal(s.held, 1);
	notify_close(&n);
	(void)close(manager);
}

static unsigned asked;

static void on_wait(void *arg)
{
	assert_ptr_equal(arg, &asked);
	asked++;
}

/* The manager reads nothing at first: it hears all in the end, but for what was
 * put and removed meanwhile. */
static void what_a_full_queue_does_not_take_is_sent_later(void **state)
{
	enum { CALLS = 5000 };
	int manager = open_manager(), fd = STDIN_FILENO;
	unsigned puts = 0, removes = 0;
	struct store_stats s;
	char name[16], text[256], space[CMSG_SPACE(sizeof(int))];
	struct notify n;
	bool waits;

	asked = 0;
	open_store(&n, CALLS);
	store_on_wait(&n, on_wait, &asked);
	for (unsigned i = 0; i < CALLS; i++) {
		(void)snprintf(name, sizeof(name), "c%u", i);
		assert_int_equal(store_put(&n, name, &fd, 1), 0);
	}
	assert_int_equal(asked, 1);
	store_remove(&n, "c0");
	(void)snprintf(name, sizeof(name), "c%u", CALLS - 1);
	store_remove(&n, name);
	store_stats(&n, &s);
	assert_true(s.waiting > 0 && s.late >= s.waiting);
	do {
		struct iovec iov = { text, sizeof(text) - 1 };
		struct msghdr m = { .msg_iov = &iov,
				    .msg_iovlen = 1,
				    .msg_control = space,
				    .msg_controllen = sizeof(space) };

		waits = store_retry(&n);
		while (recvmsg(manager, &m, 0) > 0) {
			const struct cmsghdr *c = CMSG_FIRSTHDR(&m);
			int got;

			puts += c != NULL;
			removes += !c;
			if (c) {
				memcpy(&got, CMSG_DATA(c), sizeof(got));
				(void)close(got);
			}
			m.msg_controllen = sizeof(space);
		}
	} while (waits);
	assert_int_equal(puts, CALLS - 1);
	assert_int_equal(removes, 1);
	store_stats(&n, &s);
	assert_int_equal(s.waiting, 0);
	assert_int_equal(s.names, CALLS - 2);
	notify_close(&n);
	(void)close(manager);
}

/* Descriptors 3 and on are those of pipes, in this order. */
static void pass(const char *names, unsigned count, long pid)
{
	for (unsigned i = 0; i < count; i++) {
		int pair[2];

		assert_int_equal(pipe(pair), 0);
		(void)close(pair[1]);
		assert_int_equal(dup2(pair[0], 100 + (int)i), 100 + (int)i);
		(void)close(pair[0]);
	}
	for (unsigned i = 0; i < count; i++)
		assert_int_equal(dup2(100 + (int)i, 3 + (int)i), 3 + (int)i);
	set_number("LISTEN_PID", pid);
	set_number("LISTEN_FDS", count);
	assert_int_equal(setenv("LISTEN_FDNAMES", names, 1), 0);
}

static void unpass(unsigned count)
{
	for (unsigned i = 0; i < count; i++) {
		(void)close(100 + (int)i);
		(void)close(3 + (int)i);
	}
}

static void note_name(void *arg, const char *name)
{
	strcat(strcat(arg, name), " ");
}

/* Nothing else is open there: cmocka has the first three alone. */
static void what_was_passed_is_taken_by_name_and_in_order(void **state)
{
	char names[64] = "";
	int manager, fd[4];
	struct notify n;

	pass("b+1.2:half+0.2:a+0.1:stored:b+0.2:old+0.1", 6, getpid());
	manager = open_manager();
	open_store(&n, 10);
	assert_null(getenv("LISTEN_FDS"));
	assert_null(getenv("LISTEN_PID"));
	assert_null(getenv("LISTEN_FDNAMES"));
	assert_false(is_open(6)); /* of another's name */
	assert_int_equal(store_take(&n, "b", fd, 1), 0);
	assert_int_equal(store_take(&n, "b", fd, 4), 2);
	assert_int_equal(fd[0], 7);
	assert_int_equal(fd[1], 3);
	assert_int_equal(fcntl(3, F_GETFD), FD_CLOEXEC);
	assert_int_equal(store_take(&n, "b", fd, 4), 0);
	assert_int_equal(store_take(&n, "half", fd, 4), 0);
	assert_int_equal(store_take(&n, "none", fd, 4), 0);
	assert_int_equal(store_take(&n, "a", fd, 4), 1);
	store_each(&n, note_name, names);
	assert_string_equal(names, "half old ");
	expect_nothing(manager);
	assert_int_equal(store_close_rest(&n), 3);
	(void)expect(manager, "FDSTOREREMOVE=1\nFDNAME=half+1.2");
	(void)expect(manager, "FDSTOREREMOVE=1\nFDNAME=half+0.2");
	(void)expect(manager, "FDSTOREREMOVE=1\nFDNAME=old+0.1");
	assert_false(is_open(4));
	assert_false(is_open(8));
	assert_true(is_open(3) && is_open(5) && is_open(7));
	/* one that was taken is removed as one that was put */
	store_remove(&n, "a");
	(void)expect(manager, "FDSTOREREMOVE=1\nFDNAME=a+0.1");
	assert_true(is_open(5));
	expect_nothing(manager);
	notify_close(&n);
	(void)close(manager);
	unpass(6);
}

static void what_is_forgotten_is_the_managers_and_may_be_passed_again(
	void **state)
{
	int manager, fd, again;
	struct notify n;

	pass("a+0.1", 1, getpid());
	manager = open_manager();
	open_store(&n, 1);
	assert_int_equal(store_take(&n, "a", &fd, 1), 1);
	again = dup(fd);
	store_pass(&n, "a", &again, 1);
	assert_false(is_open(again));
	store_forget(&n, "a");
	again = dup(fd);
	store_pass(&n, "a", &again, 1);
	store_forget(&n, "a");
	assert_false(is_open(again));
	again = dup(fd);
	store_pass(&n, "a", &again, 1);
	assert_int_equal(store_take(&n, "a", &fd, 1), 1);
	assert_int_equal(fd, again);
	expect_nothing(manager);
	notify_close(&n);
	(void)close(fd);
	(void)close(manager);
	unpass(1);
}

static void without_a_store_nothing_is_sent_and_nothing_stays_open(void **state)
{
	int manager, fd = STDIN_FILENO;
	struct store_stats s;
	struct notify n;

	/* of another process: they are its own */
	pass("a+0.1", 1, getpid() + 1L);
	manager = open_manager();
	open_store(&n, 0);
	assert_false(store_on(&n));
	assert_true(is_open(3));
	assert_int_equal(store_put(&n, "a", &fd, 1), 0);
	store_remove(&n, "a");
	assert_int_equal(store_take(&n, "a", &fd, 1), 0);
	assert_int_equal(store_close_rest(&n), 0);
	assert_false(store_retry(&n));
	store_stats(&n, &s);
	assert_int_equal(s.names, 0);
	expect_nothing(manager);
	notify_close(&n);
	(void)close(manager);
	unpass(1);
	/* of this one, but there is nobody to hold them */
	pass("a+0.1", 1, getpid());
	manager = open_manager();
	open_store(&n, 0);
	assert_false(is_open(3));
	notify_close(&n);
	(void)close(manager);
	unpass(1);
}

static void a_manager_that_is_gone_is_asked_again(void **state)
{
	int manager = open_manager(), fd = STDIN_FILENO;
	struct store_stats s;
	struct notify n;

	open_store(&n, 10);
	(void)close(manager);
	assert_int_equal(store_put(&n, "a", &fd, 1), 0);
	assert_true(store_retry(&n));
	store_stats(&n, &s);
	assert_int_equal(s.waiting, 1);
	assert_int_equal(s.late, 1);
	store_remove(&n, "a");
	/* the manager has never heard of it */
	assert_false(store_retry(&n));
	store_stats(&n, &s);
	assert_int_equal(s.names, 0);
	notify_close(&n);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_pair_is_put_and_removed_by_its_name),
		cmocka_unit_test(a_second_put_replaces_the_first),
		cmocka_unit_test(names_numbers_and_the_limit_are_checked),
		cmocka_unit_test(what_a_full_queue_does_not_take_is_sent_later),
		cmocka_unit_test(what_was_passed_is_taken_by_name_and_in_order),
		cmocka_unit_test(
			what_is_forgotten_is_the_managers_and_may_be_passed_again),
		cmocka_unit_test(
			without_a_store_nothing_is_sent_and_nothing_stays_open),
		cmocka_unit_test(a_manager_that_is_gone_is_asked_again),
	};

	return cmocka_run_group_tests_name("store", tests, NULL, NULL);
}
