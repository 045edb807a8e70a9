/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Long turns: the thread that asks for them stays an ordinary one, with its
 * niceness, and those that it starts are as others. Kernels before 6.12 tell
 * nothing of turns.
 */
#define _GNU_SOURCE
#include "base/thread.h"

#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cmocka.h>

struct attributes {
	uint32_t size, policy;
	uint64_t flags;
	int32_t nice;
	uint32_t priority;
	uint64_t runtime, deadline, period;
};

static struct attributes of_this_thread(void)
{
	struct attributes a = { 0 };

	assert_int_equal(syscall(SYS_sched_getattr, 0, &a, sizeof(a), 0), 0);
	return a;
}

static void *look(void *arg)
{
	*(struct attributes *)arg = of_this_thread();
	return NULL;
}

static struct attributes of_a_new_thread(void)
{
	struct attributes a = { 0 };
	pthread_t t;

	assert_int_equal(thread_create(&t, NULL, look, &a), 0);
	assert_int_equal(pthread_join(t, NULL), 0);
	return a;
}

static void long_turns_are_not_inherited(void **state)
{
	struct attributes before = of_this_thread(), after, child;

	(void)state;
	thread_long_turns();
	after = of_this_thread();
	child = of_a_new_thread();
	assert_int_equal(after.policy, before.policy);
	assert_int_equal(after.nice, before.nice);
	assert_int_equal(child.policy, before.policy);
	assert_int_equal(child.nice, before.nice);
	assert_int_equal(child.runtime, before.runtime);
	if (!before.runtime || before.policy != SCHED_OTHER)
		return; /* the kernel says nothing of turns */
	assert_int_equal(after.runtime, 20000000);
	assert_true(after.runtime > before.runtime);
}

/* Who is to come before others stays so, and so do the threads it starts. */
static void a_niceness_below_zero_stays(void **state)
{
	(void)state;
	if (setpriority(PRIO_PROCESS, 0, -5))
		skip(); /* it takes a right */
	thread_long_turns();
	assert_int_equal(of_this_thread().nice, -5);
	assert_int_equal(of_a_new_thread().nice, -5);
	assert_int_equal(setpriority(PRIO_PROCESS, 0, 0), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_niceness_below_zero_stays),
		cmocka_unit_test(long_turns_are_not_inherited),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
