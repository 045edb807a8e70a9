/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a flow's codecs cost on this machine: decoding, conversion of the
 * sampling rate, and encoding are measured apart and drawn apart, behind frames
 * of other states; and what is saved where a frame follows one of its own.
 */
#include <errno.h>

#include "cost/cost.h"
#include "sim/cost_model.h"

/* CPU time for each codec; conversion takes about 20 ms. */
#define BUDGET (200 * CR_MS)

static unsigned rate_of(const struct campaign_endpoint *endpoint)
{
	return endpoint->cfg.sample_rate ? endpoint->cfg.sample_rate
					 : endpoint->codec->sample_rate;
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

static int measure(const struct campaign_endpoint *endpoint,
		   struct cost_rows *out, struct cr_err *e)
{
	const struct cost_plan plan = { .budget = BUDGET };

	return cost_measure_rows(endpoint->codec, &endpoint->cfg, &plan, out,
				 e);
}

/* The mean but for the dearest tenth, which other programs caused. */
static cr_ns typical(const struct cost_result *r, cr_ns ptime)
{
	const unsigned n = COST_QUANTILES * 9 / 10;
	__int128 sum = 0;

	for (unsigned i = 0; i < n; i++)
		sum += r->quantile[i];
	return (cr_ns)(sum * ptime / r->frame / n);
}

/* What later frames of a row cost of what first ones do, ppm; both are
 * resampled for @convert, wherever their states are. */
static int64_t warm_of(const struct cost_rows *in, const struct cost_rows *out,
		       cr_ns convert, cr_ns ptime)
{
	cr_ns first = typical(&in->first.dec, ptime) + convert +
		      typical(&out->first.enc, ptime);
	cr_ns later = typical(&in->later.dec, ptime) + convert +
		      typical(&out->later.enc, ptime);

	return first > later ? (int64_t)((__int128)later * CR_PPM / first)
			     : CR_PPM;
}

int cost_model_measure(struct cost_model *m, const struct campaign_flow *f,
		       struct cr_err *e)
{
	unsigned from = rate_of(&f->in), to = rate_of(&f->out);
	struct cost_rows in, out;
	struct cost_result convert;
	cr_ns converted = 0;
	int rc = measure(&f->in, &in, e);

	if (!rc)
		rc = take(&m->part[0], &in.first.dec, f->ptime, e);
	if (!rc)
		rc = measure(&f->out, &out, e);
	if (!rc)
		rc = take(&m->part[2], &out.first.enc, f->ptime, e);
	if (!rc && from != to) {
		rc = cost_resample(from, to, &convert, e);
		if (!rc)
			rc = take(&m->part[1], &convert, f->ptime, e);
		if (!rc)
			converted = typical(&convert, f->ptime);
	}
	if (!rc)
		m->warm = warm_of(&in, &out, converted, f->ptime);
	return rc;
}
