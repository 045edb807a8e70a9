/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is missing between two packets, and how long it is.
 */
#include "cmocka_cr.h"
#include "media/rtp_stream.h"

#define STEP 160u

static void expect(struct gaps *g, unsigned seq, uint32_t ts, unsigned packets,
		   uint32_t rtp_ticks)
{
	struct gap gap = gaps_packet(g, (uint16_t)seq, ts, STEP);

	assert_int_equal(gap.packets, packets);
	assert_int_equal(gap.rtp_ticks, rtp_ticks);
}

static void losses_are_counted_and_as_long_as_they_were(void **state)
{
	struct gaps g = { 0 };

	expect(&g, 700, 99, 0, 0); /* the first: nothing is known before it */
	expect(&g, 701, 99 + STEP, 0, 0);
	expect(&g, 703, 99 + 3 * STEP, 1, STEP);
	expect(&g, 707, 99 + 7 * STEP, 3, 3 * STEP);
	/* shorter packets than was agreed */
	expect(&g, 710, 99 + 7 * STEP + 3 * 80, 2, 160);
}

static void a_pause_is_no_loss(void **state)
{
	struct gaps g = { 0 };

	expect(&g, 1, 0, 0, 0);
	expect(&g, 2, 100 * STEP, 0, 0);
	/* a loss and a pause: as long as one packet at most */
	expect(&g, 4, 200 * STEP, 1, STEP);
}

static void numbers_and_timestamps_wrap(void **state)
{
	struct gaps g = { 0 };

	expect(&g, 65534, UINT32_MAX - STEP, 0, 0);
	expect(&g, 1, UINT32_MAX + 2 * STEP, 2, 2 * STEP);
}

static void what_says_nothing_is_no_loss(void **state)
{
	struct gaps g = { 0 };

	expect(&g, 10, 10 * STEP, 0, 0);
	expect(&g, 10 + GAPS_MAX + 2, 20 * STEP, 0, 0); /* was away */
	expect(&g, 10 + 2 * GAPS_MAX + 3, 5000 * STEP, GAPS_MAX,
	       GAPS_MAX * STEP);
	expect(&g, 10 + 2 * GAPS_MAX + 9, 3 * STEP, 0, 0); /* back in time */
	gaps_again(&g);
	expect(&g, 5, 77, 0, 0);
	expect(&g, 7, 77 + 2 * STEP, 1, STEP);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(losses_are_counted_and_as_long_as_they_were),
		cmocka_unit_test(a_pause_is_no_loss),
		cmocka_unit_test(numbers_and_timestamps_wrap),
		cmocka_unit_test(what_says_nothing_is_no_loss),
	};

	return cmocka_run_group_tests_name("gaps", tests, NULL, NULL);
}
