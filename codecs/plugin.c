/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Loading codecs from outside: the only place here that knows about dlopen().
 * Much is checked, since the rest of the program rests on these tables.
 */
#include "codecs/plugin.h"

#include <dlfcn.h>
#include <errno.h>
#include <string.h>

#include "base/trust.h"
#include "codecs/common.h"
#include "codecs/registry.h"

enum { MODES_MAX = 32 };

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
	if (codec_register(c))
		return cr_fail(e, -ENOSPC, "%s: too many codecs", path);
	return 0;
}

int codec_plugin_load(const char *path, struct cr_err *e)
{
	int ret = trust_code(path, e);
	void *so;

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
