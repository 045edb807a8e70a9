/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From a campaign to the tasks of the theory. Analysable is what comes a period
 * apart; where it comes with jitter, early jobs wait for their server, so that
 * the jitter is added to lateness.
 */
#include "sim/analyse.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "base/options.h"
#include "sim/declared.h"

static int cannot(const struct campaign *c, const struct campaign_flow *f,
		  const char *why, struct cr_err *e)
{
	return cr_fail(e, -EINVAL, "%s:%u: flow %s cannot be analysed: %s",
		       c->path, f->line, f->name, why);
}

static int64_t jitter_of(const struct campaign_flow *f)
{
	if (f->arrival.kind == ARRIVAL_JITTERED)
		return f->arrival.jitter;
	return f->arrival.kind == ARRIVAL_PLAN ? f->network.jitter : 0;
}

/* Why the theory says nothing about @f, or NULL. */
static const char *obstacle(const struct campaign_flow *f, uint64_t count)
{
	switch (f->arrival.kind) {
	case ARRIVAL_PLAN:
	case ARRIVAL_PERIODIC:
	case ARRIVAL_JITTERED:
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

static struct hsb_flow flow_of(const struct campaign_flow *f,
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
		why = obstacle(f, count);
		if (why)
			return cannot(c, f, why, e);
		flow = flow_of(f, &a->models->costs[i], count);
		if (f->terms.cls == CR_HARD)
			a->hard[a->system.nhard++] = flow;
		else
			a->soft[a->system.nsoft++] = flow;
	}
	a->system.hard = a->hard;
	a->system.soft = a->soft;
	return 0;
}

static void set_budgets(struct analysis *a)
{
	double factor = (double)a->opts.budget / 1e6;

	if (!a->opts.budget) {
		(void)hsb_budgets(&a->system, (double)a->opts.epsilon / 1e6);
		return;
	}
	for (size_t i = 0; i < a->system.nsoft; i++)
		a->soft[i].budget =
			fmin(a->soft[i].mean * factor, a->soft[i].period);
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
	set_budgets(a);
	a->report = hsb_analyse(&a->system);
	return 0;
}

void analysis_fini(struct analysis *a)
{
	free(a->hard);
	free(a->soft);
	*a = (struct analysis){ 0 };
}
