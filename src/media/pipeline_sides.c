/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sides of a pipeline.
 */
#include "media/pipeline_sides.h"
#include "codecs/registry.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* --- inputs --- */

struct pipeline_source *pipeline_source_new(const struct codec_use *side)
{
	struct pipeline_source *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->side = *side;
	s->rate = codec_use_rate(side);
	s->clock = codec_use_clock(side);
	s->unit = (unsigned)(cr_codec_frame_ns(side->codec, &side->cfg) *
			     s->clock / CR_SEC);
	return s;
}

void pipeline_source_free(struct pipeline_source *s)
{
	if (!s)
		return;
	if (s->decoder)
		s->side.codec->decoder_close(s->decoder);
	resample_close(s->resample);
	free(s);
}

int pipeline_source_check(const struct codec_use *side, struct cr_err *e)
{
	void *decoder;
	int err;

	if (!side->codec->decoder_open)
		return cr_fail(e, -EINVAL, "%s cannot be decoded here",
			       side->codec->name);
	err = codec_open_decoder(side->codec, &decoder, &side->cfg, e);
	if (!err)
		side->codec->decoder_close(decoder);
	return err;
}

/* The old one stays if there is no other. */
static int renew_decoder(struct pipeline_source *s, struct cr_err *e)
{
	const struct cr_codec *codec = s->side.codec;
	void *decoder;
	int err;

	if (!codec->decoder_open)
		return cr_fail(e, -EINVAL, "%s cannot be decoded here",
			       codec->name);
	err = codec_open_decoder(codec, &decoder, &s->side.cfg, e);
	if (err)
		return err;
	if (s->decoder)
		codec->decoder_close(s->decoder);
	s->decoder = decoder;
	return 0;
}

static int convert_to(struct pipeline_source *s, unsigned rate,
		      struct cr_err *e)
{
	struct resample *resample = NULL;
	int err = 0;

	if (s->rate != rate)
		err = resample_open(&resample, s->rate, rate, e);
	if (err)
		return err;
	resample_close(s->resample);
	s->resample = resample;
	s->to = rate;
	return 0;
}

int pipeline_source_open(struct pipeline_source *s, unsigned sender,
			 unsigned rate, struct cr_err *e)
{
	bool fresh = s->decoder && s->sender == sender;
	int err = fresh ? 0 : renew_decoder(s, e);

	if (!err && (!fresh || s->to != rate))
		err = convert_to(s, rate, e);
	if (!err)
		s->sender = sender;
	return err;
}

/* --- the output --- */

size_t pipeline_output_store(const struct pipeline_output *o)
{
	const struct codec_use *s = &o->side;
	size_t frame = s->codec->any_length ? payload_pcm_bytes(s, o->frame)
					    : payload_max_bytes(s);

	return o->frames > 1 ? o->frames * frame : 0;
}

/* Room for the frames of a packet, and an encoder. */
static int open_output(struct pipeline_output *o, struct cr_err *e)
{
	const struct codec_use *s = &o->side;
	size_t bytes = pipeline_output_store(o);

	o->held.data = bytes ? malloc(bytes) : NULL;
	if (bytes && !o->held.data)
		return cr_fail(e, -ENOMEM, "out of memory for a packet");
	return codec_open_encoder(s->codec, &o->encoder, &s->cfg, e);
}

int pipeline_output_new(struct pipeline_output **out,
			const struct codec_use *side, bool follows,
			struct cr_err *e)
{
	const unsigned frame =
		side->cfg.samples ? side->cfg.samples
				  : (unsigned)((uint64_t)side->codec->samples *
					       codec_use_rate(side) /
					       side->codec->sample_rate);
	/* what is left over may be of any codec, and longer than a frame */
	const unsigned room = follows ? CR_FRAME_SAMPLES_MAX : frame;
	struct pipeline_output *o;
	int err;

	if (!side->codec->encoder_open)
		return cr_fail(e, -EINVAL, "%s cannot be encoded here",
			       side->codec->name);
	if (!frame || frame > CR_FRAME_SAMPLES_MAX)
		return cr_fail(e, -EINVAL, "%s: frames of %u samples",
			       side->codec->name, frame);
	if (side->frames > PAYLOAD_FRAMES_MAX ||
	    (side->frames > 1 && side->kind == PAYLOAD_WHOLE))
		return cr_fail(e, -EINVAL, "%s: %u frames in a packet",
			       side->codec->name, side->frames);
	o = calloc(1, sizeof(*o) + room * sizeof(o->left[0]));
	if (!o)
		return cr_fail(e, -ENOMEM, "out of memory for a pipeline");
	o->side = *side;
	o->rate = codec_use_rate(side);
	o->clock = codec_use_clock(side);
	o->frame = frame;
	o->frames = side->frames ? side->frames : 1;
	o->time = codec_use_packet(side);
	o->mode = side->cfg.mode;
	err = open_output(o, e);
	if (err) {
		pipeline_output_free(o);
		return err;
	}
	*out = o;
	return 0;
}

void pipeline_output_free(struct pipeline_output *o)
{
	if (!o)
		return;
	if (o->encoder)
		o->side.codec->encoder_close(o->encoder);
	free(o->held.data);
	free(o);
}

unsigned pipeline_output_follow(struct pipeline_output *to,
				struct pipeline_output *from, unsigned n)
{
	struct resample *r;

	if (to->frame == from->frame &&
	    codec_use_same(&to->side, &from->side, SAME_ENCODER)) {
		void *fresh = to->encoder;

		to->encoder = from->encoder;
		from->encoder = fresh;
	}
	if (to->rate == from->rate) {
		memcpy(to->left, from->left, n * sizeof(from->left[0]));
		return n;
	}
	n = from->rate > to->rate ? n - n % (from->rate / to->rate) : n;
	if (!n || resample_open(&r, from->rate, to->rate, NULL))
		return 0;
	n = resample_run(r, from->left, n, to->left, CR_FRAME_SAMPLES_MAX);
	resample_close(r);
	return n;
}
