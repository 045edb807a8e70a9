/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Opus is libopus's own, with the settings that a call names; a lost frame is
 * recovered from the next one, silence is not sent, and packets of any
 * duration are heard at any rate.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <opus.h>

#include "cmocka_cr.h"
#include "spoken.h"

enum { FRAMES = 150 };

static const struct cr_codec *codec;

static void *encoder(const struct cr_codec_cfg *cfg)
{
	void *enc = NULL;

	assert_int_equal(codec->encoder_open(&enc, cfg, NULL), 0);
	return enc;
}

static void *decoder(unsigned rate)
{
	const struct cr_codec_cfg cfg = { .sample_rate = rate };
	void *dec = NULL;

	assert_int_equal(codec->decoder_open(&dec, &cfg, NULL), 0);
	return dec;
}

static OpusEncoder *library(int complexity, int fec)
{
	OpusEncoder *l =
		opus_encoder_create(16000, 1, OPUS_APPLICATION_VOIP, NULL);

	assert_non_null(l);
	(void)opus_encoder_ctl(l, OPUS_SET_BITRATE(24000));
	(void)opus_encoder_ctl(l, OPUS_SET_COMPLEXITY(complexity));
	(void)opus_encoder_ctl(l, OPUS_SET_INBAND_FEC(fec > 0));
	(void)opus_encoder_ctl(l, OPUS_SET_PACKET_LOSS_PERC(fec));
	return l;
}

/* Frames of ours with @cfg are the library's with its own settings. */
static void same_frames(const struct cr_codec_cfg *cfg, int complexity, int fec)
{
	OpusEncoder *lib = library(complexity, fec);
	struct spoken s;

	spoken_open(&s, codec, cfg, recordings(16000), 320);
	for (unsigned i = 0; i < FRAMES; i++) {
		uint8_t data[1440];

		spoken_next(&s);
		assert_int_equal(
			opus_encode(lib, s.pcm, 320, data, sizeof(data)),
			s.frame.bytes);
		assert_memory_equal(s.frame.data, data, s.frame.bytes);
	}
	spoken_close(&s);
	opus_encoder_destroy(lib);
}

static void frames_are_the_library_s_with_our_settings(void **state)
{
	struct cr_codec_cfg cfg = { .sample_rate = 16000, .mode = 3 };

	same_frames(&cfg, 5, 0);
	cfg.complexity = 1;
	same_frames(&cfg, 0, 0);
	cfg.complexity = 11;
	cfg.fec = 20;
	same_frames(&cfg, 10, 20);
}

static void settings_out_of_range_are_refused(void **state)
{
	const struct cr_codec_cfg bad[] = {
		{ .complexity = 12 },	    { .fec = 101 },
		{ .sample_rate = 44100 },   { .samples = 961 },
		{ .samples = 4 * 480 + 1 }, { .mode = 6 },
	};
	struct cr_err e = { "" };
	void *enc;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		assert_int_equal(codec->encoder_open(&enc, &bad[i], &e),
				 -EINVAL);
		assert_non_null(strstr(e.text, "opus"));
	}
}

static void every_rate_hears_every_other_at_every_length(void **state)
{
	static const unsigned ms[] = { 5, 10, 20, 40, 60 };

	for (unsigned i = 0; i < 3 * 3 * 5; i++) {
		unsigned from = codec->rates[i % 3];
		unsigned to = codec->rates[i / 3 % 3];
		unsigned length = ms[i / 9];
		const struct cr_codec_cfg cfg = {
			.sample_rate = from, .samples = from / 1000 * length
		};
		static int16_t pcm[CR_FRAME_SAMPLES_MAX];
		void *enc = encoder(&cfg), *dec = decoder(to);
		struct cr_frame f, lost = { .kind = CR_FRAME_BAD };

		for (unsigned k = 0; k < cfg.samples; k++)
			pcm[k] = (int16_t)(k * 97 % 8000);
		assert_int_equal(codec->encode(enc, 3, pcm, &f), 0);
		assert_int_equal(codec->packet_samples(f.data, f.bytes, to),
				 to / 1000 * length);
		assert_int_equal(codec->decode(dec, &f, pcm),
				 to / 1000 * length);
		/* As much of a loss as came before, but no more than usual. */
		assert_int_equal(codec->decode(dec, &lost, pcm),
				 to / 1000 * (length < 20 ? length : 20));
		codec->encoder_close(enc);
		codec->decoder_close(dec);
	}
}

static double difference(const int16_t *a, const int16_t *b, unsigned n)
{
	double sum = 0;

	for (unsigned i = 0; i < n; i++)
		sum += ((double)a[i] - b[i]) * ((double)a[i] - b[i]);
	return sum;
}

/* Every fourth frame is lost; how far are the frames in its place from what
 * was said, with and without what the next one says? */
static void a_lost_frame_is_recovered_from_the_next(void **state)
{
	const struct cr_codec_cfg cfg = { .sample_rate = 16000,
					  .mode = 3,
					  .fec = 25 };
	void *whole = decoder(16000), *fec = decoder(16000);
	void *blind = decoder(16000);
	struct cr_frame before, lost = { .kind = CR_FRAME_BAD };
	double recovered = 0, guessed = 0;
	struct spoken s;

	spoken_open(&s, codec, &cfg, recordings(16000), 320);
	spoken_next(&s);
	for (unsigned i = 1; i < 4 * FRAMES; i++) {
		int16_t said[CR_FRAME_SAMPLES_MAX];
		int16_t a[CR_FRAME_SAMPLES_MAX], b[CR_FRAME_SAMPLES_MAX];

		before = s.frame;
		spoken_next(&s);
		/* heard one frame late: the one before */
		assert_int_equal(codec->decode(whole, &before, said), 320);
		if (i % 4) {
			(void)codec->decode(fec, &before, a);
			(void)codec->decode(blind, &before, b);
			continue;
		}
		assert_int_equal(codec->recover(fec, &s.frame, a), 320);
		assert_int_equal(codec->decode(blind, &lost, b), 320);
		recovered += difference(said, a, 320);
		guessed += difference(said, b, 320);
	}
	assert_true(recovered < guessed / 2);
	spoken_close(&s);
	codec->decoder_close(whole);
	codec->decoder_close(fec);
	codec->decoder_close(blind);
}

static void silence_is_not_sent_with_dtx(void **state)
{
	struct cr_codec_cfg cfg = { .sample_rate = 16000,
				    .mode = 3,
				    .dtx = true };
	static const int16_t silence[320];
	unsigned sent = 0;
	void *enc;

	enc = encoder(&cfg);
	for (unsigned i = 0; i < 500; i++) {
		struct cr_frame f;

		assert_int_equal(codec->encode(enc, 3, silence, &f), 0);
		sent += f.kind == CR_FRAME_SPEECH;
	}
	codec->encoder_close(enc);
	/* The hangover at first, then a frame every 400 ms. */
	assert_in_range(sent, 500 / 20, 100);
}

static void broken_frames_are_concealed(void **state)
{
	struct cr_frame f = { .kind = CR_FRAME_SPEECH };
	static int16_t pcm[CR_FRAME_SAMPLES_MAX];
	void *dec = decoder(48000);

	/* code 3 with 49 frames; code 1 of odd length; more than 120 ms */
	memcpy(f.data, "\x7b\x31", 2);
	f.bytes = 2;
	assert_int_equal(codec->packet_samples(f.data, 2, 48000), 0);
	assert_int_equal(codec->decode(dec, &f, pcm), 960);
	assert_int_equal(codec->recover(dec, &f, pcm), 960);
	memcpy(f.data, "\x79\x00", 2);
	assert_int_equal(codec->decode(dec, &f, pcm), 960);
	memcpy(f.data, "\x1b\x03", 2);
	assert_int_equal(codec->decode(dec, &f, pcm), 960);
	codec->decoder_close(dec);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(frames_are_the_library_s_with_our_settings),
		cmocka_unit_test(settings_out_of_range_are_refused),
		cmocka_unit_test(every_rate_hears_every_other_at_every_length),
		cmocka_unit_test(a_lost_frame_is_recovered_from_the_next),
		cmocka_unit_test(silence_is_not_sent_with_dtx),
		cmocka_unit_test(broken_frames_are_concealed),
	};

	codec = cr_codec_find("opus");
	return cmocka_run_group_tests(tests, NULL, NULL);
}
