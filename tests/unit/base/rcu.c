/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Deferred work is done on a thread that was there before, in order, after
 * the readers, and needs neither a thread nor memory then, whatever becomes of
 * the wall clock.
 */
#define _GNU_SOURCE /* sem_clockwait() */
#include "cmocka_cr.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/rcu.h"

enum { MANY = 1000, PATIENCE_S = 60, DAY_S = 86400 };

static bool no_threads;

int __real_pthread_create(pthread_t *t, const pthread_attr_t *attr,
			  void *(*run)(void *), void *arg);
int __wrap_pthread_create(pthread_t *t, const pthread_attr_t *attr,
			  void *(*run)(void *), void *arg);

int __wrap_pthread_create(pthread_t *t, const pthread_attr_t *attr,
			  void *(*run)(void *), void *arg)
{
	return no_threads ? EAGAIN : __real_pthread_create(t, attr, run, arg);
}

/* The wall clock goes back by a day behind whoever has read it. */
static atomic_bool steps_back;

int __real_clock_gettime(clockid_t clock, struct timespec *to);
int __wrap_clock_gettime(clockid_t clock, struct timespec *to);

int __wrap_clock_gettime(clockid_t clock, struct timespec *to)
{
	int err = __real_clock_gettime(clock, to);

	if (clock == CLOCK_REALTIME && atomic_load(&steps_back))
		to->tv_sec += DAY_S;
	return err;
}

static struct rcu_later later[MANY];
static unsigned ran;
static atomic_bool reading;

static void note(struct rcu_later *l)
{
	rcu_deferred();
	assert_false(atomic_load(&reading));
	assert_ptr_equal(l, &later[ran]);
	ran++;
}

static void without_a_thread_it_says_so(void **state)
{
	struct cr_err e = { "" };

	no_threads = true;
	assert_int_equal(rcu_start(&e), -EAGAIN);
	assert_non_null(strstr(e.text, "RLIMIT_NPROC"));
	no_threads = false;
	rcu_done(); /* nothing was deferred */
	rcu_stop();
}

static void all_is_done_in_order(void **state)
{
	assert_int_equal(rcu_start(NULL), 0);
	no_threads = true;
	assert_int_equal(rcu_start(NULL), 0); /* it runs already */
	rcu_register_thread();
	ran = 0;
	for (unsigned i = 0; i < MANY; i++) {
		rcu_defer(&later[i], note);
		if (i % 100 == 0) {
			rcu_done();
			assert_int_equal(ran, i + 1);
		}
	}
	rcu_stop();
	assert_int_equal(ran, MANY);
	no_threads = false;
	rcu_unregister_thread();
}

static void *wait_for_it(void *arg)
{
	(void)arg;
	rcu_done();
	return NULL;
}

static void nothing_is_done_while_somebody_reads(void **state)
{
	pthread_t waits;

	assert_int_equal(rcu_start(NULL), 0);
	rcu_register_thread();
	ran = 0;
	for (unsigned round = 0; round < 20; round++) {
		rcu_read_begin();
		atomic_store(&reading, true);
		for (unsigned i = 0; i < MANY / 20; i++)
			rcu_defer(&later[round * MANY / 20 + i], note);
		assert_int_equal(
			pthread_create(&waits, NULL, wait_for_it, NULL), 0);
		for (unsigned i = 0; i < 1000; i++)
			sched_yield();
		atomic_store(&reading, false);
		rcu_read_end();
		(void)pthread_join(waits, NULL);
		assert_int_equal(ran, (round + 1) * MANY / 20);
	}
	rcu_stop();
	rcu_unregister_thread();
}

static sem_t happened;

static void post(struct rcu_later *l)
{
	(void)l;
	rcu_deferred();
	(void)sem_post(&happened);
}

static void the_wall_clock_holds_nothing_up(void **state)
{
	struct timespec end;

	assert_int_equal(rcu_start(NULL), 0);
	(void)sem_init(&happened, 0, 0);
	atomic_store(&steps_back, true);
	rcu_defer(&later[0], post);
	(void)clock_gettime(CLOCK_MONOTONIC, &end);
	end.tv_sec += PATIENCE_S;
	assert_int_equal(sem_clockwait(&happened, CLOCK_MONOTONIC, &end), 0);
	atomic_store(&steps_back, false);
	rcu_stop();
	(void)sem_destroy(&happened);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(without_a_thread_it_says_so),
		cmocka_unit_test(all_is_done_in_order),
		cmocka_unit_test(nothing_is_done_while_somebody_reads),
		cmocka_unit_test(the_wall_clock_holds_nothing_up),
	};

	return cmocka_run_group_tests_name("rcu", tests, NULL, NULL);
}
