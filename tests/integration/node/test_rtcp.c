/* SPDX-License-Identifier: Apache-2.0 */
/*
 * RTCP of a real node's legs: reports go out and come in, at a port of their
 * own or at RTP's, and nobody else's are believed.
 */
#include "cmocka_cr.h"

#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/address.h"
#include "patience.h"
#include "protocol/field_json.h"
#include "protocol/tables/conversation.h"
#include "rig.h"
#include "rtp/rtcp.h"
#include "udp/socket.h"

enum { OCTETS = 160, PARTY_SSRC = 0xabcd };

/* A phone: sockets at a port and the one above it, and where its leg is. */
struct phone {
	struct port_pairs *ports;
	struct port_pair at;
	struct sockaddr_storage leg; /* RTP */
	struct rtp_header next;
};

static void open_phone(struct phone *p, uint8_t pt)
{
	struct port_pairs_config cfg = { .bytes = 1 << 16 };
	struct cr_err e = { "" };

	assert_int_equal(address_parse("127.0.0.1:0", &cfg.local), 0);
	assert_int_equal(port_pairs_new(&p->ports, &cfg, &e), 0);
	assert_int_equal(port_pair_open(p->ports, true, &p->at, &e), 0);
	p->next = (struct rtp_header){ .pt = pt, .ssrc = PARTY_SSRC };
}

static void close_phone(struct phone *p)
{
	port_pair_close(p->ports, &p->at);
	port_pairs_free(p->ports);
}

/* A rig with a conversation of two phones. */
struct talk {
	struct rig rig;
	struct conversation *c;
	struct phone phone[2];
	unsigned long long sent; /* datagrams to the node */
	unsigned rounds;
};

/* @rtcp: what is asked for of party A; @codec: of B. */
static void begin_with(struct talk *t, const char *rtcp, const char *codec)
{
	struct conversation_request request;
	struct call_cfg stream[2];
	struct cr_err e = { "" };
	char text[NODE_ADDRESS_MAX];
	json_t *params;
	int err;

	memset(t, 0, sizeof(*t));
	rig_open(&t->rig, &(struct rig_options){ .workers = 1 });
	t->rig.node->cfg.rtcp_interval = 100 * CR_MS;
	open_phone(&t->phone[0], 0);
	open_phone(&t->phone[1], strcmp(codec, "pcmu") ? 8 : 0);
	(void)snprintf(text, sizeof(text), "127.0.0.1:%u", t->phone[0].at.port);
	params = json_pack("{s{ssss}s{ss}}", "a", "codec", "pcmu", "address",
			   text, "b", "codec", codec);
	if (rtcp)
		(void)json_object_set_new(json_object_get(params, "a"), "rtcp",
					  json_string(rtcp));
	field_defaults(conversation_start_fields, &request);
	err = field_read(conversation_start_fields, params, &request, &e);
	if (!err)
		err = conversation_check(stream, &request, &e);
	for (unsigned i = 0; i < 2 && !err; i++)
		err = rig_measure(&t->rig, &stream[i], &e);
	if (!err)
		err = conversation_start(t->rig.node, stream, &request, &t->c,
					 &e);
	if (err)
		fail_msg("%s", e.text);
	json_decref(params);
	for (unsigned i = 0; i < 2; i++) {
		node_call_address(conversation_stream(t->c, i), text,
				  sizeof(text));
		assert_int_equal(address_parse(text, &t->phone[i].leg), 0);
	}
}

static void begin(struct talk *t, const char *rtcp)
{
	begin_with(t, rtcp, "pcma");
}

static bool has_gone(void *arg)
{
	const struct talk *t = arg;

	return LIST_EMPTY(&t->rig.node->conversations);
}

static void stop(struct talk *t)
{
	conversation_stop(t->c);
	assert_true(rig_wait(&t->rig, has_gone, t));
}

static void end(struct talk *t)
{
	close_phone(&t->phone[0]);
	close_phone(&t->phone[1]);
	rig_close(&t->rig);
}

static void send_from(struct talk *t, int fd, const void *data, size_t n,
		      struct sockaddr_storage to, bool rtcp_port)
{
	if (rtcp_port)
		address_set_port(&to, address_port(&to) + 1);
	assert_int_equal(
		sendto(fd, data, n, 0, (void *)&to, address_length(&to)), n);
	t->sent++;
}

/* Party @i says the next @n frames, without every fourth. */
static void say(struct talk *t, unsigned i, unsigned n)
{
	struct phone *p = &t->phone[i];
	uint8_t packet[RTP_HEADER_BYTES + OCTETS] = { 0 };

	for (unsigned k = 0; k < n; k++) {
		(void)rtp_build(packet, &p->next);
		if (k % 4 != 3)
			send_from(t, p->at.rtp, packet, sizeof(packet), p->leg,
				  false);
		p->next.seq++;
		p->next.ts += OCTETS;
	}
}

/* What came in an RTCP packet. */
struct said {
	struct rtcp_sender sender; /* if it is an SR */
	struct rtcp_report report;
	uint32_t ssrc;
	unsigned reports, cnames, byes;
	bool is_sr;
	struct sockaddr_storage from;
};

static void read_said(struct said *s, const uint8_t *data, size_t n)
{
	struct rtcp_reader r;
	struct rtcp_packet p;
	struct rtcp_items items = { 0 };
	struct rtcp_text item;

	assert_int_equal(rtcp_open(&r, data, n), 0);
	while (rtcp_next(&r, &p)) {
		if (p.type == RTCP_SR || p.type == RTCP_RR) {
			s->is_sr = p.type == RTCP_SR;
			s->ssrc = p.ssrc;
			s->sender = p.sender;
			s->reports = p.count;
			if (p.count)
				s->report = rtcp_report_at(&p, 0);
		}
		while (p.type == RTCP_SDES && rtcp_item_next(&p, &items, &item))
			s->cnames += item.item == RTCP_CNAME &&
				     item.bytes == 16 && item.ssrc == s->ssrc;
		if (p.type == RTCP_BYE && rtcp_bye_at(&p, 0) == s->ssrc)
			s->byes++;
	}
}

/* The next RTCP packet at @fd, past RTP. */
static struct said next_said(int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };
	struct said s = { 0 };
	socklen_t len = sizeof(s.from);
	uint8_t data[2048];
	ssize_t n;

	do {
		assert_int_equal(poll(&p, 1, PATIENCE_S * 1000), 1);
		n = recvfrom(fd, data, sizeof(data), 0, (void *)&s.from, &len);
		assert_true(n > 0);
	} while (!rtp_is_rtcp(data, (size_t)n));
	read_said(&s, data, (size_t)n);
	return s;
}

/* The port that the next one comes from. */
static unsigned next_port(int fd)
{
	struct said s = next_said(fd);

	return address_port(&s.from);
}

/* The next one that reports on what was said, and is of a sender. */
static struct said next_full(int fd)
{
	struct said s;

	do
		s = next_said(fd);
	while (!s.reports || !s.is_sr);
	return s;
}

static struct leg_rtcp_info party(const struct talk *t, unsigned i)
{
	struct node_party_info info;

	conversation_party(t->c, i, &info);
	assert_non_null(info.leg.rtcp.is);
	return *info.leg.rtcp.is;
}

static uint32_t ssrc_to(const struct talk *t, unsigned i)
{
	return call_settings(conversation_stream(t->c, !i)->call)->ssrc_out;
}

/* An RR of party A on what it is sent: a quarter lost, 10 ms of jitter. */
static size_t build_report(const struct talk *t, uint64_t ntp, uint8_t *buf)
{
	const struct rtcp_report report = {
		.ssrc = ssrc_to(t, 0),
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
	return party(arg, 0).reports > 0;
}

static void assert_far_is_known(struct talk *t)
{
	struct node_stats stats;
	struct leg_rtcp_info i;
	struct node_call_info info;

	assert_true(rig_wait(&t->rig, far_reported, t));
	i = party(t, 0);
	assert_int_equal(i.reports, 1);
	assert_true(i.lost_share == 0.25 && i.lost_mean == 0.25);
	assert_int_equal(i.lost_total, 7);
	assert_int_equal(i.far_jitter, 10 * CR_MS);
	assert_int_equal(i.round_trips, 1);
	assert_true(i.rtt >= 0 && i.rtt == i.rtt_min && i.rtt == i.rtt_max);
	/* the stream to A, which is B's, has that, too, and A's has not */
	node_call_info(conversation_stream(t->c, 1), &info);
	assert_int_equal(info.rtcp.is->lost_total, 7);
	node_call_info(conversation_stream(t->c, 0), &info);
	assert_int_equal(info.rtcp.is->reports, 0);
	node_stats(t->rig.node, &stats);
	assert_int_equal(stats.rtcp.reports, 1);
	assert_true(stats.rtcp.lost == 0.25);
	assert_int_equal(stats.rtcp.round_trip.count, 1);
	assert_int_equal(stats.rtcp.jitter.count, 1);
	assert_in_range(stats.rtcp.jitter.max, 9900 * CR_US, 10100 * CR_US);
}

/* Every datagram is in one place. */
static void assert_sums(const struct talk *t)
{
	struct node_stats s;

	node_stats(t->rig.node, &s);
	assert_int_equal(s.rx.packets + s.totals.port_drops + s.totals.unread,
			 t->sent);
	assert_int_equal(s.rx.packets, s.rx.rtcp + s.rx.malformed +
					       s.rx.oversized + s.rx.unheard +
					       s.totals.packets_in);
}

/* --- tests --- */

static bool all_received(void *arg)
{
	return party(arg, 0).received == 30 && party(arg, 1).received > 0;
}

/* The far side at @reports hears of its losses, and reports to @rtcp_port. */
static void assert_both_report(struct talk *t, int fd, bool rtcp_port)
{
	uint8_t data[256];
	struct said s;

	say(t, 1, 1); /* B is known from now on, and A is sent something */
	say(t, 0, 40);
	s = next_full(fd);
	assert_int_equal(s.ssrc, ssrc_to(t, 0));
	assert_int_equal(s.cnames, 1);
	assert_int_equal(s.report.ssrc, PARTY_SSRC);
	assert_int_equal(s.byes, 0);
	assert_int_equal(s.sender.packets, 1);
	assert_int_equal(s.sender.octets, OCTETS);
	assert_int_equal(address_port(&s.from),
			 address_port(&t->phone[0].leg) + rtcp_port);
	assert_true(rig_wait(&t->rig, all_received, t));
	assert_int_equal(party(t, 0).lost, 9); /* the tenth is the last one */
	send_from(t, fd, data, build_report(t, s.sender.ntp, data),
		  t->phone[0].leg, rtcp_port);
	assert_far_is_known(t);
	assert_int_equal(party(t, 0).packets_in, 1);
	assert_true(party(t, 0).packets_out > 0);
}

static void assert_bye(struct talk *t, int fd)
{
	uint32_t ssrc = ssrc_to(t, 0);
	struct said s;

	stop(t);
	do
		s = next_said(fd);
	while (!s.byes);
	assert_int_equal(s.ssrc, ssrc);
	assert_int_equal(s.cnames, 1);
	assert_sums(t);
}

static void reports_go_and_come_at_the_next_port(void **state)
{
	struct talk t;

	(void)state;
	begin(&t, NULL);
	assert_both_report(&t, t.phone[0].at.rtcp, true);
	assert_bye(&t, t.phone[0].at.rtcp);
	end(&t);
}

static void reports_go_and_come_with_rtp(void **state)
{
	struct talk t;

	(void)state;
	begin(&t, "mux");
	assert_both_report(&t, t.phone[0].at.rtp, false);
	assert_bye(&t, t.phone[0].at.rtp);
	end(&t);
}

/* Ports were agreed, but it sends RTCP where its RTP goes. */
static void who_multiplexes_unasked_is_answered_so(void **state)
{
	uint8_t data[256];
	struct talk t;

	(void)state;
	begin(&t, "port");
	say(&t, 0, 1);
	assert_int_equal(next_port(t.phone[0].at.rtcp),
			 address_port(&t.phone[0].leg) + 1);
	send_from(&t, t.phone[0].at.rtp, data, build_report(&t, 0, data),
		  t.phone[0].leg, false);
	assert_int_equal(next_port(t.phone[0].at.rtp),
			 address_port(&t.phone[0].leg));
	assert_int_equal(party(&t, 0).foreign, 0);
	assert_bye(&t, t.phone[0].at.rtp);
	end(&t);
}

static unsigned long long counted(struct talk *t)
{
	struct node_stats s;

	node_stats(t->rig.node, &s);
	return s.rx.packets + s.totals.port_drops;
}

static bool all_counted(void *arg)
{
	struct talk *t = arg;

	return counted(t) == t->sent;
}

static void without_it_rtcp_is_counted_only(void **state)
{
	struct node_party_info info;
	struct node_stats s;
	uint8_t data[256];
	struct talk t;

	(void)state;
	begin(&t, "off");
	say(&t, 0, 4);
	send_from(&t, t.phone[0].at.rtp, data, build_report(&t, 0, data),
		  t.phone[0].leg, false);
	assert_true(rig_wait(&t.rig, all_counted, &t));
	conversation_party(t.c, 0, &info);
	assert_null(info.leg.rtcp.is);
	node_stats(t.rig.node, &s);
	assert_int_equal(s.rx.rtcp, 1);
	assert_int_equal(s.rx.rtcp_heard + s.rx.rtcp_foreign, 0);
	stop(&t);
	assert_sums(&t);
	end(&t);
}

enum { FLOOD = 500 };

static size_t build_bye(uint8_t *buf)
{
	struct rtcp_writer w = { .buf = buf, .size = 256 };

	assert_int_equal(rtcp_put_report(&w, PARTY_SSRC, NULL, NULL, 0), 0);
	assert_int_equal(rtcp_put_bye(&w, PARTY_SSRC, "gone"), 0);
	return w.bytes;
}

/* Another host of this machine. */
static int open_stranger(void)
{
	struct sockaddr_storage at;
	int fd;

	assert_int_equal(address_parse("127.0.0.2:0", &at), 0);
	fd = udp_socket(&at, NULL);
	assert_true(fd >= 0);
	return fd;
}

/* Forged reports, BYEs of the party, garbage, and more than a packet. */
static void flood(struct talk *t, int stranger)
{
	const struct phone *a = &t->phone[0];
	uint8_t report[256], bye[256], garbage[40], large[3000] = { 0 };
	size_t nreport = build_report(t, 0, report), nbye = build_bye(bye);

	for (unsigned i = 0; i < FLOOD; i++) {
		memset(garbage, (int)i, sizeof(garbage));
		send_from(t, stranger, report, nreport, a->leg, true);
		send_from(t, stranger, report, nreport, a->leg, false);
		send_from(t, a->at.rtcp, bye, nbye, a->leg, true);
		send_from(t, a->at.rtcp, garbage, i % 40, a->leg, true);
		if (i % 100 == 0)
			send_from(t, a->at.rtcp, large, sizeof(large), a->leg,
				  true);
		/* no more at a time than a port holds */
		if (i % 50 == 49)
			assert_true(rig_wait(&t->rig, all_counted, t));
	}
}

static bool flood_is_told(void *arg)
{
	return party(arg, 0).byes + party(arg, 0).foreign >= 3 * FLOOD;
}

static void what_is_hostile_is_counted_and_changes_nothing(void **state)
{
	int stranger = open_stranger();
	struct leg_rtcp_info i;
	struct node_stats s;
	struct said full;
	struct talk t;

	(void)state;
	begin(&t, NULL);
	say(&t, 1, 1);
	say(&t, 0, 2);
	assert_true(rig_wait(&t.rig, all_counted, &t));
	flood(&t, stranger);
	assert_true(rig_wait(&t.rig, flood_is_told, &t));
	i = party(&t, 0);
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
	say(&t, 0, 2);
	assert_true(rig_wait(&t.rig, all_counted, &t));
	full = next_full(t.phone[0].at.rtcp);
	assert_int_equal(address_port(&full.from),
			 address_port(&t.phone[0].leg) + 1);
	assert_bye(&t, t.phone[0].at.rtcp);
	(void)close(stranger);
	end(&t);
}

/* The node has left the ports already: what comes then counts as unread. */
static void what_a_closed_port_had_is_counted(void **state)
{
	uint8_t data[256];
	struct talk t;
	size_t n;

	(void)state;
	begin(&t, NULL);
	n = build_report(&t, 0, data);
	conversation_stop(t.c);
	for (unsigned i = 0; i < FLOOD; i++)
		send_from(&t, t.phone[0].at.rtcp, data, n, t.phone[0].leg,
			  true);
	assert_true(rig_wait(&t.rig, has_gone, &t));
	assert_sums(&t);
	end(&t);
}

/* Both parties speak the same: B's packets reach A as they came. In what is
 * reported to A the node speaks for B, and A's reports are on B. */
static void a_relay_reports_for_who_is_relayed(void **state)
{
	uint8_t data[256];
	struct rtcp_report report = { .ssrc = 0xb, .fraction = 128 };
	struct rtcp_writer w = { .buf = data, .size = sizeof(data) };
	struct talk t;
	struct said s;

	(void)state;
	begin_with(&t, NULL, "pcmu");
	assert_true(conversation_relays(t.c));
	t.phone[1].next.ssrc = 0xb;
	say(&t, 1, 2);
	say(&t, 0, 40);
	s = next_full(t.phone[0].at.rtcp);
	assert_int_equal(s.ssrc, 0xb);
	assert_int_equal(s.sender.packets, 2);
	assert_int_equal(s.report.ssrc, PARTY_SSRC);
	assert_true(rig_wait(&t.rig, all_received, &t));
	assert_int_equal(party(&t, 0).lost, 9);
	assert_int_equal(rtcp_put_report(&w, PARTY_SSRC, NULL, &report, 1), 0);
	send_from(&t, t.phone[0].at.rtcp, data, w.bytes, t.phone[0].leg, true);
	assert_true(rig_wait(&t.rig, far_reported, &t));
	assert_true(party(&t, 0).lost_share == 0.5);
	stop(&t);
	assert_sums(&t);
	end(&t);
}

static bool listener_reported(void *arg)
{
	struct node_call_info info;

	node_call_info(arg, &info);
	return info.rtcp.is->reports > 0;
}

/* Its listener is somebody else than who is heard. */
static void a_one_way_calls_listener_reports_too(void **state)
{
	struct talk t = { 0 };
	struct node_call *nc;
	struct cr_err e = { "" };
	uint8_t data[256];
	struct rtcp_writer w = { .buf = data, .size = sizeof(data) };
	struct rtcp_report report = { .fraction = 128 };
	char json[200];

	(void)state;
	rig_open(&t.rig, &(struct rig_options){ .workers = 1 });
	t.rig.node->cfg.rtcp_interval = 100 * CR_MS;
	open_phone(&t.phone[0], 0);
	(void)snprintf(json, sizeof(json),
		       "{'in':{'codec':'pcmu'},'port':'own','rtcp':'port',"
		       "'out':{'codec':'pcma','address':'127.0.0.1:%u'}}",
		       t.phone[0].at.port);
	nc = rig_call(&t.rig, json);
	node_call_address(nc, json, sizeof(json));
	assert_int_equal(address_parse(json, &t.phone[0].leg), 0);
	/* nobody was heard: the listener is reported to nevertheless */
	(void)next_said(t.phone[0].at.rtcp);
	report.ssrc = call_settings(nc->call)->ssrc_out;
	assert_int_equal(rtcp_put_report(&w, 1, NULL, &report, 1), 0);
	send_from(&t, t.phone[0].at.rtcp, data, w.bytes, t.phone[0].leg, true);
	assert_true(rig_wait(&t.rig, listener_reported, nc));
	rig_end(&t.rig, nc);
	assert_int_equal(rig_try(&t.rig,
				 "{'in':{'codec':'pcmu'},'rtcp':'port',"
				 "'out':{'codec':'pcma'}}",
				 &nc, &e),
			 -EINVAL);
	assert_non_null(strstr(e.text, "rtcp: "));
	close_phone(&t.phone[0]);
	rig_close(&t.rig);
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
