/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The common part of the codecs: checks of the configuration.
 */
#include "codecs/common.h"

#include <errno.h>
#include <stdlib.h>

unsigned codec_rate(const struct cr_codec *c, const struct cr_codec_cfg *cfg)
{
	return cfg->sample_rate ? cfg->sample_rate : c->sample_rate;
}

unsigned codec_samples(const struct cr_codec *c, const struct cr_codec_cfg *cfg)
{
	if (cfg->samples)
		return cfg->samples;
	return (unsigned)((uint64_t)c->samples * codec_rate(c, cfg) /
			  c->sample_rate);
}

static int check_rate(const struct cr_codec *c, unsigned rate, struct cr_err *e)
{
	char text[80];

	if (cr_codec_has_rate(c, rate))
		return 0;
	return cr_fail(e, -EINVAL, "codec %s: sample rate %u; it has %s Hz",
		       c->name, rate,
		       cr_codec_rates_text(c, text, sizeof(text)));
}

int codec_check(const struct cr_codec *c, const struct cr_codec_cfg *cfg,
		struct cr_err *e)
{
	unsigned samples = codec_samples(c, cfg);
	int ret;

	if (cfg->mode >= c->nmodes)
		return cr_fail(e, -EINVAL,
			       "codec %s: mode index %u; it has 0..%u", c->name,
			       cfg->mode, c->nmodes - 1);
	ret = check_rate(c, codec_rate(c, cfg), e);
	if (ret)
		return ret;
	if (!cr_codec_has_length(c, cr_codec_frame_ns(c, cfg)))
		return cr_fail(e, -EINVAL,
			       "codec %s: %u samples per frame; it has %s%u",
			       c->name, samples,
			       c->lengths ? "other lengths, such as " : "only ",
			       c->samples);
	if (c->any_length && samples > CR_PCM_SAMPLES_MAX)
		return cr_fail(e, -EINVAL,
			       "codec %s: %u samples per frame; use 1..%u",
			       c->name, samples, CR_PCM_SAMPLES_MAX);
	return 0;
}

int codec_check_even(const struct cr_codec *c, const struct cr_codec_cfg *cfg,
		     struct cr_err *e)
{
	unsigned samples = codec_samples(c, cfg);

	if (samples % 2)
		return cr_fail(e, -EINVAL,
			       "codec %s: %u samples per frame; they must be "
			       "even",
			       c->name, samples);
	return 0;
}

int codec_no_memory(const struct cr_codec *c, struct cr_err *e)
{
	return cr_fail(e, -ENOMEM, "codec %s: no memory for one more state",
		       c->name);
}

int codec_new_state(const struct cr_codec *c, const struct cr_codec_cfg *cfg,
		    size_t bytes, void **state, struct cr_err *e)
{
	int ret = codec_check(c, cfg, e);
	void *s;

	if (ret)
		return ret;
	s = calloc(1, bytes);
	if (!s)
		return codec_no_memory(c, e);
	*state = s;
	return 0;
}
