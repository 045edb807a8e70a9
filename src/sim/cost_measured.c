/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a flow's codecs cost on this machine: decoding, conversion of the
 * sampling rate, and encoding are measured apart and drawn apart.
 */
#include <errno.h>

#include "cost/cost.h"
#include "sim/cost_model.h"

/* CPU time for each codec; conversion takes about 20 ms. */
#define BUDGET (150 * CR_MS)

static unsigned rate_of(const struct campaign_leg *leg)
{
	return leg->cfg.sample_rate ? leg->cfg.sample_rate
				    : leg->codec->sample_rate;
}

/* The costs of as many frames as a packet of @ptime holds. */
static int take(struct cost_values *v, const struct cost_result *r, cr_ns ptime,
		struct cr_err *e)
{
	for (unsigned i = 0; i < COST_QUANTILES; i++) {
		__int128 cost = (__int128)r->quantile[i] * ptime / r->frame;

		if (cost_values_add(v, (cr_ns)cost, 1))
			return cr_fail(e, -ENOMEM, "out of memory");
	}
	return 0;
}

static int measure(const struct campaign_leg *leg, struct cost_pair *out,
		   struct cr_err *e)
{
	const struct cost_plan plan = { .budget = BUDGET };

	return cost_measure(leg->codec, &leg->cfg, &plan, out, e);
}

int cost_model_measure(struct cost_model *m, const struct campaign_flow *f,
		       struct cr_err *e)
{
	unsigned from = rate_of(&f->in), to = rate_of(&f->out);
	struct cost_pair pair;
	struct cost_result convert;
	int rc = measure(&f->in, &pair, e);

	if (!rc)
		rc = take(&m->part[0], &pair.dec, f->ptime, e);
	if (!rc)
		rc = measure(&f->out, &pair, e);
	if (!rc)
		rc = take(&m->part[2], &pair.enc, f->ptime, e);
	if (!rc && from != to)
		rc = cost_resample(from, to, &convert, e);
	if (!rc && from != to)
		rc = take(&m->part[1], &convert, f->ptime, e);
	return rc;
}
