/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Timers of a receiver: never early, in order, once; and gone when they are
 * closed.
 */
#include <stdlib.h>

#include "cmocka_cr.h"
#include "media/wheel.h"
#include "seed.h"

enum { MANY = 10000, ALL = 64 };

/* Any moment that is no whole tick. */
#define BEGIN (1000 * CR_SEC + 400 * CR_US)

static struct wheel wheel;
static struct wheel_entry timer[MANY];

static int begin(void **state)
{
	wheel_init(&wheel, BEGIN);
	for (unsigned i = 0; i < MANY; i++)
		timer[i] = (struct wheel_entry){ 0 };
	return 0;
}

static int end(void **state)
{
	wheel_fini(&wheel);
	return 0;
}

static void arm(unsigned i, cr_ns after)
{
	(void)wheel_arm(&wheel, &timer[i], BEGIN + after);
}

/* Exactly @want are due by @after: their numbers, in this order. */
static void assert_takes(cr_ns after, const int *want, unsigned n)
{
	struct wheel_entry *out[ALL];

	assert_int_equal(wheel_take(&wheel, BEGIN + after, out, ALL), n);
	for (unsigned i = 0; i < n; i++)
		assert_int_equal(out[i] - timer, want[i]);
}

#define TAKES(after, ...)                                                      \
	assert_takes(after, (const int[]){ __VA_ARGS__ },                      \
		     sizeof((const int[]){ __VA_ARGS__ }) / sizeof(int))
#define TAKES_NONE(after) assert_takes(after, NULL, 0)

static void timers_come_in_their_order(void **state)
{
	assert_int_equal(wheel_due(&wheel), CR_NEVER);
	arm(0, 70 * CR_MS);
	arm(1, 5 * CR_MS);
	arm(2, 300 * CR_MS); /* beyond level 0 */
	arm(3, 5 * CR_MS);
	TAKES_NONE(4 * CR_MS);
	TAKES(301 * CR_MS, 1, 3, 0, 2);
	TAKES_NONE(1000 * CR_SEC);
	assert_int_equal(wheel_due(&wheel), CR_NEVER);
}

/* Rounded up to a tick, so those of one tick share a wake-up. */
static void no_timer_is_early(void **state)
{
	const cr_ns whole = BEGIN / WHEEL_TICK * WHEEL_TICK;

	(void)wheel_arm(&wheel, &timer[0], whole + 3 * CR_MS + 1);
	(void)wheel_arm(&wheel, &timer[1], whole + 4 * CR_MS);
	assert_int_equal(wheel_due(&wheel), whole + 4 * CR_MS);
	assert_takes(whole + 4 * CR_MS - 1 - BEGIN, NULL, 0);
	TAKES(whole + 4 * CR_MS - BEGIN, 0, 1);
}

static void what_is_past_is_due_at_once(void **state)
{
	TAKES_NONE(50 * CR_MS);
	arm(0, -CR_SEC);
	arm(1, 20 * CR_MS);
	assert_true(wheel_due(&wheel) <= BEGIN + 50 * CR_MS);
	TAKES(50 * CR_MS, 0, 1);
}

static void a_timer_has_one_time(void **state)
{
	arm(0, 10 * CR_MS);
	arm(1, 20 * CR_MS);
	arm(0, 30 * CR_MS); /* later */
	TAKES(25 * CR_MS, 1);
	arm(0, 27 * CR_MS); /* earlier */
	TAKES(28 * CR_MS, 0);
	arm(0, 400 * CR_MS);
	arm(0, CR_NEVER - BEGIN);
	arm(1, 500 * CR_MS);
	wheel_disarm(&wheel, &timer[1]);
	wheel_disarm(&wheel, &timer[1]);
	assert_int_equal(wheel_due(&wheel), CR_NEVER);
	TAKES_NONE(CR_SEC);
}

/* Whoever waits for the next timer hears of an earlier one. */
static void arming_tells_what_is_the_first(void **state)
{
	assert_true(wheel_arm(&wheel, &timer[0], BEGIN + 10 * CR_MS));
	assert_false(wheel_arm(&wheel, &timer[1], BEGIN + 10 * CR_MS));
	assert_false(wheel_arm(&wheel, &timer[2], BEGIN + 90 * CR_SEC));
	assert_true(wheel_arm(&wheel, &timer[2], BEGIN + 2 * CR_MS));
	assert_false(wheel_arm(&wheel, &timer[2], BEGIN + 40 * CR_MS));
}

static void a_closed_timer_is_never_armed_again(void **state)
{
	arm(0, 10 * CR_MS);
	wheel_close(&wheel, &timer[0]);
	assert_int_equal(wheel_due(&wheel), CR_NEVER);
	assert_false(wheel_arm(&wheel, &timer[0], BEGIN));
	TAKES_NONE(CR_SEC);
	wheel_close(&wheel, &timer[1]); /* never was armed */
	assert_false(wheel_arm(&wheel, &timer[1], BEGIN));
	TAKES_NONE(2 * CR_SEC);
}

/* Level 1 reaches 65 s; what is further goes round more than once. */
static void far_timers_come_in_time(void **state)
{
	static const cr_ns far[] = { 256 * CR_MS, 65 * CR_SEC, 66 * CR_SEC,
				     600 * CR_SEC, 86400 * CR_SEC };
	struct wheel_entry *out;
	unsigned looks = 0;

	for (unsigned i = 0; i < 5; i++)
		arm(4 - i, far[4 - i]);
	for (unsigned i = 0; i < 5;) {
		cr_ns now = wheel_due(&wheel);

		assert_int_not_equal(now, CR_NEVER);
		if (wheel_take(&wheel, now, &out, 1)) {
			assert_ptr_equal(out, &timer[i]);
			assert_true(now >= BEGIN + far[i] &&
				    now < BEGIN + far[i] + WHEEL_TICK);
			i++;
		}
		looks++;
	}
	assert_int_equal(wheel_due(&wheel), CR_NEVER);
	/* once in the reach of level 1, and some */
	assert_in_range(looks, 5, 5 + 2 * 86400 / 65 + 10);
}

/* Nobody looked for longer than the wheel reaches. */
static void a_long_sleep_loses_nothing(void **state)
{
	arm(0, 100 * CR_SEC);
	arm(1, 3 * CR_MS);
	arm(2, 70 * CR_SEC);
	arm(3, 300 * CR_SEC);
	TAKES(200 * CR_SEC, 1, 2, 0);
	arm(4, 200 * CR_SEC + 255 * CR_MS);
	TAKES(300 * CR_SEC + CR_MS, 4, 3);
}

static void some_at_a_time_are_all(void **state)
{
	struct wheel_entry *out[7];
	unsigned n, all = 0;

	for (unsigned i = 0; i < 100; i++)
		arm(i, (cr_ns)(i / 10) * CR_MS);
	do {
		n = wheel_take(&wheel, BEGIN + CR_SEC, out, 7);
		for (unsigned i = 0; i < n; i++)
			assert_ptr_equal(out[i], &timer[all + i]);
		all += n;
		assert_true(wheel_due(&wheel) == CR_NEVER
				    ? all == 100
				    : wheel_due(&wheel) <= BEGIN + CR_SEC);
	} while (n == 7);
	assert_int_equal(all, 100);
}

/* --- against the definition --- */

static cr_ns due[MANY]; /* what is armed */

static void arm_any(uint64_t *seed, unsigned i, cr_ns now)
{
	static const cr_ns reach[] = { 3 * CR_MS,  20 * CR_MS,	300 * CR_MS,
				       5 * CR_SEC, 66 * CR_SEC, 500 * CR_SEC };
	cr_ns most = reach[test_below(seed, 6)];

	due[i] = now - CR_MS + (cr_ns)(test_random(seed) % (uint64_t)most);
	if (!test_below(seed, 8))
		due[i] = CR_NEVER;
	(void)wheel_arm(&wheel, &timer[i], due[i]);
}

/* All are taken that are due by @now, no other one, once. */
static unsigned take_right(cr_ns now)
{
	struct wheel_entry *out[ALL];
	unsigned n, all = 0;

	do {
		n = wheel_take(&wheel, now, out, ALL);
		for (unsigned k = 0; k < n; k++) {
			cr_ns *at = &due[out[k] - timer];

			assert_true(*at <= now);
			*at = CR_NEVER;
		}
		all += n;
	} while (n == ALL);
	return all;
}

static void assert_none_left(cr_ns now)
{
	cr_ns first = CR_NEVER;

	for (unsigned i = 0; i < MANY; i++)
		first = cr_ns_min(first, due[i]);
	/* rounded up, it has not come yet */
	assert_true(first > now / WHEEL_TICK * WHEEL_TICK);
	assert_true(first == CR_NEVER
			    ? wheel_due(&wheel) == CR_NEVER
			    : wheel_due(&wheel) <= first + WHEEL_TICK);
}

static void ten_thousand_timers_are_as_many_by_themselves(void **state)
{
	uint64_t seed = test_seed();
	cr_ns now = BEGIN;
	unsigned taken = 0;

	for (unsigned i = 0; i < MANY; i++)
		arm_any(&seed, i, now);
	for (unsigned step = 0; step < 4000; step++) {
		cr_ns wait = (cr_ns)(test_random(&seed) % (40 * CR_MS));

		if (!test_below(&seed, 400))
			wait = 100 * CR_SEC;
		now += wait;
		taken += take_right(now);
		if (step % 16 == 0)
			assert_none_left(now);
		for (unsigned k = 0; k < 20; k++)
			arm_any(&seed, test_below(&seed, MANY), now);
	}
	assert_true(taken > MANY);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
	const struct CMUnitTest tests[] = {
		TEST(timers_come_in_their_order),
		TEST(no_timer_is_early),
		TEST(what_is_past_is_due_at_once),
		TEST(a_timer_has_one_time),
		TEST(arming_tells_what_is_the_first),
		TEST(a_closed_timer_is_never_armed_again),
		TEST(far_timers_come_in_time),
		TEST(a_long_sleep_loses_nothing),
		TEST(some_at_a_time_are_all),
		TEST(ten_thousand_timers_are_as_many_by_themselves),
	};

	return cmocka_run_group_tests_name("wheel", tests, NULL, NULL);
}
