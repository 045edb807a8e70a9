/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Recordings; and frame by frame, as a codec's encoder has them.
 */
#ifndef TESTS_SPOKEN_H
#define TESTS_SPOKEN_H

#include "cmocka_cr.h"
#include "cr/codec.h"
#include "speech/speech.h"

/** The recordings at 16 kHz, if that is @rate, else at 8: read once, for all
 * tests of a file. */
static inline const struct speech_corpus *recordings(unsigned rate)
{
	static struct speech_corpus *corpus[2];
	unsigned wide = rate == 16000;
	struct cr_err e = { "" };

	if (!corpus[wide] &&
	    speech_open(&corpus[wide], wide ? 16000 : 8000, NULL, &e))
		fail_msg("%s", e.text);
	return corpus[wide];
}

struct spoken {
	const struct cr_codec *codec;
	unsigned mode, samples;
	void *enc;
	struct speech_reader reader;
	int16_t pcm[CR_FRAME_SAMPLES_MAX]; /**< what is said       */
	struct cr_frame frame;		   /**< and what is coded */
};

/** Start: frames of @samples of @corpus, by an encoder with @cfg. */
static inline void spoken_open(struct spoken *s, const struct cr_codec *codec,
			       const struct cr_codec_cfg *cfg,
			       const struct speech_corpus *corpus,
			       unsigned samples)
{
	*s = (struct spoken){ .codec = codec,
			      .mode = cfg->mode,
			      .samples = samples };
	assert_int_equal(codec->encoder_open(&s->enc, cfg, NULL), 0);
	speech_reader_init(&s->reader, corpus, 3, 0);
}

static inline void spoken_close(struct spoken *s)
{
	s->codec->encoder_close(s->enc);
}

/** The next part. */
static inline void spoken_say(struct spoken *s)
{
	speech_read(&s->reader, s->pcm, s->samples);
}

/** Code what is said. */
static inline void spoken_code(struct spoken *s)
{
	assert_int_equal(s->codec->encode(s->enc, s->mode, s->pcm, &s->frame),
			 0);
}

/** The next frame. */
static inline void spoken_next(struct spoken *s)
{
	spoken_say(s);
	spoken_code(s);
}

#endif
