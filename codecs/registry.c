/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which codecs there are. A new codec is one line in the table and one in
 * registry.h.
 */
#include "codecs/registry.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/nearest.h"
#include "codecs/common.h"

enum { CODECS_MAX = 31, MODES_MAX = 32 };

/* Built-in ones, then those from outside, and NULL. */
static const struct cr_codec *table[CODECS_MAX + 1] = {
	&codec_pcmu,	 &codec_pcma, &codec_l16,     &codec_g722,
	&codec_gsm,	 &codec_opus, &codec_g726_32, &codec_speex,
	&codec_speex_wb, &codec_amr,  &codec_amr_wb,
#ifdef CR_HAVE_AVCODEC
	&codec_g723_1,
#endif
	&codec_spin,
};

const struct cr_codec *const *const cr_codecs = table;

int codec_register(const struct cr_codec *c)
{
	unsigned n = 0;

	while (table[n])
		n++;
	if (n == CODECS_MAX)
		return -ENOSPC;
	table[n] = c;
	return 0;
}

const struct cr_codec *cr_codec_find(const char *name)
{
	for (const struct cr_codec *const *c = cr_codecs; *c; c++) {
		if (!strcmp((*c)->name, name))
			return *c;
	}
	return NULL;
}

int cr_codec_mode_find(const struct cr_codec *c, const char *name)
{
	for (unsigned i = 0; i < c->nmodes; i++) {
		if (!strcmp(c->modes[i].name, name))
			return (int)i;
	}
	return -1;
}

int codec_named(const struct cr_codec **out, const char *name, struct cr_err *e)
{
	const struct cr_codec *found = cr_codec_find(name);
	const char *names[CODECS_MAX + 1] = { NULL };
	char hint[200];

	if (found) {
		*out = found;
		return 0;
	}
	for (unsigned i = 0; cr_codecs[i]; i++)
		names[i] = cr_codecs[i]->name;
	return cr_fail(e, -EINVAL, "unknown '%.100s'; %s", name,
		       nearest_hint(name, names, hint, sizeof(hint)));
}

int codec_mode_named(unsigned *mode, const struct cr_codec *codec,
		     const char *name, struct cr_err *e)
{
	int found = name ? cr_codec_mode_find(codec, name)
			 : (int)codec->default_mode;
	const char *names[MODES_MAX + 1] = { NULL };
	char hint[200];

	if (found >= 0) {
		*mode = (unsigned)found;
		return 0;
	}
	for (unsigned i = 0; i < codec->nmodes && i < MODES_MAX; i++)
		names[i] = codec->modes[i].name;
	return cr_fail(e, -EINVAL, "%s has no mode '%.100s'; %s", codec->name,
		       name, nearest_hint(name, names, hint, sizeof(hint)));
}

bool cr_codec_has_rate(const struct cr_codec *c, unsigned rate)
{
	for (const unsigned *r = c->rates; r && *r; r++)
		if (*r == rate)
			return true;
	return rate == c->sample_rate;
}

const char *cr_codec_rates_text(const struct cr_codec *c, char *buf,
				size_t size)
{
	int n = 0;

	if (!c->rates)
		(void)snprintf(buf, size, "only %u", c->sample_rate);
	for (const unsigned *r = c->rates; r && *r && (size_t)n < size; r++)
		n += snprintf(buf + n, size - (size_t)n, "%s%u",
			      r == c->rates ? ""
			      : r[1]	    ? ", "
					    : " or ",
			      *r);
	return buf;
}

bool cr_codec_has_length(const struct cr_codec *c, cr_ns time)
{
	for (const cr_ns *l = c->lengths; l && *l; l++)
		if (*l == time)
			return true;
	return c->any_length ||
	       time == (cr_ns)c->samples * CR_SEC / c->sample_rate;
}

unsigned cr_codec_clock(const struct cr_codec *c, unsigned rate)
{
	return c->clock_is_rate && rate ? rate : c->rtp_clock;
}

cr_ns cr_codec_frame_ns(const struct cr_codec *c,
			const struct cr_codec_cfg *cfg)
{
	return (cr_ns)codec_samples(c, cfg) * CR_SEC / codec_rate(c, cfg);
}
