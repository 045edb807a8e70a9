/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From a campaign to the tasks of the theory. Analysable is what comes a period
 * apart; where it comes with jitter, early jobs wait for their server, so that
 * the jitter is added to lateness.
 */
#include "sim/analyse.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "base/field.h"
#include "run/run.h"
#include "sim/arrival.h"

static int64_t jitter_of(const struct campaign_flow *f)
{
	return f->arrival.kind == ARRIVAL_PLAN ? f->network.jitter : 0;
}

/* Why the theory says nothing about @f, or NULL. */
static const char *obstacle_of(const struct campaign_flow *f, uint64_t count)
{
	switch (f->arrival.kind) {
	case ARRIVAL_PLAN:
	case ARRIVAL_PERIODIC:
	case ARRIVAL_CLOSED:
		break;
	default:
		return "its jobs do not come one a period; use arrival: "
		       "{model: periodic}, or class: best-effort";
	}
	if (f->start.poisson.of_hold)
		return "its calls come at random; give count and calls per "
		       "second";
	if (!count)
		return "nobody knows how many calls there are at a time; give "
		       "count";
	if (f->terms.cls == CR_HARD && jitter_of(f) > 0)
		return "a hard task's jobs must be a period apart; leave the "
		       "jitter away, or use class: soft";
	if (f->drift.most > 0)
		return "a clock that is fast brings more than one job a "
		       "period; leave drift away";
	return NULL;
}

static struct hsb_flow hsb_flow_of(const struct campaign_flow *f,
				   const struct cost_model *m, uint64_t count)
{
	const struct core_terms declared = declare(f, m);
	struct cr_task t = { 0 };

	core_set_terms(&t, &declared);
	return (struct hsb_flow){
		.count = count,
		.period = (double)f->ptime,
		.deadline = (double)(f->terms.deadline - jitter_of(f)),
		.worst = (double)cr_task_worst(&t),
		.mean = (double)t.cost.mean,
		.sd = sqrt((double)t.cost.variance_ns2),
	};
}

static int take_flows(struct analysis *a, struct cr_err *e)
{
	const struct campaign *c = a->campaign;

	a->hard = calloc(c->flow_count, sizeof(*a->hard));
	a->soft = calloc(c->flow_count, sizeof(*a->soft));
	if (!a->hard || !a->soft)
		return cr_fail(e, -ENOMEM, "out of memory");
	for (unsigned i = 0; i < c->flow_count; i++) {
		const struct campaign_flow *f = &c->flows[i];
		uint64_t count = a->models->counts[i];
		struct hsb_flow flow;
		const char *why;

		if (f->terms.cls == CR_BE)
			continue;
		why = obstacle_of(f, count);
		if (why)
			return cr_fail(e, -EINVAL,
				       "%s:%u: flow %s cannot be analysed: %s",
				       c->path, f->line, f->name, why);
		flow = hsb_flow_of(f, &a->models->costs[i], count);
		if (f->terms.cls == CR_HARD)
			a->hard[a->system.nhard++] = flow;
		else
			a->soft[a->system.nsoft++] = flow;
	}
	a->system.hard = a->hard;
	a->system.soft = a->soft;
	return 0;
}

int analysis_make(struct analysis *a, const struct campaign *c,
		  const struct campaign_platform *p, const struct sim_models *m,
		  const char *options, struct cr_err *e)
{
	int rc;

	*a = (struct analysis){ .campaign = c, .platform = p, .models = m };
	options_defaults(hsb_options, &a->opts);
	rc = options_parse(hsb_options, &a->opts, options, e);
	if (rc)
		return rc;
	if (p->run_queues > 1)
		return cr_fail(e, -EINVAL,
			       "the analysis is of one run queue, the campaign "
			       "has %lld: use --run-queues global",
			       (long long)p->run_queues);
	a->system.ncpu = (unsigned)p->cpus;
	a->system.be = hsb_best_effort_of(&a->opts, a->system.ncpu);
	rc = take_flows(a, e);
	if (rc)
		return rc;
	if (!a->opts.budget)
		(void)hsb_budgets(&a->system, (double)a->opts.epsilon / 1e6);
	for (size_t i = 0; a->opts.budget && i < a->system.nsoft; i++)
		a->soft[i].budget =
			fmin(a->soft[i].mean * ((double)a->opts.budget / 1e6),
			     a->soft[i].period);
	a->report = hsb_analyse(&a->system);
	return 0;
}

void analysis_fini(struct analysis *a)
{
	free(a->hard);
	free(a->soft);
	*a = (struct analysis){ 0 };
}

/* --- for people, and as JSON --- */

static const struct {
	const char *key, *text, *relation;
} constraints[] = {
	{ "hard_of_a_cpu", "hard tasks of the fullest CPU", "<=" },
	{ "reserved", "hard tasks, soft and best-effort servers", "<=" },
	{ "largest_server", "share of the largest server", "<" },
	{ "mean_over_budget", "mean cost over budget", "<" },
};

/* "12.345", or "none" for what has no bound. */
static const char *format_ms(double ns, char *buf, size_t size)
{
	if (isinf(ns))
		(void)snprintf(buf, size, "none");
	else
		(void)snprintf(buf, size, "%.3f", ns / 1e6);
	return buf;
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
		      format_ms(b.deterministic, one, sizeof(one)),
		      format_ms(b.stochastic, two, sizeof(two)),
		      format_ms(b.lateness, sum, sizeof(sum)),
		      isinf(b.frames) ? "none" : frames,
		      format_ms(b.buffer, buffer, sizeof(buffer)));
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
	for (unsigned i = 0; i < 4; i++) {
		const struct hsb_constraint *c = &a->report.constraint[i];

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

static json_t *real_or_null(double x)
{
	return isfinite(x) ? json_real(x) : json_null();
}

static json_t *analysed_flow_json(const struct campaign_flow *flow,
				  const struct hsb_flow *x)
{
	json_t *o = json_object();

	run_put_text(o, "flow", flow->name);
	run_put_text(o, "class", flow->terms.cls == CR_HARD ? "hard" : "soft");
	run_put_int(o, "calls", (int64_t)x->count);
	run_put(o, "period_ns", real_or_null(x->period));
	if (flow->terms.cls == CR_HARD) {
		run_put(o, "worst_ns", real_or_null(x->worst));
		return o;
	}
	run_put(o, "mean_ns", real_or_null(x->mean));
	run_put(o, "sd_ns", real_or_null(x->sd));
	run_put(o, "budget_ns", real_or_null(x->budget));
	return o;
}

static json_t *analysed_flows_json(const struct analysis *a)
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
			o = analysed_flow_json(flow, &a->hard[hard++]);
		} else {
			struct hsb_bound b =
				hsb_bound_of(&a->system, &a->report, soft);

			o = analysed_flow_json(flow, &a->soft[soft++]);
			run_put(o, "server_tardiness_ns",
				real_or_null(b.deterministic));
			run_put(o, "stochastic_tardiness_ns",
				real_or_null(b.stochastic));
			run_put(o, "tardiness_ns", real_or_null(b.tardiness));
			run_put(o, "lateness_ns", real_or_null(b.lateness));
			run_put(o, "buffer_frames", real_or_null(b.frames));
			run_put(o, "buffer_ns", real_or_null(b.buffer));
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
	for (unsigned i = 0; i < 4; i++) {
		const struct hsb_constraint *c = &a->report.constraint[i];
		json_t *one = json_object();

		run_put(one, "value", real_or_null(c->value));
		run_put(one, "limit", real_or_null(c->limit));
		run_put(one, "met", json_boolean(c->met));
		run_put(list, constraints[i].key, one);
	}
	run_put(o, "constraints", list);
	run_put(o, "best_effort_cpus", real_or_null(a->report.be_throughput));
	run_put(o, "flows", analysed_flows_json(a));
	return o;
}
