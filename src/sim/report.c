/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Expectations judged, and the result as JSON.
 */
#include "sim/report.h"

#include <errno.h>
#include <stdlib.h>

static const char *const preempt_names[] = { "frame", "quantum", "full" };

static unsigned judge(const struct campaign_expect *x, const char *flow,
		      const struct flow_stats *s, struct sim_verdict *out)
{
	unsigned n = 0;

	for (unsigned m = 0; m < NMETRICS; m++) {
		int64_t value = flow_stats_metric(s, (enum campaign_metric)m);

		if (!x[m].given)
			continue;
		out[n++] = (struct sim_verdict){
			.flow = flow,
			.metric = (enum campaign_metric)m,
			.expect = &x[m],
			.value = value,
			.met = campaign_expect_met(&x[m], value),
		};
	}
	return n;
}

int sim_report_judge(struct sim_report *r)
{
	const struct campaign *c = r->cfg->plan->campaign;
	struct sim_verdict *v =
		calloc(((size_t)c->flow_count + 1) * NMETRICS, sizeof(*v));
	unsigned n;

	if (!v)
		return -ENOMEM;
	n = judge(c->expect, NULL, r->result->total, v);
	for (unsigned f = 0; f < c->flow_count; f++)
		n += judge(c->flows[f].expect, c->flows[f].name,
			   &r->result->flows[f], v + n);
	r->verdicts = v;
	r->nverdicts = n;
	return 0;
}

bool sim_report_met(const struct sim_report *r)
{
	for (unsigned i = 0; i < r->nverdicts; i++)
		if (!r->verdicts[i].met)
			return false;
	return true;
}

static void put(json_t *o, const char *key, json_t *value)
{
	(void)json_object_set_new(o, key, value);
}

/* Text from outside may be no UTF-8: then it is left out. */
static json_t *text(const char *s)
{
	json_t *v = json_string(s);

	return v ? v : json_null();
}

static json_t *platform_json(const struct campaign_platform *p)
{
	return json_pack(
		"{s:I,s:I,s:s,s:I,s:b,s:{s:I,s:I,s:I,s:I,s:I}}", "cpus",
		(json_int_t)p->cpus, "run_queues", (json_int_t)p->run_queues,
		"preempt", preempt_names[p->preempt], "quantum_ns",
		(json_int_t)p->quantum, "admission", (int)p->admission,
		"overhead_ns", "decision", (json_int_t)p->overhead.decision,
		"context", (json_int_t)p->overhead.context, "migration",
		(json_int_t)p->overhead.migration, "release",
		(json_int_t)p->overhead.release, "lock",
		(json_int_t)p->overhead.lock);
}

json_t *sim_report_trace_header(const struct simulation_cfg *cfg,
				const char *scheduler, uint64_t seed)
{
	const struct campaign_platform *p = &cfg->platform;
	json_t *o = json_object();

	put(o, "program", text("codec-sim"));
	put(o, "version", text(CR_VERSION));
	put(o, "scheduler", text(cfg->ops->name));
	put(o, "options", text(scheduler));
	put(o, "seed", json_integer((json_int_t)seed));
	put(o, "duration_ns", json_integer(cfg->duration));
	put(o, "workers", json_integer(p->cpus));
	put(o, "cpus_per_rq",
	    json_integer((p->cpus + p->run_queues - 1) / p->run_queues));
	put(o, "platform", platform_json(p));
	put(o, "live", json_false());
	return o;
}

static json_t *flows_json(const struct sim_report *r)
{
	const struct campaign *c = r->cfg->plan->campaign;
	json_t *list = json_array();

	for (unsigned i = 0; i < c->flow_count; i++) {
		json_t *t = flow_stats_json(&r->result->flows[i]);

		put(t, "flow", text(c->flows[i].name));
		(void)json_array_append_new(list, t);
	}
	return list;
}

static json_t *cpus_json(const struct simulation_result *r)
{
	json_t *list = json_array();

	for (unsigned i = 0; i < r->ncpu; i++) {
		const struct sim_cpu_stats *c = &r->cpu[i];

		(void)json_array_append_new(
			list,
			json_pack("{s:I,s:I,s:I,s:I,s:I,s:I,s:f}", "busy_ns",
				  (json_int_t)c->busy, "overhead_ns",
				  (json_int_t)c->overhead, "picks",
				  (json_int_t)c->picks, "switches",
				  (json_int_t)c->switches, "migrations",
				  (json_int_t)c->migrations, "preemptions",
				  (json_int_t)c->preemptions, "busy",
				  r->end ? (double)c->busy / (double)r->end
					 : 0.0));
	}
	return list;
}

static json_t *verdicts_json(const struct sim_report *r)
{
	json_t *list = json_array();

	for (unsigned i = 0; i < r->nverdicts; i++) {
		const struct sim_verdict *v = &r->verdicts[i];

		(void)json_array_append_new(
			list,
			json_pack("{s:s?,s:s,s:s,s:s,s:I,s:b}", "flow", v->flow,
				  "metric", campaign_metric_name(v->metric),
				  "expect", v->expect->text, "unit",
				  campaign_metric_is_time(v->metric) ? "ns"
								     : "ppm",
				  "value", (json_int_t)v->value, "met",
				  (int)v->met));
	}
	return list;
}

static json_t *command_json(const struct sim_report *r)
{
	json_t *list = json_array();

	for (int i = 0; i < r->argc; i++)
		(void)json_array_append_new(list, text(r->argv[i]));
	return list;
}

json_t *sim_report_json(const struct sim_report *r)
{
	const struct campaign *c = r->cfg->plan->campaign;
	const struct simulation_result *result = r->result;
	json_t *j = json_object();

	put(j, "program", text("codec-sim"));
	put(j, "version", text(CR_VERSION));
	put(j, "command", command_json(r));
	put(j, "campaign",
	    json_pack("{s:o,s:o}", "path", text(c->path), "text",
		      text(c->text)));
	put(j, "seed", json_integer((json_int_t)r->seed));
	put(j, "duration_ns", json_integer(r->cfg->duration));
	put(j, "end_ns", json_integer(result->end));
	put(j, "interrupted", json_boolean(result->interrupted));
	put(j, "refusal",
	    result->refusal[0] ? text(result->refusal) : json_null());
	put(j, "scheduler", text(r->scheduler));
	put(j, "platform", platform_json(&r->cfg->platform));
	put(j, "flows", flows_json(r));
	put(j, "total", flow_stats_json(result->total));
	put(j, "cpus", cpus_json(result));
	put(j, "expectations", verdicts_json(r));
	put(j, "seconds", json_real(r->seconds));
	return j;
}
