/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Speex frames are libspeex's own and of the sizes that the modes promise;
 * silence is not sent with DTX; what no frame is is concealed.
 */
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <speex/speex.h>

#include "cmocka_cr.h"
#include "codecs/speex_bits.h"
#include "cr/codec.h"
#include "scratch.h"
#include "seed.h"
#include "spoken.h"

enum { FRAMES = 100 };

static const char *const names[] = { "speex", "speex-wb" };

/* Frames of mode @mode, and what is heard of them, are the library's at its
 * bit rate of that name. */
static void mode_is_the_library_s(unsigned wide, unsigned mode)
{
	const struct cr_codec *c = cr_codec_find(names[wide]);
	const struct cr_codec_cfg cfg = { .mode = mode };
	const SpeexMode *m = speex_lib_get_mode((int)wide);
	void *enc, *dec, *lib_enc = speex_encoder_init(m);
	void *lib_dec = speex_decoder_init(m);
	spx_int32_t rate = (spx_int32_t)c->modes[mode].bit_rate, got = 0;
	struct speech_reader reader;
	SpeexBits bits;

	(void)speex_encoder_ctl(lib_enc, SPEEX_SET_BITRATE, &rate);
	(void)speex_encoder_ctl(lib_enc, SPEEX_GET_BITRATE, &got);
	assert_int_equal(got, rate);
	assert_int_equal(c->encoder_open(&enc, &cfg, NULL), 0);
	assert_int_equal(c->decoder_open(&dec, &cfg, NULL), 0);
	speex_bits_init(&bits);
	speech_reader_init(&reader, recordings(wide ? 16000 : 8000), 3, mode);
	for (unsigned i = 0; i < FRAMES; i++) {
		int16_t pcm[320], heard[320], lib_heard[320];
		char data[128];
		struct cr_frame f;
		int n;

		speech_read(&reader, pcm, c->samples);
		assert_int_equal(c->encode(enc, mode, pcm, &f), 0);
		assert_int_equal(f.kind, CR_FRAME_SPEECH);
		assert_int_equal(f.bytes, c->modes[mode].bytes);
		speex_bits_reset(&bits);
		(void)speex_encode_int(lib_enc, pcm, &bits);
		assert_int_equal(speex_bits_frame(f.data, 0, 8u * f.bytes),
				 speex_bits_nbytes(&bits) * 8 -
					 (int)(-(rate / 50) & 7));
		n = speex_bits_write(&bits, data, sizeof(data));
		assert_int_equal(n, f.bytes);
		assert_memory_equal(data, f.data, (size_t)n);
		assert_int_equal(c->decode(dec, &f, heard), c->samples);
		speex_bits_read_from(&bits, data, n);
		assert_int_equal(speex_decode_int(lib_dec, &bits, lib_heard),
				 0);
		assert_memory_equal(heard, lib_heard,
				    c->samples * sizeof(*heard));
	}
	speex_bits_destroy(&bits);
	speex_encoder_destroy(lib_enc);
	speex_decoder_destroy(lib_dec);
	c->encoder_close(enc);
	c->decoder_close(dec);
}

static void every_mode_is_the_library_s(void **state)
{
	for (unsigned wide = 0; wide < 2; wide++) {
		const struct cr_codec *c = cr_codec_find(names[wide]);

		for (unsigned mode = 0; mode < c->nmodes; mode++)
			mode_is_the_library_s(wide, mode);
	}
}

static void silence_is_not_sent_with_dtx(void **state)
{
	const struct cr_codec_cfg cfg = { .mode = 5, .dtx = true };
	static const int16_t silence[320];

	for (unsigned wide = 0; wide < 2; wide++) {
		const struct cr_codec *c = cr_codec_find(names[wide]);
		unsigned sent = 0;
		void *enc;

		assert_int_equal(c->encoder_open(&enc, &cfg, NULL), 0);
		for (unsigned i = 0; i < 500; i++) {
			struct cr_frame f;

			assert_int_equal(c->encode(enc, 5, silence, &f), 0);
			if (f.kind == CR_FRAME_NO_DATA)
				continue;
			/* it says that there is silence behind it, and the
			 * decoder takes it for that */
			assert_int_equal(f.kind, CR_FRAME_SID);
			assert_true(speex_bits_silent(f.data, 0, 8u * f.bytes));
			sent++;
		}
		c->encoder_close(enc);
		assert_in_range(sent, 1, 100);
	}
}

/* Reserved modes, frames cut short, requests without a frame. */
static void what_is_no_frame_is_concealed(void **state)
{
	static const struct {
		uint8_t data[3];
		uint16_t bytes;
		int bits;
	} bad[] = {
		{ { 0x48 }, 1, SPEEX_BITS_BAD },   /* mode 9 */
		{ { 0x80 }, 1, SPEEX_BITS_BAD },   /* a layer alone */
		{ { 0x28 }, 1, SPEEX_BITS_SHORT }, /* mode 5: 300 bits */
		{ { 0x7f }, 1, SPEEX_BITS_END },   /* the end */
		{ { 0 }, 0, SPEEX_BITS_END },
		{ { 0x70 }, 1, SPEEX_BITS_SHORT },     /* a request cut */
		{ { 0x06, 0x80 }, 2, SPEEX_BITS_BAD }, /* layer 5 */
	};

	for (size_t i = 0; i < 2 * sizeof(bad) / sizeof(bad[0]); i++) {
		const struct cr_codec *c = cr_codec_find(names[i % 2]);
		const struct cr_codec_cfg cfg = { 0 };
		struct cr_frame f = { .kind = CR_FRAME_SPEECH,
				      .bytes = bad[i / 2].bytes };
		int16_t pcm[CR_FRAME_SAMPLES_MAX];
		void *dec;

		memcpy(f.data, bad[i / 2].data, sizeof(bad[0].data));
		assert_int_equal(speex_bits_frame(f.data, 0, 8u * f.bytes),
				 bad[i / 2].bits);
		assert_int_equal(c->decoder_open(&dec, &cfg, NULL), 0);
		assert_int_equal(c->decode(dec, &f, pcm), c->samples);
		c->decoder_close(dec);
	}
}

/* A request to change the mode, before a frame of silence: one frame. */
static void requests_belong_to_the_next_frame(void **state)
{
	/* 0 1110, 0011, 0101; 0 0000: 18 bits */
	static const uint8_t data[] = { 0x71, 0xa8, 0x1f };

	assert_int_equal(speex_bits_frame(data, 0, 24), 18);
	assert_int_equal(speex_bits_frame(data, 18, 24), SPEEX_BITS_END);
}

/* What stands before a frame may be long: messages of applications have up to
 * 15 octets, and more bits than their name for each says. */
static void messages_of_applications_are_skipped_as_the_library_does(
	void **state)
{
	/* 0 1101, 0001, 13 bits; 0 0000: 27 bits */
	static const uint8_t data[] = { 0x68, 0x80, 0x00, 0x00 };
	/* a layer where the library would look for a frame */
	static const uint8_t bad[] = { 0x68, 0x80, 0x02, 0x00 };

	assert_int_equal(speex_bits_frame(data, 0, 32), 27);
	assert_int_equal(speex_bits_frame(bad, 0, 32), SPEEX_BITS_BAD);
}

/* Any octets, with any number of requests before them. */
static struct cr_frame anything(uint64_t *seed)
{
	struct cr_frame f = { .kind = CR_FRAME_SPEECH,
			      .bytes = (uint16_t)test_below(seed, 129) };

	for (unsigned i = 0; i < f.bytes; i++)
		f.data[i] = (uint8_t)test_random(seed);
	if (f.bytes)
		switch (test_below(seed, 4)) {
		case 0: /* a frame */
			f.data[0] = (uint8_t)(test_below(seed, 9) << 3 |
					      (f.data[0] & 7));
			break;
		case 1: /* a request or a message */
			f.data[0] = (uint8_t)((13 + test_below(seed, 2)) << 3 |
					      (f.data[0] & 7));
			break;
		default:
			break;
		}
	return f;
}

/* Who sends is not to fill the log, nor to wait for who reads it. */
static void nothing_that_comes_is_told_on_stderr(void **state)
{
	enum { TRIES = 20000 };
	const struct cr_codec_cfg cfg = { 0 };
	uint64_t seed = test_seed();
	char path[SCRATCH_MAX];
	int16_t pcm[CR_FRAME_SAMPLES_MAX];
	struct stat said;
	int to = open(scratch_file(path), O_WRONLY), was = dup(2);

	assert_true(to >= 0 && was >= 0 && dup2(to, 2) == 2);
	for (unsigned wide = 0; wide < 2; wide++) {
		const struct cr_codec *c = cr_codec_find(names[wide]);
		void *dec;

		assert_int_equal(c->decoder_open(&dec, &cfg, NULL), 0);
		for (unsigned i = 0; i < TRIES; i++) {
			const struct cr_frame f = anything(&seed);

			(void)c->decode(dec, &f, pcm);
		}
		c->decoder_close(dec);
	}
	(void)dup2(was, 2);
	assert_int_equal(fstat(to, &said), 0);
	(void)close(was);
	(void)close(to);
	assert_int_equal(said.st_size, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_mode_is_the_library_s),
		cmocka_unit_test(silence_is_not_sent_with_dtx),
		cmocka_unit_test(what_is_no_frame_is_concealed),
		cmocka_unit_test(requests_belong_to_the_next_frame),
		cmocka_unit_test(
			messages_of_applications_are_skipped_as_the_library_does),
		cmocka_unit_test(nothing_that_comes_is_told_on_stderr),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
