/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where packets of several clocks are in time.
 */
#include "cmocka_cr.h"
#include "rtp/clocks.h"

#define PTIME (20 * CR_MS)

static struct clocks c;

/* Packet @seq comes at @ms: where is it, in ms behind the first one? */
static long put(uint16_t seq, cr_ns ms, uint32_t ts, uint32_t clock)
{
	const struct clocks_packet p = { ts, clock, seq, ms * CR_MS };
	static uint32_t first;
	uint32_t place;

	if (!c.span[0].clock)
		first = ts;
	place = clocks_place(&c, &p);
	clocks_take(&c, &p, place);
	return (int32_t)(place - first) / ((long)c.clock / 1000);
}

static void begin(uint32_t clock)
{
	clocks_init(&c, clock, PTIME);
}

static void one_clock_is_as_it_is(void **state)
{
	const struct clocks_packet p = { 4000000000, 8000, 5, 0 };

	begin(8000);
	assert_int_equal(clocks_place(&c, &p), 4000000000);
	assert_int_equal(put(65535, 0, UINT32_MAX - 159, 8000), 0);
	assert_int_equal(put(0, 20, 0, 8000), 20);
	assert_int_equal(put(3, 90, 3 * 160, 8000), 80);
	assert_int_equal(put(2, 95, 2 * 160, 8000), 60);
}

/* RFC 7160, 4.2: what lies between two packets is in the first one's clock. */
static void timestamps_go_on_in_the_clock_before(void **state)
{
	begin(8000);
	assert_int_equal(put(1, 0, 1000, 8000), 0);
	assert_int_equal(put(2, 20, 1160, 48000), 20);
	assert_int_equal(put(3, 40, 1160 + 960, 48000), 40);
	/* number 4, which is of the new clock, comes behind it */
	assert_int_equal(put(5, 70, 1160 + 2 * 960 + 160, 8000), 80);
	assert_int_equal(put(4, 71, 1160 + 2 * 960, 8000), 60);
	/* a pause of 400 ms */
	assert_int_equal(put(6, 510, 1160 + 2 * 960 + 160 + 3360, 48000), 500);
}

static void each_clock_may_have_timestamps_of_its_own(void **state)
{
	begin(16000);
	assert_int_equal(put(1, 0, 1000, 16000), 0);
	assert_int_equal(put(2, 55, 3000000000, 8000), 20);
	assert_int_equal(put(3, 56, 3000000160, 8000), 40);
	assert_int_equal(put(4, 60, 1000 + 3 * 320, 16000), 60);
	/* numbers do not show a pause, arrivals do */
	assert_int_equal(put(5, 1060, 77, 8000), 1060);
	/* late, of the clock before */
	assert_int_equal(put(3, 1061, 3000000160, 8000), 40);
}

/* Where the clock is no whole part of the other. */
static void an_hour_is_an_hour(void **state)
{
	uint32_t ts = 4294000000;

	begin(8000);
	assert_int_equal(put(0, 0, ts, 44100), 0);
	for (unsigned i = 1; i <= 50 * 3600; i++)
		assert_int_equal(put((uint16_t)i, i * 20, ts += 882, 44100),
				 i * 20);
}

/* More units than 64 bits of nanoseconds times a rate can hold. */
static void a_pause_may_last_for_days(void **state)
{
	const struct clocks_packet p = { 5, 8000, 1,
					 60 * 3600 * (cr_ns)CR_SEC };

	begin(48000);
	(void)put(0, 0, 1000, 48000);
	assert_int_equal(clocks_place(&c, &p),
			 (uint32_t)(1000 + UINT64_C(60) * 3600 * 48000));
}

/* It lies half of all timestamps off, which has no absolute value. */
static void a_late_packet_may_say_any_time(void **state)
{
	const struct clocks_packet p = { 840 + (UINT32_C(1) << 31), 8000, 4,
					 25 * CR_MS };

	begin(8000);
	(void)put(5, 0, 1000, 8000);
	(void)put(6, 20, 1160, 16000);
	assert_int_equal(clocks_place(&c, &p), p.ts);
}

static void another_sender_begins_anew(void **state)
{
	begin(8000);
	(void)put(0, 0, 1000, 8000);
	(void)put(1, 20, 1160, 16000);
	clocks_again(&c);
	assert_int_equal(clocks_now(&c), 8000);
	assert_int_equal(put(9, 40, 70000, 48000), 0);
	assert_int_equal(clocks_now(&c), 48000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_clock_is_as_it_is),
		cmocka_unit_test(timestamps_go_on_in_the_clock_before),
		cmocka_unit_test(each_clock_may_have_timestamps_of_its_own),
		cmocka_unit_test(an_hour_is_an_hour),
		cmocka_unit_test(a_pause_may_last_for_days),
		cmocka_unit_test(a_late_packet_may_say_any_time),
		cmocka_unit_test(another_sender_begins_anew),
	};

	return cmocka_run_group_tests_name("clocks", tests, NULL, NULL);
}
