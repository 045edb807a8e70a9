/* SPDX-License-Identifier: Apache-2.0 */
/*
 * RTCP of a real node's endpoints: reports go out and come in, at a port of
 * their own or at RTP's, and nobody else's are believed.
 */
#include "loopback.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "phones.h"
#include "said.h"
#include "talkers.h"
#include "udp/socket.h"

static void begin(struct phones *t, const char *rtcp)
{
	phones_open(t, rtcp, "pcma");
}

/* An RR of party A on what it is sent: a quarter lost, 10 ms of jitter. */
static size_t build_report(const struct phones *t, uint64_t ntp, uint8_t *buf)
{
	const struct rtcp_report report = {
		.ssrc = phones_ssrc_to(t, 0),
		.fraction = 64,
		.lost = 7,
		.jitter = 80,
		.lsr = (uint32_t)(ntp >> 16),
	};
	struct rtcp_writer w = { .buf = buf, .size = 256 };

	assert_int_equal(rtcp_put_report(&w, PARTY_SSRC, NULL, &report, 1), 0);
	assert_int_equal(rtcp_put_cname(&w, PARTY_SSRC, "a"), 0);
	return w.bytes;
}

static bool far_reported(void *arg)
{
	return phones_rtcp(arg, 0).reports > 0;
}

static void assert_far_is_known(struct phones *t)
{
	struct node_stats stats;
	struct endpoint_rtcp_info i;
	struct node_stream_info info;

	assert_true(fixture_wait(&t->rig, far_reported, t));
	i = phones_rtcp(t, 0);
	assert_int_equal(i.reports, 1);
	assert_true(i.lost_share == 0.25 && i.lost_mean == 0.25);
	assert_int_equal(i.lost_total, 7);
	assert_int_equal(i.far_jitter, 10 * CR_MS);
	assert_int_equal(i.round_trips, 1);
	assert_true(i.rtt >= 0 && i.rtt == i.rtt_min && i.rtt == i.rtt_max);
	/* the stream to A, which is B's, has that, too, and A's has not */
	node_stream_info(node_call_stream(t->c, 1), &info);
	assert_int_equal(info.rtcp.is->lost_total, 7);
	node_stream_info(node_call_stream(t->c, 0), &info);
	assert_int_equal(info.rtcp.is->reports, 0);
	node_stats(t->rig.node, &stats);
	assert_int_equal(stats.rtcp.reports, 1);
	assert_true(stats.rtcp.lost == 0.25);
	assert_int_equal(stats.rtcp.round_trip.count, 1);
	assert_int_equal(stats.rtcp.jitter.count, 1);
	assert_in_range(stats.rtcp.jitter.max, 9900 * CR_US, 10100 * CR_US);
}

/* Every datagram is in one place. */
static void assert_sums(const struct phones *t)
{
	struct node_stats s;

	node_stats(t->rig.node, &s);
	assert_int_equal(s.rx.packets + s.totals.port_drops + s.totals.unread,
			 t->sent);
	assert_int_equal(s.rx.packets,
			 s.rx.rtcp + s.rx.malformed + s.rx.oversized +
				 s.rx.no_listener + s.totals.packets_in);
}

/* --- tests --- */

static bool all_received(void *arg)
{
	return phones_rtcp(arg, 0).received == 30 &&
	       phones_rtcp(arg, 1).received > 0;
}

/* The far side at @reports hears of its losses, and reports to @rtcp_port. */
static void assert_both_report(struct phones *t, int fd, bool rtcp_port)
{
	uint8_t data[256];
	struct said s;

	/* B is known from now on, and A is sent something */
	phones_say(t, 1, 1);
	phones_say(t, 0, 40);
	s = said_full(fd);
	assert_int_equal(s.ssrc, phones_ssrc_to(t, 0));
	assert_int_equal(s.cnames, 1);
	assert_int_equal(s.report.ssrc, PARTY_SSRC);
	assert_int_equal(s.byes, 0);
	assert_int_equal(s.sender.packets, 1);
	assert_int_equal(s.sender.octets, OCTETS);
	assert_int_equal(address_port(&s.from),
			 address_port(&t->phone[0].endpoint) + rtcp_port);
	assert_true(fixture_wait(&t->rig, all_received, t));
	/* the tenth is the last one */
	assert_int_equal(phones_rtcp(t, 0).lost, 9);
	phones_send(t, fd, data, build_report(t, s.sender.ntp, data),
		    t->phone[0].endpoint, rtcp_port);
	assert_far_is_known(t);
	assert_int_equal(phones_rtcp(t, 0).packets_in, 1);
	assert_true(phones_rtcp(t, 0).packets_out > 0);
}

static void assert_bye(struct phones *t, int fd)
{
	uint32_t ssrc = phones_ssrc_to(t, 0);
	struct said s;

	talk_stop(&t->rig, t->c);
	do
		s = said_next(fd);
	while (!s.byes);
	assert_int_equal(s.ssrc, ssrc);
	assert_int_equal(s.cnames, 1);
	assert_sums(t);
}

static void reports_go_and_come_at_the_next_port(void **state)
{
	struct phones t;

	begin(&t, NULL);
	assert_both_report(&t, t.phone[0].at.rtcp, true);
	assert_bye(&t, t.phone[0].at.rtcp);
	phones_close(&t);
}

static void reports_go_and_come_with_rtp(void **state)
{
	struct phones t;

	begin(&t, "mux");
	assert_both_report(&t, t.phone[0].at.rtp, false);
	assert_bye(&t, t.phone[0].at.rtp);
	phones_close(&t);
}

/* Ports were agreed, but it sends RTCP where its RTP goes. */
static void who_multiplexes_unasked_is_answered_so(void **state)
{
	uint8_t data[256];
	struct phones t;

	begin(&t, "port");
	phones_say(&t, 0, 1);
	assert_int_equal(said_port(t.phone[0].at.rtcp),
			 address_port(&t.phone[0].endpoint) + 1);
	phones_send(&t, t.phone[0].at.rtp, data, build_report(&t, 0, data),
		    t.phone[0].endpoint, false);
	assert_int_equal(said_port(t.phone[0].at.rtp),
			 address_port(&t.phone[0].endpoint));
	assert_int_equal(phones_rtcp(&t, 0).foreign, 0);
	assert_bye(&t, t.phone[0].at.rtp);
	phones_close(&t);
}

static unsigned long long counted(struct phones *t)
{
	struct node_stats s;

	node_stats(t->rig.node, &s);
	return s.rx.packets + s.totals.port_drops;
}

static bool all_counted(void *arg)
{
	struct phones *t = arg;

	return counted(t) == t->sent;
}

static void without_it_rtcp_is_counted_only(void **state)
{
	struct node_endpoint_info info;
	struct node_stats s;
	uint8_t data[256];
	struct phones t;

	begin(&t, "off");
	phones_say(&t, 0, 4);
	phones_send(&t, t.phone[0].at.rtp, data, build_report(&t, 0, data),
		    t.phone[0].endpoint, false);
	assert_true(fixture_wait(&t.rig, all_counted, &t));
	node_call_party(t.c, 0, &info);
	assert_null(info.rtcp.is);
	node_stats(t.rig.node, &s);
	assert_int_equal(s.rx.rtcp, 1);
	assert_int_equal(s.rx.rtcp_heard + s.rx.rtcp_foreign, 0);
	talk_stop(&t.rig, t.c);
	assert_sums(&t);
	phones_close(&t);
}

enum { FLOOD = 500 };

static size_t build_bye(uint8_t *buf)
{
	struct rtcp_writer w = { .buf = buf, .size = 256 };

	assert_int_equal(rtcp_put_report(&w, PARTY_SSRC, NULL, NULL, 0), 0);
	assert_int_equal(rtcp_put_bye(&w, PARTY_SSRC, "gone"), 0);
	return w.bytes;
}

/* Forged reports, BYEs of the party, garbage, and more than a packet. */
static void flood(struct phones *t, int stranger)
{
	const struct phone *a = &t->phone[0];
	uint8_t report[256], bye[256], garbage[40], large[3000] = { 0 };
	size_t nreport = build_report(t, 0, report), nbye = build_bye(bye);

	for (unsigned i = 0; i < FLOOD; i++) {
		memset(garbage, (int)i, sizeof(garbage));
		phones_send(t, stranger, report, nreport, a->endpoint, true);
		phones_send(t, stranger, report, nreport, a->endpoint, false);
		phones_send(t, a->at.rtcp, bye, nbye, a->endpoint, true);
		phones_send(t, a->at.rtcp, garbage, i % 40, a->endpoint, true);
		if (i % 100 == 0)
			phones_send(t, a->at.rtcp, large, sizeof(large),
				    a->endpoint, true);
		/* no more at a time than a port holds */
		if (i % 50 == 49)
			assert_true(fixture_wait(&t->rig, all_counted, t));
	}
}

static bool flood_is_told(void *arg)
{
	return phones_rtcp(arg, 0).byes + phones_rtcp(arg, 0).foreign >=
	       3 * FLOOD;
}

static void what_is_hostile_is_counted_and_changes_nothing(void **state)
{
	int stranger = udp_socket_at("127.0.0.2:0", NULL);
	struct endpoint_rtcp_info i;
	struct node_stats s;
	struct said full;
	struct phones t;

	begin(&t, NULL);
	phones_say(&t, 1, 1);
	phones_say(&t, 0, 2);
	assert_true(fixture_wait(&t.rig, all_counted, &t));
	flood(&t, stranger);
	assert_true(fixture_wait(&t.rig, flood_is_told, &t));
	i = phones_rtcp(&t, 0);
	assert_int_equal(i.foreign, 2 * FLOOD);
	assert_int_equal(i.byes, FLOOD);
	assert_int_equal(i.packets_in, FLOOD);
	assert_int_equal(i.refused, FLOOD);
	assert_int_equal(i.reports, 0);
	node_stats(t.rig.node, &s);
	assert_int_equal(s.rx.rtcp, 4 * FLOOD);
	assert_int_equal(s.rx.rtcp_foreign, i.foreign);
	assert_int_equal(s.rx.rtcp_refused, i.refused);
	assert_int_equal(s.rx.rtcp_heard, i.packets_in);
	assert_int_equal(s.rx.oversized, FLOOD / 100);
	/* it is heard and answered as before */
	phones_say(&t, 0, 2);
	assert_true(fixture_wait(&t.rig, all_counted, &t));
	full = said_full(t.phone[0].at.rtcp);
	assert_int_equal(address_port(&full.from),
			 address_port(&t.phone[0].endpoint) + 1);
	assert_bye(&t, t.phone[0].at.rtcp);
	(void)close(stranger);
	phones_close(&t);
}

/* The node has left the ports already: what comes then counts as unread. */
static void what_a_closed_port_had_is_counted(void **state)
{
	uint8_t data[256];
	struct phones t;
	size_t n;

	begin(&t, NULL);
	n = build_report(&t, 0, data);
	node_call_stop(t.c, NODE_END_STOPPED, NULL);
	for (unsigned i = 0; i < FLOOD; i++)
		phones_send(&t, t.phone[0].at.rtcp, data, n,
			    t.phone[0].endpoint, true);
	assert_true(fixture_wait(&t.rig, talk_is_over, &t.rig));
	assert_sums(&t);
	phones_close(&t);
}

/* Both parties speak the same: B's packets reach A as they came. In what is
 * reported to A the node speaks for B, and A's reports are on B. */
static void a_relay_reports_for_who_is_relayed(void **state)
{
	uint8_t data[256];
	struct rtcp_report report = { .ssrc = 0xb, .fraction = 128 };
	struct rtcp_writer w = { .buf = data, .size = sizeof(data) };
	struct phones t;
	struct said s;

	phones_open(&t, NULL, "pcmu");
	assert_true(node_call_relays(t.c));
	t.phone[1].next.ssrc = 0xb;
	phones_say(&t, 1, 2);
	phones_say(&t, 0, 40);
	s = said_full(t.phone[0].at.rtcp);
	assert_int_equal(s.ssrc, 0xb);
	assert_int_equal(s.sender.packets, 2);
	assert_int_equal(s.report.ssrc, PARTY_SSRC);
	assert_true(fixture_wait(&t.rig, all_received, &t));
	assert_int_equal(phones_rtcp(&t, 0).lost, 9);
	assert_int_equal(rtcp_put_report(&w, PARTY_SSRC, NULL, &report, 1), 0);
	phones_send(&t, t.phone[0].at.rtcp, data, w.bytes, t.phone[0].endpoint,
		    true);
	assert_true(fixture_wait(&t.rig, far_reported, &t));
	assert_true(phones_rtcp(&t, 0).lost_share == 0.5);
	talk_stop(&t.rig, t.c);
	assert_sums(&t);
	phones_close(&t);
}

static bool listener_reported(void *arg)
{
	struct node_stream_info info;

	node_stream_info(arg, &info);
	return info.rtcp.is->reports > 0;
}

/* Its listener is somebody else than who is heard. */
static void a_one_way_calls_listener_reports_too(void **state)
{
	struct phones t = { 0 };
	struct node_stream *st;
	struct cr_err e = { "" };
	uint8_t data[256];
	struct rtcp_writer w = { .buf = data, .size = sizeof(data) };
	struct rtcp_report report = { .fraction = 128 };
	char json[200];

	fixture_open(&t.rig, &(struct fixture_options){ .workers = 1 });
	t.rig.node->cfg.rtcp_interval = 100 * CR_MS;
	phone_open(&t.phone[0], 0);
	(void)snprintf(json, sizeof(json),
		       "{'in':{'codec':'pcmu'},'port':'own','rtcp':'port',"
		       "'out':{'codec':'pcma','address':'127.0.0.1:%u'}}",
		       t.phone[0].at.port);
	st = fixture_call(&t.rig, json);
	node_stream_address(st, json, sizeof(json));
	assert_int_equal(address_parse(json, &t.phone[0].endpoint), 0);
	/* nobody was heard: the listener is reported to nevertheless */
	(void)said_next(t.phone[0].at.rtcp);
	report.ssrc = node_stream_settings(st)->ssrc_out;
	assert_int_equal(rtcp_put_report(&w, 1, NULL, &report, 1), 0);
	phones_send(&t, t.phone[0].at.rtcp, data, w.bytes, t.phone[0].endpoint,
		    true);
	assert_true(fixture_wait(&t.rig, listener_reported, st));
	fixture_end(&t.rig, st);
	assert_int_equal(fixture_try(&t.rig,
				     "{'in':{'codec':'pcmu'},'rtcp':'port',"
				     "'out':{'codec':'pcma'}}",
				     &st, &e),
			 -EINVAL);
	assert_non_null(strstr(e.text, "rtcp: "));
	phone_close(&t.phone[0]);
	fixture_close(&t.rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reports_go_and_come_at_the_next_port),
		cmocka_unit_test(reports_go_and_come_with_rtp),
		cmocka_unit_test(who_multiplexes_unasked_is_answered_so),
		cmocka_unit_test(without_it_rtcp_is_counted_only),
		cmocka_unit_test(
			what_is_hostile_is_counted_and_changes_nothing),
		cmocka_unit_test(what_a_closed_port_had_is_counted),
		cmocka_unit_test(a_relay_reports_for_who_is_relayed),
		cmocka_unit_test(a_one_way_calls_listener_reports_too),
	};

	return cmocka_run_group_tests_name("rtcp", tests, NULL, NULL);
}
