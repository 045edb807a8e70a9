/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The pipeline's time: output timestamps follow the input's, however they
 * leap. What the codecs make of speech is tested with the node.
 */
#include "cmocka_cr.h"
#include "media/pipeline.h"

#define FRAME 40u /* 5 ms */

struct heard {
	unsigned packets, marked, noises;
	uint32_t ts;
	uint8_t second; /* octet of the last one's payload */
};

static void emit(void *arg, const struct pipeline_packet *packet)
{
	struct heard *h = arg;

	h->packets++;
	h->ts = packet->ts;
	h->second = packet->bytes > 1 ? packet->payload[1] : 0;
	h->marked += packet->marker;
	h->noises += packet->noise;
}

static struct codec_use side(const char *codec, unsigned rate)
{
	struct codec_use s = { .codec = cr_codec_find(codec) };

	s.cfg.mode = s.codec->default_mode;
	s.cfg.sample_rate = rate;
	s.cfg.samples = FRAME * rate / 8000;
	s.kind = payload_kind_find(codec);
	return s;
}

/* Every packet leaps as far as a timestamp can; 300,000 of them go beyond what
 * 64 bits hold of samples times rates. Forwards the output follows; backwards
 * it goes on behind the packet before. */
static void timestamps_may_leap_for_ever(void **state)
{
	static struct pipeline_scratch scratch;
	static const uint8_t silence[FRAME] = { 0xff };
	const struct pipeline_cfg cfg = { .in = side("pcmu", 8000),
					  .out = side("l16", 16000) };
	const uint32_t leaps[] = { INT32_MAX, (uint32_t)INT32_MIN };
	struct cr_err e = { "" };

	for (unsigned way = 0; way < 2; way++) {
		struct pipeline_input in = { .payload = silence,
					     .meta.bytes = FRAME };
		struct heard h = { 0 };
		struct pipeline *p;

		assert_int_equal(pipeline_open(&p, &cfg, &e), 0);
		for (unsigned i = 0; i < 300000;
		     i++, in.meta.rtp_ts += leaps[way]) {
			assert_int_equal(
				pipeline_run(p, &scratch, &in, emit, &h), 0);
			assert_int_equal(h.packets, i + 1);
			assert_int_equal(h.ts, way ? 2 * FRAME * i
						   : 2 * in.meta.rtp_ts);
		}
		pipeline_close(p);
	}
}

static void a_mode_that_is_not_there_is_not_taken(void **state)
{
	struct pipeline_cfg cfg = { .in = side("pcmu", 8000),
				    .out = side("amr", 8000) };
	struct cr_err e = { "" };
	struct pipeline *p;

	cfg.out.cfg.samples = 0;
	cfg.out.cfg.mode = 7;
	cfg.out.amr.mode_set = 1u << 7 | 1u << 2;
	assert_int_equal(pipeline_open(&p, &cfg, &e), 0);
	pipeline_set_mode(p, 8);
	assert_int_equal(pipeline_mode(p), 7);
	pipeline_set_mode(p, 3); /* outside mode_set */
	assert_int_equal(pipeline_mode(p), 7);
	pipeline_set_mode(p, 2);
	assert_int_equal(pipeline_mode(p), 2);
	pipeline_close(p);
}

/* Four packets make a frame of AMR. */
static void run_frame(struct pipeline *p, struct heard *h, uint8_t octet,
		      bool marker)
{
	static struct pipeline_scratch scratch;
	static uint32_t ts;
	uint8_t speech[FRAME];

	for (unsigned i = 0; i < 4; i++, ts += FRAME, marker = false) {
		const struct pipeline_input in = { .payload = speech,
						   .meta.bytes = FRAME,
						   .meta.rtp_ts = ts,
						   .meta.marker = marker };

		/* @octet 0: a noise that no encoder takes for silence */
		for (unsigned k = 0; k < FRAME; k++)
			speech[k] =
				octet ? octet
				      : (uint8_t)((ts + k) * 2654435761u >> 24);
		assert_int_equal(pipeline_run(p, &scratch, &in, emit, h), 0);
	}
}

static void the_marker_survives_cutting(void **state)
{
	struct pipeline_cfg cfg = { .in = side("pcmu", 8000),
				    .out = side("amr", 8000) };
	struct heard h = { 0 };
	struct cr_err e = { "" };
	struct pipeline *p;

	cfg.out.cfg.samples = 0;
	assert_int_equal(pipeline_open(&p, &cfg, &e), 0);
	run_frame(p, &h, 0, true); /* on a packet that fills no frame */
	assert_int_equal(h.packets, 1);
	assert_int_equal(h.marked, 1);
	run_frame(p, &h, 0, false);
	assert_int_equal(h.marked, 1);
	run_frame(p, &h, 0, true);
	assert_int_equal(h.packets, 3);
	assert_int_equal(h.marked, 2);
	pipeline_close(p);
}

/* The input is one talk spurt; our encoder finds silence in it. */
static void speech_after_our_silence_is_marked(void **state)
{
	struct pipeline_cfg cfg = { .in = side("pcmu", 8000),
				    .out = side("amr", 8000) };
	struct heard h = { 0 };
	struct cr_err e = { "" };
	struct pipeline *p;

	cfg.out.cfg.samples = 0;
	cfg.out.cfg.dtx = true;
	assert_int_equal(pipeline_open(&p, &cfg, &e), 0);
	for (unsigned i = 0; i < 20; i++)
		run_frame(p, &h, 0, false);
	assert_int_equal(h.marked, 1); /* the first of all */
	for (unsigned i = 0; i < 50; i++)
		run_frame(p, &h, 0xff, false);
	assert_int_equal(h.marked, 1);
	for (unsigned i = 0; i < 20; i++)
		run_frame(p, &h, 0, false);
	assert_int_equal(h.marked, 2);
	pipeline_close(p);
}

/* Of another sender: its timestamps say nothing, the pause does. */
static void a_new_sender_goes_on_in_time(void **state)
{
	static struct pipeline_scratch scratch;
	static const uint8_t speech[FRAME] = { 0xff };
	const struct pipeline_cfg cfg = { .in = side("pcmu", 8000),
					  .out = side("l16", 16000) };
	struct pipeline_input in = { .payload = speech, .meta.bytes = FRAME };
	struct heard h = { 0 };
	struct cr_err e = { "" };
	struct pipeline *p;

	assert_int_equal(pipeline_open(&p, &cfg, &e), 0);
	assert_int_equal(pipeline_run(p, &scratch, &in, emit, &h), 0);
	in.meta.rtp_ts = 4000000000;
	in.meta.arrival = 100 * CR_MS;
	pipeline_restart(p);
	assert_int_equal(pipeline_run(p, &scratch, &in, emit, &h), 0);
	assert_int_equal(h.ts, 1600);
	assert_int_equal(h.marked, 1);
	in.meta.rtp_ts += FRAME;
	assert_int_equal(pipeline_run(p, &scratch, &in, emit, &h), 0);
	assert_int_equal(h.ts, 1600 + 2 * FRAME);
	/* sooner than the speech before it ends: behind that */
	pipeline_restart(p);
	in.meta.rtp_ts = 1;
	in.meta.arrival -= CR_SEC;
	assert_int_equal(pipeline_run(p, &scratch, &in, emit, &h), 0);
	assert_int_equal(h.ts, 1600 + 4 * FRAME);
	assert_int_equal(h.marked, 2);
	pipeline_close(p);
}

/* What comes first of another sender may be a digit, and the next, too. */
static void digits_of_a_new_sender_are_in_its_time(void **state)
{
	static struct pipeline_scratch scratch;
	static const uint8_t speech[FRAME] = { 0xff };
	const struct pipeline_cfg cfg = { .in = side("pcmu", 8000),
					  .out = side("l16", 16000) };
	struct pipeline_input in = { .payload = speech, .meta.bytes = FRAME };
	struct heard h = { 0 };
	struct cr_err e = { "" };
	struct pipeline *p;

	assert_int_equal(pipeline_open(&p, &cfg, &e), 0);
	assert_int_equal(pipeline_run(p, &scratch, &in, emit, &h), 0);
	in.meta.rtp_ts = 2000000000;
	in.meta.arrival = 100 * CR_MS;
	pipeline_restart(p);
	assert_int_equal(pipeline_time(p, &in), 1600);
	in.meta.rtp_ts += 10 * FRAME;
	assert_int_equal(pipeline_time(p, &in), 1600 + 20 * FRAME);
	in.meta.rtp_ts += 10 * FRAME;
	assert_int_equal(pipeline_run(p, &scratch, &in, emit, &h), 0);
	assert_int_equal(h.ts, 1600 + 40 * FRAME);
	pipeline_close(p);
}

/* Or comfort noise: passed on, or as frames. */
static void noise_of_a_new_sender_is_in_its_time(void **state)
{
	static struct pipeline_scratch scratch;
	static const uint8_t speech[FRAME] = { 0xff };
	static const uint8_t level = 40;
	struct pipeline_cfg cfg = { .in = side("pcmu", 8000),
				    .out = side("l16", 16000) };
	struct cr_err e = { "" };

	for (unsigned passed = 0; passed < 2; passed++) {
		struct pipeline_input in = { .payload = speech,
					     .meta.bytes = FRAME };
		struct heard h = { 0 };
		struct pipeline *p;

		cfg.pt_noise = passed ? 13 : 0;
		assert_int_equal(pipeline_open(&p, &cfg, &e), 0);
		assert_int_equal(pipeline_run(p, &scratch, &in, emit, &h), 0);
		in = (struct pipeline_input){ .payload = &level,
					      .meta.bytes = 1,
					      .meta.rtp_ts = 2000000000,
					      .meta.arrival = 100 * CR_MS };
		pipeline_restart(p);
		in.meta.rtp_ticks = passed ? 0 : FRAME;
		assert_int_equal(pipeline_noise(p, &scratch, &in, emit, &h), 0);
		assert_int_equal(h.packets, 2);
		assert_int_equal(h.ts, 1600);
		pipeline_close(p);
	}
}

/* However far timestamps have leapt since noise was sent last, it is due. */
static void noise_is_sent_after_any_leap(void **state)
{
	static struct pipeline_scratch scratch;
	static const uint8_t speech[FRAME] = { 0xff };
	static const uint8_t level = 40;
	const struct pipeline_input noise = { .payload = &level,
					      .meta.bytes = 1 };
	struct pipeline_cfg cfg = { .in = side("pcmu", 8000),
				    .out = side("l16", 16000),
				    .pt_noise = 13 };
	struct cr_err e = { "" };

	/* 0: not again; 5 leaps are more ns than 63 bits hold (UBSan) */
	for (unsigned leaps = 0; leaps < 12; leaps++) {
		struct pipeline_input in = noise;
		struct heard h = { 0 };
		struct pipeline *p;

		assert_int_equal(pipeline_open(&p, &cfg, &e), 0);
		assert_int_equal(pipeline_noise(p, &scratch, &in, emit, &h), 0);
		assert_int_equal(h.packets, 1);
		in.payload = speech;
		in.meta.bytes = FRAME;
		for (unsigned i = 0; i < leaps; i++) {
			in.meta.rtp_ts += INT32_MAX;
			assert_int_equal(
				pipeline_run(p, &scratch, &in, emit, &h), 0);
		}
		in.meta.rtp_ts += FRAME;
		h.noises = 0;
		in.meta.rtp_ticks = FRAME;
		pipeline_silence(p, &scratch, &in, emit, &h);
		assert_int_equal(h.noises, leaps > 0);
		pipeline_close(p);
	}
}

/* Packets that overlap those before them are put behind these, and those that
 * follow go on from there. */
static void timestamps_never_go_back(void **state)
{
	static struct pipeline_scratch scratch;
	static const uint8_t speech[FRAME] = { 0xff };
	static const uint32_t ts[] = { 1000,
				       1000 + FRAME,
				       1000 + FRAME,
				       1000 + 3 * FRAME / 2,
				       1000 + 2 * FRAME,
				       900,
				       900 + FRAME };
	const struct pipeline_cfg cfg = { .in = side("pcmu", 8000),
					  .out = side("l16", 16000) };
	struct pipeline_input in = { .payload = speech, .meta.bytes = FRAME };
	struct heard h = { 0 };
	struct cr_err e = { "" };
	struct pipeline *p;

	assert_int_equal(pipeline_open(&p, &cfg, &e), 0);
	for (unsigned i = 0; i < 7; i++) {
		in.meta.rtp_ts = ts[i];
		assert_int_equal(pipeline_run(p, &scratch, &in, emit, &h), 0);
		assert_int_equal(h.ts, 2 * FRAME * i);
	}
	assert_int_equal(h.packets, 7);
	pipeline_close(p);
}

/* Three packets never came: their places are filled, and the next one's
 * timestamp is what it would have been. */
static void what_is_lost_is_as_long_as_it_was(void **state)
{
	static struct pipeline_scratch scratch;
	static const uint8_t speech[FRAME] = { 0xff };
	struct pipeline_cfg cfg = { .in = side("pcmu", 8000),
				    .out = side("l16", 16000) };
	struct pipeline_input in = { .payload = speech,
				     .meta.bytes = FRAME,
				     .meta.rtp_ts = 70 };
	const struct pipeline_input lost = { .meta.rtp_ts = 70 + FRAME,
					     .meta.rtp_ticks = 3 * FRAME };
	struct heard h = { 0 };
	struct cr_err e = { "" };
	struct pipeline *p;

	assert_int_equal(pipeline_open(&p, &cfg, &e), 0);
	assert_int_equal(pipeline_packets(p, 3 * FRAME), 3);
	assert_int_equal(pipeline_run(p, &scratch, &in, emit, &h), 0);
	in.meta.rtp_ts += 4 * FRAME;
	/* PCMU says nothing of others */
	pipeline_lost(p, &scratch, &lost, &in, emit, &h);
	assert_int_equal(h.packets, 4);
	assert_int_equal(h.ts, 2 * 3 * FRAME);
	assert_int_equal(pipeline_run(p, &scratch, &in, emit, &h), 0);
	assert_int_equal(h.packets, 5);
	assert_int_equal(h.ts, 2 * 4 * FRAME);
	assert_int_equal(h.marked, 0);
	pipeline_close(p);
}

/* A packet that is too old to be decoded is as long as what is in it: one of
 * Opus has 60 ms, whatever was agreed on and at whatever rate. */
static void what_is_too_old_is_as_long_as_it_was(void **state)
{
	static struct pipeline_scratch scratch;
	static const uint8_t speech[21] = { 3 << 3 }; /* RFC 6716, 3.1 */
	static const char *const outputs[] = { "amr", "pcmu" };

	for (unsigned i = 0; i < 2; i++) {
		struct pipeline_input in = { .payload = speech,
					     .meta.bytes = sizeof(speech),
					     .use = PIPELINE_CONCEAL };
		struct pipeline_cfg cfg = { .in = side("opus", 8000),
					    .out = side(outputs[i], 8000) };
		struct heard h = { 0 };
		struct cr_err e = { "" };
		struct pipeline *p;

		assert_int_equal(payload_format_find(&cfg.in), 0);
		cfg.in.cfg.samples = cfg.out.cfg.samples = 160;
		assert_int_equal(pipeline_open(&p, &cfg, &e), 0);
		for (unsigned k = 1; k <= 3; k++, in.meta.rtp_ts += 60 * 48) {
			assert_int_equal(
				pipeline_run(p, &scratch, &in, emit, &h), 0);
			assert_int_equal(h.packets, 3 * k);
			assert_int_equal(h.ts, (3 * k - 1) * 160);
		}
		pipeline_close(p);
	}
}

/* 20 ms of noise; the mode that is spoken then (RFC 4867, 4.4). */
static unsigned mode_of_frame(struct pipeline *p, unsigned frame)
{
	static struct pipeline_scratch scratch;
	static uint8_t speech[4 * FRAME];
	const struct pipeline_input in = { .payload = speech,
					   .meta.bytes = sizeof(speech),
					   .meta.rtp_ts =
						   frame * sizeof(speech) };
	struct heard h = { 0 };

	for (unsigned k = 0; k < sizeof(speech); k++)
		speech[k] = (uint8_t)((in.meta.rtp_ts + k) * 2654435761u >> 24);
	assert_int_equal(pipeline_run(p, &scratch, &in, emit, &h), 0);
	assert_int_equal(h.packets, 1);
	return h.second >> 3 & 15u;
}

/* In the third frame mode 0 is asked for, in the sixth the best one again. */
static void modes_change_as_their_receiver_wants(void **state)
{
	enum { FRAMES = 12 };
	static const struct {
		bool second, next;
		unsigned mode[FRAMES];
	} all[] = {
		{ false, false, { 7, 7, 7, 0, 0, 0, 7, 7, 7, 7, 7, 7 } },
		{ true, false, { 7, 7, 7, 7, 0, 0, 7, 7, 7, 7, 7, 7 } },
		{ false, true, { 7, 7, 7, 4, 2, 0, 2, 4, 7, 7, 7, 7 } },
		{ true, true, { 7, 7, 7, 7, 4, 4, 7, 7, 7, 7, 7, 7 } },
	};
	struct cr_err e = { "" };
	struct pipeline *p;

	for (unsigned i = 0; i < sizeof(all) / sizeof(*all); i++) {
		struct pipeline_cfg cfg = { .in = side("pcmu", 8000),
					    .out = side("amr", 8000) };

		cfg.in.cfg.samples = 4 * FRAME;
		cfg.out.cfg.samples = 0;
		cfg.out.cfg.mode = 7;
		cfg.out.amr.octet_align = true;
		cfg.out.amr.mode_set = 1u << 7 | 1u << 4 | 1u << 2 | 1u;
		cfg.out.amr.mode_second = all[i].second;
		cfg.out.amr.mode_next = all[i].next;
		assert_int_equal(pipeline_open(&p, &cfg, &e), 0);
		for (unsigned k = 0; k < FRAMES; k++) {
			if (k == 3 || k == 6)
				pipeline_set_mode(p, k == 3 ? 0 : 7);
			assert_int_equal(mode_of_frame(p, k), all[i].mode[k]);
		}
		pipeline_close(p);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(timestamps_may_leap_for_ever),
		cmocka_unit_test(a_mode_that_is_not_there_is_not_taken),
		cmocka_unit_test(modes_change_as_their_receiver_wants),
		cmocka_unit_test(the_marker_survives_cutting),
		cmocka_unit_test(speech_after_our_silence_is_marked),
		cmocka_unit_test(a_new_sender_goes_on_in_time),
		cmocka_unit_test(digits_of_a_new_sender_are_in_its_time),
		cmocka_unit_test(noise_of_a_new_sender_is_in_its_time),
		cmocka_unit_test(noise_is_sent_after_any_leap),
		cmocka_unit_test(timestamps_never_go_back),
		cmocka_unit_test(what_is_lost_is_as_long_as_it_was),
		cmocka_unit_test(what_is_too_old_is_as_long_as_it_was),
	};

	return cmocka_run_group_tests_name("pipeline", tests, NULL, NULL);
}
