/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From what is asked for to a conversion's configuration.
 */
#include "node/convert_check.h"

#include <errno.h>
#include <stdio.h>

#include "node/call_check_side.h"

static int check_name(char *to, const char *name, const char *member,
		      struct cr_err *e)
{
	if (!name)
		return cr_fail(e, -EINVAL, "%s: is missing: %s", member,
			       CONVERT_WHICH_FILE);
	if (snprintf(to, SPOOL_NAME, "%s", name) >= (int)SPOOL_NAME)
		return cr_fail(e, -EINVAL, "%s: is longer than %u octets",
			       member, SPOOL_NAME - 1);
	return 0;
}

/* What only some formats have is refused with others: it would be ignored. */
static int check_options(struct conversion_cfg *cfg,
			 const struct convert_request *r, struct cr_err *e)
{
	bool wav = cfg->to.kind == AUDIO_WAV;

	if (r->rate && r->rate != 8000 && r->rate != 16000)
		return cr_fail(e, -EINVAL, "rate: must be 8000 or 16000");
	if (r->rate && !wav)
		return cr_fail(e, -EINVAL, "rate: is for WAV output only");
	if (wav && r->mode)
		return cr_fail(e, -EINVAL, "mode: WAV output has none");
	if (wav && r->dtx)
		return cr_fail(e, -EINVAL, "dtx: WAV output has none");
	cfg->to.rate = r->rate;
	cfg->dtx = r->dtx;
	cfg->overwrite = r->overwrite;
	return call_check_mode(&cfg->mode, audio_codec(cfg->to.kind), r->mode,
			       "", e);
}

int convert_check(struct conversion_cfg *out, const struct convert_request *r,
		  struct cr_err *e)
{
	struct conversion_cfg cfg = { 0 };

	if (check_name(cfg.in, r->in, "in", e) ||
	    check_name(cfg.out, r->out, "out", e) ||
	    audio_kind_of(cfg.out, &cfg.to.kind, e) ||
	    check_options(&cfg, r, e))
		return -EINVAL;
	*out = cfg;
	return 0;
}
