/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Limits of memory: the room that they leave, and the refusals.
 */
#include "cmocka_cr.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/memory.h"
#include "emulator.h"

#define MIB (UINT64_C(1) << 20)

/* Everything below is done in a child, which alone has the limit. */
static int in_child(int (*what)(void))
{
	pid_t pid = fork();
	int status;

	assert_true(pid >= 0);
	if (!pid)
		_exit(what());
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* The room that limits leave, in whole MiB, by a refusal's text; 0: nothing,
 * there is no limit, or it cannot be seen. */
static uint64_t bytes_left(void)
{
	struct cr_err e = { "" };
	unsigned long long mib = 0;

	if (memory_check_reserve(UINT64_MAX, &e) == -ENOMEM &&
	    sscanf(e.text, "out of memory: %llu MiB are left", &mib) != 1)
		return 0;
	return mib * MIB;
}

static int without_a_limit(void)
{
	if (memory_check_reserve(UINT64_MAX, NULL))
		return 1;
	return memory_there(MEMORY_FOR_LIBRARY) ? 0 : 2;
}

static int limited(int resource, const char *name, const char *remedy)
{
	const struct rlimit most = { 100 * MIB, RLIM_INFINITY };
	struct cr_err e = { "" };
	uint64_t left;

	if (setrlimit(resource, &most))
		return 1;
	left = bytes_left();
	if (left == 0 || left >= 100 * MIB)
		return 2;
	if (memory_check_reserve(left / 2, &e) || *e.text)
		return 3;
	if (memory_check_reserve(left + 2 * MIB, &e) != -ENOMEM)
		return 4;
	if (!strstr(e.text, name) || !strstr(e.text, remedy) ||
	    !strstr(e.text, "--memory-reserve"))
		return 5;
	return 0;
}

static int by_addresses(void)
{
	return limited(RLIMIT_AS, "(RLIMIT_AS)", "LimitAS=");
}

static int by_data(void)
{
	return limited(RLIMIT_DATA, "(RLIMIT_DATA)", "LimitDATA=");
}

static int to_the_end(void)
{
	const struct rlimit none = { MIB, RLIM_INFINITY };

	if (setrlimit(RLIMIT_AS, &none))
		return 1;
	if (memory_check_reserve(1, NULL) != -ENOMEM ||
	    memory_check_reserve(0, NULL))
		return 2;
	return memory_there(MEMORY_FOR_LIBRARY) ? 3 : 0;
}

static int limit_to(uint64_t bytes, rlim_t descriptors)
{
	const struct rlimit most = { bytes, RLIM_INFINITY };
	const struct rlimit files = { descriptors, descriptors };

	return setrlimit(RLIMIT_DATA, &most) ||
	       setrlimit(RLIMIT_NOFILE, &files);
}

static int kept_one(void)
{
	struct cr_err e = { "" };
	uint64_t left;

	memory_keep();
	if (limit_to(100 * MIB, 0))
		return 1;
	left = bytes_left();
	if (left == 0 || left >= 100 * MIB)
		return 2;
	if (memory_check_reserve(left / 2, &e) || *e.text)
		return 3;
	if (memory_check_reserve(left + 2 * MIB, &e) != -ENOMEM)
		return 4;
	return strstr(e.text, "(RLIMIT_DATA)") ? 0 : 5;
}

static int has_none(void)
{
	struct cr_err e = { "" };

	if (limit_to(100 * MIB, 0))
		return 1;
	if (memory_check_reserve(1, &e) != -ENOMEM)
		return 2;
	if (!strstr(e.text, "statm: Too many open files") ||
	    !strstr(e.text, "--memory-reserve 0"))
		return 3;
	return memory_check_reserve(0, NULL) ? 4 : 0;
}

static void what_is_left_needs_no_descriptor_that_others_took(void **state)
{
	if (emulator_lacks("limits of memory"))
		skip();
	assert_int_equal(in_child(kept_one), 0);
	assert_int_equal(in_child(has_none), 0);
}

static void what_limits_leave_is_known(void **state)
{
	assert_int_equal(in_child(without_a_limit), 0);
	if (emulator_lacks("limits of memory"))
		skip();
	assert_int_equal(in_child(by_addresses), 0);
	assert_int_equal(in_child(by_data), 0);
	assert_int_equal(in_child(to_the_end), 0);
}

/* Each mapping would be a fault, at the page with its length. */
static int again_and_again(void)
{
	enum { TIMES = 1000 };
	struct rusage before, after;

	memory_keep();
	if (!memory_there(MEMORY_FOR_LIBRARY) ||
	    getrusage(RUSAGE_SELF, &before))
		return 1;
	for (unsigned i = 0; i < TIMES; i++)
		if (!memory_there(MEMORY_FOR_LIBRARY))
			return 2;
	if (getrusage(RUSAGE_SELF, &after))
		return 3;
	return after.ru_minflt - before.ru_minflt < TIMES / 10 ? 0 : 4;
}

static void to_look_at_every_packet_maps_no_memory(void **state)
{
	assert_int_equal(in_child(again_and_again), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_limits_leave_is_known),
		cmocka_unit_test(
			what_is_left_needs_no_descriptor_that_others_took),
		cmocka_unit_test(to_look_at_every_packet_maps_no_memory),
	};

	return cmocka_run_group_tests_name("memory", tests, NULL, NULL);
}
