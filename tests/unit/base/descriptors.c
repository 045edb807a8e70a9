/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Standard input, output and error of who was started without them.
 */
#define _GNU_SOURCE
#include "cmocka_cr.h"

#include <fcntl.h>
#include <stdbool.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/descriptors.h"

static bool is_null(int fd)
{
	struct stat is, null;

	return !fstat(fd, &is) && !stat("/dev/null", &null) &&
	       is.st_rdev == null.st_rdev;
}

/* Without those of @closed (bits), in a child: 0, or what is wrong. */
static int without(unsigned closed)
{
	int next;

	for (int fd = 0; fd <= STDERR_FILENO; fd++) {
		/* something that is not /dev/null */
		if (dup2(open(".", O_RDONLY | O_DIRECTORY), fd) != fd)
			return 1;
	}
	(void)close_range(STDERR_FILENO + 1, ~0u, 0);
	for (int fd = 0; fd <= STDERR_FILENO; fd++)
		if (closed & 1u << fd)
			(void)close(fd);
	if (descriptors_standard())
		return 2;
	for (int fd = 0; fd <= STDERR_FILENO; fd++)
		if (is_null(fd) != !!(closed & 1u << fd))
			return 3;
	next = open(".", O_RDONLY | O_DIRECTORY);
	return next == STDERR_FILENO + 1 ? 0 : 4;
}

static void those_that_are_closed_are_no_file_of_ours(void **state)
{
	for (unsigned closed = 0; closed < 8; closed++) {
		pid_t pid = fork();
		int status;

		assert_true(pid >= 0);
		if (!pid)
			_exit(without(closed));
		assert_int_equal(waitpid(pid, &status, 0), pid);
		assert_int_equal(status, 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(those_that_are_closed_are_no_file_of_ours),
	};

	return cmocka_run_group_tests_name("descriptors", tests, NULL, NULL);
}
