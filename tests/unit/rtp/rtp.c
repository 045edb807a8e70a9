/* SPDX-License-Identifier: Apache-2.0 */
/*
 * RTP headers, sequence tracking: each test is named by what it shows.
 */
#include <string.h>

#include "rtp/rtp.h"
#include "cmocka_cr.h"

static void built_header_has_the_bits_of_rfc3550(void **state)
{
	static const uint8_t want[RTP_HEADER_BYTES] = {
		0x80, 0xe1, 0x12, 0x34, 0xde, 0xad,
		0xbe, 0xef, 0x01, 0x02, 0x03, 0x04
	};
	const struct rtp_packet h = { .pt = 97,
				      .marker = true,
				      .seq = 0x1234,
				      .ts = 0xdeadbeef,
				      .ssrc = 0x01020304 };
	uint8_t got[RTP_HEADER_BYTES];

	assert_int_equal(rtp_build(got, &h), RTP_HEADER_BYTES);
	assert_memory_equal(got, want, sizeof(want));
}

static void built_header_parses_back(void **state)
{
	const struct rtp_packet h = {
		.pt = 8, .seq = 65535, .ts = 7, .ssrc = 9
	};
	uint8_t buf[RTP_HEADER_BYTES + 3] = { 0 };
	struct rtp_packet p;

	(void)rtp_build(buf, &h);
	assert_int_equal(rtp_parse(buf, sizeof(buf), &p), 0);
	assert_int_equal(p.pt, 8);
	assert_false(p.marker);
	assert_int_equal(p.seq, 65535);
	assert_int_equal(p.ts, 7);
	assert_int_equal(p.ssrc, 9);
	assert_ptr_equal(p.payload, buf + RTP_HEADER_BYTES);
	assert_int_equal(p.payload_bytes, 3);
}

/* Two CSRCs, an extension of one word, two octets of padding. */
static const uint8_t full[] = {
	0xb2, 0x80, 0x00, 0x01, 0,   0, 0, 2, 0, 0, 0, 3, /* header         */
	1,    1,    1,	  1,	2,   2, 2, 2,		  /* CSRC           */
	0xbe, 0xde, 0x00, 0x01, 9,   9, 9, 9,		  /* extension      */
	0xaa, 0xbb, 0xcc, 0x00, 0x02			  /* payload, padding */
};

static void csrc_extension_and_padding_are_taken_off(void **state)
{
	struct rtp_packet p;

	assert_int_equal(rtp_parse(full, sizeof(full), &p), 0);
	assert_true(p.marker);
	assert_int_equal(p.pt, 0);
	assert_int_equal(p.ssrc, 3);
	assert_int_equal(p.payload_bytes, 3);
	assert_int_equal(p.payload[0], 0xaa);
	assert_int_equal(p.payload[2], 0xcc);
}

static int parse_changed(size_t n, size_t at, uint8_t value)
{
	struct rtp_packet p = { .ssrc = 0x5a5a5a5a };
	uint8_t buf[sizeof(full)];
	int reason;

	memcpy(buf, full, sizeof(full));
	buf[at] = value;
	reason = rtp_parse(buf, n, &p);
	if (reason) /* written only on success */
		assert_int_equal(p.ssrc, 0x5a5a5a5a);
	return reason;
}

static void every_malformed_packet_has_its_reason(void **state)
{
	const size_t n = sizeof(full);

	for (size_t i = 0; i < RTP_HEADER_BYTES; i++)
		assert_int_equal(parse_changed(i, 0, 0xb2), RTP_TOO_SHORT);
	for (size_t i = RTP_HEADER_BYTES; i < 20; i++)
		assert_int_equal(parse_changed(i, 0, 0xb2), RTP_CSRC_OVERRUN);
	for (size_t i = 20; i < 28; i++)
		assert_int_equal(parse_changed(i, 0, 0xb2),
				 RTP_EXTENSION_OVERRUN);
	assert_int_equal(parse_changed(n, 0, 0x72), RTP_BAD_VERSION);
	assert_int_equal(parse_changed(n, 0, 0xbf), RTP_CSRC_OVERRUN);
	assert_int_equal(parse_changed(n, 23, 3), RTP_EXTENSION_OVERRUN);
	assert_int_equal(parse_changed(n, 22, 0xff), RTP_EXTENSION_OVERRUN);
	assert_int_equal(parse_changed(n, n - 1, 0), RTP_BAD_PADDING);
	assert_int_equal(parse_changed(n, n - 1, 6), RTP_BAD_PADDING);
	assert_int_equal(parse_changed(n, n - 1, 5), 0);
	assert_int_equal(parse_changed(28, 0, 0xb2), RTP_BAD_PADDING);
	assert_int_equal(parse_changed(n, 1, 191), 0);
	assert_int_equal(parse_changed(n, 1, 192), RTP_IS_RTCP);
	assert_int_equal(parse_changed(n, 1, 223), RTP_IS_RTCP);
	assert_int_equal(parse_changed(n, 1, 224), 0);
}

static void sequence_wraps_and_extends(void **state)
{
	struct rtp_source s = { 0 };
	uint64_t first;

	assert_int_equal(rtp_source_update(&s, 65000), RTP_NEW);
	first = s.ext;
	for (unsigned i = 1; i < 200000; i++)
		assert_int_equal(rtp_source_update(&s, (uint16_t)(65000 + i)),
				 RTP_NEW);
	assert_int_equal(s.ext - first, 199999);
	assert_int_equal(s.received, 200000);
	assert_int_equal(rtp_source_lost(&s), 0);
}

static void gaps_count_as_lost_until_filled(void **state)
{
	struct rtp_source s = { 0 };

	assert_int_equal(rtp_source_lost(&s), 0);
	assert_int_equal(rtp_source_update(&s, 65534), RTP_NEW);
	assert_int_equal(rtp_source_update(&s, 2), RTP_NEW);
	assert_int_equal(rtp_source_lost(&s), 3);
	assert_int_equal(rtp_source_update(&s, 0), RTP_REORDERED);
	assert_int_equal(rtp_source_update(&s, 65535), RTP_REORDERED);
	assert_int_equal(rtp_source_lost(&s), 1);
	assert_int_equal(s.reordered, 2);
}

static void duplicates_are_told_from_late_ones(void **state)
{
	struct rtp_source s = { 0 };

	(void)rtp_source_update(&s, 100);
	assert_int_equal(rtp_source_update(&s, 100), RTP_DUPLICATE);
	(void)rtp_source_update(&s, 163);
	assert_int_equal(rtp_source_update(&s, 163), RTP_DUPLICATE);
	assert_int_equal(rtp_source_update(&s, 100), RTP_DUPLICATE);
	assert_int_equal(rtp_source_update(&s, 101), RTP_REORDERED);
	assert_int_equal(rtp_source_update(&s, 101), RTP_DUPLICATE);
	assert_int_equal(s.duplicates, 4);
	assert_int_equal(s.received, 3);
	(void)rtp_source_update(&s, 164);
	/* Out of the window: nobody can tell, so it is no frame for us. */
	assert_int_equal(rtp_source_update(&s, 100), RTP_OUT_OF_RANGE);
}

static void one_before_the_first_is_late_not_negative(void **state)
{
	struct rtp_source s = { 0 };

	(void)rtp_source_update(&s, 0);
	assert_int_equal(rtp_source_update(&s, 65534), RTP_REORDERED);
	assert_int_equal(rtp_source_lost(&s), 1);
	assert_int_equal(rtp_source_update(&s, 65535), RTP_REORDERED);
	assert_int_equal(rtp_source_lost(&s), 0);
}

static void two_strays_in_sequence_are_a_restart(void **state)
{
	struct rtp_source s = { 0 };
	uint64_t before;

	(void)rtp_source_update(&s, 10);
	(void)rtp_source_update(&s, 12);
	before = s.ext;
	assert_int_equal(rtp_source_update(&s, 30000), RTP_OUT_OF_RANGE);
	assert_int_equal(rtp_source_update(&s, 40000), RTP_OUT_OF_RANGE);
	assert_int_equal(rtp_source_update(&s, 40001), RTP_RESTART);
	assert_true(s.ext > before);
	assert_int_equal(rtp_source_update(&s, 40002), RTP_NEW);
	assert_int_equal(rtp_source_lost(&s), 1);
	assert_int_equal(s.out_of_range, 2);
}

static void another_ssrc_keeps_what_was_counted(void **state)
{
	struct rtp_source s = { 0 };

	rtp_source_again(&s);
	assert_int_equal(rtp_source_lost(&s), 0);
	assert_int_equal(rtp_source_update(&s, 100), RTP_NEW);
	assert_int_equal(rtp_source_update(&s, 103), RTP_NEW);
	assert_int_equal(rtp_source_lost(&s), 2);
	rtp_source_again(&s);
	assert_int_equal(rtp_source_lost(&s), 2);
	assert_int_equal(rtp_source_update(&s, 50000), RTP_NEW);
	assert_int_equal(rtp_source_update(&s, 50002), RTP_NEW);
	assert_int_equal(rtp_source_lost(&s), 3);
	assert_int_equal(s.received, 4);
}

static void a_lone_stray_does_not_disturb(void **state)
{
	struct rtp_source s = { 0 };

	(void)rtp_source_update(&s, 10);
	assert_int_equal(rtp_source_update(&s, 3010), RTP_OUT_OF_RANGE);
	assert_int_equal(rtp_source_update(&s, 11), RTP_NEW);
	assert_int_equal(rtp_source_update(&s, 3011), RTP_OUT_OF_RANGE);
	assert_int_equal(rtp_source_update(&s, 12), RTP_NEW);
	assert_int_equal(rtp_source_update(&s, 3011), RTP_NEW);
}

static void a_restart_across_the_wrap_is_seen(void **state)
{
	struct rtp_source s = { 0 };

	(void)rtp_source_update(&s, 30000);
	assert_int_equal(rtp_source_update(&s, 65535), RTP_OUT_OF_RANGE);
	assert_int_equal(rtp_source_update(&s, 0), RTP_RESTART);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(built_header_has_the_bits_of_rfc3550),
		cmocka_unit_test(built_header_parses_back),
		cmocka_unit_test(csrc_extension_and_padding_are_taken_off),
		cmocka_unit_test(every_malformed_packet_has_its_reason),
		cmocka_unit_test(sequence_wraps_and_extends),
		cmocka_unit_test(gaps_count_as_lost_until_filled),
		cmocka_unit_test(duplicates_are_told_from_late_ones),
		cmocka_unit_test(one_before_the_first_is_late_not_negative),
		cmocka_unit_test(two_strays_in_sequence_are_a_restart),
		cmocka_unit_test(another_ssrc_keeps_what_was_counted),
		cmocka_unit_test(a_lone_stray_does_not_disturb),
		cmocka_unit_test(a_restart_across_the_wrap_is_seen),
	};

	return cmocka_run_group_tests_name("rtp", tests, NULL, NULL);
}
