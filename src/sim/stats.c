/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sums over jobs and what they come to.
 */
#include "sim/stats.h"

#include "run/json.h"
#include "run/metric.h"

void flow_stats_merge(struct flow_stats *to, const struct flow_stats *from)
{
#define ADD(name, help) to->name += from->name;
	FLOW_COUNTS(ADD)
#undef ADD
	to->service += from->service;
	histogram_merge(&to->delay, &from->delay);
	histogram_merge(&to->buffered, &from->buffered);
	histogram_merge(&to->jitter, &from->jitter);
}

int64_t flow_stats_metric(const struct flow_stats *s, enum campaign_metric m)
{
	const uint64_t lost = flow_stats_lost(s);
	const struct run_counts c = {
		.lost = { lost, s->done + lost },
		.late = { s->late, s->done },
		.missed = { s->missed, s->due },
		.admitted = { s->admitted, s->planned },
		.delay = &s->delay,
		.jitter = &s->jitter,
	};

	return run_metric(&c, m);
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
	run_put(o, "delay", run_histogram_json(&s->delay));
	run_put(o, "buffered", run_histogram_json(&s->buffered));
	run_put(o, "jitter", run_histogram_json(&s->jitter));
	return o;
}
