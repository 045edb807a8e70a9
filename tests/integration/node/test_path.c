/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The way of a frame through a real node: sockets, rings, engine, codecs. What
 * comes back is compared with the codec libraries' own output, bit by bit.
 */
#include "cmocka_cr.h"

#include <stdio.h>
#include <string.h>
#include <opencore-amrnb/interf_dec.h>
#include <opencore-amrnb/interf_enc.h>

#include "node_fixture.h"
#include "spoken.h"

#define FRAMES 60u
#define NB 160u

/* The next frame of @reader as PCMU, and what PCMU makes of it. */
static void pcmu_frame(struct speech_reader *reader, struct cr_frame *frame,
		       int16_t *pcm)
{
	const struct cr_codec *pcmu = cr_codec_find("pcmu");
	const struct cr_codec_cfg cfg = { .samples = NB };
	void *enc, *dec;
	int16_t in[NB];

	speech_read(reader, in, NB);
	assert_int_equal(pcmu->encoder_open(&enc, &cfg, NULL), 0);
	assert_int_equal(pcmu->decoder_open(&dec, &cfg, NULL), 0);
	assert_int_equal(pcmu->encode(enc, 0, in, frame), 0);
	assert_int_equal(pcmu->decode(dec, frame, pcm), NB);
	pcmu->encoder_close(enc);
	pcmu->decoder_close(dec);
}

/* One frame at a time, so that nothing is dropped however slow we are. */
static void encode_through(struct node_fixture *r, int mode, const char *name,
			   int call)
{
	struct speech_reader reader;
	struct fixture_sender s;
	struct node_stream *st;
	void *lib = Encoder_Interface_init(0);
	char json[200];

	(void)snprintf(json, sizeof(json),
		       "{'in': {'codec': 'pcmu'}, 'out': {'codec': 'amr', "
		       "'mode': '%s', 'octet_align': true}}",
		       name);
	st = fixture_call(r, json);
	s = fixture_sender(r, st, NB);
	speech_reader_init(&reader, recordings(8000), 7, (uint64_t)call);
	for (unsigned i = 0; i < FRAMES; i++) {
		struct cr_frame frame;
		struct rtp_packet p;
		int16_t pcm[NB];
		uint8_t expect[64], buf[2048];
		int bytes;

		pcmu_frame(&reader, &frame, pcm);
		bytes = Encoder_Interface_Encode(lib, (enum Mode)mode, pcm,
						 expect, 0);
		fixture_send(&s, frame.data, frame.bytes);
		assert_true(fixture_receive(r, buf, &p));
		/* octet-aligned: CMR octet, then the storage format's frame */
		assert_int_equal(p.payload_bytes, bytes + 1);
		assert_int_equal(p.payload[0], 0xf0);
		assert_memory_equal(p.payload + 1, expect, (size_t)bytes);
		assert_int_equal(p.ts, st->stream->cfg.ts_out + i * NB);
		assert_int_equal(p.ssrc, st->stream->cfg.ssrc_out);
		assert_int_equal(p.seq,
				 (uint16_t)(st->stream->cfg.seq_out + i));
	}
	Encoder_Interface_exit(lib);
	fixture_end(r, st);
	assert_int_equal(r->last.done, FRAMES);
	assert_int_equal(r->last.packets_out, FRAMES);
	assert_int_equal(r->last.overwritten, 0);
}

static void amr_encoding_equals_the_librarys_in_every_mode(void **state)
{
	static const char *const modes[] = { "4.75", "5.15", "5.90", "6.70",
					     "7.40", "7.95", "10.2", "12.2" };
	struct node_fixture r;

	fixture_open(&r, &(struct fixture_options){ 0 });
	for (int m = 0; m < 8; m++)
		encode_through(&r, m, modes[m], m);
	fixture_close(&r);
}

static void amr_decoding_equals_the_librarys(void **state)
{
	const struct cr_codec *pcmu = cr_codec_find("pcmu");
	const struct cr_codec_cfg cfg = { .samples = NB };
	void *enc = Encoder_Interface_init(0), *dec = Decoder_Interface_init();
	void *ulaw;
	struct speech_reader reader;
	struct fixture_sender s;
	struct node_stream *st;
	struct node_fixture r;

	assert_int_equal(pcmu->encoder_open(&ulaw, &cfg, NULL), 0);
	speech_reader_init(&reader, recordings(8000), 7, 99);
	fixture_open(&r, &(struct fixture_options){ 0 });
	st = fixture_call(&r, "{'in': {'codec': 'amr', 'octet_align': true}, "
			      "'out': {'codec': 'pcmu'}}");
	s = fixture_sender(&r, st, NB);
	for (unsigned i = 0; i < FRAMES; i++) {
		uint8_t payload[64] = { 0xf0 }, buf[2048];
		struct cr_frame expect;
		struct rtp_packet p;
		int16_t pcm[NB];
		int n;

		speech_read(&reader, pcm, NB);
		n = Encoder_Interface_Encode(enc, MR122, pcm, payload + 1, 0);
		Decoder_Interface_Decode(dec, payload + 1, pcm, 0);
		assert_int_equal(pcmu->encode(ulaw, 0, pcm, &expect), 0);
		fixture_send(&s, payload, (size_t)n + 1);
		assert_true(fixture_receive(&r, buf, &p));
		assert_int_equal(p.payload_bytes, NB);
		assert_memory_equal(p.payload, expect.data, NB);
	}
	Encoder_Interface_exit(enc);
	Decoder_Interface_exit(dec);
	pcmu->encoder_close(ulaw);
	fixture_close(&r);
}

/* Three 20 ms packets make two 30 ms ones, and time stays right. */
static void frames_are_cut_anew_for_other_frame_lengths(void **state)
{
	static const uint8_t silence[NB] = { 0xff };
	struct fixture_sender s;
	struct node_stream *st;
	struct node_fixture r;

	if (!cr_codec_find("g723_1"))
		skip();
	fixture_open(&r, &(struct fixture_options){ 0 });
	st = fixture_call(&r, "{'in': {'codec': 'pcmu'}, 'ptime_ms': 20, "
			      "'out': {'codec': 'g723_1'}}");
	s = fixture_sender(&r, st, NB);
	for (unsigned i = 0; i < 12; i++) {
		uint8_t buf[2048];
		struct rtp_packet p;

		fixture_send(&s, silence, NB);
		if (i % 3 == 0)
			continue; /* 160 of 240 samples */
		assert_true(fixture_receive(&r, buf, &p));
		assert_int_equal(p.payload_bytes, 24);
		assert_int_equal(p.ts - st->stream->cfg.ts_out,
				 (i / 3 * 2 + i % 3 - 1) * 240);
	}
	fixture_end(&r, st);
	assert_int_equal(r.last.done, 12);
	assert_int_equal(r.last.packets_out, 8);
	fixture_close(&r);
}

static void rates_convert_and_clocks_follow(void **state)
{
	static const uint8_t silence[NB] = { 0xff };
	struct fixture_sender s;
	struct node_stream *st;
	struct node_fixture r;

	fixture_open(&r, &(struct fixture_options){ 0 });
	st = fixture_call(&r,
			  "{'in': {'codec': 'pcmu'}, 'out': {'codec': "
			  "'amr-wb', 'mode': '12.65', 'octet_align': true}}");
	s = fixture_sender(&r, st, NB);
	for (unsigned i = 0; i < 10; i++) {
		uint8_t buf[2048];
		struct rtp_packet p;

		fixture_send(&s, silence, NB);
		assert_true(fixture_receive(&r, buf, &p));
		assert_int_equal(p.payload_bytes, 34); /* RFC 4867 12.65 */
		assert_int_equal(p.ts - st->stream->cfg.ts_out, i * 320);
	}
	fixture_close(&r);
}

/* A gap in the input's timestamps is a gap in the output's. */
static void silence_on_the_wire_keeps_its_place(void **state)
{
	static const uint8_t silence[NB] = { 0xff };
	struct fixture_sender s;
	struct node_stream *st;
	struct node_fixture r;
	uint8_t buf[2048];
	struct rtp_packet p;

	fixture_open(&r, &(struct fixture_options){ 0 });
	st = fixture_call(
		&r, "{'in': {'codec': 'pcmu'}, 'out': {'codec': 'pcma'}}");
	s = fixture_sender(&r, st, NB);
	fixture_send(&s, silence, NB);
	assert_true(fixture_receive(&r, buf, &p));
	s.next.ts += 50 * NB;
	s.next.marker = true;
	fixture_send(&s, silence, NB);
	assert_true(fixture_receive(&r, buf, &p));
	assert_int_equal(p.ts - st->stream->cfg.ts_out, 51 * NB);
	assert_true(p.marker);
	fixture_close(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			amr_encoding_equals_the_librarys_in_every_mode),
		cmocka_unit_test(amr_decoding_equals_the_librarys),
		cmocka_unit_test(frames_are_cut_anew_for_other_frame_lengths),
		cmocka_unit_test(rates_convert_and_clocks_follow),
		cmocka_unit_test(silence_on_the_wire_keeps_its_place),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
