/* SPDX-License-Identifier: Apache-2.0 */
/*
 * G.723.1 frames are libavcodec's own; 24-, 20- and 4-byte frames are heard;
 * lost ones are extrapolated twice, then silent.
 */
#include <stdlib.h>
#include <string.h>

#include <libavcodec/avcodec.h>

#include "cmocka_cr.h"
#include "spoken.h"

enum { SAMPLES = 240, FRAMES = 200 };

static const struct cr_codec *codec;

static AVCodecContext *library(const AVCodec *av)
{
	AVCodecContext *ctx = avcodec_alloc_context3(av);

	assert_non_null(ctx);
	ctx->sample_rate = 8000;
	ctx->bit_rate = 6300;
	ctx->sample_fmt = AV_SAMPLE_FMT_S16;
#if LIBAVUTIL_VERSION_INT >= AV_VERSION_INT(57, 24, 100)
	av_channel_layout_default(&ctx->ch_layout, 1);
#else
	ctx->channels = 1;
	ctx->channel_layout = AV_CH_LAYOUT_MONO;
#endif
	assert_int_equal(avcodec_open2(ctx, av, NULL), 0);
	return ctx;
}

static AVFrame *library_frame(const int16_t *pcm)
{
	AVFrame *frame = av_frame_alloc();

	assert_non_null(frame);
	frame->nb_samples = SAMPLES;
	frame->format = AV_SAMPLE_FMT_S16;
	frame->sample_rate = 8000;
#if LIBAVUTIL_VERSION_INT >= AV_VERSION_INT(57, 24, 100)
	av_channel_layout_default(&frame->ch_layout, 1);
#else
	frame->channel_layout = AV_CH_LAYOUT_MONO;
#endif
	assert_int_equal(av_frame_get_buffer(frame, 0), 0);
	memcpy(frame->data[0], pcm, SAMPLES * sizeof(*pcm));
	return frame;
}

/* libavcodec's own frame and what its decoder makes of that. */
static void library_step(AVCodecContext *enc, AVCodecContext *dec,
			 const int16_t *pcm, uint8_t *data, int16_t *heard)
{
	AVFrame *in = library_frame(pcm), *out = av_frame_alloc();
	AVPacket *packet = av_packet_alloc();

	assert_int_equal(avcodec_send_frame(enc, in), 0);
	assert_int_equal(avcodec_receive_packet(enc, packet), 0);
	assert_int_equal(packet->size, 24);
	memcpy(data, packet->data, 24);
	assert_int_equal(avcodec_send_packet(dec, packet), 0);
	assert_int_equal(avcodec_receive_frame(dec, out), 0);
	memcpy(heard, out->data[0], SAMPLES * sizeof(*heard));
	av_frame_free(&in);
	av_frame_free(&out);
	av_packet_free(&packet);
}

static void frames_and_sound_are_the_library_s(void **state)
{
	AVCodecContext *lib_enc, *lib_dec;
	struct cr_codec_cfg cfg = { 0 };
	struct spoken s;
	void *dec = NULL;

	lib_enc = library(avcodec_find_encoder_by_name("g723_1"));
	lib_dec = library(avcodec_find_decoder_by_name("g723_1"));
	spoken_open(&s, codec, &cfg, recordings(8000), SAMPLES);
	assert_int_equal(codec->decoder_open(&dec, &cfg, NULL), 0);
	for (unsigned i = 0; i < FRAMES; i++) {
		int16_t lib_heard[SAMPLES], heard[CR_FRAME_SAMPLES_MAX];
		uint8_t data[24];

		spoken_next(&s);
		library_step(lib_enc, lib_dec, s.pcm, data, lib_heard);
		assert_int_equal(s.frame.kind, CR_FRAME_SPEECH);
		assert_int_equal(s.frame.bytes, 24);
		assert_memory_equal(s.frame.data, data, 24);
		assert_int_equal(codec->decode(dec, &s.frame, heard), SAMPLES);
		assert_memory_equal(heard, lib_heard, sizeof(lib_heard));
	}
	spoken_close(&s);
	codec->decoder_close(dec);
	avcodec_free_context(&lib_enc);
	avcodec_free_context(&lib_dec);
}

/* Loudest sample that a fresh decoder makes of @n frames like @f in speech. */
static int loudest_after_speech(struct cr_frame *f, unsigned n, bool last_only)
{
	struct cr_codec_cfg cfg = { 0 };
	int16_t pcm[CR_FRAME_SAMPLES_MAX];
	struct spoken s;
	void *dec = NULL;
	int top = 0;

	spoken_open(&s, codec, &cfg, recordings(8000), SAMPLES);
	assert_int_equal(codec->decoder_open(&dec, &cfg, NULL), 0);
	/* Speech in the middle of a word: no pause in front of the loss. */
	do {
		spoken_next(&s);
		assert_int_equal(codec->decode(dec, &s.frame, pcm), SAMPLES);
	} while (abs(pcm[0]) + abs(pcm[120]) + abs(pcm[239]) < 6000);
	for (unsigned i = 0; i < n; i++) {
		assert_int_equal(codec->decode(dec, f, pcm), SAMPLES);
		for (unsigned k = 0; k < SAMPLES; k++) {
			if (!last_only || i == n - 1)
				top = abs(pcm[k]) > top ? abs(pcm[k]) : top;
		}
	}
	spoken_close(&s);
	codec->decoder_close(dec);
	return top;
}

static void lost_frames_are_extrapolated_then_silent(void **state)
{
	struct cr_frame lost = { .kind = CR_FRAME_BAD };

	assert_true(loudest_after_speech(&lost, 1, true) > 0);
	assert_true(loudest_after_speech(&lost, 2, true) > 0);
	for (unsigned n = 3; n < 12; n++)
		assert_int_equal(loudest_after_speech(&lost, n, true), 0);
}

static void a_length_that_contradicts_the_rate_bits_is_a_loss(void **state)
{
	static const unsigned size_of[] = { 24, 20, 4 };

	for (unsigned bytes = 0; bytes <= 30; bytes++) {
		for (unsigned rate = 0; rate < 4; rate++) {
			struct cr_frame f = { .kind = CR_FRAME_SPEECH,
					      .bytes = (uint16_t)bytes };

			if (rate < 3 && size_of[rate] == bytes)
				continue;
			if (rate == 3 && bytes == 1)
				continue;
			f.data[0] = (uint8_t)rate;
			assert_int_equal(loudest_after_speech(&f, 3, true), 0);
		}
	}
}

static void all_three_kinds_of_frames_are_heard(void **state)
{
	struct cr_frame high = { .kind = CR_FRAME_SPEECH, .bytes = 24 };
	struct cr_frame low = { .kind = CR_FRAME_SPEECH, .bytes = 20 };
	struct cr_frame sid = { .kind = CR_FRAME_SID, .bytes = 4 };

	memset(low.data, 0x11, 20);
	low.data[0] = 0x11;
	memset(high.data, 0x10, 24);
	memset(sid.data, 0x12, 4);
	sid.data[0] = 0x12;
	/* From the third on a loss would be silence. */
	assert_true(loudest_after_speech(&high, 5, true) > 0);
	assert_true(loudest_after_speech(&low, 5, true) > 0);
	assert_true(loudest_after_speech(&sid, 5, true) > 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(frames_and_sound_are_the_library_s),
		cmocka_unit_test(lost_frames_are_extrapolated_then_silent),
		cmocka_unit_test(
			a_length_that_contradicts_the_rate_bits_is_a_loss),
		cmocka_unit_test(all_three_kinds_of_frames_are_heard),
	};

	codec = cr_codec_find("g723_1");
	return cmocka_run_group_tests(tests, NULL, NULL);
}
