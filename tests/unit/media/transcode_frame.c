/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a worker makes of frames that are more than the next packet of speech:
 * digits, lost ones, those of another sender.
 */
#include <string.h>

#include "transcode_fixture.h"

/* A digit begins, and neither its end nor its ticks ever reach a worker, for
 * the ring was full: speech is heard again when it has timed out. */
static void a_digit_ends_without_its_ticks(void **state)
{
	static const uint8_t begins[TELEPHONE_EVENT_BYTES] = { 5, 10, 0, 160 };
	struct stream_cfg cfg = plain_call();
	struct transcode_fixture g;

	cfg.receive_stage.events =
		(struct telephone_event_types){ 1, { { 101, 8000 } } };
	cfg.event_out.pt = 96;
	cfg.event_out.clock = 8000;
	fixture_open_with(&g, cfg);
	g.c->meta.what = FRAME_RING_EVENT;
	g.c->meta.rtp_ticks = 8;
	g.c->claimed = begins;
	g.c->meta.bytes = sizeof(begins);
	turn(&g);
	g.c->meta.what = FRAME_RING_SPEECH;
	g.c->claimed = payload;
	g.c->meta.bytes = sizeof(payload);
	for (unsigned i = 0; i < 10; i++) {
		g.c->meta.arrival += FRAMES * 20 * CR_MS;
		turn(&g);
	}
	transcode_flush(g.w);
	assert_int_equal(g.c->stream->account->count.events_out, 1 + 3);
	/* 300 ms, of 600 */
	assert_in_range(g.c->stream->account->count.muted, 4 * FRAMES,
			6 * FRAMES);
	fixture_close(&g);
}

/* --- senders --- */

/* The first frame of another sender is overwritten: the second one's timestamp
 * is its own sender's all the same. */
static void another_sender_shows_in_each_of_its_frames(void **state)
{
	const cr_ns period = FRAMES * 20 * CR_MS;
	struct transcode_fixture g;
	int peer;

	peer = fixture_begin(&g);
	fixture_push(&g, speech_of(1000, 0, CR_SEC), false);
	fixture_serve(&g);
	assert_int_equal(fixture_hear(peer).ts, 0);
	for (unsigned i = 0; i < 8 + 1; i++)
		fixture_push(
			&g, speech_of(2000000000, i, CR_SEC + (i + 1) * period),
			!i);
	assert_int_equal(g.c->stream->account->count.overwritten, 1);
	fixture_serve(&g);
	assert_int_equal(fixture_hear(peer).ts, 2 * sizeof(payload));
	fixture_serve(&g);
	assert_int_equal(fixture_hear(peer).ts, 3 * sizeof(payload));
	assert_int_equal(g.c->stream->account->count.missing, 0);
	fixture_end(&g, peer);
}

/* --- what the engine is told --- */

/* Digits and their time, what tells of a loss, and what only the decoder is to
 * hear must not be given up. */
static void some_frames_must_be_kept(void **state)
{
	static const bool must_keep[] = {
		[FRAME_RING_SPEECH] = false,  [FRAME_RING_NOISE] = false,
		[FRAME_RING_EVENT] = true,    [FRAME_RING_LOST] = true,
		[FRAME_RING_SILENCE] = false, [FRAME_RING_TICK] = true,
	};
	struct receive_stage_frame f = speech_of(1000, 0, CR_SEC);
	struct cr_job job = { 0 };
	struct transcode_fixture g;

	fixture_open(&g);
	for (unsigned i = 0; i < 2 * sizeof(must_keep) / sizeof(must_keep[0]);
	     i++) {
		f.meta.what = (enum frame_ring_what)(i / 2);
		f.meta.decode_only = i % 2;
		fixture_push(&g, f, false);
		assert_true(transcode_peek(&g.c->lt.core, &job));
		assert_int_equal(job.must_keep, must_keep[i / 2] || i % 2);
		assert_true(transcode_claim(&g.c->lt.core, job.seq));
	}
	fixture_close(&g);
}

/* What takes no time of the speech, such as a digit's ticks, shortens none. */
static void a_pause_is_counted_from_speech(void **state)
{
	const struct receive_stage_frame tick = { .meta.what = FRAME_RING_TICK,
						  .meta.arrival = CR_SEC +
								  150 * CR_MS };
	struct transcode_fixture g;
	int peer;

	peer = fixture_begin(&g);
	fixture_push(&g, speech_of(1000, 0, CR_SEC), false);
	fixture_push(&g, tick, false);
	fixture_push(&g, speech_of(2000000000, 0, CR_SEC + 200 * CR_MS), true);
	fixture_serve(&g);
	assert_int_equal(fixture_hear(peer).ts, 0);
	fixture_serve(&g);
	fixture_serve(&g);
	assert_int_equal(fixture_hear(peer).ts, 1600);
	fixture_end(&g, peer);
}

/* And is heard at once. */
static void another_sender_ends_a_digit(void **state)
{
	static const uint8_t begins[TELEPHONE_EVENT_BYTES] = { 5, 10, 0, 160 };
	const struct receive_stage_frame event = {
		.meta.what = FRAME_RING_EVENT,
		.payload = begins,
		.meta.bytes = sizeof(begins),
		.meta.rtp_ticks = 8,
		.meta.arrival = CR_SEC,
	};
	struct stream_cfg cfg = plain_call();
	struct transcode_fixture g;

	cfg.receive_stage.events =
		(struct telephone_event_types){ 1, { { 101, 8000 } } };
	cfg.event_out.pt = 96;
	cfg.event_out.clock = 8000;
	fixture_open_with(&g, cfg);
	fixture_push(&g, event, false);
	fixture_push(&g, speech_of(2000000000, 0, CR_SEC + 100 * CR_MS), true);
	fixture_serve(&g);
	assert_int_equal(g.c->stream->account->count.events_out, 1);
	fixture_serve(&g);
	assert_int_equal(g.c->stream->account->count.events_out, 1 + 3);
	assert_int_equal(g.c->stream->account->count.muted, 0);
	fixture_close(&g);
}

/* --- what a lost frame brings --- */

static unsigned recovered, recovered_bytes;

static unsigned recover(void *decoder, const struct cr_frame *next,
			int16_t *pcm)
{
	(void)decoder;
	recovered++;
	recovered_bytes = next->bytes;
	memset(pcm, 0, FRAME * sizeof(*pcm));
	return FRAME;
}

/* If it brings the packet behind it, the decoder is asked what that knows. */
static void a_lost_frame_is_recovered_from_the_next(void **state)
{
	static struct cr_codec codec;
	struct receive_stage_frame lost = { .meta.what = FRAME_RING_LOST,
					    .meta.rtp_ticks = FRAME,
					    .meta.arrival =
						    CR_SEC + 20 * CR_MS };
	struct stream_cfg cfg = plain_call();
	struct transcode_fixture g;

	codec = *cr_codec_find("pcmu");
	codec.recover = recover;
	cfg.media.in.codec = &codec;
	fixture_open_with(&g, cfg);
	fixture_push(&g, speech_of(1000, 0, CR_SEC), false);
	fixture_serve(&g);
	for (unsigned i = 0; i < 2; i++) {
		lost.meta.rtp_ts = 1000 + sizeof(payload) + i * FRAME;
		lost.payload = payload;
		lost.meta.bytes = i * FRAME;
		fixture_push(&g, lost, false);
		fixture_serve(&g);
		assert_int_equal(recovered, i);
	}
	assert_int_equal(recovered_bytes, FRAME);
	assert_int_equal(g.c->stream->account->count.send_failed, FRAMES + 2);
	assert_int_equal(g.c->stream->account->count.synthesized, 2);
	assert_int_equal(g.c->stream->account->count.octets_in,
			 sizeof(payload));
	fixture_close(&g);
}

/* --- more than time passes --- */

static unsigned coded;
static const struct cr_codec *real;

static int count_encode(void *encoder, unsigned mode, const int16_t *pcm,
			struct cr_frame *out)
{
	coded++;
	return real->encode(encoder, mode, pcm, out);
}

static unsigned count_decode(void *decoder, const struct cr_frame *in,
			     int16_t *pcm)
{
	coded++;
	return real->decode(decoder, in, pcm);
}

/* Codecs run for what may be sent, and for no more: whether a party is heard,
 * whether frames are missing. With time it goes on. */
static void what_is_too_much_costs_no_codec_time(void **state)
{
	/* of 20 ms, 19.375 of which count: 2 s at once */
	enum {
		SENT = 103,
		FRAMES_SENT = (SENT + FRAMES - 1) / FRAMES * FRAMES
	};
	static struct cr_codec codec;
	struct stream_cfg cfg;
	unsigned before;
	struct transcode_fixture g;

	real = cr_codec_find("pcmu");
	codec = *real;
	codec.encode = count_encode;
	codec.decode = count_decode;
	for (unsigned i = 0; i < 4; i++) {
		cfg = plain_call();
		cfg.media.in.codec = cfg.media.out.codec = &codec;
		cfg.conceal = i & 1;
		cfg.to.ss_family = i & 2 ? AF_INET : AF_UNSPEC;
		fixture_open_with(&g, cfg);
		g.w->quota_burst = QUOTA_BURST;
		g.c->meta.what = FRAME_RING_SPEECH;
		g.c->claimed = payload;
		g.c->meta.bytes = sizeof(payload);
		g.c->meta.arrival = CR_SEC;
		coded = 0;
		for (unsigned k = 0; k < FRAMES_SENT / FRAMES; k++)
			turn(&g);
		before = coded;
		assert_int_equal(before, 2 * FRAMES_SENT);
		for (unsigned k = 0; k < 100; k++) {
			g.c->meta.rtp_seq += 3;
			turn(&g);
		}
		transcode_flush(g.w);
		assert_int_equal(coded, before);
		assert_int_equal(g.c->stream->account->count.excess,
				 FRAMES_SENT - SENT + 100);
		assert_int_equal(g.c->stream->account->count.done,
				 FRAMES_SENT / FRAMES + 100);
		g.c->meta.arrival += 20 * CR_MS;
		turn(&g);
		transcode_flush(g.w);
		assert_true(coded > before);
		fixture_close(&g);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_digit_ends_without_its_ticks),
		cmocka_unit_test(another_sender_shows_in_each_of_its_frames),
		cmocka_unit_test(some_frames_must_be_kept),
		cmocka_unit_test(a_pause_is_counted_from_speech),
		cmocka_unit_test(another_sender_ends_a_digit),
		cmocka_unit_test(a_lost_frame_is_recovered_from_the_next),
		cmocka_unit_test(what_is_too_much_costs_no_codec_time),
	};

	return cmocka_run_group_tests_name("transcode_frame", tests, NULL,
					   NULL);
}
