/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Another implementation of the same standard, libavcodec's, on real speech:
 * it hears our frames and we hear its frames, to the bit where it is exact.
 */
#include <string.h>

#include "cmocka_cr.h"
#include "codecs/lav.h"
#include "cr/codec.h"
#include "spoken.h"

enum { FRAMES = 400 };

/* One codec of ours and its counterparts in libavcodec, whose encoder takes so
 * many of our frames at once. */
struct rival {
	const char *name;
	const char *encoder, *decoder; /* libavcodec's */
	unsigned rate;		       /* Hz */
	unsigned bit_rate;	       /* of its encoder */
	unsigned samples;	       /* of a frame of ours */
	unsigned together;
	bool exact; /* libavcodec's G.726 is not, to the last bits */
};

static const struct rival rivals[] = {
	{ "g722", "g722", "g722", 16000, 64000, 320, 1, true },
	{ "gsm", "libgsm", "gsm", 8000, 13000, 160, 1, true },
	{ "g726-32", "g726le", "g726le", 8000, 32000, 512, 4, false },
};

enum { RIVALS = sizeof(rivals) / sizeof(rivals[0]), PCM_MAX = 2048 };

/* The output of both decoders. */
struct listeners {
	const struct cr_codec *codec;
	unsigned samples;
	bool exact;
	double signal, difference; /* between the two: energies */
	void *ours;
	struct lav *theirs;
};

static void read_speech(struct speech_reader *r, const struct rival *x)
{
	speech_reader_init(r, recordings(x->rate), 5, 0);
}

static struct listeners listeners_open(const struct rival *x)
{
	const struct lav_spec spec = { .name = x->decoder,
				       .sample_rate = x->rate,
				       .coded_bits = x->bit_rate / x->rate,
				       .packet_max = CR_FRAME_MAX };
	const struct cr_codec_cfg cfg = { .samples = x->samples };
	struct listeners l = { .codec = cr_codec_find(x->name),
			       .samples = x->samples,
			       .exact = x->exact };
	struct cr_err e = { 0 };

	assert_int_equal(l.codec->decoder_open(&l.ours, &cfg, &e), 0);
	if (lav_decoder_open(&l.theirs, &spec, &e))
		fail_msg("%s", e.text);
	return l;
}

static void listeners_close(struct listeners *l)
{
	/* 20 dB: less than what G.726 itself adds, which is 19 below speech. */
	assert_true(l->difference <= l->signal / 100);
	l->codec->decoder_close(l->ours);
	lav_close(l->theirs);
}

/* Both decode @f; the same samples come out, or nearly. */
static void both_hear(struct listeners *l, const struct cr_frame *f)
{
	static int16_t ours[CR_FRAME_SAMPLES_MAX], theirs[CR_FRAME_SAMPLES_MAX];
	unsigned n = l->codec->decode(l->ours, f, ours);

	assert_int_equal(n, l->samples);
	assert_int_equal(lav_decode(l->theirs, f->data, f->bytes, theirs,
				    CR_FRAME_SAMPLES_MAX),
			 n);
	if (l->exact)
		assert_memory_equal(ours, theirs, n * sizeof(ours[0]));
	for (unsigned i = 0; i < n; i++) {
		double d = (double)ours[i] - theirs[i];

		l->signal += (double)ours[i] * ours[i];
		l->difference += d * d;
	}
}

static struct lav *their_encoder(const struct rival *x)
{
	const struct lav_spec spec = { .name = x->encoder,
				       .sample_rate = x->rate,
				       .bit_rate = x->bit_rate };
	struct lav *lav = NULL;
	struct cr_err e = { 0 };

	if (lav_encoder_open(&lav, &spec, &e))
		fail_msg("%s", e.text);
	return lav;
}

/* Our frames are heard alike. Returns how many are what their encoder makes. */
static unsigned our_frames(const struct rival *x)
{
	struct listeners l = listeners_open(x);
	const struct cr_codec_cfg cfg = { .samples = x->samples };
	struct lav *rival = their_encoder(x);
	struct speech_reader r;
	unsigned equal = 0;
	void *enc;

	assert_int_equal(l.codec->encoder_open(&enc, &cfg, NULL), 0);
	read_speech(&r, x);
	for (unsigned i = 0; i < FRAMES / x->together; i++) {
		int16_t pcm[PCM_MAX];
		uint8_t theirs[CR_FRAME_MAX];
		const uint8_t *at = theirs;
		int bytes;

		speech_read(&r, pcm, x->samples * x->together);
		bytes = lav_encode(rival, pcm, theirs, sizeof(theirs));
		for (unsigned k = 0; k < x->together; k++) {
			struct cr_frame f;

			assert_int_equal(l.codec->encode(enc, 0,
							 pcm + k * x->samples,
							 &f),
					 0);
			assert_int_equal(f.kind, CR_FRAME_SPEECH);
			assert_int_equal(f.bytes * x->together, bytes);
			both_hear(&l, &f);
			equal += !memcmp(at, f.data, f.bytes);
			at += f.bytes;
		}
	}
	l.codec->encoder_close(enc);
	lav_close(rival);
	listeners_close(&l);
	return equal;
}

static void their_frames(const struct rival *x)
{
	struct listeners l = listeners_open(x);
	struct lav *rival = their_encoder(x);
	struct speech_reader r;

	read_speech(&r, x);
	for (unsigned i = 0; i < FRAMES / x->together; i++) {
		int16_t pcm[PCM_MAX];
		uint8_t data[CR_FRAME_MAX];
		unsigned bytes;

		speech_read(&r, pcm, x->samples * x->together);
		bytes = (unsigned)lav_encode(rival, pcm, data, sizeof(data)) /
			x->together;
		for (unsigned k = 0; k < x->together; k++) {
			struct cr_frame f = { .kind = CR_FRAME_SPEECH,
					      .bytes = (uint16_t)bytes };

			memcpy(f.data, data + k * bytes, bytes);
			both_hear(&l, &f);
		}
	}
	lav_close(rival);
	listeners_close(&l);
}

static void our_frames_are_theirs_and_heard_alike(void **state)
{
	for (size_t i = 0; i < RIVALS; i++) {
		unsigned equal = our_frames(&rivals[i]);

		if (rivals[i].exact)
			assert_int_equal(equal, FRAMES);
	}
}

static void their_frames_are_heard_alike(void **state)
{
	for (size_t i = 0; i < RIVALS; i++)
		their_frames(&rivals[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(our_frames_are_theirs_and_heard_alike),
		cmocka_unit_test(their_frames_are_heard_alike),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
