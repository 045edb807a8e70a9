/* SPDX-License-Identifier: Apache-2.0 */
/*
 * When the packets of a load are due.
 */
#include "cmocka_cr.h"
#include "timetable.h"

enum { CALLS = 10 };

static const cr_ns every = 20 * CR_MS, patience = CR_MS, start = 5 * CR_SEC;

static void open_even(struct timetable *t)
{
	assert_int_equal(
		timetable_open(t, CALLS, every, patience, start, true, 1), 0);
}

/* Packets due by @now, sent. */
static unsigned send_until(struct timetable *t, cr_ns now)
{
	unsigned n = 0;

	for (; timetable_due(t) <= now; n++)
		timetable_sent(t);
	return n;
}

static void even_calls_are_spread_over_the_period(void **state)
{
	struct timetable t;

	open_even(&t);
	for (unsigned i = 0; i < 3 * CALLS; i++) {
		assert_int_equal(timetable_due(&t), start + i * 2 * CR_MS);
		assert_int_equal(timetable_call(&t), i % CALLS);
		timetable_sent(&t);
	}
	timetable_close(&t);
}

static void random_calls_have_a_packet_in_each_period(void **state)
{
	unsigned seen[CALLS] = { 0 };
	struct timetable t;
	cr_ns before = start;

	assert_int_equal(
		timetable_open(&t, CALLS, every, patience, start, false, 7), 0);
	for (unsigned i = 0; i < 5 * CALLS; i++) {
		cr_ns due = timetable_due(&t);

		assert_in_range(due, start + i / CALLS * every,
				start + (i / CALLS + 1) * every - 1);
		assert_true(due >= before);
		before = due;
		seen[timetable_call(&t)]++;
		timetable_sent(&t);
	}
	for (unsigned i = 0; i < CALLS; i++)
		assert_int_equal(seen[i], 5);
	timetable_close(&t);
}

/* Late within the patience: sent at one go, and the times stay. */
static void a_little_late_changes_nothing(void **state)
{
	struct timetable t;

	open_even(&t);
	timetable_hold(&t, start + CR_MS);
	assert_int_equal(t.held, 0);
	assert_int_equal(timetable_due(&t), start);
	timetable_close(&t);
}

/* Away for 11 ms: of the 6 packets due one goes now, the others in the same
 * order and as far apart as ever. */
static void a_sender_that_was_away_makes_no_burst(void **state)
{
	cr_ns now = start + 11 * CR_MS;
	struct timetable t;

	open_even(&t);
	timetable_hold(&t, now);
	assert_int_equal(t.held, 11 * CR_MS);
	assert_int_equal(send_until(&t, now), 1);
	assert_int_equal(timetable_due(&t), now + 2 * CR_MS);
	assert_int_equal(timetable_call(&t), 1);
	timetable_hold(&t, now + 2 * CR_MS);
	assert_int_equal(t.held, 11 * CR_MS);
	timetable_close(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(even_calls_are_spread_over_the_period),
		cmocka_unit_test(random_calls_have_a_packet_in_each_period),
		cmocka_unit_test(a_little_late_changes_nothing),
		cmocka_unit_test(a_sender_that_was_away_makes_no_burst),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
