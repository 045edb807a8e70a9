/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Comfort noise: payloads in and out, the generator's level and spectrum, and
 * the way to AMR and back, through sound.
 */
#include "cmocka_cr.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#ifdef CR_HAVE_AVCODEC
#include <libavcodec/avcodec.h>
#endif

#include "cr/codec.h"
#include "rtp/comfort_noise.h"

enum { SECONDS = 4, RATE_MOST = 16000, SAMPLES_MOST = SECONDS * RATE_MOST };

/* From the encoder "comfortnoise" of ffmpeg 5.1.9, for noise at 8 kHz. */
static const uint8_t ffmpeg_low[] = /* x[n] = 0.9 x[n-1] + white, -43.1 dBov */
	{ 0x2b, 0x0a, 0x76, 0x76, 0x75, 0x70, 0x7e, 0x7d, 0x6b, 0x7d, 0x8a };
static const uint8_t ffmpeg_white[] = /* -50.4 dBov */
	{ 0x33, 0x77, 0x8b, 0x83, 0x87, 0x83, 0x76, 0x86, 0x7a, 0x81, 0x8a };
static const uint8_t ffmpeg_high[] = /* x[n] = -0.7 x[n-1] + white, -47.5 */
	{ 0x30, 0xd2, 0x88, 0x7d, 0x9b, 0x78, 0x81, 0x7b, 0x83, 0x76, 0x7d };

static int16_t pcm[SAMPLES_MOST];

static double level_of(const int16_t *p, size_t n)
{
	double sum = 0;

	for (size_t i = 0; i < n; i++)
		sum += (double)p[i] * p[i];
	return 10 * log10(sum / (double)n / (32767.0 * 32767.0));
}

/* Correlation of neighbours: 1 low frequencies only, -1 high ones. */
static double tilt_of(const int16_t *p, size_t n)
{
	double r0 = 0, r1 = 0;

	for (size_t i = 1; i < n; i++) {
		r0 += (double)p[i] * p[i];
		r1 += (double)p[i] * p[i - 1];
	}
	return r1 / r0;
}

/* The second half of @seconds of @noise, when its level has been got to. */
static size_t make(const struct comfort_noise *noise, unsigned rate,
		   uint64_t seed)
{
	struct comfort_noise_generator g;

	comfort_noise_start(&g, seed);
	comfort_noise_set(&g, noise);
	comfort_noise_generate(&g, pcm, SECONDS * rate / 2);
	comfort_noise_generate(&g, pcm, SECONDS * rate / 2);
	return SECONDS * rate / 2;
}

static void a_payload_is_read_and_written(void **state)
{
	uint8_t buf[COMFORT_NOISE_BYTES_MAX], many[64];
	struct comfort_noise n;

	assert_int_equal(
		comfort_noise_parse(ffmpeg_low, sizeof(ffmpeg_low), &n), 0);
	assert_int_equal(n.level, 43);
	assert_int_equal(n.order, 10);
	assert_int_equal(comfort_noise_build(buf, &n), sizeof(ffmpeg_low));
	assert_memory_equal(buf, ffmpeg_low, sizeof(ffmpeg_low));
	assert_int_equal(comfort_noise_parse((const uint8_t[]){ 60 }, 1, &n),
			 0);
	assert_int_equal(n.level, 60);
	assert_int_equal(n.order, 0);
	/* More coefficients than are used. */
	memset(many, 100, sizeof(many));
	assert_int_equal(comfort_noise_parse(many, sizeof(many), &n), 0);
	assert_int_equal(n.order, COMFORT_NOISE_ORDER_MAX);
}

static void what_is_not_comfort_noise(void **state)
{
	struct comfort_noise n = { .level = 1 };
	static const uint8_t first_bit[] = { 0x80 };
	static const uint8_t reserved[] = { 60, 127, 255 };

	assert_int_equal(comfort_noise_parse(first_bit, 0, &n), -EINVAL);
	assert_int_equal(comfort_noise_parse(first_bit, 1, &n), -EINVAL);
	assert_int_equal(comfort_noise_parse(reserved, 3, &n), -EINVAL);
	assert_int_equal(n.level, 1);
}

static void what_is_built_is_in_range(void **state)
{
	struct comfort_noise n = { .level = 200, .order = 200 }, again;
	uint8_t buf[COMFORT_NOISE_BYTES_MAX];

	memset(n.reflection, 255, sizeof(n.reflection));
	assert_int_equal(comfort_noise_build(buf, &n), sizeof(buf));
	assert_int_equal(comfort_noise_parse(buf, sizeof(buf), &again), 0);
	assert_int_equal(again.level, 127);
}

static void the_level_is_exact_to_1_db(void **state)
{
	for (unsigned rate = 8000; rate <= RATE_MOST; rate *= 2)
		for (unsigned level = 12; level <= 85; level++) {
			const struct comfort_noise n = {
				.level = (uint8_t)level
			};
			size_t samples = make(&n, rate, level);

			assert_true(fabs(level_of(pcm, samples) + level) < 1);
			assert_true(fabs(tilt_of(pcm, samples)) < 0.05);
		}
}

static void the_level_does_not_depend_on_the_spectrum(void **state)
{
	static const uint8_t *const payloads[] = { ffmpeg_low, ffmpeg_white,
						   ffmpeg_high };
	static const double tilts[] = { 0.9, 0, -0.7 };
	static const double levels[] = { -43.1, -50.4, -47.5 };

	for (unsigned i = 0; i < 3; i++) {
		struct comfort_noise n, heard;
		size_t samples;

		assert_int_equal(comfort_noise_parse(payloads[i], 11, &n), 0);
		samples = make(&n, 8000, i);
		assert_true(fabs(level_of(pcm, samples) - levels[i]) < 1);
		assert_true(fabs(tilt_of(pcm, samples) - tilts[i]) < 0.1);
		/* And it is measured as ffmpeg did. */
		comfort_noise_measure(pcm, samples, 10, &heard);
		assert_in_range(heard.level, n.level - 1, n.level + 1);
		assert_int_equal(heard.order, 10);
		for (unsigned k = 0; k < 10; k++)
			assert_in_range(heard.reflection[k],
					n.reflection[k] - 4,
					n.reflection[k] + 4);
	}
}

static void one_seed_one_noise(void **state)
{
	static int16_t again[8000];
	const struct comfort_noise n = { .level = 40 };
	struct comfort_noise_generator g;

	(void)make(&n, 8000, 7);
	comfort_noise_start(&g, 7);
	comfort_noise_set(&g, &n);
	/* However it is cut into frames. */
	for (unsigned i = 0; i < 32000; i += 160)
		comfort_noise_generate(&g, again + i % 8000, 160);
	assert_int_equal(level_of(again, 8000) < 0, true);
	comfort_noise_start(&g, 7);
	comfort_noise_set(&g, &n);
	comfort_noise_generate(&g, pcm, 16000);
	comfort_noise_generate(&g, pcm, 8000);
	comfort_noise_generate(&g, pcm + 8000, 8000);
	assert_memory_equal(pcm + 8000, again, sizeof(again));
	(void)make(&n, 8000, 8);
	assert_memory_not_equal(pcm, again, sizeof(again));
}

static void silence_is_silent(void **state)
{
	struct comfort_noise_generator g = { 0 };
	struct comfort_noise n = { .level = COMFORT_NOISE_SILENT };

	memset(pcm, 1, sizeof(pcm));
	comfort_noise_generate(&g, pcm, 8000);
	for (unsigned i = 0; i < 8000; i++)
		assert_int_equal(pcm[i], 0);
	(void)make(&n, 8000, 1);
	assert_int_equal(pcm[0], 0);
	comfort_noise_measure(pcm, 8000, 4, &n);
	assert_int_equal(n.level, COMFORT_NOISE_SILENT);
	assert_int_equal(n.order, 0);
	comfort_noise_measure(pcm, 0, 4, &n);
	assert_int_equal(n.level, COMFORT_NOISE_SILENT);
}

static void a_new_level_is_no_step(void **state)
{
	const struct comfort_noise loud = { .level = 30 },
				   faint = { .level = 70 };
	struct comfort_noise_generator g;

	comfort_noise_start(&g, 3);
	comfort_noise_set(&g, &loud);
	comfort_noise_generate(&g, pcm, 16000);
	assert_true(abs(pcm[0]) < 300);
	comfort_noise_set(&g, &faint);
	comfort_noise_generate(&g, pcm, 160);
	assert_true(level_of(pcm, 16) > -40);
	comfort_noise_generate(&g, pcm, 8000);
	assert_true(fabs(level_of(pcm + 160, 7840) + 70) < 1);
}

static void the_worst_coefficients_are_stable(void **state)
{
	struct comfort_noise n = { .level = 30,
				   .order = COMFORT_NOISE_ORDER_MAX };
	struct comfort_noise_generator g;

	comfort_noise_start(&g, 5);
	for (unsigned round = 0; round < 100; round++) {
		for (unsigned i = 0; i < n.order; i++)
			n.reflection[i] = round >> i % 7 & 1 ? 254 : 0;
		comfort_noise_set(&g, &n);
		comfort_noise_generate(&g, pcm, 800);
		for (unsigned i = 0; i <= n.order; i++)
			assert_true(isfinite(g.state[i]));
	}
	n.order = 0;
	comfort_noise_set(&g, &n);
	comfort_noise_generate(&g, pcm, 16000);
	assert_true(fabs(level_of(pcm + 8000, 8000) + 30) < 1);
}

/* A noise through an encoder with DTX: it makes SID frames of it. What the
 * decoder makes of these is measured: CN to SID and back. */
static void to_sid_and_back(const struct cr_codec *codec, unsigned level,
			    unsigned slack)
{
	const struct cr_codec_cfg cfg = { .mode = codec->default_mode,
					  .dtx = true };
	const struct comfort_noise n = { .level = (uint8_t)level };
	static struct cr_frame frame;
	int16_t in[CR_FRAME_SAMPLES_MAX];
	struct comfort_noise_generator g;
	struct comfort_noise heard;
	unsigned sid = 0, speech = 0, kept = 0;
	struct cr_err e;
	void *enc, *dec;

	assert_int_equal(codec->encoder_open(&enc, &cfg, &e), 0);
	assert_int_equal(codec->decoder_open(&dec, &cfg, &e), 0);
	comfort_noise_start(&g, level);
	comfort_noise_set(&g, &n);
	/* The encoders take 4 s at most to be sure that it is noise. */
	for (unsigned i = 0; i < 300; i++) {
		comfort_noise_generate(&g, in, codec->samples);
		assert_int_equal(
			codec->encode(enc, codec->default_mode, in, &frame), 0);
		if (i < 200) {
			(void)codec->decode(dec, &frame, pcm);
			continue;
		}
		sid += frame.kind == CR_FRAME_SID;
		speech += frame.kind == CR_FRAME_SPEECH;
		kept += codec->decode(dec, &frame, pcm + kept);
	}
	codec->encoder_close(enc);
	codec->decoder_close(dec);
	assert_int_equal(speech, 0);
	assert_in_range(sid, 12, 13);
	comfort_noise_measure(pcm, kept, 8, &heard);
	assert_in_range(heard.level, level - slack, level + slack);
}

static void amr_makes_sid_of_it(void **state)
{
	for (unsigned level = 50; level <= 70; level += 10) {
		to_sid_and_back(cr_codec_find("amr"), level, 1);
		to_sid_and_back(cr_codec_find("amr-wb"), level, 4);
	}
}

#ifdef CR_HAVE_AVCODEC
/* ffmpeg's decoder hears what we describe. It takes 3/4 of the power and
 * excites its filter by uniform numbers between the limits, whose power is a
 * third: 6 dB fainter than the level says, which is what its encoder writes. */
static void ffmpeg_understands(const struct comfort_noise *n, double tilt)
{
	const AVCodec *codec = avcodec_find_decoder(AV_CODEC_ID_COMFORT_NOISE);
	AVCodecContext *c = avcodec_alloc_context3(codec);
	AVFrame *frame = av_frame_alloc();
	AVPacket *packet = av_packet_alloc();
	size_t kept = 0;

	assert_non_null(codec);
	c->sample_rate = 8000;
	c->ch_layout.nb_channels = 1;
	assert_int_equal(avcodec_open2(c, codec, NULL), 0);
	for (unsigned i = 0; i < 60; i++) {
		uint8_t buf[COMFORT_NOISE_BYTES_MAX];

		assert_int_equal(
			av_new_packet(packet, (int)comfort_noise_build(buf, n)),
			0);
		memcpy(packet->data, buf, (size_t)packet->size);
		assert_int_equal(avcodec_send_packet(c, packet), 0);
		av_packet_unref(packet);
		assert_int_equal(avcodec_receive_frame(c, frame), 0);
		if (i < 30)
			continue;
		memcpy(pcm + kept, frame->data[0],
		       (size_t)frame->nb_samples * sizeof(*pcm));
		kept += (size_t)frame->nb_samples;
	}
	assert_true(fabs(level_of(pcm, kept) + 6.02 + n->level) < 1);
	assert_true(fabs(tilt_of(pcm, kept) - tilt) < 0.1);
	av_packet_free(&packet);
	av_frame_free(&frame);
	avcodec_free_context(&c);
}

static void ffmpeg_decodes_ours(void **state)
{
	struct comfort_noise n = { .level = 40, .order = 1 };

	n.reflection[0] = 127 - 102; /* k = -0.8 */
	ffmpeg_understands(&n, 0.8);
	n.reflection[0] = 127 + 102;
	n.level = 55;
	ffmpeg_understands(&n, -0.8);
}
#endif

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_payload_is_read_and_written),
		cmocka_unit_test(what_is_not_comfort_noise),
		cmocka_unit_test(what_is_built_is_in_range),
		cmocka_unit_test(the_level_is_exact_to_1_db),
		cmocka_unit_test(the_level_does_not_depend_on_the_spectrum),
		cmocka_unit_test(one_seed_one_noise),
		cmocka_unit_test(silence_is_silent),
		cmocka_unit_test(a_new_level_is_no_step),
		cmocka_unit_test(the_worst_coefficients_are_stable),
		cmocka_unit_test(amr_makes_sid_of_it),
#ifdef CR_HAVE_AVCODEC
		cmocka_unit_test(ffmpeg_decodes_ours),
#endif
	};

	return cmocka_run_group_tests_name("comfort noise", tests, NULL, NULL);
}
