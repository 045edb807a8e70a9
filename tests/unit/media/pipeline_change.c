/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A pipeline whose codecs change in mid-call: every packet comes out, in the
 * codec that goes at that moment, and its timestamps go on.
 */
#include <errno.h>
#include <string.h>

#include "cmocka_cr.h"
#include "media/pipeline.h"

#define PTIME (20 * CR_MS)

struct heard {
	unsigned packets;
	uint32_t ts;
	uint8_t pt, bytes[1024];
	size_t n;
	bool marker;
};

static void emit(void *arg, const struct pipeline_packet *packet)
{
	struct heard *h = arg;

	h->packets++;
	h->ts = packet->ts;
	h->pt = packet->pt;
	h->marker = packet->marker;
	h->n = packet->bytes;
	memcpy(h->bytes, packet->payload,
	       h->n < sizeof(h->bytes) ? h->n : sizeof(h->bytes));
}

/* What a party may change between: each with a type of its own. */
static const struct {
	const char *name;
	unsigned rate, mode;
} codecs[] = { { "pcmu", 0, 0 },     { "amr", 0, 7 },	 { "g722", 0, 0 },
	       { "opus", 48000, 0 }, { "amr-wb", 0, 2 }, { "l16", 16000, 0 },
	       { "opus", 8000, 0 },  { "gsm", 0, 0 } };
enum { NCODECS = sizeof(codecs) / sizeof(codecs[0]) };

static struct codec_use side(unsigned i)
{
	struct codec_use s = { .codec = cr_codec_find(codecs[i].name) };

	s.pt = (uint8_t)(96 + i);
	s.cfg.mode = codecs[i].mode;
	s.cfg.sample_rate = codecs[i].rate;
	assert_int_equal(payload_format_find(&s), 0);
	if (s.codec->any_length || s.codec->lengths)
		s.cfg.samples = (unsigned)(PTIME * codec_use_rate(&s) / CR_SEC);
	return s;
}

static uint32_t rtp_ticks(unsigned i)
{
	const struct codec_use s = side(i);

	return (uint32_t)(PTIME * codec_use_clock(&s) / CR_SEC);
}

/* A packet of codec @i, as its encoder makes it of noise. */
static size_t packet_of(unsigned i, uint8_t *buf, size_t size)
{
	static struct cr_frame frame;
	static int16_t pcm[CR_FRAME_SAMPLES_MAX];
	const struct codec_use s = side(i);
	struct cr_err e = { "" };
	void *encoder;
	int n;

	for (unsigned k = 0; k < CR_FRAME_SAMPLES_MAX; k++)
		pcm[k] = (int16_t)((k * 2654435761u) >> 20);
	assert_int_equal(s.codec->encoder_open(&encoder, &s.cfg, &e), 0);
	assert_int_equal(s.codec->encode(encoder, s.cfg.mode, pcm, &frame), 0);
	s.codec->encoder_close(encoder);
	n = payload_pack(&s, PAYLOAD_NO_CMR, &frame, 1, buf, size);
	assert_true(n > 0);
	return (size_t)n;
}

struct sender {
	uint8_t packet[NCODECS][1024];
	size_t bytes[NCODECS];
	int number[NCODECS];
	struct pipeline_input next;
};

static struct pipeline *open_with(struct sender *s, unsigned from, unsigned to)
{
	const struct pipeline_cfg cfg = { .in = side(from), .out = side(to) };
	struct cr_err e = { "" };
	struct pipeline *p;

	memset(s, 0, sizeof(*s));
	s->next.meta.rtp_ts = UINT32_MAX - 1000; /* it wraps */
	assert_int_equal(pipeline_open(&p, &cfg, &e), 0);
	for (unsigned i = 0; i < NCODECS; i++) {
		const struct codec_use in = side(i);

		s->bytes[i] = packet_of(i, s->packet[i], sizeof(s->packet[i]));
		s->number[i] = pipeline_add_input(p, &in, &e);
		assert_true(s->number[i] >= 0 && s->number[i] < NCODECS);
	}
	assert_int_equal(s->number[from], 0);
	return p;
}

static void say(struct pipeline *p, struct sender *s, unsigned codec,
		struct heard *h)
{
	static struct pipeline_scratch scratch;

	s->next.meta.codec = (uint8_t)s->number[codec];
	s->next.payload = s->packet[codec];
	s->next.meta.bytes = s->bytes[codec];
	s->next.meta.arrival += PTIME;
	assert_int_equal(pipeline_run(p, &scratch, &s->next, emit, h), 0);
	s->next.meta.rtp_ts += rtp_ticks(codec);
}

/* Each codec behind each other one, towards each: one packet for each, which
 * follows the one before without a gap. */
static void inputs_change_at_any_packet(void **state)
{
	static struct sender s;

	for (unsigned to = 0; to < NCODECS; to++) {
		struct pipeline *p = open_with(&s, 0, to);
		struct heard h = { 0 };
		uint32_t ts = 0;
		unsigned n = 0;

		for (unsigned a = 0; a < NCODECS; a++)
			for (unsigned b = 0; b < NCODECS; b++)
				for (unsigned k = 0; k < 4; k++) {
					say(p, &s, k < 2 ? a : b, &h);
					assert_int_equal(h.packets, ++n);
					assert_int_equal(h.ts, ts);
					assert_int_equal(h.pt, 96 + to);
					if (n > 1 &&
					    strncmp(codecs[to].name, "amr", 3))
						assert_false(h.marker);
					ts += rtp_ticks(to);
				}
		pipeline_close(p);
	}
}

static void change_to(struct pipeline *p, unsigned to)
{
	const struct codec_use out = side(to);
	struct pipeline_output *o;
	struct cr_err e = { "" };

	assert_int_equal(pipeline_output_new(&o, &out, true, &e), 0);
	pipeline_change(p, o);
	assert_int_equal(pipeline_mode(p), codecs[to].mode);
}

/* The packet behind a change begins where the one before has ended. */
static void the_output_changes_between_two_packets(void **state)
{
	static struct sender s;
	struct pipeline *p = open_with(&s, 0, 0);
	struct heard h = { 0 };
	uint32_t ts = 0;
	unsigned n = 0;

	for (unsigned in = 0; in < NCODECS; in++)
		for (unsigned a = 0; a < NCODECS; a++)
			for (unsigned b = 0; b < NCODECS; b++) {
				change_to(p, a);
				if (b % 3 == 0) /* nobody sees this one */
					change_to(p, (a + b + 1) % NCODECS);
				if (b % 3 == 0)
					change_to(p, a);
				for (unsigned k = 0; k < 2; k++) {
					say(p, &s, in, &h);
					assert_int_equal(h.packets, ++n);
					assert_int_equal(h.pt, 96 + a);
					assert_int_equal(h.ts, ts);
					ts += rtp_ticks(a);
				}
				change_to(p, b);
				say(p, &s, in, &h);
				assert_int_equal(h.packets, ++n);
				assert_int_equal(h.pt, 96 + b);
				assert_int_equal(h.ts, ts);
				ts += rtp_ticks(b);
			}
	pipeline_close(p);
}

/* 20 ms at a time into 30 ms, then into 20: nothing that was said is left out,
 * and time does not go back. */
static void what_was_left_over_comes_out_of_the_next(void **state)
{
	struct codec_use out = { .codec = cr_codec_find("g723_1") };
	static struct sender s;
	struct pipeline *p = open_with(&s, 0, 0);
	struct pipeline_output *o;
	struct heard h = { 0 };
	struct cr_err e = { "" };
	uint32_t last;

	if (!out.codec)
		skip();
	assert_int_equal(payload_format_find(&out), 0);
	for (unsigned i = 0; i < NCODECS; i++) {
		h.packets = 0;
		assert_int_equal(pipeline_output_new(&o, &out, true, &e), 0);
		pipeline_change(p, o);
		say(p, &s, 0, &h); /* 20 ms wait for 10 more */
		assert_int_equal(h.packets, 0);
		change_to(p, i);
		last = h.ts;
		say(p, &s, 0, &h);
		assert_int_equal(h.packets, 2);
		assert_true((int32_t)(h.ts - last) > 0);
	}
	pipeline_close(p);
}

static void a_mode_request_for_another_codec_is_none(void **state)
{
	static struct sender s;
	struct pipeline *p = open_with(&s, 0, 1);
	struct heard h = { 0 };

	pipeline_ask_mode(p, PAYLOAD_AMR_WB, 3);
	assert_int_equal(pipeline_mode(p), 7);
	pipeline_ask_mode(p, PAYLOAD_AMR, 3);
	assert_int_equal(pipeline_mode(p), 3);
	change_to(p, 4);
	pipeline_ask_mode(p, PAYLOAD_AMR, 3); /* late */
	assert_int_equal(pipeline_mode(p), 2);
	say(p, &s, 0, &h);
	assert_int_equal(pipeline_mode(p), 2);
	pipeline_ask_mode(p, PAYLOAD_AMR_WB, 8);
	assert_int_equal(pipeline_mode(p), 8);
	pipeline_close(p);
}

/* Of a predicting codec the first frame says other things behind others. */
static void a_new_sender_has_a_decoder_without_a_past(void **state)
{
	static struct sender s;
	struct pipeline *fresh, *p = open_with(&s, 1, 5);
	struct heard first = { 0 }, h = { 0 };

	say(p, &s, 1, &first);
	say(p, &s, 1, &h);
	assert_memory_not_equal(h.bytes, first.bytes, first.n);
	pipeline_restart(p);
	say(p, &s, 1, &h);
	assert_int_equal(h.packets, 2);
	assert_memory_equal(h.bytes, first.bytes, first.n);
	/* of any of its codecs */
	say(p, &s, 4, &h);
	say(p, &s, 4, &h);
	pipeline_restart(p);
	say(p, &s, 1, &h);
	say(p, &s, 4, &h);
	fresh = open_with(&s, 4, 5);
	say(fresh, &s, 4, &first);
	assert_memory_equal(h.bytes, first.bytes, first.n);
	pipeline_close(fresh);
	pipeline_close(p);
}

static void there_are_so_many_inputs_and_no_more(void **state)
{
	static struct sender s;
	struct pipeline *p = open_with(&s, 0, 0);
	struct codec_use more = side(5);
	struct cr_err e = { "" };

	for (unsigned i = NCODECS; i < PIPELINE_INPUTS; i++) {
		more.cfg.spin = i; /* of no matter, but another one */
		assert_int_equal(pipeline_add_input(p, &more, &e), i);
		assert_int_equal(pipeline_add_input(p, &more, &e), i);
	}
	/* packets of PCM of any length are one's */
	more.cfg.samples = 160;
	assert_int_equal(pipeline_add_input(p, &more, &e), PIPELINE_INPUTS - 1);
	more.cfg.spin = PIPELINE_INPUTS;
	assert_int_equal(pipeline_add_input(p, &more, &e), -ENOSPC);
	assert_non_null(strstr(e.text, "16 codecs"));
	pipeline_close(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(inputs_change_at_any_packet),
		cmocka_unit_test(the_output_changes_between_two_packets),
		cmocka_unit_test(what_was_left_over_comes_out_of_the_next),
		cmocka_unit_test(a_mode_request_for_another_codec_is_none),
		cmocka_unit_test(a_new_sender_has_a_decoder_without_a_past),
		cmocka_unit_test(there_are_so_many_inputs_and_no_more),
	};

	return cmocka_run_group_tests_name("pipeline_change", tests, NULL,
					   NULL);
}
