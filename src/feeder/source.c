/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Speech -> codec frames -> payloads, in a pool of fixed slots; and the
 * recordings that a campaign names.
 */
#include "feeder/source.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "media/payload.h"
#include "speech/speech.h"

#define MAX_PATTERNS 256u /* what the loader of campaigns lets through */

int recordings_open(struct speech_corpus **corpus, const char *base,
		    const struct campaign_texts *input, unsigned rate,
		    struct cr_err *e)
{
	const char *patterns[MAX_PATTERNS + 1] = { NULL };
	/* relative names are meant from the campaign's folder */
	const char *slash = strrchr(base, '/');
	size_t folder = slash ? (size_t)(slash - base) + 1 : 0;
	unsigned n = 0;
	int rc = 0;

	for (; n < input->count && n < MAX_PATTERNS; n++) {
		const char *name = input->item[n];
		size_t at = slash && name[0] != '/' ? folder : 0;
		char *path = malloc(at + strlen(name) + 1);

		patterns[n] = path;
		if (!path) {
			rc = cr_fail(e, -ENOMEM, "out of memory");
			break;
		}
		memcpy(path, base, at);
		memcpy(path + at, name, strlen(name) + 1);
	}
	if (!rc)
		rc = speech_open(corpus, rate, n ? patterns : NULL, e);
	for (unsigned i = 0; i < n; i++)
		free((char *)(uintptr_t)patterns[i]);
	return rc;
}

struct source {
	struct segments in;
	size_t slot; /* bytes of one payload's place */
	uint8_t *pool;
	uint16_t *bytes; /* [in.count * in.frames] */
};

/* Tools of one encoding. */
struct encoder {
	const struct codec_use *endpoint;
	const struct campaign_voice *voice;
	struct codec_use payload;
	struct speech_corpus *corpus;
	unsigned samples; /* of a frame */
	uint64_t seed;
};

int source_codec_use(const struct codec_use *endpoint, struct codec_use *out)
{
	*out = *endpoint;
	out->cfg.samples = 0; /* a packet of PCM is a frame */
	return payload_format_find(out);
}

static int encode_frame(struct source *s, const struct encoder *enc,
			void *state, const int16_t *pcm, size_t at)
{
	struct cr_frame frame;
	int n = enc->endpoint->codec->encode(state, enc->endpoint->cfg.mode,
					     pcm, &frame);

	if (n)
		return n;
	if (frame.kind == CR_FRAME_NO_DATA)
		return 0; /* DTX: not sent */
	n = payload_pack(&enc->payload, PAYLOAD_NO_CMR, &frame, 1,
			 s->pool + at * s->slot, s->slot);
	if (n < 0)
		return n;
	s->bytes[at] = (uint16_t)n;
	return 0;
}

static int encode_segment(struct source *s, const struct encoder *enc,
			  unsigned i, struct cr_err *e)
{
	bool turns = enc->voice->kind == VOICE_TURNS;
	int16_t pcm[CR_FRAME_SAMPLES_MAX];
	struct speech_reader reader;
	struct speech_talker talker;
	void *state = NULL;
	int rc = enc->endpoint->codec->encoder_open(&state, &enc->endpoint->cfg,
						    e);

	if (rc)
		return rc;
	/* the recordings as they are, or by turns */
	if (turns)
		speech_talker_init(&talker, &enc->voice->turns, enc->corpus,
				   enc->seed, i);
	else
		speech_reader_init(&reader, enc->corpus, enc->seed, i);
	for (unsigned k = 0; k < s->in.frames && !rc; k++) {
		if (turns)
			speech_talker_read(&talker, pcm, enc->samples);
		else
			speech_read(&reader, pcm, enc->samples);
		rc = encode_frame(s, enc, state, pcm,
				  (size_t)i * s->in.frames + k);
	}
	enc->endpoint->codec->encoder_close(state);
	if (rc)
		return cr_fail(e, rc, "speech cannot be packed as %s",
			       enc->endpoint->codec->name);
	return 0;
}

int source_open(struct source **out, const struct source_cfg *cfg,
		struct cr_err *e)
{
	const struct campaign_flow *f = cfg->flow;
	struct encoder enc = { .endpoint = &f->in,
			       .voice = &f->voice,
			       .seed = cfg->seed };
	struct source *s;
	int rc = source_codec_use(&f->in, &enc.payload);

	if (rc)
		return cr_fail(e, rc, "%s has no RTP payload format",
			       f->in.codec->name);
	enc.samples = (unsigned)(f->ptime * codec_use_rate(&f->in) / CR_SEC);
	s = calloc(1, sizeof(*s));
	if (!s)
		return cr_fail(e, -ENOMEM, "out of memory for speech");
	rc = recordings_open(&enc.corpus, cfg->base, &f->input,
			     codec_use_rate(&f->in), e);
	if (!rc) {
		s->slot = f->in.codec->any_length
				  ? (size_t)enc.samples * 2
				  : payload_max_bytes(&enc.payload);
		s->in = segments_of(f, cfg->duration);
		s->pool = calloc(s->in.count, s->slot * s->in.frames);
		s->bytes = calloc((size_t)s->in.count * s->in.frames,
				  sizeof(*s->bytes));
		if (!s->pool || !s->bytes)
			rc = cr_fail(e, -ENOMEM, "out of memory for speech");
	}
	for (unsigned i = 0; i < s->in.count && !rc; i++) {
		rc = encode_segment(s, &enc, i, e);
		if (!rc && cfg->progress)
			cfg->progress(cfg->arg, "encoding speech: segments",
				      i + 1, s->in.count);
	}
	speech_close(enc.corpus);
	if (rc) {
		source_close(s);
		return rc;
	}
	*out = s;
	return 0;
}

void source_close(struct source *s)
{
	if (!s)
		return;
	free(s->pool);
	free(s->bytes);
	free(s);
}

/* All zero, unless calls speak by turns. */
static bool turns_alike(const struct talk_spurts *a,
			const struct talk_spurts *b)
{
	return a->spurt.least == b->spurt.least &&
	       a->spurt.most == b->spurt.most &&
	       a->pause.least == b->pause.least &&
	       a->pause.most == b->pause.most && a->noise == b->noise;
}

bool source_fits(const struct campaign_flow *a, const struct campaign_flow *b)
{
	if (a->in.codec != b->in.codec || a->ptime != b->ptime ||
	    a->in.amr.octet_align != b->in.amr.octet_align ||
	    a->in.cfg.mode != b->in.cfg.mode ||
	    a->in.cfg.dtx != b->in.cfg.dtx ||
	    a->in.cfg.complexity != b->in.cfg.complexity ||
	    a->in.cfg.fec != b->in.cfg.fec ||
	    codec_use_rate(&a->in) != codec_use_rate(&b->in) ||
	    !turns_alike(&a->voice.turns, &b->voice.turns) ||
	    a->input.count != b->input.count)
		return false;
	for (unsigned i = 0; i < a->input.count; i++)
		if (strcmp(a->input.item[i], b->input.item[i]) != 0)
			return false;
	return true;
}

void source_voice_init(struct source_voice *v, const struct source *s,
		       uint64_t seed)
{
	v->source = s;
	segment_walk_init(&v->walk, s->in, seed);
}

const uint8_t *source_payload(const struct source_voice *v, uint64_t frame,
			      size_t *bytes)
{
	const struct source *s = v->source;
	size_t at = segment_at(&v->walk, frame);

	*bytes = s->bytes[at];
	return s->pool + at * s->slot;
}

bool source_silent(const void *voice, uint64_t frame)
{
	size_t bytes;

	(void)source_payload(voice, frame, &bytes);
	return bytes == 0;
}
