/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An analysis for people and as JSON.
 */
#include <inttypes.h>
#include <math.h>

#include "run/json.h"
#include "sim/analyse.h"

static const struct {
	const char *key, *text, *relation;
} constraints[] = {
	{ "hard_of_a_cpu", "hard tasks of the fullest CPU", "<=" },
	{ "reserved", "hard tasks, soft and best-effort servers", "<=" },
	{ "largest_server", "share of the largest server", "<" },
	{ "mean_over_budget", "mean cost over budget", "<" },
};

/* "12.345", or "none" for what has no bound. */
static const char *ms(double ns, char *buf, size_t size)
{
	if (isinf(ns))
		(void)snprintf(buf, size, "none");
	else
		(void)snprintf(buf, size, "%.3f", ns / 1e6);
	return buf;
}

static void constraint_lines(const struct hsb_report *r, FILE *f)
{
	for (unsigned i = 0; i < 4; i++) {
		const struct hsb_constraint *c = &r->constraint[i];

		if (isinf(c->limit))
			(void)fprintf(f,
				      "met    %u: %s: %.4f, no limit on one "
				      "CPU\n",
				      i + 1, constraints[i].text, c->value);
		else
			(void)fprintf(f, "%s %u: %s: %.4f %s %.4f\n",
				      c->met ? "met   " : "BROKEN", i + 1,
				      constraints[i].text, c->value,
				      constraints[i].relation, c->limit);
	}
}

static void hard_line(const struct campaign_flow *flow,
		      const struct hsb_flow *h, bool met, FILE *f)
{
	(void)fprintf(f,
		      "%-14s %-5s %8" PRIu64 " %9.3f %9.3f %9.3f %11s %11s "
		      "%10s %6s %9s\n",
		      flow->name, "hard", h->count, h->period / 1e6,
		      h->worst / 1e6, h->worst / 1e6, met ? "0.000" : "none",
		      "", met ? "0.000" : "none", "", "");
}

static void soft_line(const struct analysis *a,
		      const struct campaign_flow *flow, size_t i, FILE *f)
{
	const struct hsb_flow *s = &a->soft[i];
	struct hsb_bound b = hsb_bound_of(&a->system, &a->report, i);
	char one[32], two[32], sum[32], frames[32], buffer[32];

	(void)snprintf(frames, sizeof(frames), "%.0f", b.frames);
	(void)fprintf(f,
		      "%-14s %-5s %8" PRIu64 " %9.3f %9.3f %9.3f %11s %11s "
		      "%10s %6s %9s\n",
		      flow->name, "soft", s->count, s->period / 1e6,
		      s->mean / 1e6, s->budget / 1e6,
		      ms(b.deterministic, one, sizeof(one)),
		      ms(b.stochastic, two, sizeof(two)),
		      ms(b.lateness, sum, sizeof(sum)),
		      isinf(b.frames) ? "none" : frames,
		      ms(b.buffer, buffer, sizeof(buffer)));
}

static void flow_lines(const struct analysis *a, FILE *f)
{
	const struct campaign *c = a->campaign;
	size_t hard = 0, soft = 0;

	(void)fprintf(f, "%-14s %-5s %8s %9s %9s %9s %11s %11s %10s %6s %9s\n",
		      "flow (ms)", "class", "calls", "period", "cost", "budget",
		      "server late", "job late", "behind D", "frames",
		      "buffer");
	for (unsigned i = 0; i < c->flow_count; i++) {
		const struct campaign_flow *flow = &c->flows[i];

		if (flow->terms.cls == CR_HARD)
			hard_line(flow, &a->hard[hard++],
				  a->report.constraint[0].met, f);
		else if (flow->terms.cls == CR_SOFT)
			soft_line(a, flow, soft++, f);
	}
}

void analysis_table(const struct analysis *a, FILE *f)
{
	const struct hsb_best_effort *be = &a->system.be;

	(void)fprintf(f, "%s on %u CPUs: %s\n", HSB_POLICY, a->system.ncpu,
		      a->report.schedulable ? "schedulable"
					    : "NOT schedulable");
	constraint_lines(&a->report, f);
	(void)fprintf(f,
		      "best effort: %" PRIu64 " servers of %.3f ms every "
		      "%.3f ms, %.3f CPUs\n",
		      be->servers, be->servers ? be->budget / 1e6 : 0.0,
		      be->period / 1e6, a->report.be_throughput);
	flow_lines(a, f);
	if (a->platform->preempt == 0) /* SIM_FRAME */
		(void)fprintf(f, "note: the bounds are for preempt: full; a "
				 "frame that is not cut can delay others by "
				 "its length\n");
}

/* --- JSON --- */

static json_t *real(double x)
{
	return isfinite(x) ? json_real(x) : json_null();
}

static json_t *constraint_json(const struct hsb_constraint *c)
{
	json_t *o = json_object();

	run_put(o, "value", real(c->value));
	run_put(o, "limit", real(c->limit));
	run_put(o, "met", json_boolean(c->met));
	return o;
}

static json_t *flow_json(const struct campaign_flow *flow,
			 const struct hsb_flow *x)
{
	json_t *o = json_object();

	run_put_text(o, "flow", flow->name);
	run_put_text(o, "class", flow->terms.cls == CR_HARD ? "hard" : "soft");
	run_put_int(o, "calls", (int64_t)x->count);
	run_put(o, "period_ns", real(x->period));
	if (flow->terms.cls == CR_HARD) {
		run_put(o, "worst_ns", real(x->worst));
		return o;
	}
	run_put(o, "mean_ns", real(x->mean));
	run_put(o, "sd_ns", real(x->sd));
	run_put(o, "budget_ns", real(x->budget));
	return o;
}

static void put_bound(json_t *o, const struct hsb_bound *b)
{
	run_put(o, "server_tardiness_ns", real(b->deterministic));
	run_put(o, "stochastic_tardiness_ns", real(b->stochastic));
	run_put(o, "tardiness_ns", real(b->tardiness));
	run_put(o, "lateness_ns", real(b->lateness));
	run_put(o, "buffer_frames", real(b->frames));
	run_put(o, "buffer_ns", real(b->buffer));
}

static json_t *flows_json(const struct analysis *a)
{
	const struct campaign *c = a->campaign;
	json_t *list = json_array();
	size_t hard = 0, soft = 0;

	for (unsigned i = 0; i < c->flow_count; i++) {
		const struct campaign_flow *flow = &c->flows[i];
		json_t *o;

		if (flow->terms.cls == CR_BE)
			continue;
		if (flow->terms.cls == CR_HARD) {
			o = flow_json(flow, &a->hard[hard++]);
		} else {
			struct hsb_bound b =
				hsb_bound_of(&a->system, &a->report, soft);

			o = flow_json(flow, &a->soft[soft++]);
			put_bound(o, &b);
		}
		(void)json_array_append_new(list, o);
	}
	return list;
}

json_t *analysis_json(const struct analysis *a)
{
	json_t *o = json_object(), *list = json_object();

	run_put_text(o, "analysis", HSB_POLICY);
	run_put_text(o, "campaign", a->campaign->path);
	run_put_int(o, "cpus", a->system.ncpu);
	run_put(o, "schedulable", json_boolean(a->report.schedulable));
	for (unsigned i = 0; i < 4; i++)
		run_put(list, constraints[i].key,
			constraint_json(&a->report.constraint[i]));
	run_put(o, "constraints", list);
	run_put(o, "best_effort_cpus", real(a->report.be_throughput));
	run_put(o, "flows", flows_json(a));
	return o;
}
