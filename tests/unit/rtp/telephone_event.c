/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Telephone events: every rule that the relay keeps, one by one.
 */
#include "telephone_event_fixture.h"

#include <errno.h>

static void a_payload_is_read_and_written(void **state)
{
	static const uint8_t star[] = { 10, 0x8a, 0x03, 0x20 };
	struct telephone_event e;
	uint8_t buf[4];

	assert_int_equal(telephone_event_parse(star, 4, &e), 0);
	assert_int_equal(e.code, 10);
	assert_true(e.end);
	assert_int_equal(e.volume, 10);
	assert_int_equal(e.duration, 800);
	assert_int_equal(telephone_event_build(buf, &e), 4);
	assert_memory_equal(buf, star, 4);
	/* The reserved bit is ignored, and never set. */
	assert_int_equal(telephone_event_parse(
				 (const uint8_t[]){ 1, 0x7f, 0, 1 }, 4, &e),
			 0);
	assert_false(e.end);
	assert_int_equal(e.volume, 63);
	e.volume = 200;
	(void)telephone_event_build(buf, &e);
	assert_int_equal(buf[1], 63);
	assert_int_equal(telephone_event_parse(star, 0, &e), -EINVAL);
	assert_int_equal(telephone_event_parse(star, 3, &e), -EINVAL);
}

static void only_clocks_of_telephony(void **state)
{
	struct telephone_event_cfg cfg = telephone_event_defaults(8000, 48000);
	struct telephone_event_relay r;

	assert_int_equal(telephone_event_relay_init(&r, &cfg), 0);
	cfg.clock_in = 0;
	assert_int_equal(telephone_event_relay_init(&r, &cfg), -EINVAL);
	cfg = telephone_event_defaults(8000, 96000);
	assert_int_equal(telephone_event_relay_init(&r, &cfg), -EINVAL);
}

static void the_first_packet_is_lost(void **state)
{
	start(8000, 8000);
	come(320, false, 7, false, 320);
	assert_true(telephone_event_relay_active(&relayed.relay));
	come(320, false, 7, true, 800);
	assert_false(telephone_event_relay_active(&relayed.relay));
	pass(100);
	assert_int_equal(relayed.n, 4);
	expect(0, BASE_OUT + 320, true, 7, false, 320);
	for (unsigned i = 1; i < 4; i++)
		expect(i, BASE_OUT + 320, false, 7, true, 800);
	sums();
}

static void only_one_end_of_it_comes(void **state)
{
	start(8000, 8000);
	come(320, false, 7, true, 800);
	pass(100);
	assert_int_equal(relayed.n, 3);
	for (unsigned i = 0; i < 3; i++)
		expect(i, BASE_OUT + 320, !i, 7, true, 800);
	sums();
}

static void an_end_that_is_never_seen(void **state)
{
	start(8000, 8000);
	come(0, true, 3, false, 160);
	pass(20);
	come(0, false, 3, false, 320);
	pass(299);
	assert_true(telephone_event_relay_active(&relayed.relay));
	assert_int_equal(relayed.n, 2);
	pass(1);
	assert_false(telephone_event_relay_active(&relayed.relay));
	pass(100);
	assert_int_equal(relayed.n, 5);
	for (unsigned i = 2; i < 5; i++)
		expect(i, BASE_OUT, false, 3, true, 320);
	/* A late packet is no second digit, end or not. */
	come(0, false, 3, false, 3200);
	come(0, false, 3, true, 3360);
	pass(1000);
	assert_int_equal(relayed.n, 5);
	assert_int_equal(relayed.relay.counts.timed_out, 1);
	assert_int_equal(relayed.relay.counts.late, 1);
	assert_int_equal(relayed.relay.counts.repeated, 1);
	sums();
}

static void the_next_digit_ends_one_whose_ends_are_lost(void **state)
{
	start(8000, 8000);
	come(0, true, 3, false, 400);
	come(1600, true, 3, false, 160);
	assert_int_equal(relayed.n, 5);
	for (unsigned i = 1; i < 4; i++)
		expect(i, BASE_OUT, false, 3, true, 400);
	expect(4, BASE_OUT + 1600, true, 3, false, 160);
	assert_int_equal(relayed.relay.counts.begun, 2);
	assert_int_equal(relayed.relay.counts.cut_short, 1);
	sums();
}

static void late_and_repeated_packets_say_nothing(void **state)
{
	start(8000, 8000);
	come(1600, true, 4, false, 160);
	come(1600, false, 4, false, 480);
	come(1600, false, 4, false, 320); /* overtaken */
	come(1600, false, 4, false, 480); /* twice */
	come(0, false, 3, true, 800);	  /* an older event */
	come(1600, false, 5, false, 640); /* another code, same time */
	for (unsigned i = 0; i < 5; i++)
		come(1600, false, 4, true, 640);
	come(1600, false, 4, false, 560);
	pass(1000);
	assert_int_equal(relayed.n, 5);
	assert_int_equal(relayed.relay.counts.begun, 1);
	assert_int_equal(relayed.relay.counts.late, 4);
	assert_int_equal(relayed.relay.counts.repeated, 3);
	sums();
}

/* An update each 20 ms; a sender that cuts its event into segments as RFC 4733,
 * 2.5.1.3 wants. All packets of one in @lose are lost, but the last. */
static void long_event(unsigned seconds, unsigned lose)
{
	unsigned clock = relayed.relay.cfg.clock_in, step = clock / 50;
	uint64_t total = (uint64_t)seconds * clock, before = 0;

	for (uint64_t at = step; at <= total; at += step) {
		while (at - before > 0xffff) {
			for (unsigned i = 0; i < 3 && !lose; i++)
				come((uint32_t)before, !before, 9, false,
				     0xffff);
			before += 0xffff;
		}
		if (!lose || at == total || at / step % lose)
			come((uint32_t)before, at == step, 9, at == total,
			     (uint16_t)(at - before));
		pass(20);
	}
	pass(100);
}

/* The output is one event of @total units, in a chain of segments. */
static void one_event_of(uint64_t total)
{
	uint32_t ts = BASE_OUT;
	uint16_t last = 0;
	unsigned ends = 0, full = 0;

	for (unsigned i = 0; i < relayed.n; i++) {
		struct telephone_event e;

		(void)telephone_event_parse(relayed.sent[i].payload, 4, &e);
		assert_int_equal(relayed.sent[i].marker, !i);
		if (relayed.sent[i].ts != ts) {
			assert_in_range(full, 3, 4);
			assert_int_equal(relayed.sent[i].ts, ts + 0xffff);
			ts += 0xffff;
			full = 0;
			last = 0;
		}
		assert_true(e.duration >= last);
		last = e.duration;
		full += last == 0xffff;
		ends += e.end;
		assert_int_equal(e.end, i + 3 >= relayed.n);
	}
	assert_int_equal(ends, 3);
	assert_int_equal(ts - BASE_OUT + last, total);
	assert_int_equal(relayed.relay.counts.begun, 1);
	assert_int_equal(relayed.relay.counts.timed_out, 0);
	sums();
}

static void long_events_are_cut_anew(void **state)
{
	static const unsigned clocks[] = { 8000, 16000, 48000 };

	for (unsigned i = 0; i < 9; i++) {
		unsigned out = clocks[i / 3];

		start(clocks[i % 3], out);
		long_event(20, 0);
		one_event_of(20u * out);
		start(clocks[i % 3], out);
		long_event(20, 3);
		one_event_of(20u * out);
	}
}

static void a_long_event_goes_on_after_it_was_given_up(void **state)
{
	start(8000, 8000);
	come(0, true, 9, false, 65000);
	pass(1000);
	come(0xffff, false, 9, false, 7000);
	come(2 * 0xffff, false, 9, false, 160);
	come(2 * 0xffff, false, 9, true, 320);
	pass(1000);
	assert_int_equal(relayed.n, 4);
	assert_int_equal(relayed.relay.counts.begun, 1);
	/* A marker says that it is another event. */
	come(3 * 0xffff, true, 9, false, 160);
	assert_int_equal(relayed.relay.counts.begun, 2);
	sums();
}

static void several_events_in_a_packet(void **state)
{
	static const uint8_t packed[] = {
		1, 0x80, 0x01, 0x90, 2, 0x80, 0x01, 0x90, 2, 0x00, 0x00, 0xa0,
	};

	start(8000, 16000);
	come_bytes(800, true, packed, sizeof(packed));
	assert_int_equal(relayed.n, 7);
	for (unsigned i = 0; i < 3; i++) {
		expect(i, BASE_OUT + 1600, !i, 1, true, 800);
		expect(3 + i, BASE_OUT + 2400, !i, 2, true, 800);
	}
	expect(6, BASE_OUT + 3200, true, 2, false, 320);
	assert_true(telephone_event_relay_active(&relayed.relay));
	sums();
}

static void hostile_payloads_are_counted(void **state)
{
	static uint8_t bytes[1500];

	start(8000, 8000);
	come_bytes(0, true, bytes, 0);
	come_bytes(0, true, bytes, 3);
	come_bytes(0, true, bytes, 1499);
	assert_int_equal(relayed.n, 0);
	assert_int_equal(relayed.relay.counts.malformed, 3);
	memset(bytes, 0xff, sizeof(bytes));
	come_bytes(0, true, bytes, 1500);
	assert_int_equal(relayed.n, 0);
	assert_int_equal(relayed.relay.counts.unwanted, 4);
	assert_int_equal(relayed.relay.counts.excess, 371);
	assert_int_equal(relayed.relay.counts.packets, 4);
	sums();
}

/* The worst packet there is: after a short event, four segments at once of
 * which one was lost, to the fastest clock. */
static void a_burst_has_an_end(void **state)
{
	static const uint8_t longest[] = { 5, 0, 0xff, 0xff };
	uint8_t packed[16];

	for (unsigned i = 0; i < 4; i++)
		memcpy(packed + 4 * i, longest, 4);
	start(8000, 48000);
	come(0, true, 5, false, 1);
	relayed.n = 0;
	come_bytes(0xffff, false, packed, 16);
	assert_int_equal(relayed.relay.counts.begun, 1);
	assert_true(relayed.n > 30);
	assert_true(relayed.n <= TELEPHONE_EVENT_BURST_MAX);
	start(8000, 48000);
	come_bytes(77, true, packed, 16);
	come_bytes(77777777, true, packed, 16);
	sums();
}

static void codes_that_the_party_does_not_take(void **state)
{
	start(8000, 8000);
	come(0, true, 16, false, 160);
	come(800, true, 255, true, 160);
	assert_int_equal(relayed.n, 0);
	assert_int_equal(relayed.relay.counts.unwanted, 2);
	relayed.relay.cfg.takes.codes[0] |= 1u << 16;
	come(1600, true, 16, false, 160);
	assert_int_equal(relayed.n, 1);
	sums();
}

static void another_sender_takes_over(void **state)
{
	struct telephone_event_burst burst;

	start(8000, 8000);
	come(50000, true, 6, false, 160);
	telephone_event_relay_restart(&relayed.relay, &burst);
	take(&burst);
	assert_false(telephone_event_relay_active(&relayed.relay));
	assert_int_equal(relayed.n, 4);
	for (unsigned i = 1; i < 4; i++)
		expect(i, BASE_OUT + 50000, false, 6, true, 160);
	/* Timestamps that were late for the old sender are not for this one;
	 * those of the output go on. */
	come(49000, true, 6, false, 160);
	assert_int_equal(relayed.n, 5);
	expect(4, BASE_OUT + 50001, true, 6, false, 160);
	telephone_event_relay_restart(&relayed.relay, &burst);
	take(&burst);
	telephone_event_relay_restart(&relayed.relay, &burst);
	assert_int_equal(burst.n, 0);
	sums();
}

static void timestamps_wrap(void **state)
{
	start(8000, 8000);
	relayed.base_in = UINT32_MAX - 99;
	come(UINT32_MAX - 99, true, 1, false, 160);
	come(UINT32_MAX - 99, false, 1, true, 400);
	come(700, true, 1, true, 400);
	pass(100);
	assert_int_equal(relayed.relay.counts.begun, 2);
	expect(4, BASE_OUT + 800, true, 1, true, 400);
	assert_int_equal(relayed.n, 7);
	sums();
}

static void the_senders_clock_jumps_back(void **state)
{
	start(8000, 8000);
	come(10000000, true, 1, true, 400);
	come(10000000 - 40000, true, 2, true, 400); /* 5 s: late */
	assert_int_equal(relayed.relay.counts.begun, 1);
	come(10000000 - 40001, true, 2, true, 400);
	assert_int_equal(relayed.relay.counts.begun, 2);
	/* A little back is late, too, but not after 5 s of nothing. */
	pass(5000);
	come(10000000 - 40002, true, 3, true, 400);
	assert_int_equal(relayed.relay.counts.begun, 2);
	pass(1);
	come(10000000 - 40002, true, 3, true, 400);
	assert_int_equal(relayed.relay.counts.begun, 3);
	sums();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_payload_is_read_and_written),
		cmocka_unit_test(only_clocks_of_telephony),
		cmocka_unit_test(the_first_packet_is_lost),
		cmocka_unit_test(only_one_end_of_it_comes),
		cmocka_unit_test(an_end_that_is_never_seen),
		cmocka_unit_test(the_next_digit_ends_one_whose_ends_are_lost),
		cmocka_unit_test(late_and_repeated_packets_say_nothing),
		cmocka_unit_test(long_events_are_cut_anew),
		cmocka_unit_test(a_long_event_goes_on_after_it_was_given_up),
		cmocka_unit_test(several_events_in_a_packet),
		cmocka_unit_test(hostile_payloads_are_counted),
		cmocka_unit_test(a_burst_has_an_end),
		cmocka_unit_test(codes_that_the_party_does_not_take),
		cmocka_unit_test(another_sender_takes_over),
		cmocka_unit_test(timestamps_wrap),
		cmocka_unit_test(the_senders_clock_jumps_back),
	};

	return cmocka_run_group_tests_name("telephone event", tests, NULL,
					   NULL);
}
