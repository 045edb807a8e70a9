/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An endpoint's RTCP: when a report goes, what it says, and two sessions that
 * talk over a network with a delay.
 */
#include "cmocka_cr.h"

#include <errno.h>
#include <string.h>

#include "rtcp_items.h"
#include "rtp/rtcp_session.h"
#include "seed.h"

/* 2026-11-23 00:00 UTC, some monotonic time */
#define WALL (1795392000 * CR_SEC)
#define BEGIN (777 * CR_SEC)

enum { US = 0x22222222, THEM = 0x11111111 };

struct party {
	struct rtcp_session s;
	struct rtcp_sent sent;
	uint8_t buf[RTCP_BUILD_BYTES];
	size_t n;
};

static void party_init(struct party *p, uint32_t ssrc, uint64_t seed)
{
	const struct rtcp_session_config cfg = { .seed = seed,
						 .ssrc = ssrc,
						 .cname = "a@example.com",
						 .rate_in = 8000,
						 .rate_out = 8000,
						 .interval = RTCP_INTERVAL,
						 .sent = &p->sent };

	memset(p, 0, sizeof(*p));
	assert_int_equal(rtcp_session_init(&p->s, &cfg, BEGIN), 0);
}

/* At the time it is due, the next report; its time into @now. */
static void next_report(struct party *p, cr_ns *now)
{
	do {
		*now = rtcp_due(&p->s);
		assert_true(*now != CR_NEVER);
		p->n = rtcp_build(&p->s, p->buf, *now, WALL + *now);
	} while (!p->n);
}

static struct rtcp_packet first_packet(const struct party *p)
{
	struct rtcp_reader r;
	struct rtcp_packet first;

	assert_int_equal(rtcp_open(&r, p->buf, p->n), 0);
	assert_true(rtcp_next(&r, &first));
	return first;
}

static void heard(struct party *p, uint16_t seq, cr_ns now)
{
	const struct rtp_packet rtp = { .ssrc = THEM, .seq = seq };

	(void)rtcp_heard_rtp(&p->s, &rtp, true, now);
}

/* --- the clock --- */

static void intervals_are_as_long_as_told(void **state)
{
	struct rtcp_clock c;
	cr_ns last = 0, sum = 0, least = CR_NEVER, most = 0;
	enum { REPORTS = 100000 };

	rtcp_clock_init(&c, test_seed(), RTCP_INTERVAL, 0);
	for (unsigned i = 0; i <= REPORTS; i++) {
		cr_ns now, gap;

		do
			now = c.due;
		while (!rtcp_clock_ready(&c, now));
		gap = now - last;
		last = now;
		if (!i) { /* the first comes in half the time */
			assert_in_range(gap, 1026 * CR_MS, 3079 * CR_MS);
			continue;
		}
		sum += gap;
		least = cr_ns_min(least, gap);
		most = cr_ns_max(most, gap);
	}
	/* 5 s * (0.5 to 1.5) / 1.21828, and all of that range is used */
	assert_in_range(least, 2052 * CR_MS, 2200 * CR_MS);
	assert_in_range(most, 6100 * CR_MS, 6157 * CR_MS);
	/* 100,000 of them: the mean's deviation is below 4 ms */
	assert_in_range(sum / REPORTS, 4970 * CR_MS, 5030 * CR_MS);
}

static void a_report_is_never_early(void **state)
{
	struct rtcp_clock c;

	rtcp_clock_init(&c, 1, RTCP_INTERVAL, BEGIN);
	assert_false(rtcp_clock_ready(&c, c.due - 1));
	/* late by more than any interval: no reconsideration delays it */
	assert_true(rtcp_clock_ready(&c, BEGIN + 60 * CR_SEC));
	assert_in_range(c.due, BEGIN + 62 * CR_SEC, BEGIN + 67 * CR_SEC);
}

static void parties_do_not_report_in_step(void **state)
{
	struct rtcp_clock a, b;

	rtcp_clock_init(&a, 1, RTCP_INTERVAL, BEGIN);
	rtcp_clock_init(&b, 2, RTCP_INTERVAL, BEGIN);
	assert_true(a.due != b.due);
	rtcp_clock_init(&b, 1, RTCP_INTERVAL, BEGIN);
	assert_true(a.due == b.due); /* pure */
}

static void without_an_interval_there_are_no_reports(void **state)
{
	struct rtcp_clock c;

	rtcp_clock_init(&c, 1, 0, BEGIN);
	assert_true(c.due == CR_NEVER);
	assert_false(rtcp_clock_ready(&c, BEGIN + 3600 * CR_SEC));
}

/* --- what a report says --- */

static void who_has_not_sent_sends_rr(void **state)
{
	struct party p;
	struct rtcp_packet first;
	cr_ns now;

	party_init(&p, US, 1);
	next_report(&p, &now);
	first = first_packet(&p);
	assert_int_equal(first.type, RTCP_RR);
	assert_int_equal(first.count, 0);
	heard(&p, 9, now);
	next_report(&p, &now);
	first = first_packet(&p);
	assert_int_equal(first.type, RTCP_RR);
	assert_int_equal(first.count, 1);
	assert_int_equal(rtcp_report_at(&first, 0).ssrc, THEM);
}

static void who_sends_sends_sr_for_two_intervals(void **state)
{
	struct party p;
	struct rtcp_packet first;
	cr_ns now = BEGIN;

	party_init(&p, US, 1);
	for (unsigned i = 0; i < 3; i++)
		rtcp_sent_rtp(&p.sent, 33, 1000 + i * 160, now);
	next_report(&p, &now);
	first = first_packet(&p);
	assert_int_equal(first.type, RTCP_SR);
	assert_int_equal(first.sender.packets, 3);
	assert_int_equal(first.sender.octets, 99);
	assert_true(first.sender.ntp == rtcp_ntp(WALL + now));
	/* the RTP clock has gone on since the last packet */
	assert_in_range(first.sender.rtp_ts,
			1320 + (now - BEGIN) * 8 / CR_MS - 1,
			1320 + (now - BEGIN) * 8 / CR_MS + 1);
	next_report(&p, &now);
	assert_int_equal(first_packet(&p).type, RTCP_SR);
	next_report(&p, &now);
	assert_int_equal(first_packet(&p).type, RTCP_RR);
	rtcp_sent_rtp(&p.sent, 33, 0, now);
	next_report(&p, &now);
	assert_int_equal(first_packet(&p).type, RTCP_SR);
}

static void a_cname_follows(void **state)
{
	struct party p;
	struct rtcp_reader r;
	struct rtcp_packet packet;
	struct rtcp_items it = { 0 };
	struct rtcp_text t;
	cr_ns now;

	party_init(&p, US, 1);
	next_report(&p, &now);
	assert_int_equal(rtcp_open(&r, p.buf, p.n), 0);
	assert_true(rtcp_next(&r, &packet) && rtcp_next(&r, &packet));
	assert_int_equal(packet.type, RTCP_SDES);
	assert_true(rtcp_item_next(&packet, &it, &t));
	assert_int_equal(t.ssrc, US);
	assert_int_equal(t.bytes, 13);
	assert_memory_equal(t.text, "a@example.com", 13);
	assert_false(rtcp_next(&r, &packet));
}

static void the_senders_words_wrap_each_by_itself(void **state)
{
	struct party p;
	struct rtcp_packet first;
	cr_ns now;

	party_init(&p, US, 1);
	atomic_store(&p.sent.total, UINT64_C(0xfffffffffffffff0));
	rtcp_sent_rtp(&p.sent, 0x20, 7, BEGIN);
	rtcp_sent_rtp(&p.sent, 1, 7, BEGIN);
	next_report(&p, &now);
	first = first_packet(&p);
	assert_int_equal(first.sender.packets, 1);
	assert_int_equal(first.sender.octets, 0x11);
}

static void ntp_is_of_1900(void **state)
{
	/* RFC 5905, figure 4: 1 Jan 1970 and the last second of 1999 */
	assert_true(rtcp_ntp(0) == UINT64_C(2208988800) << 32);
	assert_true(rtcp_ntp(946684799 * CR_SEC + CR_SEC / 2) ==
		    (UINT64_C(3155673599) << 32 | 0x80000000));
}

/* --- the end --- */

static void the_last_report_says_bye(void **state)
{
	struct party p;
	struct rtcp_reader r;
	struct rtcp_packet packet;
	struct rtcp_text t;

	party_init(&p, US, 1);
	rtcp_sent_rtp(&p.sent, 33, 0, BEGIN);
	heard(&p, 1, BEGIN);
	p.n = rtcp_bye(&p.s, p.buf, BEGIN + CR_SEC, WALL, "the call has ended");
	assert_int_equal(rtcp_open(&r, p.buf, p.n), 0);
	assert_true(rtcp_next(&r, &packet));
	assert_int_equal(packet.type, RTCP_SR);
	assert_int_equal(packet.count, 1);
	assert_true(rtcp_next(&r, &packet));
	assert_true(rtcp_next(&r, &packet));
	assert_int_equal(packet.type, RTCP_BYE);
	assert_int_equal(rtcp_bye_at(&packet, 0), US);
	assert_true(rtcp_bye_reason(&packet, &t));
	assert_memory_equal(t.text, "the call has ended", t.bytes);
	assert_true(rtcp_due(&p.s) == CR_NEVER);
	assert_int_equal(rtcp_build(&p.s, p.buf, BEGIN + 99 * CR_SEC, WALL), 0);
}

static void whom_nobody_knows_says_no_bye(void **state)
{
	struct party p;

	party_init(&p, US, 1);
	heard(&p, 1, BEGIN);
	assert_int_equal(rtcp_bye(&p.s, p.buf, BEGIN, WALL, NULL), 0);
	assert_true(rtcp_due(&p.s) == CR_NEVER);
}

static void the_longest_report_fits(void **state)
{
	struct party p;
	char longest[RTCP_TEXT_BYTES + 1];

	memset(longest, 'x', sizeof(longest) - 1);
	longest[sizeof(longest) - 1] = '\0';
	party_init(&p, US, 1);
	p.s.cfg.cname = longest;
	rtcp_sent_rtp(&p.sent, 33, 0, BEGIN);
	heard(&p, 1, BEGIN);
	p.n = rtcp_bye(&p.s, p.buf, BEGIN, WALL, longest);
	assert_int_equal(p.n, 52 + 268 + 264);
	assert_int_equal(first_packet(&p).count, 1);
}

/* --- what comes --- */

static void two_parties_learn_of_each_other(void **state)
{
	const cr_ns there = 30 * CR_MS, back = 45 * CR_MS;
	struct party a, b;
	cr_ns now;

	party_init(&a, US, 1);
	party_init(&b, THEM, 2);
	rtcp_sent_rtp(&a.sent, 160, 0, BEGIN);
	for (unsigned i = 0; i < 10; i++) {
		const struct rtp_packet p = { .ssrc = US, .seq = i * 2u & 31 };

		(void)rtcp_heard_rtp(&b.s, &p, false, BEGIN);
	}
	next_report(&a, &now);
	assert_int_equal(rtcp_heard(&b.s, a.buf, a.n, now + there), 0);
	/* b keeps it for 3 s */
	b.s.clock.due = b.s.clock.last = now + there + 3 * CR_SEC - 9 * CR_SEC;
	now += there + 3 * CR_SEC;
	/* and its wall clock is an hour off */
	b.n = rtcp_build(&b.s, b.buf, now, WALL + 3600 * CR_SEC);
	assert_true(b.n > 0);
	assert_int_equal(rtcp_heard(&a.s, b.buf, b.n, now + back), 0);
	assert_int_equal(a.s.far.reports, 1);
	assert_int_equal(a.s.far.lost, 9);
	assert_int_equal(a.s.far.highest, 18);
	assert_int_equal(a.s.far.fraction.last, 9 * 256 / 19);
	/* a unit of DLSR is 15 us */
	assert_in_range(a.s.far.rtt.last, there + back, there + back + 16000);
	assert_int_equal(a.s.packets_in, 1);
}

static void reports_on_others_are_not_ours(void **state)
{
	const struct rtcp_report r = { .ssrc = 99, .lost = 5 };
	struct party p;
	struct rtcp_writer w;

	party_init(&p, US, 1);
	w = (struct rtcp_writer){ .buf = p.buf, .size = sizeof(p.buf) };
	assert_int_equal(rtcp_put_report(&w, THEM, NULL, &r, 1), 0);
	assert_int_equal(rtcp_heard(&p.s, p.buf, w.bytes, BEGIN), 0);
	assert_int_equal(p.s.far.reports, 0);
}

static void who_has_our_ssrc_is_not_believed(void **state)
{
	const struct rtcp_report r = { .ssrc = US, .lost = 5 };
	struct party p;
	struct rtcp_writer w;

	party_init(&p, US, 1);
	w = (struct rtcp_writer){ .buf = p.buf, .size = sizeof(p.buf) };
	assert_int_equal(rtcp_put_report(&w, US, NULL, &r, 1), 0);
	assert_int_equal(rtcp_heard(&p.s, p.buf, w.bytes, BEGIN), 0);
	assert_int_equal(p.s.far.reports, 0);
	assert_int_equal(p.s.collisions, 1);
}

static void a_byes_source_is_the_one_that_is_heard(void **state)
{
	struct party p;
	struct rtcp_writer w;

	party_init(&p, US, 1);
	heard(&p, 1, BEGIN);
	w = (struct rtcp_writer){ .buf = p.buf, .size = sizeof(p.buf) };
	assert_int_equal(rtcp_put_bye(&w, 99, NULL), 0);
	assert_int_equal(rtcp_heard(&p.s, p.buf, w.bytes, BEGIN), 0);
	assert_int_equal(p.s.byes, 0);
	assert_int_equal(rtcp_put_bye(&w, THEM, NULL), 0);
	assert_int_equal(rtcp_heard(&p.s, p.buf, w.bytes, BEGIN), 0);
	assert_int_equal(p.s.byes, 1);
}

/* A good report, then rubbish: none of it counts. */
static void what_is_malformed_is_counted_and_not_believed(void **state)
{
	const struct rtcp_report r = { .ssrc = US, .lost = 5 };
	struct party p;
	struct rtcp_writer w;

	party_init(&p, US, 1);
	memset(p.buf, 0, sizeof(p.buf));
	w = (struct rtcp_writer){ .buf = p.buf, .size = sizeof(p.buf) };
	assert_int_equal(rtcp_put_report(&w, THEM, NULL, &r, 1), 0);
	assert_int_equal(rtcp_heard(&p.s, p.buf, w.bytes + 4, BEGIN),
			 RTCP_BAD_VERSION);
	assert_int_equal(rtcp_heard(&p.s, p.buf, w.bytes + 3, BEGIN),
			 RTCP_TOO_SHORT);
	assert_int_equal(p.s.far.reports, 0);
	assert_int_equal(p.s.packets_in, 0);
	assert_int_equal(p.s.refused[-RTCP_BAD_VERSION], 1);
	assert_int_equal(p.s.refused[-RTCP_TOO_SHORT], 1);
}

static void a_strangers_sr_does_not_displace_the_sources(void **state)
{
	const struct rtcp_sender sender = { .ntp = UINT64_C(5) << 32 };
	struct party p;
	struct rtcp_writer w;

	party_init(&p, US, 1);
	heard(&p, 1, BEGIN);
	w = (struct rtcp_writer){ .buf = p.buf, .size = sizeof(p.buf) };
	assert_int_equal(rtcp_put_report(&w, THEM, &sender, NULL, 0), 0);
	assert_int_equal(rtcp_heard(&p.s, p.buf, w.bytes, BEGIN), 0);
	w.bytes = 0;
	assert_int_equal(rtcp_put_report(&w, 99, &sender, NULL, 0), 0);
	assert_int_equal(rtcp_heard(&p.s, p.buf, w.bytes, BEGIN), 0);
	assert_int_equal(p.s.heard.sr_ssrc, THEM);
}

static void what_cannot_be_is_refused(void **state)
{
	struct rtcp_session_config cfg = { .cname = "x",
					   .rate_in = 1,
					   .rate_out = 1000000 };
	struct rtcp_session s;

	assert_int_equal(rtcp_session_init(&s, &cfg, 0), 0);
	assert_int_equal(rtcp_session_set_rates(&s, 8000, 0), -EINVAL);
	assert_int_equal(rtcp_session_set_rates(&s, 1000001, 1), -EINVAL);
	assert_int_equal(s.cfg.rate_in, 1);
	assert_int_equal(rtcp_session_set_rates(&s, 8000, 48000), 0);
	assert_int_equal(s.heard.rate, 8000);
	cfg.cname = "";
	assert_int_equal(rtcp_session_init(&s, &cfg, 0), -EINVAL);
	cfg.cname = "x";
	cfg.interval = 601 * CR_SEC;
	assert_int_equal(rtcp_session_init(&s, &cfg, 0), -EINVAL);
	cfg.interval = -1;
	assert_int_equal(rtcp_session_init(&s, &cfg, 0), -EINVAL);
}

static void cnames_are_16_digits(void **state)
{
	const uint64_t none[2] = { 0 }, all[2] = { UINT64_MAX, UINT64_MAX };
	const uint64_t some[2] = { 1, UINT64_C(0x3f) << 42 };
	char out[RTCP_CNAME_BYTES];

	rtcp_cname(none, out);
	assert_string_equal(out, "AAAAAAAAAAAAAAAA");
	rtcp_cname(all, out);
	assert_string_equal(out, "////////////////");
	rtcp_cname(some, out);
	assert_string_equal(out, "BAAAAAAAAAAAAAA/");
}

/* What is left in memory of a process that has died. */
static void a_new_process_goes_on_reporting(void **state)
{
	struct rtcp_session_config cfg;
	struct rtcp_report of_them;
	struct rtcp_packet sr;
	struct party p;
	cr_ns now;

	(void)state;
	party_init(&p, US, test_seed());
	for (uint16_t seq = 65530; seq != 4; seq++) {
		heard(&p, seq, BEGIN + seq);
		rtcp_sent_rtp(&p.sent, 160, seq, BEGIN);
	}
	next_report(&p, &now);
	cfg = p.s.cfg;
	cfg.ssrc = 7;
	cfg.seed++;
	assert_int_equal(rtcp_session_resume(&p.s, &cfg, now), 0);
	heard(&p, 6, now);
	rtcp_sent_rtp(&p.sent, 160, 6, now);
	next_report(&p, &now);
	sr = first_packet(&p);
	assert_int_equal(sr.ssrc, US);
	assert_int_equal(sr.sender.packets, 11);
	assert_int_equal(sr.sender.octets, 11 * 160);
	of_them = rtcp_report_at(&sr, 0);
	assert_int_equal(of_them.highest, 65536 + 6);
	assert_int_equal(of_them.lost, 2);
	/* no memory of a session */
	p.s.heard.rate = 0;
	assert_int_equal(rtcp_session_resume(&p.s, &cfg, now), -EINVAL);
	p.s.heard.rate = 8000;
	p.s.far.next = FEEDBACK_SRS;
	assert_int_equal(rtcp_session_resume(&p.s, &cfg, now), -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(intervals_are_as_long_as_told),
		cmocka_unit_test(a_report_is_never_early),
		cmocka_unit_test(parties_do_not_report_in_step),
		cmocka_unit_test(without_an_interval_there_are_no_reports),
		cmocka_unit_test(who_has_not_sent_sends_rr),
		cmocka_unit_test(who_sends_sends_sr_for_two_intervals),
		cmocka_unit_test(a_cname_follows),
		cmocka_unit_test(the_senders_words_wrap_each_by_itself),
		cmocka_unit_test(ntp_is_of_1900),
		cmocka_unit_test(the_last_report_says_bye),
		cmocka_unit_test(whom_nobody_knows_says_no_bye),
		cmocka_unit_test(the_longest_report_fits),
		cmocka_unit_test(two_parties_learn_of_each_other),
		cmocka_unit_test(reports_on_others_are_not_ours),
		cmocka_unit_test(who_has_our_ssrc_is_not_believed),
		cmocka_unit_test(a_byes_source_is_the_one_that_is_heard),
		cmocka_unit_test(what_is_malformed_is_counted_and_not_believed),
		cmocka_unit_test(a_strangers_sr_does_not_displace_the_sources),
		cmocka_unit_test(what_cannot_be_is_refused),
		cmocka_unit_test(a_new_process_goes_on_reporting),
		cmocka_unit_test(cnames_are_16_digits),
	};

	return cmocka_run_group_tests_name("rtcp_session", tests, NULL, NULL);
}
