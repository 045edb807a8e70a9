/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Telephone events of foreign programs, as they send them, through the relay.
 */
#include "telephone_event_fixture.h"

#include <stdio.h>

#include "rtp/rtp.h"

/* Digit 1 of SIPp 3.6.1 (Debian's sip-tester, dtmf_2833_1.pcap): RTP packets.
 * Its three end packets have one sequence number. */
static const char *const sipp[] = {
	"80e51f30000033e00e05384e010a0000",
	"80651f31000033e00e05384e010a0140",
	"80651f32000033e00e05384e010a0280",
	"80651f33000033e00e05384e010a03c0",
	"80651f34000033e00e05384e010a0500",
	"80651f35000033e00e05384e010a0640",
	"80651f36000033e00e05384e010a0780",
	"80651f37000033e00e05384e018a08c0",
	"80651f37000033e00e05384e018a08c0",
	"80651f37000033e00e05384e018a08c0",
	NULL,
};

/* Digit 5 twice, from rtpdtmfsrc of GStreamer 1.22.0 (plugins-good), its clock
 * 8000 Hz: an update each 40 ms, one end packet. */
static const char *const gst_8000[] = {
	"80e503e900001cf71122334405090140",
	"806503ea00001cf71122334405090280",
	"806503eb00001cf711223344050903c0",
	"806503ec00001cf71122334405090500",
	"806503ed00001cf71122334405090640",
	"806503ee00001cf71122334405090780",
	"806503ef00001cf711223344050908c0",
	"806503f000001cf71122334405890a00",
	"80e503f100002ab71122334405090140",
	"806503f200002ab71122334405090280",
	"806503f300002ab711223344050903c0",
	"806503f400002ab71122334405090500",
	"806503f500002ab71122334405090640",
	"806503f600002ab71122334405090780",
	"806503f700002ab711223344050908c0",
	"806503f800002ab71122334405890a00",
	NULL,
};

/* The same at 16000 Hz with packet-redundancy=3, digit 5 once. */
static const char *const gst_16000[] = {
	"80e503e9000026911122334405090280",
	"806503ea000026911122334405090280",
	"806503eb000026911122334405090280",
	"806503ec000026911122334405090500",
	"806503ed000026911122334405090780",
	"806503ee000026911122334405090a00",
	"806503ef000026911122334405090c80",
	"806503f0000026911122334405090f00",
	"806503f1000026911122334405091180",
	"806503f2000026911122334405891400",
	"806503f3000026911122334405891400",
	"806503f4000026911122334405891400",
	NULL,
};

static size_t from_hex(const char *hex, uint8_t *out)
{
	size_t n = strlen(hex) / 2;

	for (size_t i = 0; i < n; i++) {
		unsigned byte;

		assert_int_equal(sscanf(hex + 2 * i, "%2x", &byte), 1);
		out[i] = (uint8_t)byte;
	}
	return n;
}

/* The packets of @hex, @ms apart. */
static void replay(const char *const *hex, unsigned ms)
{
	for (unsigned i = 0; hex[i]; i++) {
		uint8_t bytes[64];
		struct rtp_packet p;

		assert_int_equal(rtp_parse(bytes, from_hex(hex[i], bytes), &p),
				 RTP_OK);
		if (!i)
			relayed.base_in = p.ts;
		come_bytes(p.ts, p.marker, p.payload, p.payload_bytes);
		pass(ms);
	}
}

static void sipp_is_relayed(void **state)
{
	start(8000, 8000);
	replay(sipp, 0);
	assert_int_equal(relayed.n, 10);
	for (unsigned i = 0; i < 7; i++)
		expect(i, BASE_OUT, !i, 1, false, (uint16_t)(320 * i));
	for (unsigned i = 7; i < 10; i++)
		expect(i, BASE_OUT, false, 1, true, 2240);
	assert_int_equal(relayed.relay.counts.made, 0);
	assert_int_equal(telephone_event_relay_due(&relayed.relay), CR_NEVER);
	sums();
}

static void sipp_whose_ends_are_duplicates_by_number(void **state)
{
	const char *first_end[9];

	memcpy(first_end, sipp, 8 * sizeof(*sipp));
	first_end[8] = NULL;
	start(8000, 16000);
	replay(first_end, 20);
	pass(100);
	assert_int_equal(relayed.n, 10);
	for (unsigned i = 7; i < 10; i++)
		expect(i, BASE_OUT, false, 1, true, 4480);
	assert_int_equal(relayed.relay.counts.made, 2);
	sums();
}

static void gstreamer_sends_one_end_and_three_go(void **state)
{
	start(8000, 48000);
	replay(gst_8000, 40);
	pass(100);
	assert_int_equal(relayed.n, 20);
	for (unsigned digit = 0; digit < 2; digit++) {
		uint32_t ts = BASE_OUT + digit * (0x2ab7 - 0x1cf7) * 6;

		for (unsigned i = 0; i < 7; i++)
			expect(10 * digit + i, ts, !i, 5, false,
			       (uint16_t)(1920 * (i + 1)));
		for (unsigned i = 7; i < 10; i++)
			expect(10 * digit + i, ts, false, 5, true, 15360);
	}
	assert_int_equal(relayed.relay.counts.begun, 2);
	assert_int_equal(relayed.relay.counts.made, 4);
	assert_int_equal(relayed.relay.counts.timed_out, 0);
	sums();
}

static void gstreamer_with_redundancy_to_another_clock(void **state)
{
	start(16000, 8000);
	replay(gst_16000, 0);
	assert_int_equal(relayed.n, 10);
	for (unsigned i = 0; i < 7; i++)
		expect(i, BASE_OUT, !i, 5, false, (uint16_t)(320 * (i + 1)));
	for (unsigned i = 7; i < 10; i++)
		expect(i, BASE_OUT, false, 5, true, 2560);
	/* The first update came three times, and says the same each time. */
	assert_int_equal(relayed.relay.counts.repeated, 2);
	sums();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sipp_is_relayed),
		cmocka_unit_test(sipp_whose_ends_are_duplicates_by_number),
		cmocka_unit_test(gstreamer_sends_one_end_and_three_go),
		cmocka_unit_test(gstreamer_with_redundancy_to_another_clock),
	};

	return cmocka_run_group_tests_name("foreign telephone events", tests,
					   NULL, NULL);
}
