/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Counts of calls. A load is shared by its flow and those that are like it:
 *
 *   n = load * CPUs / (share of a call of the flow + of one of each like it)
 */
#include "campaign/counts.h"

#include <errno.h>

#include "campaign/plan.h"

/* A quotient that should be whole may come out a little below. */
#define ROUNDING 1e-9

bool campaign_needs_share(const struct campaign *c, unsigned f)
{
	const struct campaign_flow *flow = &c->flows[f];

	return flow->load_ppm ||
	       (flow->like >= 0 && c->flows[flow->like].load_ppm);
}

static int by_load(const struct campaign *c, unsigned f, const double *share,
		   double cpus, uint64_t *count, struct cr_err *e)
{
	double sum = share[f], n;

	for (unsigned k = f + 1; k < c->flow_count; k++)
		if (c->flows[k].like == (int)f)
			sum += share[k];
	n = (double)c->flows[f].load_ppm / (double)CR_PPM * cpus / sum;
	if (!(n <= PLAN_CALLS_MAX))
		return cr_fail(e, -E2BIG,
			       "flow %s: its load means more than %u calls",
			       c->flows[f].name, PLAN_CALLS_MAX);
	*count = n < 1 ? 1 : (uint64_t)(n * (1 + ROUNDING));
	return 0;
}

int campaign_counts(const struct campaign *c, const double *share, double cpus,
		    double scale, uint64_t *counts, struct cr_err *e)
{
	int rc = 0;

	for (unsigned f = 0; f < c->flow_count && !rc; f++) {
		const struct campaign_flow *flow = &c->flows[f];
		double n = (double)flow->count * scale;

		if (counts[f])
			continue;
		if (flow->like >= 0)
			counts[f] = counts[flow->like];
		else if (flow->load_ppm)
			rc = by_load(c, f, share, cpus * scale, &counts[f], e);
		else
			counts[f] = flow->count && n < 1 ? 1 : (uint64_t)n;
	}
	return rc;
}
