/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What calls ask of the codecs.
 */
#include "coding.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "speech/speech.h"

/* Distinct encoded frames per state when decoding: 2 s of 20 ms frames. */
#define ENCODED 100u

struct state {
	struct speech_reader speech;
	void *codec;
	void *pcm; /* a decoder when encoding, else an encoder; or NULL */
	struct cr_frame *frames; /* decoding: [ENCODED] */
	unsigned next;
};

struct coding {
	struct coding_cfg cfg;
	const struct cr_codec *codec, *pcm; /* pcm: NULL: bare samples */
	struct cr_codec_cfg codec_cfg;
	struct speech_corpus *corpus;
	void *speaker; /* encodes the speech to PCM */
	struct state *state;
	int16_t samples[CR_FRAME_SAMPLES_MAX];
	struct cr_frame heard, out;
};

/* --- its life --- */

static int find(const struct cr_codec **codec, const char *name,
		struct cr_err *e)
{
	*codec = cr_codec_find(name);
	return *codec ? 0 : cr_fail(e, -EINVAL, "no such codec: %s", name);
}

static int choose_mode(struct coding *c, struct cr_err *e)
{
	const char *mode = c->cfg.mode;
	int found;

	c->codec_cfg.mode = c->codec->default_mode;
	if (!mode || !*mode)
		return 0;
	found = cr_codec_mode_find(c->codec, mode);
	if (found < 0)
		return cr_fail(e, -EINVAL, "%s has no mode %s", c->codec->name,
			       mode);
	c->codec_cfg.mode = (unsigned)found;
	return 0;
}

/* What of the other side is part of a call, for the codec's frames. */
static int open_pcm(const struct coding *c, bool decoder, void **pcm,
		    struct cr_err *e)
{
	const struct cr_codec_cfg cfg = { .samples = c->codec->samples,
					  .sample_rate =
						  c->codec->sample_rate };

	return decoder ? c->pcm->decoder_open(pcm, &cfg, e)
		       : c->pcm->encoder_open(pcm, &cfg, e);
}

static int encode_ahead(struct coding *c, struct state *s, struct cr_err *e)
{
	void *enc;
	int err = c->codec->encoder_open(&enc, &c->codec_cfg, e);

	if (err)
		return err;
	s->frames = calloc(ENCODED, sizeof(*s->frames));
	for (unsigned i = 0; s->frames && i < ENCODED; i++) {
		speech_read(&s->speech, c->samples, c->codec->samples);
		(void)c->codec->encode(enc, c->codec_cfg.mode, c->samples,
				       &s->frames[i]);
	}
	c->codec->encoder_close(enc);
	return s->frames ? 0 : cr_fail(e, -ENOMEM, "out of memory for frames");
}

static int open_state(struct coding *c, unsigned i, struct cr_err *e)
{
	struct state *s = &c->state[i];
	int err = 0;

	speech_reader_init(&s->speech, c->corpus, c->cfg.seed, i);
	if (c->cfg.decode)
		err = encode_ahead(c, s, e);
	if (!err && c->pcm)
		err = open_pcm(c, !c->cfg.decode, &s->pcm, e);
	if (err)
		return err;
	return c->cfg.decode
		       ? c->codec->decoder_open(&s->codec, &c->codec_cfg, e)
		       : c->codec->encoder_open(&s->codec, &c->codec_cfg, e);
}

static void close_state(struct coding *c, struct state *s)
{
	if (s->codec && c->cfg.decode)
		c->codec->decoder_close(s->codec);
	else if (s->codec)
		c->codec->encoder_close(s->codec);
	if (s->pcm && c->cfg.decode)
		c->pcm->encoder_close(s->pcm);
	else if (s->pcm)
		c->pcm->decoder_close(s->pcm);
	free(s->frames);
}

static int open_all(struct coding *c, struct cr_err *e)
{
	int err = find(&c->codec, c->cfg.codec, e);

	if (!err)
		err = choose_mode(c, e);
	if (!err && c->cfg.pcm)
		err = find(&c->pcm, c->cfg.pcm, e);
	if (!err)
		err = speech_open(&c->corpus, c->codec->sample_rate, NULL, e);
	if (!err && c->pcm)
		err = open_pcm(c, false, &c->speaker, e);
	if (err)
		return err;
	c->state = calloc(c->cfg.states, sizeof(*c->state));
	if (!c->state)
		return cr_fail(e, -ENOMEM, "out of memory for codecs");
	for (unsigned i = 0; i < c->cfg.states && !err; i++)
		err = open_state(c, i, e);
	return err;
}

int coding_open(struct coding **out, const struct coding_cfg *cfg,
		struct cr_err *e)
{
	struct coding *c = calloc(1, sizeof(*c));
	int err;

	if (!c)
		return cr_fail(e, -ENOMEM, "out of memory for codecs");
	c->cfg = *cfg;
	err = open_all(c, e);
	if (err) {
		coding_close(c);
		return err;
	}
	*out = c;
	return 0;
}

void coding_close(struct coding *c)
{
	if (!c)
		return;
	for (unsigned i = 0; c->state && i < c->cfg.states; i++)
		close_state(c, &c->state[i]);
	if (c->speaker)
		c->pcm->encoder_close(c->speaker);
	speech_close(c->corpus);
	free(c->state);
	free(c);
}

/* --- its work --- */

void coding_hear(struct coding *c, unsigned i)
{
	struct state *s = &c->state[i];

	if (c->cfg.decode) {
		s->next = (s->next + 1) % ENCODED;
		return;
	}
	speech_read(&s->speech, c->samples, c->codec->samples);
	if (c->pcm)
		(void)c->pcm->encode(c->speaker, 0, c->samples, &c->heard);
}

void coding_hear_payload(struct coding *c, const uint8_t *payload, size_t bytes)
{
	c->heard.kind = CR_FRAME_SPEECH;
	c->heard.bytes =
		(uint16_t)(bytes < CR_FRAME_MAX ? bytes : CR_FRAME_MAX);
	memcpy(c->heard.data, payload, c->heard.bytes);
}

unsigned coding_run(struct coding *c, unsigned i)
{
	struct state *s = &c->state[i];

	if (c->cfg.decode) {
		(void)c->codec->decode(s->codec, &s->frames[s->next],
				       c->samples);
		if (!c->pcm)
			return 0;
		(void)c->pcm->encode(s->pcm, 0, c->samples, &c->out);
		return c->out.bytes;
	}
	if (c->pcm)
		(void)c->pcm->decode(s->pcm, &c->heard, c->samples);
	(void)c->codec->encode(s->codec, c->codec_cfg.mode, c->samples,
			       &c->out);
	return c->out.bytes;
}

const struct cr_codec *coding_codec(const struct coding *c)
{
	return c->codec;
}

const struct cr_codec_cfg *coding_codec_cfg(const struct coding *c)
{
	return &c->codec_cfg;
}
