/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Audio files: names, codecs, and the AMR storage format.
 */
#include "convert/audio.h"

#include <errno.h>
#include <string.h>

#include "codecs/registry.h"

enum { SID_BYTES = 5 }; /* 39 and 40 bits */

static const struct {
	const char *name, *magic;
	const struct cr_codec *codec;
	enum payload_kind payload;
} kinds[] = {
	[AUDIO_WAV] = { "wav", "RIFF", &codec_l16, PAYLOAD_L16 },
	[AUDIO_AMR] = { "amr", "#!AMR\n", &codec_amr, PAYLOAD_AMR },
	[AUDIO_AWB] = { "awb", "#!AMR-WB\n", &codec_amr_wb, PAYLOAD_AMR_WB },
};

int audio_kind_of(const char *name, enum audio_kind *kind, struct cr_err *e)
{
	const char *dot = strrchr(name, '.');

	for (unsigned k = AUDIO_WAV; dot && k <= AUDIO_AWB; k++)
		if (!strcmp(dot + 1, kinds[k].name)) {
			*kind = (enum audio_kind)k;
			return 0;
		}
	return cr_fail(e, -EINVAL,
		       "'%s': must end in .wav, .amr or .awb, which says "
		       "what it is",
		       name);
}

const char *audio_kind_name(enum audio_kind kind)
{
	return kinds[kind].name;
}

const struct cr_codec *audio_codec(enum audio_kind kind)
{
	return kinds[kind].codec;
}

void audio_side(struct pipeline_side *side, const struct audio *a,
		unsigned mode)
{
	*side = (struct pipeline_side){
		.codec = kinds[a->kind].codec,
		.cfg = { .mode = mode, .sample_rate = a->rate },
		.payload = { .kind = kinds[a->kind].payload,
			     .octet_align = true,
			     .sample_rate = a->rate },
	};
	if (a->kind == AUDIO_WAV) {
		side->cfg.samples = (unsigned)(a->rate * AUDIO_FRAME / CR_SEC);
		side->payload.samples = side->cfg.samples;
	}
}

const char *audio_magic(enum audio_kind kind)
{
	return kinds[kind].magic;
}

int audio_magic_check(enum audio_kind kind, const uint8_t *p, size_t n,
		      struct cr_err *e)
{
	const char *magic = kinds[kind].magic;
	size_t bytes = strlen(magic);

	if (n >= bytes && !memcmp(p, magic, bytes))
		return (int)bytes;
	if ((n >= 8 && !memcmp(p, "#!AMR_MC", 8)) ||
	    (n >= 11 && !memcmp(p, "#!AMR-WB_MC", 11)))
		return cr_fail(e, -EINVAL,
			       "several channels; only mono is "
			       "read");
	if (kind == AUDIO_AMR && n >= 9 && !memcmp(p, "#!AMR-WB\n", 9))
		return cr_fail(e, -EINVAL,
			       "is AMR-WB: its name should end in .awb");
	if (kind == AUDIO_AWB && n >= 6 && !memcmp(p, "#!AMR\n", 6))
		return cr_fail(e, -EINVAL,
			       "is AMR narrow-band: its name should end in "
			       ".amr");
	return cr_fail(e, -EINVAL,
		       "does not begin with \"%.*s\" and a new "
		       "line: not an %s file",
		       (int)bytes - 1, magic, kinds[kind].codec->rtp_name);
}

int audio_stored_bytes(enum audio_kind kind, uint8_t toc)
{
	const struct cr_codec *c = kinds[kind].codec;
	unsigned type = toc >> 3 & 15;

	if (type < c->nmodes)
		return 1 + c->modes[type].bytes;
	if (type == c->nmodes)
		return 1 + SID_BYTES;
	if (type == PAYLOAD_FT_NO_DATA ||
	    (type == PAYLOAD_FT_LOST && kind == AUDIO_AWB))
		return 1;
	return -EINVAL;
}
