/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From the parameters of convert.start to a conversion's configuration.
 */
#include "node/convert_params.h"

#include <errno.h>

#include "node/args.h"

static int name_of(struct args *a, const char *key, char *name)
{
	const char *text = args_string(a, key, NULL);

	if (a->failed)
		return -EINVAL;
	if (!text)
		return args_fail(a, key,
				 "is missing: a file in the node's spool "
				 "folder");
	if (snprintf(name, SPOOL_NAME, "%s", text) >= (int)SPOOL_NAME)
		return args_fail(a, key, "is longer than %u octets",
				 SPOOL_NAME - 1);
	return 0;
}

/* What only some formats have is refused with others: it would be ignored. */
static int options_of(struct args *a, struct conversion_cfg *cfg)
{
	bool wav = cfg->to.kind == AUDIO_WAV;
	int64_t rate = args_int(a, "rate", 8000, 16000, 0);

	cfg->overwrite = args_bool(a, "overwrite", false);
	cfg->dtx = args_bool(a, "dtx", false);
	cfg->to.rate = (unsigned)rate;
	if (rate && rate != 8000 && rate != 16000)
		return args_fail(a, "rate", "must be 8000 or 16000");
	if (rate && !wav)
		return args_fail(a, "rate", "is for WAV output only");
	if (wav && args_has(a, "mode"))
		return args_fail(a, "mode", "WAV output has none");
	if (wav && cfg->dtx)
		return args_fail(a, "dtx", "WAV output has none");
	if (a->failed)
		return -EINVAL;
	cfg->mode = args_mode(a, audio_codec(cfg->to.kind));
	return a->failed ? -EINVAL : 0;
}

int convert_params(struct conversion_cfg *out, const json_t *params,
		   struct cr_err *e)
{
	static const char *const known[] = { "in",   "out",	  "mode", "dtx",
					     "rate", "overwrite", NULL };
	struct args a = args_of(params, "", known, e);
	struct conversion_cfg cfg = { 0 };

	if (a.failed || name_of(&a, "in", cfg.in) ||
	    name_of(&a, "out", cfg.out) ||
	    audio_kind_of(cfg.out, &cfg.to.kind, e) || options_of(&a, &cfg))
		return -EINVAL;
	*out = cfg;
	return 0;
}
