/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where a trace may go: into a file, and into nothing whose reader could hold
 * up who writes, also where that comes just before the file is opened.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cmocka_cr.h"
#include "observe/trace_writer.h"
#include "scratch.h"

#define HEADER "{\"scheduler\":\"edf\"}"

static struct fixture {
	char path[SCRATCH_MAX + 8]; /* in a folder of its own */
	struct trace *t;
	struct cr_err e;
} fx;

/* Put a pipe in the file's place before it is opened. */
static bool swap;

int __real_open(const char *path, int flags, ...);
int __wrap_open(const char *path, int flags, ...);

int __wrap_open(const char *path, int flags, ...)
{
	va_list more;
	mode_t mode;

	va_start(more, flags);
	mode = flags & O_CREAT ? va_arg(more, mode_t) : 0;
	va_end(more);
	if (swap && !strcmp(path, fx.path)) {
		(void)unlink(path);
		assert_int_equal(mkfifo(path, 0600), 0);
	}
	return __real_open(path, flags, mode);
}

static int set_up(void **state)
{
	char dir[SCRATCH_MAX];

	swap = false;
	(void)snprintf(fx.path, sizeof(fx.path), "%s/t.bin",
		       scratch_folder(dir));
	(void)alarm(10); /* who opens a pipe waits for its other end */
	return trace_open(&fx.t, 1, 16);
}

static int tear_down(void **state)
{
	(void)alarm(0);
	trace_close(fx.t);
	return 0;
}

static void refused(enum trace_over over, int err, const char *why)
{
	fx.e.text[0] = '\0';
	trace_set_over(fx.t, over);
	assert_int_equal(trace_start(fx.t, fx.path, HEADER, &fx.e), err);
	assert_non_null(strstr(fx.e.text, why));
	assert_non_null(strstr(fx.e.text, fx.path));
}

static void a_pipe_is_refused_at_once(void **state)
{
	assert_int_equal(mkfifo(fx.path, 0600), 0);
	refused(TRACE_OVER_NOTHING, -EEXIST, "exists");
	refused(TRACE_OVER_FILE, -ENXIO, "is a pipe");
	refused(TRACE_OVER_ANY, -ENXIO, "is a pipe");
}

static void a_pipe_that_is_read_is_refused(void **state)
{
	int fd;

	assert_int_equal(mkfifo(fx.path, 0600), 0);
	fd = open(fx.path, O_RDONLY | O_NONBLOCK);
	assert_true(fd >= 0);
	refused(TRACE_OVER_FILE, -ENXIO, "is a pipe");
	refused(TRACE_OVER_ANY, -ENXIO, "is a pipe");
	assert_int_equal(close(fd), 0);
}

static void a_pipe_that_comes_at_the_last_moment_is_refused(void **state)
{
	static const enum trace_over over[] = { TRACE_OVER_FILE,
						TRACE_OVER_ANY };

	swap = true;
	for (unsigned i = 0; i < 2; i++) {
		refused(over[i], -ENXIO, "is a pipe");
		assert_int_equal(unlink(fx.path), 0);
	}
	refused(TRACE_OVER_NOTHING, -EEXIST, "exists");
}

/* A device is the choice of who starts the program, not of its clients. */
static void a_device_is_no_file(void **state)
{
	(void)snprintf(fx.path, sizeof(fx.path), "/dev/null");
	refused(TRACE_OVER_FILE, -ENXIO, "is a device");
	trace_set_over(fx.t, TRACE_OVER_ANY);
	assert_int_equal(trace_start(fx.t, fx.path, HEADER, &fx.e), 0);
	assert_int_equal(trace_stop(fx.t, NULL), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_pipe_is_refused_at_once,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_pipe_that_is_read_is_refused,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			a_pipe_that_comes_at_the_last_moment_is_refused, set_up,
			tear_down),
		cmocka_unit_test_setup_teardown(a_device_is_no_file, set_up,
						tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
