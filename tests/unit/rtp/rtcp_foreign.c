/* SPDX-License-Identifier: Apache-2.0 */
/*
 * RTCP of foreign programs, as captured by tshark 4.0.17: all of it is read.
 */
#include "cmocka_cr.h"

#include <stdio.h>
#include <string.h>

#include "rtcp_items.h"
#include "rtp/rtcp_session.h"

enum { BYTES = 256 };

/* ffmpeg 5.1.9 (-f rtp), PCMU, after 432 packets: an SR alone. */
static const char ffmpeg_sr[] =
	"80c800068198e9d6eeae14d38fdf3b64e494766e000001b000013968";

/* GStreamer 1.22.0, rtpbin, PCMU. First report of one that sends. */
static const char gst_sr[] =
	"80c800064dfd57c6eeae165040bf8fcdbbefdbd8000000010000040081ca0008"
	"4dfd57c6010d616c6963652e6578616d706c6506094753747265616d65720000";

/* The other party's answer to that, before any RTP counts. */
static const char gst_sr_report[] =
	"81c8000ca1c790afeeae1650e39d1b2e8256d0d2000000010000040"
	"04dfd57c600000000ffffffff00000000165040bf0000a2bc81ca0008a1c790af"
	"010b626f622e6578616d706c6506094753747265616d657200000000";

/* rtpbin that hears PCMU from 0x11111111, of which every tenth packet is
 * missing and every other one is 6 ms late; 363 packets after number 65300. */
static const char gst_rr[] =
	"81c9000701617e7c11111111180000200001007e0000002c16ea5866000125bf"
	"81ca000801617e7c010b626f622e6578616d706c6506094753747265616d6572"
	"00000000";

/* rtpbin at its end, after 50 packets of 1024 octets. */
static const char gst_bye[] =
	"80c80006d0473bd7eeae17db3b212d777b4411cb000000320000c80081ca0008"
	"d0473bd7010d616c6963652e6578616d706c6506094753747265616d65720000"
	"81cb0001d0473bd7";

static size_t octets(const char *hex, uint8_t out[BYTES])
{
	size_t n = strlen(hex) / 2;

	assert_true(n <= BYTES);
	for (size_t i = 0; i < n; i++) {
		unsigned v;

		assert_int_equal(sscanf(hex + 2 * i, "%2x", &v), 1);
		out[i] = (uint8_t)v;
	}
	return n;
}

/* The packets of @hex, of which there are @n, into @p; they stay in @buf. */
static void read_all(const char *hex, uint8_t buf[BYTES], struct rtcp_packet *p,
		     unsigned n)
{
	struct rtcp_packet more;
	struct rtcp_reader r;

	assert_int_equal(rtcp_open(&r, buf, octets(hex, buf)), 0);
	for (unsigned i = 0; i < n; i++)
		assert_true(rtcp_next(&r, &p[i]));
	assert_false(rtcp_next(&r, &more));
}

static void check_texts(const struct rtcp_packet *sdes, uint32_t ssrc,
			const char *cname)
{
	struct rtcp_items it = { 0 };
	struct rtcp_text t;

	assert_int_equal(sdes->type, RTCP_SDES);
	assert_true(rtcp_item_next(sdes, &it, &t));
	assert_int_equal(t.item, RTCP_CNAME);
	assert_int_equal(t.ssrc, ssrc);
	assert_int_equal(t.bytes, strlen(cname));
	assert_memory_equal(t.text, cname, t.bytes);
	assert_true(rtcp_item_next(sdes, &it, &t));
	assert_int_equal(t.item, 6); /* TOOL */
	assert_memory_equal(t.text, "GStreamer", 9);
	assert_false(rtcp_item_next(sdes, &it, &t));
}

static void ffmpeg_reports_as_a_sender(void **state)
{
	uint8_t buf[BYTES];
	struct rtcp_packet p;

	read_all(ffmpeg_sr, buf, &p, 1);
	assert_int_equal(p.type, RTCP_SR);
	assert_int_equal(p.count, 0);
	assert_int_equal(p.ssrc, 0x8198e9d6);
	assert_int_equal(p.sender.ntp >> 32, 0xeeae14d3);
	assert_int_equal(p.sender.rtp_ts, 0xe494766e);
	assert_int_equal(p.sender.packets, 432);
	assert_int_equal(p.sender.octets, 80232);
}

static void gstreamer_reports_as_a_sender(void **state)
{
	uint8_t buf[BYTES];
	struct rtcp_packet p[2];
	struct rtcp_report r;

	read_all(gst_sr, buf, p, 2);
	assert_int_equal(p[0].sender.octets, 1024);
	check_texts(&p[1], 0x4dfd57c6, "alice.example");
	read_all(gst_sr_report, buf, p, 2);
	assert_int_equal(p[0].count, 1);
	r = rtcp_report_at(&p[0], 0);
	assert_int_equal(r.ssrc, 0x4dfd57c6);
	assert_int_equal(r.lost, 0);
	assert_int_equal(r.highest, 0xffffffff);
	assert_int_equal(r.lsr, 0x165040bf); /* of gst_sr */
	assert_int_equal(r.dlsr, 0xa2bc);
	check_texts(&p[1], 0xa1c790af, "bob.example");
}

static void gstreamer_reports_as_a_listener(void **state)
{
	uint8_t buf[BYTES];
	struct rtcp_packet p[2];
	struct rtcp_report r;

	read_all(gst_rr, buf, p, 2);
	assert_int_equal(p[0].type, RTCP_RR);
	r = rtcp_report_at(&p[0], 0);
	assert_int_equal(r.highest, 65300 + 362);
	assert_int_equal(r.fraction, 24); /* of 256, is 9.4 % */
	assert_int_equal(r.lost, 32);
	assert_int_equal(r.jitter, 44); /* 5.5 ms */
}

static void gstreamer_says_bye(void **state)
{
	uint8_t buf[BYTES];
	struct rtcp_packet p[3];
	struct rtcp_text t;

	read_all(gst_bye, buf, p, 3);
	assert_int_equal(p[0].sender.packets, 50);
	assert_int_equal(p[2].type, RTCP_BYE);
	assert_int_equal(p[2].count, 1);
	assert_int_equal(rtcp_bye_at(&p[2], 0), 0xd0473bd7);
	assert_false(rtcp_bye_reason(&p[2], &t));
}

/* A session in the place of gst_sr's sender. */
static void a_session_learns_from_gstreamer(void **state)
{
	struct rtcp_sent sent = { 0 };
	const struct rtcp_session_config cfg = { .ssrc = 0x4dfd57c6,
						 .cname = "alice.example",
						 .rate_in = 8000,
						 .rate_out = 8000,
						 .sent = &sent };
	const struct rtp_packet p = { .ssrc = 0xa1c790af };
	struct rtcp_session s;
	struct rtcp_report r;
	uint8_t buf[BYTES];

	assert_int_equal(rtcp_session_init(&s, &cfg, 0), 0);
	feedback_sr(&s.far, UINT64_C(0xeeae165040bf8fcd), 10 * CR_SEC);
	(void)rtcp_heard_rtp(&s, &p, true, 10 * CR_SEC);
	/* it kept that 0xa2bc / 65536 s = 635.7 ms */
	assert_int_equal(rtcp_heard(&s, buf, octets(gst_sr_report, buf),
				    10 * CR_SEC + 640 * CR_MS),
			 0);
	assert_int_equal(s.far.reports, 1);
	assert_int_equal(s.far.highest, 0xffffffff);
	assert_in_range(s.far.rtt.last, 4300 * CR_US, 4320 * CR_US);
	/* and our report answers its SR */
	assert_true(reception_report(&s.heard, 11640 * CR_MS, &r));
	assert_int_equal(r.lsr, 0x1650e39d);
	assert_int_equal(r.dlsr, 65536);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ffmpeg_reports_as_a_sender),
		cmocka_unit_test(gstreamer_reports_as_a_sender),
		cmocka_unit_test(gstreamer_reports_as_a_listener),
		cmocka_unit_test(gstreamer_says_bye),
		cmocka_unit_test(a_session_learns_from_gstreamer),
	};

	return cmocka_run_group_tests_name("rtcp_foreign", tests, NULL, NULL);
}
