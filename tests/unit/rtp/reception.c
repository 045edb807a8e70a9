/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reports of a source, and the far side's reports of us.
 */
#include "cmocka_cr.h"

#include <string.h>

#include "rtp/rtcp_session.h"

enum { RATE = 8000, SOURCE = 0x11111111 };

/* Packet @seq, 160 ticks each, comes @late ns behind its time. */
static enum rtp_arrival hear(struct reception *r, unsigned seq, cr_ns late)
{
	const struct rtp_packet p = { .ssrc = SOURCE,
				      .seq = (uint16_t)seq,
				      .ts = seq * 160 };

	return reception_packet(r, &p, true,
				100 * CR_SEC + seq * 20 * CR_MS + late);
}

static struct rtcp_report report(struct reception *r, cr_ns now)
{
	struct rtcp_report out;

	assert_true(reception_report(r, now, &out));
	return out;
}

static void a_report_tells_sequence_and_losses(void **state)
{
	struct reception r;
	struct rtcp_report out;

	reception_init(&r, RATE);
	for (unsigned seq = 65000; seq < 65100; seq++)
		if (seq % 4)
			(void)hear(&r, seq, 0);
	out = report(&r, 0);
	assert_int_equal(out.ssrc, SOURCE);
	assert_int_equal(out.highest, 65099);
	/* 65000 was not heard: the first one begins */
	assert_int_equal(out.lost, 24);
	assert_int_equal(out.fraction, 24 * 256 / 99);
	assert_int_equal(out.jitter, 0);
	assert_int_equal(out.lsr, 0);
	assert_int_equal(out.dlsr, 0);
	/* the next interval has no losses, and wraps */
	for (unsigned seq = 65100; seq < 65600; seq++)
		(void)hear(&r, seq, 0);
	out = report(&r, 0);
	assert_int_equal(out.highest, 65599);
	assert_int_equal(out.lost, 24);
	assert_int_equal(out.fraction, 0);
}

static void nothing_heard_is_not_reported(void **state)
{
	struct reception r;
	struct rtcp_report out = { .ssrc = 5 };

	reception_init(&r, RATE);
	assert_false(reception_report(&r, 0, &out));
	(void)hear(&r, 1, 0);
	assert_true(reception_report(&r, 0, &out));
	out.ssrc = 5;
	assert_false(reception_report(&r, 0, &out));
	assert_int_equal(out.ssrc, 5);
	/* a duplicate was heard */
	(void)hear(&r, 1, 0);
	assert_true(reception_report(&r, 0, &out));
	assert_int_equal(out.lost, -1);
	assert_int_equal(out.fraction, 0);
}

static void late_packets_take_losses_back(void **state)
{
	struct reception r;
	struct rtcp_report out;

	reception_init(&r, RATE);
	(void)hear(&r, 1, 0);
	(void)hear(&r, 11, 0);
	out = report(&r, 0);
	assert_int_equal(out.lost, 9);
	assert_int_equal(out.fraction, 9 * 256 / 11);
	for (unsigned seq = 2; seq < 8; seq++)
		assert_int_equal(hear(&r, seq, 0), RTP_REORDERED);
	/* more than were due: no fraction, but fewer in all */
	out = report(&r, 0);
	assert_int_equal(out.lost, 3);
	assert_int_equal(out.fraction, 0);
}

/* Hundred times as long as what comes, so A.8's mean has settled. */
static void jitter_is_the_mean_deviation(void **state)
{
	struct reception r;

	reception_init(&r, RATE);
	for (unsigned seq = 0; seq < 1600; seq++)
		(void)hear(&r, seq, seq % 2 ? 5 * CR_MS : 0);
	/* every packet deviates from the one before by 5 ms, 40 ticks */
	assert_in_range(report(&r, 0).jitter, 39, 40);
	assert_in_range(reception_jitter(&r), 4900 * CR_US, 5000 * CR_US);
}

static void timestamps_that_tell_no_time_do_not_count(void **state)
{
	struct reception r;

	reception_init(&r, RATE);
	(void)hear(&r, 0, 0);
	for (unsigned seq = 1; seq < 50; seq++) {
		const struct rtp_packet event = { .ssrc = SOURCE,
						  .seq = (uint16_t)seq,
						  .ts = 160 };

		(void)reception_packet(&r, &event, false,
				       100 * CR_SEC + seq * 20 * CR_MS);
	}
	(void)hear(&r, 50, 0);
	assert_int_equal(report(&r, 0).jitter, 0);
	assert_int_equal(reception_lost(&r), 0);
}

static void a_clock_that_was_set_is_no_jitter(void **state)
{
	struct reception r;

	reception_init(&r, RATE);
	(void)hear(&r, 0, 0);
	(void)hear(&r, 1, 9 * CR_SEC);
	assert_int_equal(report(&r, 0).jitter, 9 * RATE / 16);
	reception_init(&r, RATE);
	(void)hear(&r, 0, 0);
	(void)hear(&r, 1, 10 * CR_SEC);
	(void)hear(&r, 2, 10 * CR_SEC);
	assert_int_equal(report(&r, 0).jitter, 0);
}

/* RFC 3550, A.8, is modulo 2^32 in both clocks. */
static void both_clocks_wrap(void **state)
{
	struct reception r;

	reception_init(&r, RATE);
	for (unsigned i = 0; i < 200; i++) {
		/* 2^32 ticks are 536,870.912 s */
		const struct rtp_packet p = { .ssrc = SOURCE,
					      .seq = (uint16_t)i,
					      .ts = i * 160 - 100 * 160 };

		(void)reception_packet(&r, &p, true,
				       536868912 * CR_MS + i * 20 * CR_MS);
	}
	assert_int_equal(report(&r, 0).jitter, 0);
}

static void another_ssrc_begins_anew_and_totals_stay(void **state)
{
	struct reception r;
	struct rtcp_report out;
	struct rtp_packet p = { .ssrc = 7, .seq = 500 };

	reception_init(&r, RATE);
	reception_sender(&r, SOURCE, 0xeeae14c980000000, 0);
	(void)hear(&r, 1, 0);
	(void)hear(&r, 4, 9 * CR_MS);
	assert_int_equal(reception_lost(&r), 2);
	assert_int_equal(reception_packet(&r, &p, true, 0), RTP_NEW);
	out = report(&r, CR_SEC);
	assert_int_equal(out.ssrc, 7);
	assert_int_equal(out.lost, 0);
	assert_int_equal(out.highest, 500);
	assert_int_equal(out.jitter, 0);
	assert_int_equal(out.lsr, 0); /* that SR was another's */
	assert_int_equal(reception_lost(&r), 2);
	assert_int_equal(reception_received(&r), 3);
	assert_int_equal(r.sources, 2);
}

static void the_last_sr_is_told(void **state)
{
	struct reception r;
	struct rtcp_report out;

	reception_init(&r, RATE);
	(void)hear(&r, 1, 0);
	reception_sender(&r, SOURCE, 0xeeae14c980000001, 10 * CR_SEC);
	out = report(&r, 12500 * CR_MS);
	assert_int_equal(out.lsr, 0x14c98000);
	assert_int_equal(out.dlsr, 65536 * 5 / 2);
	/* as long as can be reported */
	(void)hear(&r, 2, 0);
	assert_int_equal(report(&r, 65546 * CR_SEC).dlsr, UINT32_MAX);
	(void)hear(&r, 3, 0);
	assert_int_equal(report(&r, 65545 * CR_SEC).dlsr, 65535u << 16);
}

static void another_clock_keeps_the_jitters_time(void **state)
{
	struct reception r;
	cr_ns before;

	reception_init(&r, RATE);
	for (unsigned seq = 0; seq < 1000; seq++)
		(void)hear(&r, seq, seq % 2 ? 5 * CR_MS : 0);
	before = reception_jitter(&r);
	reception_set_rate(&r, 48000);
	assert_int_equal(reception_jitter(&r), before);
	assert_in_range(report(&r, 0).jitter, 6 * 39, 6 * 40);
}

/* --- feedback --- */

/* 0xeeae14c9.8 s, and what of it a report repeats. */
#define NTP UINT64_C(0xeeae14c980000000)
#define LSR 0x14c98000u

static void the_round_trip_is_what_the_far_side_did_not_keep(void **state)
{
	struct feedback f = { 0 };
	struct rtcp_report r = { .lsr = LSR, .dlsr = 65536 };

	feedback_sr(&f, NTP, 50 * CR_SEC);
	feedback_report(&f, &r, 51 * CR_SEC + 80 * CR_MS);
	assert_int_equal(f.rtt.last, 80 * CR_MS);
	feedback_report(&f, &r, 51 * CR_SEC + 40 * CR_MS);
	assert_int_equal(f.rtt.n, 2);
	assert_int_equal(f.rtt.min, 40 * CR_MS);
	assert_int_equal(f.rtt.max, 80 * CR_MS);
	assert_int_equal(feedback_mean(&f.rtt), 60 * CR_MS);
	/* rounded up by the far side */
	feedback_report(&f, &r, 51 * CR_SEC - CR_MS);
	assert_int_equal(f.rtt.last, 0);
	assert_int_equal(f.odd, 0);
}

static void answers_to_what_was_not_asked_do_not_count(void **state)
{
	struct feedback f = { 0 };
	struct rtcp_report r = { .dlsr = 65536 };

	feedback_report(&f, &r, 51 * CR_SEC); /* has seen no SR */
	assert_int_equal(f.odd, 0);
	r.lsr = LSR;
	feedback_report(&f, &r, 51 * CR_SEC); /* nor have we sent any */
	assert_int_equal(f.odd, 1);
	feedback_sr(&f, NTP, 50 * CR_SEC);
	r.dlsr = 2 * 65536; /* longer than since then */
	feedback_report(&f, &r, 51 * CR_SEC);
	assert_int_equal(f.odd, 2);
	assert_int_equal(f.rtt.n, 0);
	assert_int_equal(f.reports, 3);
}

static void the_newest_srs_may_be_answered(void **state)
{
	struct feedback f = { 0 };
	struct rtcp_report r = { .lsr = LSR };

	for (uint64_t i = 0; i < FEEDBACK_SRS; i++)
		feedback_sr(&f, NTP + (i << 32), 50 * CR_SEC);
	feedback_report(&f, &r, 51 * CR_SEC);
	assert_int_equal(f.rtt.last, CR_SEC);
	feedback_sr(&f, NTP + (UINT64_C(9) << 32), 50 * CR_SEC);
	feedback_report(&f, &r, 51 * CR_SEC);
	assert_int_equal(f.rtt.n, 1);
	assert_int_equal(f.odd, 1);
}

static void what_the_far_side_told_is_kept(void **state)
{
	struct feedback f = { 0 };
	const struct rtcp_report r[] = {
		{ .fraction = 128, .lost = 50, .highest = 99, .jitter = 400 },
		{ .fraction = 0, .lost = -1, .highest = 199, .jitter = 100 },
	};

	assert_int_equal(feedback_mean(&f.jitter), 0);
	feedback_report(&f, &r[0], 0);
	feedback_report(&f, &r[1], 0);
	assert_int_equal(f.reports, 2);
	assert_int_equal(f.lost, -1);
	assert_int_equal(f.highest, 199);
	assert_int_equal(feedback_mean(&f.fraction), 64);
	assert_int_equal(f.fraction.max, 128);
	assert_int_equal(f.jitter.min, 100);
	assert_int_equal(f.jitter.last, 100);
	assert_int_equal(feedback_mean(&f.jitter), 250);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_report_tells_sequence_and_losses),
		cmocka_unit_test(nothing_heard_is_not_reported),
		cmocka_unit_test(late_packets_take_losses_back),
		cmocka_unit_test(jitter_is_the_mean_deviation),
		cmocka_unit_test(timestamps_that_tell_no_time_do_not_count),
		cmocka_unit_test(a_clock_that_was_set_is_no_jitter),
		cmocka_unit_test(both_clocks_wrap),
		cmocka_unit_test(another_ssrc_begins_anew_and_totals_stay),
		cmocka_unit_test(the_last_sr_is_told),
		cmocka_unit_test(another_clock_keeps_the_jitters_time),
		cmocka_unit_test(
			the_round_trip_is_what_the_far_side_did_not_keep),
		cmocka_unit_test(answers_to_what_was_not_asked_do_not_count),
		cmocka_unit_test(the_newest_srs_may_be_answered),
		cmocka_unit_test(what_the_far_side_told_is_kept),
	};

	return cmocka_run_group_tests_name("reception", tests, NULL, NULL);
}
