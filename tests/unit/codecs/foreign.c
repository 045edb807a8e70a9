/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Another implementation of the same standard, libavcodec's, on real speech:
 * it hears our frames and we hear its frames, to the bit where the standard
 * says what each bit is.
 */
#include <string.h>

#include "cmocka_cr.h"
#include "codecs/lav.h"
#include "cr/codec.h"
#include "speech/speech.h"

enum { FRAMES = 400 };

/* One codec of ours and its counterparts in libavcodec. */
struct rival {
	const char *name;
	const char *encoder, *decoder; /* libavcodec's; NULL: it has none */
	unsigned rate;		       /* Hz */
	unsigned bit_rate;	       /* of its encoder */
};

static const struct rival rivals[] = {
	{ "g722", "g722", "g722", 16000, 64000 },
	{ "gsm", "libgsm", "gsm", 8000, 13000 },
};

/* What both decoders make of frames. */
struct listeners {
	const struct cr_codec *codec;
	void *ours;
	struct lav *theirs;
};

static struct speech_corpus *corpus[2]; /* 8, 16 kHz */

static int setup(void **state)
{
	struct cr_err e = { 0 };

	(void)state;
	if (speech_open(&corpus[0], 8000, NULL, &e) ||
	    speech_open(&corpus[1], 16000, NULL, &e))
		fail_msg("%s", e.text);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	speech_close(corpus[0]);
	speech_close(corpus[1]);
	return 0;
}

static void read_speech(struct speech_reader *r, const struct rival *x)
{
	speech_reader_init(r, corpus[x->rate == 16000], 5, 0);
}

static struct listeners listeners_open(const struct rival *x)
{
	const struct lav_spec spec = { .name = x->decoder,
				       .sample_rate = x->rate,
				       .packet_max = CR_FRAME_MAX };
	const struct cr_codec_cfg cfg = { 0 };
	struct listeners l = { .codec = cr_codec_find(x->name) };
	struct cr_err e = { 0 };

	assert_int_equal(l.codec->decoder_open(&l.ours, &cfg, &e), 0);
	if (lav_decoder_open(&l.theirs, &spec, &e))
		fail_msg("%s", e.text);
	return l;
}

static void listeners_close(struct listeners *l)
{
	l->codec->decoder_close(l->ours);
	lav_close(l->theirs);
}

/* Both decode @f; the same samples come out. */
static void both_hear(struct listeners *l, const struct cr_frame *f)
{
	static int16_t ours[CR_FRAME_SAMPLES_MAX], theirs[CR_FRAME_SAMPLES_MAX];
	unsigned n = l->codec->decode(l->ours, f, ours);

	assert_int_equal(n, l->codec->samples);
	assert_int_equal(lav_decode(l->theirs, f->data, f->bytes, theirs,
				    CR_FRAME_SAMPLES_MAX),
			 n);
	assert_memory_equal(ours, theirs, n * sizeof(ours[0]));
}

/* Our frames; returns how many of them are also what their encoder makes. */
static unsigned our_frames(const struct rival *x)
{
	const struct lav_spec spec = { .name = x->encoder,
				       .sample_rate = x->rate,
				       .bit_rate = x->bit_rate };
	struct listeners l = listeners_open(x);
	const struct cr_codec_cfg cfg = { .mode = l.codec->default_mode };
	struct lav *rival = NULL;
	struct speech_reader r;
	struct cr_frame f;
	unsigned equal = 0;
	void *enc;

	assert_int_equal(l.codec->encoder_open(&enc, &cfg, NULL), 0);
	if (x->encoder)
		assert_int_equal(lav_encoder_open(&rival, &spec, NULL), 0);
	read_speech(&r, x);
	for (unsigned i = 0; i < FRAMES; i++) {
		int16_t pcm[CR_FRAME_SAMPLES_MAX];
		uint8_t theirs[CR_FRAME_MAX];

		speech_read(&r, pcm, l.codec->samples);
		assert_int_equal(l.codec->encode(enc, cfg.mode, pcm, &f), 0);
		assert_int_equal(f.kind, CR_FRAME_SPEECH);
		both_hear(&l, &f);
		if (!rival)
			continue;
		assert_int_equal(lav_encode(rival, pcm, theirs, sizeof(theirs)),
				 f.bytes);
		equal += !memcmp(theirs, f.data, f.bytes);
	}
	l.codec->encoder_close(enc);
	lav_close(rival);
	listeners_close(&l);
	return equal;
}

static void their_frames(const struct rival *x)
{
	const struct lav_spec spec = { .name = x->encoder,
				       .sample_rate = x->rate,
				       .bit_rate = x->bit_rate };
	struct listeners l = listeners_open(x);
	struct cr_frame f = { .kind = CR_FRAME_SPEECH };
	struct lav *rival;
	struct speech_reader r;

	assert_int_equal(lav_encoder_open(&rival, &spec, NULL), 0);
	read_speech(&r, x);
	for (unsigned i = 0; i < FRAMES; i++) {
		int16_t pcm[CR_FRAME_SAMPLES_MAX];

		speech_read(&r, pcm, l.codec->samples);
		f.bytes = (uint16_t)lav_encode(rival, pcm, f.data,
					       sizeof(f.data));
		both_hear(&l, &f);
	}
	lav_close(rival);
	listeners_close(&l);
}

static void our_frames_are_heard_alike(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(rivals) / sizeof(rivals[0]); i++)
		print_message("%s: %u of %u frames are also libavcodec's\n",
			      rivals[i].name, our_frames(&rivals[i]), FRAMES);
}

static void their_frames_are_heard_alike(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(rivals) / sizeof(rivals[0]); i++)
		if (rivals[i].encoder)
			their_frames(&rivals[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(our_frames_are_heard_alike),
		cmocka_unit_test(their_frames_are_heard_alike),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
