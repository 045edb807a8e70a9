/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Timers that are closed and freed while their receiver arms and takes them.
 */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/rcu.h"
#include "base/thread.h"
#include "cmocka_cr.h"
#include "media/wheel.h"
#include "seed.h"

enum { LIVING = 64, LIVES = TEST_FEWER(20000), TAKEN = 8 };

/* What a timer is for. */
struct owner {
	struct wheel_entry timer;
	struct rcu_later rcu;
	unsigned taken; /* the receiver's */
	bool freed;
};

static struct wheel wheel;
static atomic_uint freed, polls;

static void free_owner(struct rcu_later *head)
{
	struct owner *o = caa_container_of(head, struct owner, rcu);

	rcu_deferred();
	o->freed = true;
	atomic_fetch_add_explicit(&freed, 1, memory_order_relaxed);
	free(o);
}

/* It takes what is due and arms it again, closed or not. */
static void *receiver(void *arg)
{
	const struct thread *me = arg;
	struct wheel_entry *out[TAKEN];

	rcu_register_thread();
	while (!thread_must_stop(me)) {
		cr_ns now = clock_now();
		unsigned n;

		rcu_read_begin();
		n = wheel_take(&wheel, now, out, TAKEN);
		for (unsigned i = 0; i < n; i++) {
			struct owner *o = (void *)out[i];

			assert_false(o->freed);
			o->taken++;
			(void)wheel_arm(&wheel, out[i],
					now + o->taken % 3 * CR_MS);
		}
		rcu_read_end();
		atomic_fetch_add_explicit(&polls, n, memory_order_relaxed);
	}
	rcu_unregister_thread();
	return NULL;
}

static struct owner *begin_one(void)
{
	struct owner *o = calloc(1, sizeof(*o));

	assert_non_null(o);
	(void)wheel_arm(&wheel, &o->timer, clock_now());
	return o;
}

static void end_one(struct owner *o)
{
	wheel_close(&wheel, &o->timer);
	rcu_defer(&o->rcu, free_owner);
}

static void nothing_is_taken_that_was_freed(void **state)
{
	struct owner *living[LIVING];
	struct thread t = { 0 };

	assert_int_equal(rcu_start(NULL), 0);
	rcu_register_thread();
	wheel_init(&wheel, clock_now());
	assert_int_equal(thread_start(&t, receiver, &t, -1), 0);
	for (unsigned i = 0; i < LIVING; i++)
		living[i] = begin_one();
	for (unsigned n = 0; n < LIVES || !atomic_load(&polls); n++) {
		end_one(living[n % LIVING]);
		living[n % LIVING] = begin_one();
	}
	for (unsigned i = 0; i < LIVING; i++)
		end_one(living[i]);
	assert_int_equal(wheel_due(&wheel), CR_NEVER);
	rcu_stop();
	thread_stop(&t);
	assert_true(atomic_load(&freed) >= LIVES + LIVING);
	wheel_fini(&wheel);
	rcu_unregister_thread();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_is_taken_that_was_freed),
	};

	return cmocka_run_group_tests_name("wheel close", tests, NULL, NULL);
}
