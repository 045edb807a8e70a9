/* SPDX-License-Identifier: Apache-2.0 */
/*
 * RTCP packets in and out: every malformed one has its reason, what is built
 * has the bits of RFC 3550 and reads back. Foreign packets are
 * foreign_rtcp.c's.
 */
#include "cmocka_cr.h"

#include <errno.h>
#include <string.h>

#include "rtcp_items.h"
#include "rtp/rtcp.h"
#include "rtp/rtp.h"

/* An SR with two reports, an SDES of two chunks, a BYE with a reason. */
static const uint8_t full[] = {
	/* SR, 18 words */
	0x82, 200, 0, 18, 0x11, 0x11, 0x11, 0x11,    /* sender            */
	0xee, 0xae, 0x14, 0xc9, 0x80, 0, 0, 0,	     /* NTP               */
	0, 0, 0, 160, 0, 0, 0, 5, 0, 0, 3, 0x20,     /* RTP ts, counts    */
	0x22, 0x22, 0x22, 0x22, 64, 0, 0, 9,	     /* source, loss      */
	0, 1, 0xff, 0xfe, 0, 0, 0, 17,		     /* highest, jitter   */
	0x14, 0xc9, 0x80, 0, 0, 1, 0, 0,	     /* LSR, DLSR         */
	0x33, 0x33, 0x33, 0x33, 0, 0xff, 0xff, 0xfd, /* 3 duplicates   */
	0, 0, 0, 1, 0, 0, 0, 0,			     /* highest, jitter */
	0, 0, 0, 0, 0, 0, 0, 0,			     /* LSR, DLSR       */
	/* SDES, 6 words */
	0x82, 202, 0, 6, 0x11, 0x11, 0x11, 0x11, /* chunk              */
	1, 3, 'a', '@', 'b', 6, 1, 't',		 /* CNAME, TOOL        */
	0, 0, 0, 0,				 /* end                */
	0x22, 0x22, 0x22, 0x22, 1, 1, 'c', 0,	 /* chunk              */
	/* BYE, 4 words, one of them padding */
	0xa1, 203, 0, 4, 0x11, 0x11, 0x11, 0x11, /* source             */
	3, 'e', 'n', 'd', 0, 0, 0, 0,		 /* reason             */
	0, 0, 0, 4
};

/* Where the packets of it begin. */
enum { SR = 0, SDES = 76, BYE = 104, ALL = sizeof(full) };

static void a_compound_packet_is_read(void **state)
{
	struct rtcp_reader r;
	struct rtcp_packet p;
	struct rtcp_report report;

	assert_int_equal(rtcp_open(&r, full, ALL), 0);
	assert_true(rtcp_next(&r, &p));
	assert_int_equal(p.type, RTCP_SR);
	assert_int_equal(p.count, 2);
	assert_int_equal(p.ssrc, 0x11111111);
	assert_int_equal(p.sender.ntp, 0xeeae14c980000000);
	assert_int_equal(p.sender.rtp_ts, 160);
	assert_int_equal(p.sender.packets, 5);
	assert_int_equal(p.sender.octets, 800);
	report = rtcp_report_at(&p, 0);
	assert_int_equal(report.ssrc, 0x22222222);
	assert_int_equal(report.fraction, 64);
	assert_int_equal(report.lost, 9);
	assert_int_equal(report.highest, 0x1fffe);
	assert_int_equal(report.jitter, 17);
	assert_int_equal(report.lsr, 0x14c98000);
	assert_int_equal(report.dlsr, 65536);
	assert_int_equal(rtcp_report_at(&p, 1).ssrc, 0x33333333);
	assert_int_equal(rtcp_report_at(&p, 1).lost, -3);
	assert_true(rtcp_next(&r, &p));
	assert_int_equal(p.type, RTCP_SDES);
	assert_true(rtcp_next(&r, &p));
	assert_int_equal(p.type, RTCP_BYE);
	assert_false(rtcp_next(&r, &p));
}

static void check_item(const struct rtcp_packet *p, struct rtcp_items *it,
		       uint32_t ssrc, unsigned item, const char *text)
{
	struct rtcp_text t;

	assert_true(rtcp_item_next(p, it, &t));
	assert_int_equal(t.ssrc, ssrc);
	assert_int_equal(t.item, item);
	assert_int_equal(t.bytes, strlen(text));
	assert_memory_equal(t.text, text, t.bytes);
}

static void items_and_reasons_are_read(void **state)
{
	struct rtcp_items it = { 0 };
	struct rtcp_reader r;
	struct rtcp_packet p;
	struct rtcp_text t;

	assert_int_equal(rtcp_open(&r, full + SDES, ALL - SDES), 0);
	assert_true(rtcp_next(&r, &p));
	check_item(&p, &it, 0x11111111, RTCP_CNAME, "a@b");
	check_item(&p, &it, 0x11111111, 6, "t");
	check_item(&p, &it, 0x22222222, RTCP_CNAME, "c");
	assert_false(rtcp_item_next(&p, &it, &t));
	assert_true(rtcp_next(&r, &p));
	assert_int_equal(rtcp_bye_at(&p, 0), 0x11111111);
	assert_true(rtcp_bye_reason(&p, &t));
	assert_int_equal(t.bytes, 3);
	assert_memory_equal(t.text, "end", 3);
}

static void chunks_without_items_are_passed(void **state)
{
	static const uint8_t sdes[] = {
		0x83, 202, 0, 6, 0, 0, 0, 1, 0, 0, 0, 0, /* nothing     */
		0,    0,   0, 2, 1, 0, 0, 0,		 /* empty CNAME */
		0,    0,   0, 3, 0, 0, 0, 0		 /* nothing     */
	};
	struct rtcp_items it = { 0 };
	struct rtcp_reader r;
	struct rtcp_packet p;
	struct rtcp_text t;

	assert_int_equal(rtcp_open(&r, sdes, sizeof(sdes)), 0);
	assert_true(rtcp_next(&r, &p));
	check_item(&p, &it, 2, RTCP_CNAME, "");
	assert_false(rtcp_item_next(&p, &it, &t));
}

static int open_bytes(const uint8_t *p, size_t n)
{
	struct rtcp_reader r = { .left = 12345 };
	int reason = rtcp_open(&r, p, n);

	if (reason) /* written only on success */
		assert_int_equal(r.left, 12345);
	return reason;
}

static int open_changed(size_t from, size_t to, size_t at, uint8_t value)
{
	uint8_t buf[sizeof(full)];

	memcpy(buf, full, sizeof(full));
	buf[at] = value;
	return open_bytes(buf + from, to - from);
}

static void every_malformed_packet_has_its_reason(void **state)
{
	assert_int_equal(open_bytes(full, 0), RTCP_TOO_SHORT);
	assert_int_equal(open_bytes(full, 3), RTCP_TOO_SHORT);
	assert_int_equal(open_bytes(full, SDES + 3), RTCP_TOO_SHORT);
	assert_int_equal(open_changed(SR, ALL, SDES, 0x42), RTCP_BAD_VERSION);
	assert_int_equal(open_changed(SR, ALL, 1, 191), RTCP_BAD_TYPE);
	assert_int_equal(open_changed(SR, ALL, BYE + 1, 224), RTCP_BAD_TYPE);
	assert_int_equal(open_bytes(full, SDES - 1), RTCP_LENGTH_OVERRUN);
	assert_int_equal(open_changed(BYE, ALL, BYE + 3, 5),
			 RTCP_LENGTH_OVERRUN);
	assert_int_equal(open_changed(SR, ALL, SR, 0xa2), RTCP_BAD_PADDING);
	assert_int_equal(open_changed(BYE, ALL, ALL - 1, 0), RTCP_BAD_PADDING);
	assert_int_equal(open_changed(BYE, ALL, ALL - 1, 3), RTCP_BAD_PADDING);
	assert_int_equal(open_changed(BYE, ALL, ALL - 1, 20), RTCP_BAD_PADDING);
	assert_int_equal(open_changed(SR, SDES, 0, 0x83), RTCP_REPORT_OVERRUN);
	assert_int_equal(open_changed(SR, SDES, 3, 5), RTCP_SENDER_OVERRUN);
	/* a chunk more; an item beyond; no end */
	assert_int_equal(open_changed(SDES, BYE, SDES, 0x83),
			 RTCP_SDES_OVERRUN);
	assert_int_equal(open_changed(SDES, BYE, BYE - 3, 2),
			 RTCP_SDES_OVERRUN);
	assert_int_equal(open_changed(SDES, BYE, BYE - 1, 1),
			 RTCP_SDES_OVERRUN);
	assert_int_equal(open_changed(BYE, ALL, BYE, 0xa4), RTCP_BYE_OVERRUN);
	assert_int_equal(open_changed(BYE, ALL, BYE + 8, 8), RTCP_BYE_OVERRUN);
	/* as large as can be */
	assert_int_equal(open_changed(BYE, ALL, BYE + 8, 7), 0);
	assert_int_equal(open_changed(BYE, ALL, BYE, 0xa3), 0);
}

static void a_lone_receiver_needs_its_ssrc(void **state)
{
	static const uint8_t rr[] = { 0x80, 201, 0, 0 };

	assert_int_equal(open_bytes(rr, sizeof(rr)), RTCP_SENDER_OVERRUN);
}

static void types_unknown_are_handed_on(void **state)
{
	static const uint8_t xr[] = {
		0x80, 207, 0, 3, 0, 0, 0, 1, 4, 0, 0, 1, 9, 9, 9, 9, /* XR  */
		0x81, 206, 0, 2, 0, 0, 0, 1, 0, 0, 0, 2,	     /* PLI */
		0x80, 223, 0, 0					     /* ?   */
	};
	struct rtcp_reader r;
	struct rtcp_packet p;

	assert_int_equal(rtcp_open(&r, xr, sizeof(xr)), 0);
	assert_true(rtcp_next(&r, &p));
	assert_int_equal(p.type, 207);
	assert_int_equal(p.body_bytes, 12);
	assert_true(rtcp_next(&r, &p));
	assert_int_equal(p.type, 206);
	assert_true(rtcp_next(&r, &p));
	assert_int_equal(p.type, 223);
	assert_int_equal(p.body_bytes, 0);
	assert_false(rtcp_next(&r, &p));
}

static void rtcp_is_told_from_rtp(void **state)
{
	uint8_t p[RTP_HEADER_BYTES] = { 0x80 };
	struct rtp_packet rtp;

	assert_true(rtp_is_rtcp(full, ALL));
	assert_false(rtp_is_rtcp(full, 1));
	for (unsigned second = 0; second < 256; second++) {
		bool is = second >= 192 && second <= 223;

		p[1] = (uint8_t)second;
		assert_int_equal(rtp_is_rtcp(p, sizeof(p)), is);
		assert_int_equal(rtp_parse(p, sizeof(p), &rtp),
				 is ? RTP_IS_RTCP : RTP_OK);
	}
	p[0] = 0x40; /* STUN and others */
	p[1] = 200;
	assert_false(rtp_is_rtcp(p, sizeof(p)));
}

/* --- building --- */

static const struct rtcp_report reports[] = {
	{ .ssrc = 0x22222222,
	  .fraction = 64,
	  .lost = 9,
	  .highest = 0x1fffe,
	  .jitter = 17,
	  .lsr = 0x14c98000,
	  .dlsr = 65536 },
	{ .ssrc = 0x33333333, .lost = -3, .highest = 1 },
};

static void built_packets_have_the_bits_of_rfc3550(void **state)
{
	static const struct rtcp_sender us = { .ntp = 0xeeae14c980000000,
					       .rtp_ts = 160,
					       .packets = 5,
					       .octets = 800 };
	static const uint8_t cname[] = { 0x81, 202,  0, 3, 0x11, 0x11,
					 0x11, 0x11, 1, 3, 'a',	 '@',
					 'b',  0,    0, 0 };
	static const uint8_t bye[] = { 0x81, 203,  0, 2,   0x11, 0x11,
				       0x11, 0x11, 3, 'e', 'n',	 'd' };
	uint8_t buf[256];
	struct rtcp_writer w = { .buf = buf, .size = sizeof(buf) };

	assert_int_equal(rtcp_put_report(&w, 0x11111111, &us, reports, 2), 0);
	assert_int_equal(w.bytes, SDES);
	assert_memory_equal(buf, full, SDES);
	assert_int_equal(rtcp_put_cname(&w, 0x11111111, "a@b"), 0);
	assert_int_equal(w.bytes, SDES + sizeof(cname));
	assert_memory_equal(buf + SDES, cname, sizeof(cname));
	w.bytes = 0;
	assert_int_equal(rtcp_put_bye(&w, 0x11111111, "end"), 0);
	assert_int_equal(w.bytes, sizeof(bye));
	assert_memory_equal(buf, bye, sizeof(bye));
}

/* Texts of every length: padding, ends, room. */
static void every_text_reads_back(void **state)
{
	uint8_t buf[1024];
	char text[RTCP_TEXT_BYTES + 2] = "";

	for (size_t n = 0; n <= RTCP_TEXT_BYTES; n++, text[n - 1] = 'x') {
		struct rtcp_writer w = { .buf = buf, .size = sizeof(buf) };
		struct rtcp_items it = { 0 };
		struct rtcp_reader r;
		struct rtcp_packet p;
		struct rtcp_text t;

		memset(buf, 0xff, sizeof(buf));
		assert_int_equal(rtcp_put_report(&w, 7, NULL, NULL, 0), 0);
		assert_int_equal(rtcp_put_cname(&w, 7, text), 0);
		assert_int_equal(rtcp_put_bye(&w, 7, text), 0);
		assert_int_equal(w.bytes % 4, 0);
		assert_int_equal(rtcp_open(&r, buf, w.bytes), 0);
		assert_true(rtcp_next(&r, &p));
		assert_int_equal(p.type, RTCP_RR);
		assert_true(rtcp_next(&r, &p));
		check_item(&p, &it, 7, RTCP_CNAME, text);
		assert_false(rtcp_item_next(&p, &it, &t));
		assert_true(rtcp_next(&r, &p));
		assert_int_equal(rtcp_bye_reason(&p, &t), n > 0);
		if (n)
			assert_int_equal(t.bytes, n);
	}
}

static void what_does_not_fit_is_not_begun(void **state)
{
	uint8_t buf[64];
	char text[RTCP_TEXT_BYTES + 2];
	struct rtcp_writer w = { .buf = buf, .size = 7 };

	memset(text, 'x', sizeof(text));
	text[RTCP_TEXT_BYTES + 1] = '\0';
	assert_int_equal(rtcp_put_report(&w, 7, NULL, NULL, 0), -ENOSPC);
	assert_int_equal(rtcp_put_bye(&w, 7, NULL), -ENOSPC);
	w.size = 15;
	assert_int_equal(rtcp_put_cname(&w, 7, "a@b"), -ENOSPC);
	w.size = 16;
	assert_int_equal(w.bytes, 0);
	assert_int_equal(rtcp_put_cname(&w, 7, "a@b"), 0);
	assert_int_equal(w.bytes, 16);
	w = (struct rtcp_writer){ .buf = buf, .size = sizeof(buf) };
	assert_int_equal(rtcp_put_cname(&w, 7, text), -EINVAL);
	assert_int_equal(rtcp_put_bye(&w, 7, text), -EINVAL);
	assert_int_equal(rtcp_put_report(&w, 7, NULL, reports, 32), -EINVAL);
	assert_int_equal(w.bytes, 0);
}

static void losses_end_at_24_bits(void **state)
{
	static const int32_t lost[][2] = { { INT32_MAX, 0x7fffff },
					   { 0x7fffff, 0x7fffff },
					   { -1, -1 },
					   { -0x800000, -0x800000 },
					   { INT32_MIN, -0x800000 } };
	uint8_t buf[64];

	for (size_t i = 0; i < sizeof(lost) / sizeof(lost[0]); i++) {
		struct rtcp_report r = { .fraction = 255, .lost = lost[i][0] };
		struct rtcp_writer w = { .buf = buf, .size = sizeof(buf) };
		struct rtcp_reader reader;
		struct rtcp_packet p;

		assert_int_equal(rtcp_put_report(&w, 7, NULL, &r, 1), 0);
		assert_int_equal(rtcp_open(&reader, buf, w.bytes), 0);
		assert_true(rtcp_next(&reader, &p));
		assert_int_equal(rtcp_report_at(&p, 0).lost, lost[i][1]);
		assert_int_equal(rtcp_report_at(&p, 0).fraction, 255);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_compound_packet_is_read),
		cmocka_unit_test(items_and_reasons_are_read),
		cmocka_unit_test(chunks_without_items_are_passed),
		cmocka_unit_test(every_malformed_packet_has_its_reason),
		cmocka_unit_test(a_lone_receiver_needs_its_ssrc),
		cmocka_unit_test(types_unknown_are_handed_on),
		cmocka_unit_test(rtcp_is_told_from_rtp),
		cmocka_unit_test(built_packets_have_the_bits_of_rfc3550),
		cmocka_unit_test(every_text_reads_back),
		cmocka_unit_test(what_does_not_fit_is_not_begun),
		cmocka_unit_test(losses_end_at_24_bits),
	};

	return cmocka_run_group_tests_name("rtcp", tests, NULL, NULL);
}
