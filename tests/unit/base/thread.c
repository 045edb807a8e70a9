/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A lock passes priority on. Long turns: the thread that asks for them stays an
 * ordinary one, with its niceness, and those that it starts are as others.
 * Kernels before 6.12 know nothing of turns.
 */
#define _GNU_SOURCE
#include "base/thread.h"
#include "cmocka_cr.h"

#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

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
	if (setpriority(PRIO_PROCESS, 0, -5))
		skip(); /* it takes a right */
	thread_long_turns();
	assert_int_equal(of_this_thread().nice, -5);
	assert_int_equal(of_a_new_thread().nice, -5);
	assert_int_equal(setpriority(PRIO_PROCESS, 0, 0), 0);
}

struct waiter {
	pthread_mutex_t lock;
	atomic_int refused;
	atomic_bool begun;
};

static void *wait_with_priority(void *arg)
{
	const struct sched_param p = { .sched_priority = 7 };
	struct waiter *w = arg;

	atomic_store(&w->refused,
		     pthread_setschedparam(pthread_self(), SCHED_FIFO, &p));
	atomic_store(&w->begun, true);
	if (!atomic_load(&w->refused)) {
		pthread_mutex_lock(&w->lock);
		pthread_mutex_unlock(&w->lock);
	}
	return NULL;
}

/* As the kernel shows it: of a real-time priority N it is -1 - N. */
static int priority_now(void)
{
	char path[64], text[512], *at;
	size_t n;
	FILE *f;

	(void)snprintf(path, sizeof(path), "/proc/self/task/%ld/stat",
		       syscall(SYS_gettid));
	f = fopen(path, "r");
	assert_non_null(f);
	n = fread(text, 1, sizeof(text) - 1, f);
	(void)fclose(f);
	text[n] = '\0';
	at = strrchr(text, ')');
	assert_non_null(at);
	for (int field = 2; field < 18; field++)
		at = strchr(at + 1, ' ');
	return (int)strtol(at, NULL, 10);
}

static bool kernel_can(void)
{
	pthread_mutexattr_t attr;
	pthread_mutex_t lock;
	bool can;

	pthread_mutexattr_init(&attr);
	pthread_mutexattr_setprotocol(&attr, PTHREAD_PRIO_INHERIT);
	can = !pthread_mutex_init(&lock, &attr);
	pthread_mutexattr_destroy(&attr);
	if (can)
		pthread_mutex_destroy(&lock);
	return can;
}

static void who_has_the_lock_gets_the_priority_of_who_waits(void **state)
{
	struct waiter w = { .begun = false };
	pthread_t t;

	if (!kernel_can())
		skip();
	thread_lock_init(&w.lock);
	pthread_mutex_lock(&w.lock);
	assert_int_equal(thread_create(&t, NULL, wait_with_priority, &w), 0);
	while (!atomic_load(&w.begun) ||
	       (!atomic_load(&w.refused) && priority_now() != -8))
		(void)sched_yield();
	pthread_mutex_unlock(&w.lock);
	assert_true(priority_now() >= 0);
	pthread_join(t, NULL);
	pthread_mutex_destroy(&w.lock);
	if (atomic_load(&w.refused))
		skip(); /* it takes a right */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			who_has_the_lock_gets_the_priority_of_who_waits),
		cmocka_unit_test(a_niceness_below_zero_stays),
		cmocka_unit_test(long_turns_are_not_inherited),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
