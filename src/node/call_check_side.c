/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From what is asked for to one side of a call.
 */
#include "node/call_check_side.h"

#include <errno.h>
#include <string.h>

#include "base/nearest.h"

#define FIRST_DYNAMIC_PT 96

static int check_codec(const struct cr_codec **out, const char *name,
		       const char *path, struct cr_err *e)
{
	const char *names[32];
	char hint[200];
	unsigned n = 0;

	if (!name)
		return cr_fail(e, -EINVAL, "%scodec: is missing", path);
	*out = strcmp(name, cr_codec_relayed.name) != 0 ? cr_codec_find(name)
							: &cr_codec_relayed;
	if (*out)
		return 0;
	for (; cr_codecs[n] && n + 1 < 32; n++)
		names[n] = cr_codecs[n]->name;
	names[n] = NULL;
	return cr_fail(e, -EINVAL, "%scodec: unknown '%.100s'; %s", path, name,
		       nearest_hint(name, names, hint, sizeof(hint)));
}

int call_check_mode(unsigned *mode, const struct cr_codec *codec,
		    const char *name, const char *path, struct cr_err *e)
{
	const char *names[33];
	char hint[200];
	unsigned n;
	int found;

	if (!name) {
		*mode = codec->default_mode;
		return 0;
	}
	found = cr_codec_mode_find(codec, name);
	if (found >= 0) {
		*mode = (unsigned)found;
		return 0;
	}
	for (n = 0; n < codec->nmodes && n < 32; n++)
		names[n] = codec->modes[n].name;
	names[n] = NULL;
	return cr_fail(e, -EINVAL, "%smode: %s has no mode '%.100s'; %s", path,
		       codec->name, name,
		       nearest_hint(name, names, hint, sizeof(hint)));
}

static int check_rate(unsigned *out, const struct cr_codec *codec,
		      unsigned rate, const char *path, struct cr_err *e)
{
	char text[80];

	if (!rate)
		rate = codec->sample_rate;
	if (!cr_codec_has_rate(codec, rate))
		return cr_fail(e, -EINVAL, "%srate: %s runs at %s Hz", path,
			       codec->name,
			       cr_codec_rates_text(codec, text, sizeof(text)));
	*out = rate;
	return 0;
}

/* The best of @set that is not better than @wish; the least one if all are. */
static unsigned best_mode(unsigned set, unsigned request)
{
	while (request && !(set >> request & 1u))
		request--;
	return set >> request & 1u ? request : (unsigned)__builtin_ctz(set);
}

int call_check_in_set(const struct pipeline_side *s, unsigned set,
		      const char *path, struct cr_err *e)
{
	if (!set || set >> s->cfg.mode & 1u)
		return 0;
	return cr_fail(e, -EINVAL, "%smode: %s is not in mode_set", path,
		       s->codec->modes[s->cfg.mode].name);
}

static int check_mode_set(struct pipeline_side *s,
			  const struct call_side_request *r, const char *path,
			  struct cr_err *e)
{
	const struct cr_codec *codec = s->codec;
	const char *said = r->mode_set	    ? "mode_set"
			   : r->mode_second ? "mode_second"
					    : "mode_next";

	if (!r->mode_set && !r->mode_second && !r->mode_next)
		return 0;
	if (s->payload.kind != PAYLOAD_AMR && s->payload.kind != PAYLOAD_AMR_WB)
		return cr_fail(e, -EINVAL, "%s%s: codec %s has none", path,
			       said, codec->name);
	s->payload.mode_second = r->mode_second;
	s->payload.mode_next = r->mode_next;
	if (!r->mode_set)
		return 0;
	if (r->mode_set >> codec->nmodes)
		return cr_fail(e, -EINVAL,
			       "%smode_set: %s has %u modes, so its bits are 0 "
			       "to %u",
			       path, codec->name, codec->nmodes,
			       codec->nmodes - 1);
	if (!r->mode)
		s->cfg.mode = best_mode(r->mode_set, s->cfg.mode);
	s->payload.mode_set = (uint16_t)r->mode_set;
	return call_check_in_set(s, r->mode_set, path, e);
}

int call_check_side(struct pipeline_side *s, const struct call_side_request *r,
		    const char *path, struct cr_err *e)
{
	const struct cr_codec *codec;

	if (check_codec(&codec, r->codec, path, e) ||
	    /* without failure there is one
	     * NOLINTNEXTLINE(clang-analyzer-core.CallAndMessage) */
	    call_check_mode(&s->cfg.mode, codec, r->mode, path, e) ||
	    check_rate(&s->cfg.sample_rate, codec, r->rate, path, e))
		return -EINVAL;
	s->codec = codec;
	if (!codec->tunable && (r->complexity >= 0 || r->fec))
		return cr_fail(e, -EINVAL, "%s%s: codec %s has none", path,
			       r->fec ? "fec" : "complexity", codec->name);
	s->cfg.dtx = r->dtx;
	s->cfg.complexity = (unsigned)(r->complexity + 1);
	s->cfg.fec = r->fec;
	s->cfg.spin = r->spin;
	s->pt = (uint8_t)(r->pt >= 0		  ? r->pt
			  : codec->static_pt >= 0 ? codec->static_pt
						  : FIRST_DYNAMIC_PT);
	if (payload_cfg_of(codec, &s->payload))
		return cr_fail(e, -EINVAL, "%scodec: %s cannot travel by RTP",
			       path, codec->name);
	s->payload.octet_align = r->octet_align;
	s->payload.sample_rate = s->cfg.sample_rate;
	return check_mode_set(s, r, path, e);
}
