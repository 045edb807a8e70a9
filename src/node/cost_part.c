/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parts of calls and what they cost.
 */
#include "node/cost_part.h"

#include "cost/cost.h"

/* No codec takes less, and nothing is for nothing. */
#define DECLARED_MIN CR_US

static struct cost_part side_part(const struct pipeline_side *s)
{
	return (struct cost_part){ .codec = s->codec,
				   .cfg = { .mode = s->cfg.mode,
					    .sample_rate = s->cfg.sample_rate,
					    .samples = s->cfg.samples,
					    .dtx = s->cfg.dtx,
					    .complexity = s->cfg.complexity,
					    .fec = s->cfg.fec,
					    .spin = s->cfg.spin } };
}

unsigned cost_parts(const struct pipeline_cfg *media,
		    struct cost_part part[COST_PARTS])
{
	unsigned from = pipeline_side_rate(&media->in);
	unsigned to = pipeline_side_rate(&media->out);

	part[0] = side_part(&media->in);
	part[1] = side_part(&media->out);
	if (from == to)
		return 2;
	part[2] = (struct cost_part){ .from = from, .to = to };
	return 3;
}

bool cost_part_same(const struct cost_part *a, const struct cost_part *b)
{
	return a->codec == b->codec && a->cfg.mode == b->cfg.mode &&
	       a->cfg.sample_rate == b->cfg.sample_rate &&
	       a->cfg.samples == b->cfg.samples && a->cfg.dtx == b->cfg.dtx &&
	       a->cfg.complexity == b->cfg.complexity &&
	       a->cfg.fec == b->cfg.fec && a->from == b->from && a->to == b->to;
}

bool cost_part_declared(const struct cost_part *p, struct cost_value *out)
{
	cr_ns spin = p->cfg.spin;

	if (!p->codec || !p->codec->declares_cost)
		return false;
	if (spin < DECLARED_MIN)
		spin = DECLARED_MIN;
	*out = (struct cost_value){
		.enc = { .mean = spin, .p99 = spin },
		.dec = { .mean = spin, .p99 = spin },
		.frame = cr_codec_frame_ns(p->codec, &p->cfg),
	};
	return true;
}

int cost_part_measure(const struct cost_part *p, const atomic_bool *stop,
		      struct cost_value *out, struct cr_err *e)
{
	struct cost_result convert;
	struct cost_pair pair;
	int err;

	if (!p->codec) {
		err = cost_resample(p->from, p->to, &convert, e);
		if (!err)
			*out = (struct cost_value){ .enc = convert.cost,
						    .frame = convert.frame };
		return err;
	}
	err = cost_quick(p->codec, &p->cfg, NULL, stop, &pair, e);
	if (!err)
		*out = (struct cost_value){ .enc = pair.enc.cost,
					    .dec = pair.dec.cost,
					    .frame = pair.enc.frame };
	return err;
}
