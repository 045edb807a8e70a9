/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sums over jobs and what they come to.
 */
#include "sim/stats.h"

#include <stdlib.h>

#include "run/json.h"

void flow_stats_merge(struct flow_stats *to, const struct flow_stats *from)
{
#define ADD(name, help) to->name += from->name;
	FLOW_COUNTS(ADD)
#undef ADD
	to->service += from->service;
	histogram_merge(&to->delay, &from->delay);
	histogram_merge(&to->jitter, &from->jitter);
}

/* Parts per million, rounded up so that one lost job is never nothing; nothing
 * of nothing is 0. */
static int64_t share(uint64_t part, uint64_t whole)
{
	return whole ? (int64_t)((part * UINT64_C(1000000) + whole - 1) / whole)
		     : 0;
}

int64_t flow_stats_metric(const struct flow_stats *s, enum campaign_metric m)
{
	uint64_t lost = s->overwritten + s->stale;

	switch (m) {
	case METRIC_LOSS:
		return share(lost, s->done + lost);
	case METRIC_LATE:
		return share(s->late, s->done);
	case METRIC_MISSED:
		return share(s->missed, s->due);
	case METRIC_ADMITTED: /* rounded down: one refused is not all */
		return s->planned ? (int64_t)(s->admitted * UINT64_C(1000000) /
					      s->planned)
				  : 0;
	case METRIC_P50_DELAY:
		return histogram_quantile(&s->delay, 500000);
	case METRIC_P99_DELAY:
		return histogram_quantile(&s->delay, 990000);
	case METRIC_P999_DELAY:
		return histogram_quantile(&s->delay, 999000);
	case METRIC_MAX_DELAY:
		return histogram_max(&s->delay);
	case METRIC_P99_JITTER:
		return histogram_quantile(&s->jitter, 990000);
	case NMETRICS:
		break;
	}
	abort();
}

json_t *flow_stats_json(const struct flow_stats *s)
{
	json_t *o = json_object();

#define PUT(name, help) run_put_int(o, #name, (int64_t)s->name);
	FLOW_COUNTS(PUT)
#undef PUT
	run_put_int(o, "service_ns", s->service);
	for (unsigned m = 0; m <= METRIC_MISSED; m++)
		run_put(o,
			m == METRIC_LATE ? "late_share"
			: m == METRIC_MISSED
				? "missed_share"
				: campaign_metric_name((enum campaign_metric)m),
			json_real((double)flow_stats_metric(
					  s, (enum campaign_metric)m) /
				  1e6));
	run_put(o, "delay", histogram_json(&s->delay));
	run_put(o, "jitter", histogram_json(&s->jitter));
	return o;
}
