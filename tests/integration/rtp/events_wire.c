/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Telephone events and comfort noise of ours, as tshark reads them: nothing is
 * malformed, and every field is what we meant. A call of 8000 Hz is
 * relayed to 16000 Hz: a digit with one end packet, the same again, one without
 * an end, one of 20 s; comfort noise is between them.
 *
 * The capture is a file that is written here, so nobody needs the right to
 * capture. Exit code 77: there is no tshark.
 */
#define _GNU_SOURCE
#include "cmocka_cr.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rtp/comfort_noise.h"
#include "rtp/rtp.h"
#include "rtp/telephone_event.h"
#include "scratch.h"

enum {
	PORT = 4000,
	IP_UDP = 28,
	LINK_RAW = 101, /* the packets begin with IP */
	LINES_MAX = 4096,
	LINE = 96,
	EVENT_PT = 101,
	NOISE_PT = 13,
};

static struct telephone_event_relay relay;
static cr_ns now;
static uint16_t seq = 65500; /* wraps */
static FILE *pcap;
/* What tshark is to say, line by line. */
static char expected[LINES_MAX][LINE];
static unsigned nexpected;

static void put16(uint8_t *p, unsigned v)
{
	p[0] = (uint8_t)(v >> 8);
	p[1] = (uint8_t)v;
}

static void write32(uint32_t v)
{
	assert_int_equal(fwrite(&v, sizeof(v), 1, pcap), 1);
}

static void begin_capture(const char *path)
{
	pcap = fopen(path, "wb");
	assert_non_null(pcap);
	write32(0xa1b2c3d4);
	write32(2 | 4 << 16); /* version 2.4 on this byte order or another */
	write32(0);
	write32(0);
	write32(65535);
	write32(LINK_RAW);
}

static void send(unsigned pt, bool marker, uint32_t ts, const uint8_t *payload,
		 size_t bytes)
{
	const struct rtp_packet h = { .pt = (uint8_t)pt,
				      .marker = marker,
				      .seq = seq++,
				      .ts = ts,
				      .ssrc = 0xca11 };
	uint8_t p[IP_UDP + RTP_HEADER_BYTES + 64] = { 0x45 };
	size_t n = IP_UDP + rtp_build(p + IP_UDP, &h);

	memcpy(p + n, payload, bytes);
	n += bytes;
	put16(p + 2, (unsigned)n);
	p[8] = 64;
	p[9] = 17;
	memcpy(p + 12, "\x7f\0\0\1\x7f\0\0\1", 8);
	put16(p + 20, PORT);
	put16(p + 22, PORT);
	put16(p + 24, (unsigned)(n - 20));
	write32((uint32_t)(now / CR_SEC));
	write32((uint32_t)(now % CR_SEC / CR_US));
	write32((uint32_t)n);
	write32((uint32_t)n);
	assert_int_equal(fwrite(p, n, 1, pcap), 1);
}

static char *expect(void)
{
	assert_true(nexpected < LINES_MAX);
	return expected[nexpected++];
}

static void send_events(const struct telephone_event_burst *b)
{
	for (unsigned i = 0; i < b->n; i++) {
		const struct telephone_event_packet *p = &b->packets[i];
		struct telephone_event e;

		(void)telephone_event_parse(p->payload, 4, &e);
		(void)snprintf(expect(), LINE, "101|%d|%u|%u|%d|0|%u|%u",
			       p->marker, p->ts, e.code, e.end, e.volume,
			       e.duration);
		send(EVENT_PT, p->marker, p->ts, p->payload, 4);
	}
}

static void send_noise(uint32_t ts)
{
	const struct comfort_noise noise = { .level = 60,
					     .order = 3,
					     .reflection = { 20, 140, 127 } };
	uint8_t payload[COMFORT_NOISE_BYTES_MAX];
	size_t n = comfort_noise_build(payload, &noise);

	(void)snprintf(expect(), LINE, "13|0|%u|||||", ts);
	send(NOISE_PT, false, ts, payload, n);
}

static void pass(unsigned ms)
{
	cr_ns until = now + ms * CR_MS;
	struct telephone_event_burst b;

	while (telephone_event_relay_due(&relay) <= until) {
		now = telephone_event_relay_due(&relay);
		telephone_event_relay_poll(&relay, now, &b);
		send_events(&b);
	}
	now = until;
}

static void come(uint32_t ts, bool marker, uint8_t code, bool end,
		 unsigned duration)
{
	const struct telephone_event event = { .code = code,
					       .end = end,
					       .volume = 7,
					       .duration = (uint16_t)duration };
	uint8_t payload[TELEPHONE_EVENT_BYTES];
	const struct telephone_event_arrival in = {
		.payload = payload,
		.bytes = telephone_event_build(payload, &event),
		.ts = ts,
		.marker = marker,
		.ts_out = 77 + 2 * ts,
	};
	struct telephone_event_burst b;

	telephone_event_relay_packet(&relay, now, &in, &b);
	send_events(&b);
	pass(20);
}

/* A digit at @ts with updates each 20 ms, and its end perhaps. */
static void press(uint32_t ts, uint8_t code, unsigned ms, bool end)
{
	for (unsigned at = 20; at < ms; at += 20)
		come(ts, at == 20, code, false, at * 8);
	if (end)
		come(ts, false, code, true, ms * 8);
	pass(400);
}

static void converse(void)
{
	const struct telephone_event_cfg cfg =
		telephone_event_defaults(8000, 16000);
	uint32_t ts = 4000;

	assert_int_equal(telephone_event_relay_init(&relay, &cfg), 0);
	send_noise(77);
	press(ts, 11, 100, true);
	press(ts += 8000, 11, 40, true);
	send_noise(77 + 2 * (ts += 8000));
	press(ts += 8000, 5, 400, false);
	ts += 8000;
	for (unsigned at = 20; at <= 20000; at += 20) {
		uint32_t from = at * 8 / 0xffff * 0xffff;

		come(ts + from, at == 20, 15, at == 20000, at * 8 - from);
	}
	pass(400);
	send_noise(77 + 2 * (ts + 200000));
	assert_int_equal(relay.counts.begun, 4);
	assert_int_equal(relay.counts.timed_out, 1);
	assert_int_equal(fclose(pcap), 0);
}

static FILE *tshark(const char *path, const char *options)
{
	char command[1024];
	FILE *out;

	(void)snprintf(command, sizeof(command),
		       "tshark -n -r %s -d udp.port==%d,rtp "
		       "-d rtp.pt==%d,rtpevent %s 2>/dev/null",
		       path, PORT, EVENT_PT, options);
	out = popen(command, "r");
	assert_non_null(out);
	return out;
}

/* What newer ones write as True and False. */
static void write_flags_as_digits(char *line)
{
	static const char *const words[] = { "False", "True" };

	for (unsigned i = 0; i < 2; i++)
		for (char *p = strstr(line, words[i]); p;
		     p = strstr(p, words[i])) {
			size_t n = strlen(words[i]);

			*p = (char)('0' + i);
			memmove(p + 1, p + n, strlen(p + n) + 1);
		}
}

static void every_field_is_what_was_meant(void **state)
{
	char path[SCRATCH_MAX], line[LINE];
	unsigned n = 0;
	FILE *out;

	begin_capture(scratch_file(path));
	converse();
	out = tshark(path, "-T fields -E separator='|' -E occurrence=f "
			   "-e rtp.p_type -e rtp.marker -e rtp.timestamp "
			   "-e rtpevent.event_id -e rtpevent.end_of_event "
			   "-e rtpevent.reserved -e rtpevent.volume "
			   "-e rtpevent.duration");
	while (fgets(line, sizeof(line), out)) {
		line[strcspn(line, "\n")] = '\0';
		write_flags_as_digits(line);
		assert_true(n < nexpected);
		assert_string_equal(line, expected[n]);
		n++;
	}
	assert_int_equal(pclose(out), 0);
	assert_int_equal(n, nexpected);
	assert_true(n > 1000);

	out = tshark(path, "-Y '_ws.malformed or _ws.expert.severity >= "
			   "warning or not rtp'");
	assert_null(fgets(line, sizeof(line), out));
	assert_int_equal(pclose(out), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_field_is_what_was_meant),
	};

	if (system("command -v tshark >/dev/null")) {
		(void)fprintf(stderr, "skipped: no tshark\n");
		return 77;
	}
	return cmocka_run_group_tests_name("events on the wire", tests, NULL,
					   NULL);
}
