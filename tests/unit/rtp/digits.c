/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which speech digits mute. How they are passed on: telephone_event.c.
 */
#include "cmocka_cr.h"
#include "rtp/telephone_event.h"

#define LENGTH 800u /* 100 ms */

static const struct digits_clocks clocks = { 8000, 8000, 8000 };

/* Digit 5, whole: one end packet that begins at @ts. */
static void press(struct digits *d, uint32_t ts)
{
	const struct telephone_event event = {
		.code = 5, .end = true, .volume = 10, .duration = LENGTH
	};
	struct telephone_event_burst out;
	struct telephone_event_arrival in = {
		.bytes = TELEPHONE_EVENT_BYTES,
		.ts = ts,
		.marker = true,
		.ts_out = ts,
	};
	uint8_t payload[TELEPHONE_EVENT_BYTES];

	(void)telephone_event_build(payload, &event);
	in.payload = payload;
	digits_packet(d, 0, &in, &out);
	assert_int_equal(out.n, 1);
	assert_int_equal(out.packets[0].ts, ts);
}

static void speech_of_an_event_is_muted(void **state)
{
	struct digits d;

	assert_int_equal(digits_init(&d, &clocks), 0);
	assert_false(digits_mute(&d, 0));
	press(&d, UINT32_MAX - 400);
	assert_true(digits_mute(&d, UINT32_MAX - 400 - 160)); /* late */
	assert_true(digits_mute(&d, UINT32_MAX - 400));
	assert_true(digits_mute(&d, LENGTH - 402));
	assert_false(digits_mute(&d, LENGTH - 401));
	assert_false(digits_mute(&d, UINT32_MAX - 400)); /* it is over */
}

/* An event with a timestamp far ahead must not silence its party for days. */
static void an_event_far_ahead_mutes_nothing(void **state)
{
	struct digits d;

	assert_int_equal(digits_init(&d, &clocks), 0);
	press(&d, INT32_MAX - LENGTH);
	assert_false(digits_mute(&d, 1600));
}

/* However their clocks differ: the event is as long, and so is the silence. */
static void each_clock_counts_in_its_own(void **state)
{
	static const unsigned hz[] = { 8000, 16000, 32000, 48000 };

	for (unsigned i = 0; i < 4 * 4 * 4; i++) {
		const struct digits_clocks now = { hz[i % 4], hz[i / 4 % 4],
						   hz[i / 16] };
		const struct telephone_event event = {
			.code = 5,
			.end = true,
			.duration = (uint16_t)(now.in / 10),
		};
		uint8_t payload[TELEPHONE_EVENT_BYTES];
		const struct telephone_event_arrival in = {
			.payload = payload,
			.bytes = telephone_event_build(payload, &event),
			.marker = true,
			.ts_out = 1000,
		};
		struct telephone_event_burst out;
		struct telephone_event heard;
		struct digits d;

		assert_int_equal(digits_init(&d, &clocks), 0);
		digits_set_clocks(&d, &now);
		digits_packet(&d, 0, &in, &out);
		assert_int_equal(out.n, 1);
		(void)telephone_event_parse(out.packets[0].payload,
					    TELEPHONE_EVENT_BYTES, &heard);
		assert_int_equal(heard.duration, now.out / 10);
		assert_true(digits_mute(&d, 1000 + now.speech / 10 - 1));
		assert_false(digits_mute(&d, 1000 + now.speech / 10));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(speech_of_an_event_is_muted),
		cmocka_unit_test(an_event_far_ahead_mutes_nothing),
		cmocka_unit_test(each_clock_counts_in_its_own),
	};

	return cmocka_run_group_tests_name("digits", tests, NULL, NULL);
}
