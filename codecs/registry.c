/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which codecs there are; loading others from outside; and opening them. A new
 * codec is one line in the table and one in registry.h.
 */
#include "codecs/registry.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/nearest.h"
#include "base/trust.h"
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

/* --- plug-ins --- */

/* Much is checked, since the rest of the program rests on these tables. */

static bool known_rate(unsigned rate)
{
	return rate == 8000 || rate == 16000 || rate == 48000;
}

/* A frame of @samples at @rate fits. */
static bool short_enough(uint64_t samples, unsigned rate)
{
	return samples && samples <= CR_FRAME_SAMPLES_MAX &&
	       samples * 1000 <= UINT64_C(120) * rate;
}

static const char *flaw_of_time(const struct cr_codec *c)
{
	if (!known_rate(c->sample_rate))
		return "its sample_rate is not 8000, 16000 or 48000";
	if (!short_enough(c->samples, c->sample_rate))
		return "its samples do not last 120 ms at most";
	if (!c->rtp_clock && !c->clock_is_rate)
		return "it has no rtp_clock";
	if (c->any_length)
		return "any_length is for built-in codecs";
	for (const unsigned *r = c->rates; r && *r; r++)
		if (!known_rate(*r))
			return "one of its rates is not 8000, 16000 or 48000";
	for (const cr_ns *l = c->lengths; l && *l; l++)
		if (*l < CR_MS || *l > 120 * CR_MS || *l % CR_MS)
			return "one of its lengths is not 1 to 120 whole ms";
	return NULL;
}

static const char *flaw_of_modes(const struct cr_codec *c)
{
	if (!c->modes || !c->nmodes || c->nmodes > MODES_MAX ||
	    c->default_mode >= c->nmodes)
		return "it has no modes, too many, or another default";
	for (unsigned i = 0; i < c->nmodes; i++) {
		const struct cr_codec_mode *m = &c->modes[i];

		if (!m->name || !m->name[0] || !m->bytes ||
		    m->bytes > CR_FRAME_MAX)
			return "one of its modes lacks a name, or bytes";
		if (c->packing == CR_PACK_FRAMES &&
		    m->bytes != c->modes[0].bytes)
			return "CR_PACK_FRAMES needs the same bytes in every "
			       "mode";
	}
	return NULL;
}

static const char *flaw_of_packing(const struct cr_codec *c)
{
	if (c->packing == CR_PACK_FRAMES)
		return c->sid_bytes >= c->modes[0].bytes
			       ? "sid_bytes is not less than a frame's"
			       : NULL;
	if (c->packing != CR_PACK_WHOLE)
		return "its packing is not CR_PACK_FRAMES or CR_PACK_WHOLE";
	return !c->frame_max || c->frame_max > CR_FRAME_MAX
		       ? "frame_max is not 1 to CR_FRAME_MAX"
		       : NULL;
}

const char *codec_plugin_flaw(const struct cr_codec *c)
{
	const char *what;

	if (!c->name || !c->name[0] || strlen(c->name) > 20 || !c->rtp_name ||
	    !c->rtp_name[0] || !c->help)
		return "it lacks a name (of up to 20 letters), rtp_name or "
		       "help";
	if (c->static_pt < -1 || c->static_pt > 127)
		return "its static_pt is no payload type";
	if (!c->encoder_open || !c->encode || !c->encoder_close ||
	    !c->decoder_open || !c->decode || !c->decoder_close)
		return "it must encode and decode: six functions";
	if (c->declares_cost || c->kernels)
		return "declares_cost and kernels are for built-in codecs";
	what = flaw_of_time(c);
	if (!what)
		what = flaw_of_modes(c);
	return what ? what : flaw_of_packing(c);
}

/* Show @c behind all others. 0 or -ENOSPC. */
static int register_codec(const struct cr_codec *c)
{
	unsigned n = 0;

	while (table[n])
		n++;
	if (n == CODECS_MAX)
		return -ENOSPC;
	table[n] = c;
	return 0;
}

static int check_plugin(const char *path, const struct cr_codec *c,
			struct cr_err *e)
{
	const char *what;

	if (!c)
		return cr_fail(e, -ENOEXEC,
			       "%s is not a codec: it exports no "
			       "'cr_codec_plugin'",
			       path);
	if (c->abi != CR_CODEC_ABI)
		return cr_fail(e, -ENOEXEC,
			       "%s was built for codec ABI %u, this program "
			       "has %u: rebuild it against cr/codec.h",
			       path, c->abi, CR_CODEC_ABI);
	what = codec_plugin_flaw(c);
	if (what)
		return cr_fail(e, -ENOEXEC, "%s: %s", path, what);
	if (cr_codec_find(c->name))
		return cr_fail(e, -EEXIST, "%s: there is a codec %s already",
			       path, c->name);
	if (register_codec(c))
		return cr_fail(e, -ENOSPC, "%s: too many codecs", path);
	return 0;
}

int codec_plugin_load(const char *path, struct cr_err *e)
{
	void *so;
	int ret;

	/* dlopen() looks elsewhere for a name without a folder */
	if (!strchr(path, '/'))
		return cr_fail(e, -ENOEXEC,
			       "codec file '%s' needs its folder: ./%s", path,
			       path);
	ret = trust_code(path, e);
	if (ret)
		return ret;
	so = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (!so)
		return cr_fail(e, -ENOEXEC, "cannot load codec: %s", dlerror());
	ret = check_plugin(path, dlsym(so, "cr_codec_plugin"), e);
	if (ret)
		(void)dlclose(so);
	return ret;
}

/* --- opening --- */

/* Is there memory for what a codec's library is about to ask for? What another
 * thread takes meanwhile, the daemon's --memory-reserve has room for. */
int codec_open_encoder(const struct cr_codec *c, void **enc,
		       const struct cr_codec_cfg *cfg, struct cr_err *e)
{
	return memory_there(MEMORY_FOR_LIBRARY) ? c->encoder_open(enc, cfg, e)
						: codec_no_memory(c, e);
}

int codec_open_decoder(const struct cr_codec *c, void **dec,
		       const struct cr_codec_cfg *cfg, struct cr_err *e)
{
	return memory_there(MEMORY_FOR_LIBRARY) ? c->decoder_open(dec, cfg, e)
						: codec_no_memory(c, e);
}

/* --- relayed --- */

/* Clocks of speech in RTP (RFC 3551 and later formats). */
static const unsigned relayed_clocks[] = { 8000,  12000, 16000, 24000, 32000,
					   44100, 48000, 90000, 0 };
/* Nobody here knows how long its packets are. */
static const cr_ns relayed_lengths[] = { 5 * CR_MS,  10 * CR_MS, 20 * CR_MS,
					 30 * CR_MS, 40 * CR_MS, 60 * CR_MS,
					 0 };
static const struct cr_codec_mode relayed_modes[] = { { .name = "-" } };

/* The entry for a codec that both parties of a call have, and this
 * node perhaps not: neither encoder nor decoder, and any clock that speech has
 * in RTP. It is in no list, for nothing but a relay can use it. */
const struct cr_codec cr_codec_relayed = {
	.name = "relayed",
	.rtp_name = "",
	.help = "any codec that both parties have: passed on as it is",
	.static_pt = -1,
	.sample_rate = 8000,
	.rtp_clock = 8000,
	.samples = 160,
	.rates = relayed_clocks,
	.clock_is_rate = true,
	.lengths = relayed_lengths,
	.packing = CR_PACK_WHOLE,
	.frame_max = CR_FRAME_MAX,
	.modes = relayed_modes,
	.nmodes = 1,
};
