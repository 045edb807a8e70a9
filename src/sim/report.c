/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Expectations judged, the result as JSON, and the trace that is written on the
 * way.
 */
#include "sim/report.h"

#include <stdlib.h>
#include <string.h>

#include "codecs/kernels/kernels.h"
#include "run/json.h"
#include "schedulers/registry.h"

static const char *const preempt_names[] = { "frame", "quantum", "full" };

static int64_t metric(const void *arg, int flow, enum campaign_metric m)
{
	const struct simulation_result *r = arg;

	return flow_stats_metric(
		flow == VERDICT_WHOLE_RUN ? r->total : &r->flows[flow], m);
}

int sim_report_judge(struct sim_report *r, struct cr_err *e)
{
	return verdicts_judge(r->cfg->plan->campaign, metric, r->result,
			      &r->verdicts, e);
}

static json_t *platform_json(const struct campaign_platform *p)
{
	const struct campaign_receivers *r = &p->receivers;
	json_t *o = json_pack(
		"{s:I,s:I,s:s,s:I,s:b,s:{s:I,s:I,s:I,s:I,s:I}}", "cpus",
		(json_int_t)p->cpus, "run_queues", (json_int_t)p->run_queues,
		"preempt", preempt_names[p->preempt], "quantum_ns",
		(json_int_t)p->quantum, "admission", (int)p->admission,
		"overhead_ns", "decision", (json_int_t)p->overhead.decision,
		"context", (json_int_t)p->overhead.context, "migration",
		(json_int_t)p->overhead.migration, "release",
		(json_int_t)p->overhead.release, "lock",
		(json_int_t)p->overhead.lock);

	if (p->shed != SHED_AGE) {
		run_put_text(o, "shed", shed_names[p->shed]);
		run_put_int(o, "shed_wait_ns", p->shed_wait);
	}
	if (r->count)
		run_put(o, "receivers",
			json_pack("{s:I,s:I,s:I,s:I}", "count",
				  (json_int_t)r->count, "cost_ns",
				  (json_int_t)r->cost, "wake_ns",
				  (json_int_t)r->wake, "waiting",
				  (json_int_t)r->waiting));
	return o;
}

static json_t *trace_header(const struct sim_report *r)
{
	const struct campaign_platform *p = &r->cfg->platform;
	json_t *o = json_object();

	run_put_text(o, "program", "codec-sim");
	run_put_text(o, "version", CR_VERSION);
	run_put_text(o, "scheduler", r->cfg->ops->name);
	run_put_text(o, "options", r->scheduler);
	run_put_int(o, "seed", (int64_t)r->seed);
	run_put_int(o, "duration_ns", r->cfg->duration);
	run_put_int(o, "workers", p->cpus);
	run_put_int(o, "max_age_ns",
		    p->max_age == CR_NEVER	      ? 0
		    : p->max_age == CAMPAIGN_AGE_AUTO ? -1
						      : p->max_age);
	run_put_text(o, "shed", shed_names[p->shed]);
	run_put_int(o, "shed_wait_ns", p->shed_wait);
	run_put_int(o, "cpus_per_rq", campaign_cpus_per_rq(p));
	run_put(o, "platform", platform_json(p));
	run_put(o, "live", json_false());
	return o;
}

int sim_trace_open(const struct sim_report *r, const char *path,
		   struct trace_file *t, struct cr_err *e)
{
	json_t *head;
	char *text;
	int rc = trace_file_create(t, path, TRACE_OVER_PIPE, e);

	if (rc)
		return rc;
	head = trace_header(r);
	text = json_dumps(head, JSON_COMPACT | JSON_SORT_KEYS);
	rc = trace_file_header(t, text, 0, e);
	free(text);
	json_decref(head);
	if (rc)
		trace_file_close(t);
	return rc;
}

int sim_trace_close(struct trace_file *t, struct cr_err *e)
{
	trace_file_close(t);
	if (!t->error)
		return 0;
	return cr_fail(e, -t->error, "the trace cannot be written: %s",
		       strerror(t->error));
}

static json_t *flows_json(const struct sim_report *r)
{
	const struct campaign *c = r->cfg->plan->campaign;
	json_t *list = json_array();

	for (unsigned i = 0; i < c->flow_count; i++) {
		json_t *t = flow_stats_json(&r->result->flows[i]);

		run_put_text(t, "flow", c->flows[i].name);
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

static json_t *receiver_json(const struct receiver_stats *s, cr_ns time)
{
	json_t *o = json_object();

	run_put_int(o, "packets", (int64_t)s->packets);
	run_put_int(o, "dropped", (int64_t)s->dropped);
	run_put_int(o, "wakes", (int64_t)s->wakes);
	run_put_int(o, "longest", (int64_t)s->longest);
	run_put_int(o, "busy_ns", s->busy);
	run_put_int(o, "wait_ns", s->wait);
	run_put_int(o, "wait_max_ns", s->wait_max);
	run_put(o, "busy",
		json_real(time ? (double)s->busy / (double)time : 0));
	return o;
}

static json_t *receivers_json(const struct simulation_result *r)
{
	json_t *list = json_array();

	for (unsigned i = 0; i < r->nreceivers; i++)
		(void)json_array_append_new(
			list, receiver_json(&r->receiver[i], r->end));
	return list;
}

/* The codec kernels that costs were measured with; NULL: none were. */
static const char *kernels(const struct campaign *c)
{
	for (unsigned i = 0; i < c->flow_count; i++)
		if (c->flows[i].cost.kind == COST_MEASURED)
			return cr_kernels_names[cr_kernels_active()];
	return NULL;
}

void sim_report_name(const struct sim_report *r, char *name, size_t size)
{
	const struct simulation_fault *f = &r->result->fault;

	if (f->count)
		(void)snprintf(name, size,
			       "%s, after %s broke its contract at %.1f s",
			       cr_sched_fallback->name, r->scheduler,
			       (double)f->at / 1e9);
	else
		(void)snprintf(name, size, "%s", r->scheduler);
}

json_t *sim_report_json(const struct sim_report *r)
{
	const struct simulation_result *result = r->result;
	const char *fault = result->fault.count ? result->fault.text : NULL;
	char name[RUN_PATH_MAX];
	json_t *j = run_head_json(&(struct run_head){
		.program = "codec-sim",
		.campaign = r->cfg->plan->campaign,
		.seed = r->seed,
		.duration = r->cfg->duration,
		.argc = r->argc,
		.argv = r->argv,
	});

	sim_report_name(r, name, sizeof(name));
	run_put_int(j, "end_ns", result->end);
	run_put(j, "interrupted", json_boolean(result->interrupted));
	run_put_text(j, "failure", r->failure);
	run_put_text(j, "scheduler_fault", fault);
	run_put_text(j, "refusal", result->refusal[0] ? result->refusal : NULL);
	run_put_text(j, "scheduler", name);
	run_put_text(j, "kernels", kernels(r->cfg->plan->campaign));
	run_put(j, "platform", platform_json(&r->cfg->platform));
	run_put(j, "flows", flows_json(r));
	run_put(j, "total", flow_stats_json(result->total));
	run_put(j, "cpus", cpus_json(result));
	if (result->nreceivers)
		run_put(j, "receivers", receivers_json(result));
	run_put(j, "expectations", verdicts_json(&r->verdicts));
	run_put(j, "seconds", json_real(r->seconds));
	return j;
}
