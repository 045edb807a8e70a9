/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is left of a simulation: expectations judged, the result as JSON, the
 * trace that is written on the way, the run folder, and the table for people.
 */
#include "sim/sim_report.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "codecs/kernels/kernels.h"
#include "run/run.h"
#include "schedulers/registry.h"

static const char *const preempt_names[] = { "frame", "quantum", "full" };

/* One metric of a flow, in ppm or ns. */
static int64_t flow_stats_metric(const struct flow_stats *s,
				 enum campaign_metric m)
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

static json_t *flow_stats_json(const struct flow_stats *s)
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

static int64_t flow_metric_of(const void *arg, int flow, enum campaign_metric m)
{
	const struct simulation_result *r = arg;

	return flow_stats_metric(
		flow == VERDICT_WHOLE_RUN ? r->total : &r->flows[flow], m);
}

int sim_report_judge(struct sim_report *r, struct cr_err *e)
{
	return verdicts_judge(r->cfg->plan->campaign, flow_metric_of, r->result,
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

/* Of all calls, as a live run has it; 0: there is none, or flows differ. */
static uint32_t ring_of_all(const struct campaign *c)
{
	uint32_t ring = workload_ring(&c->flows[0]);

	for (unsigned i = 1; i < c->flow_count; i++)
		if (workload_ring(&c->flows[i]) != ring)
			return 0;
	return ring;
}

int sim_trace_open(const struct sim_report *r, const char *path,
		   struct trace_file *t, struct cr_err *e)
{
	const struct campaign_platform *p = &r->cfg->platform;
	char *text;
	json_t *o;
	int rc = trace_file_create(t, path, TRACE_OVER_PIPE, e);

	if (rc)
		return rc;
	o = json_object();
	run_put_text(o, "program", "codec-sim");
	run_put_text(o, "version", CR_VERSION);
	run_put_text(o, "scheduler", r->cfg->ops->name);
	run_put_text(o, "options", r->scheduler);
	run_put_int(o, "seed", (int64_t)r->seed);
	run_put_int(o, "duration_ns", r->cfg->duration);
	run_put_int(o, "workers", p->cpus);
	run_put_int(o, "ring_frames", ring_of_all(r->cfg->plan->campaign));
	run_put_int(o, "max_age_ns",
		    p->max_age == CR_NEVER	      ? 0
		    : p->max_age == CAMPAIGN_AGE_AUTO ? -1
						      : p->max_age);
	run_put_text(o, "shed", shed_names[p->shed]);
	run_put_int(o, "shed_wait_ns", p->shed_wait);
	run_put_int(o, "cpus_per_rq", campaign_cpus_per_rq(p));
	run_put(o, "platform", platform_json(p));
	run_put(o, "live", json_false());
	text = json_dumps(o, JSON_COMPACT | JSON_SORT_KEYS);
	rc = trace_file_header(t, text, 0, e);
	free(text);
	json_decref(o);
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

static json_t *report_flows_json(const struct sim_report *r)
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

static json_t *receivers_json(const struct simulation_result *r)
{
	json_t *list = json_array();

	for (unsigned i = 0; i < r->nreceivers; i++) {
		const struct sim_receiver_stats *s = &r->receiver[i];
		json_t *o = json_object();

		run_put_int(o, "packets", (int64_t)s->packets);
		run_put_int(o, "dropped", (int64_t)s->dropped);
		run_put_int(o, "wakes", (int64_t)s->wakes);
		run_put_int(o, "longest", (int64_t)s->longest);
		run_put_int(o, "busy_ns", s->busy);
		run_put_int(o, "wait_ns", s->wait);
		run_put_int(o, "wait_max_ns", s->wait_max);
		run_put(o, "busy",
			json_real(r->end ? (double)s->busy / (double)r->end
					 : 0));
		(void)json_array_append_new(list, o);
	}
	return list;
}

/* The codec kernels that costs were measured with; NULL: none were. */
static const char *kernels_of(const struct campaign *c)
{
	for (unsigned i = 0; i < c->flow_count; i++)
		if (c->flows[i].cost.kind == COST_MEASURED)
			return cr_kernels_names[cr_kernels_active()];
	return NULL;
}

/* Name the scheduler of the result: @r's; or, if it broke its contract and
 * another took over, "fifo, after ./x.so broke its contract at 3.2 s". */
static void sim_report_name(const struct sim_report *r, char *name, size_t size)
{
	const struct simulation_fault *f = &r->result->fault;

	if (f->count && !r->failure)
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
	run_put_text(j, "kernels", kernels_of(r->cfg->plan->campaign));
	run_put(j, "platform", platform_json(&r->cfg->platform));
	run_put(j, "flows", report_flows_json(r));
	run_put(j, "total", flow_stats_json(result->total));
	run_put(j, "cpus", cpus_json(result));
	if (result->nreceivers)
		run_put(j, "receivers", receivers_json(result));
	run_put(j, "expectations", verdicts_json(&r->verdicts));
	run_put(j, "seconds", json_real(r->seconds));
	return j;
}

/* --- the run folder: its name, run.json and streams.csv --- */

static void write_stream_row(FILE *f, const struct sim_report *r, size_t i)
{
	const struct plan_call *p = &r->cfg->plan->calls[i];
	const struct campaign_flow *flow =
		&r->cfg->plan->campaign->flows[p->flow];
	const struct call_sum *c = &r->result->calls[i];
	double done = c->done ? (double)c->done : 1;

	(void)fprintf(
		f,
		"%u,%s,%u,%s,%s,%.6f,%" PRId64 ",%" PRIu64 ",%" PRIu64
		",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64
		",%" PRIu64 ",%.6f,%.6f,%" PRIu64 ",%" PRIu64 ",%" PRIu64 "\n",
		PLAN_CALL_ID(r->cfg->plan, i), flow->name, p->index,
		flow->synthetic ? flow->name : flow->in.codec->name,
		flow->synthetic ? "synthetic" : flow->out.codec->name,
		(double)p->start / 1e9, p->drift, c->jobs, c->done, c->late,
		c->missed, c->overwritten, c->expired, c->shed, c->left,
		(double)c->delay / done / 1e6, (double)c->delay_max / 1e6,
		c->unbuffered, c->violations, c->unreceived);
}

int sim_report_write(const struct sim_report *r, const char *dir,
		     struct cr_err *e)
{
	json_t *j = sim_report_json(r);
	int rc = run_folder_write(dir, j, e);
	struct run_file file;

	json_decref(j);
	if (rc)
		return rc;
	rc = run_file_open(&file, dir, "streams.csv", e);
	if (rc)
		return rc;
	(void)fprintf(file.f,
		      "stream,flow,index,codec_in,codec_out,start_s,drift_ppm,"
		      "jobs,done,"
		      "late,missed,overwritten,expired,shed,left,delay_mean_ms,"
		      "delay_max_ms,unbuffered,violations,unreceived\n");
	for (size_t i = 0; i < r->cfg->plan->count; i++)
		if (r->result->calls[i].admitted)
			write_stream_row(file.f, r, i);
	return run_file_close(&file, e);
}

/* campaigns/player/names.py has the same rule. */
void sim_folder_name(const char *scheduler, char name[RUN_PATH_MAX])
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyz"
				    "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
				    "0123456789=._-";

	(void)snprintf(name, RUN_PATH_MAX, "%s",
		       scheduler + strspn(scheduler, "./"));
	for (char *s = name; *(s += strspn(s, plain));)
		*s = '_';
}

int sim_folder_make(const char *out, const char *scheduler,
		    char dir[RUN_PATH_MAX], struct cr_err *e)
{
	char name[RUN_PATH_MAX] = "";
	int n, rc;

	if (scheduler)
		sim_folder_name(scheduler, name);
	n = snprintf(dir, RUN_PATH_MAX, "%s%s%s", out, scheduler ? "/" : "",
		     name);
	if (n < 0 || n >= (int)RUN_PATH_MAX)
		return cr_fail(e, -ENAMETOOLONG, "%s: %s", out,
			       strerror(ENAMETOOLONG));
	rc = run_folder_make(out, e);
	return rc || !scheduler ? rc : run_folder_make(dir, e);
}

/* --- the result for people --- */

/* CPUs or receivers that get a line each. */
#define CPU_LINES 16u

static double in_ms(cr_ns t)
{
	return (double)t / 1e6;
}

static void flow_line(FILE *f, const char *name, const struct flow_stats *s)
{
	char late[UNITS_TEXT], missed[UNITS_TEXT];

	(void)fprintf(f,
		      "%-14s %6" PRIu64 " %6" PRIu64 " %9" PRIu64 " %9" PRIu64
		      " %8s %8s %7" PRIu64 " %9.3f %9.3f %9.3f\n",
		      name, s->admitted, s->refused, s->jobs, s->done,
		      units_format_ppm(flow_stats_metric(s, METRIC_LATE), late,
				       sizeof(late)),
		      units_format_ppm(flow_stats_metric(s, METRIC_MISSED),
				       missed, sizeof(missed)),
		      flow_stats_lost(s), in_ms(histogram_mean(&s->delay)),
		      in_ms(histogram_quantile(&s->delay, 990000)),
		      in_ms(histogram_max(&s->delay)));
}

static void cpu_line(FILE *f, const char *name, const struct sim_cpu_stats *c,
		     cr_ns time)
{
	double whole = time ? (double)time : 1;

	(void)fprintf(f,
		      "%-14s %6.2f%% %8.2f%% %10" PRIu64 " %10" PRIu64
		      " %10" PRIu64 " %11" PRIu64 "\n",
		      name, 100 * (double)c->busy / whole,
		      100 * (double)c->overhead / whole, c->picks, c->switches,
		      c->migrations, c->preemptions);
}

static void cpu_lines(const struct simulation_result *r, FILE *f)
{
	struct sim_cpu_stats sum = { 0 };
	char name[16];

	(void)fprintf(f, "%-14s %7s %9s %10s %10s %10s %11s\n", "cpu", "busy",
		      "overhead", "picks", "switches", "migrations",
		      "preemptions");
	for (unsigned i = 0; i < r->ncpu; i++) {
		const struct sim_cpu_stats *c = &r->cpu[i];

		sum.busy += c->busy;
		sum.overhead += c->overhead;
		sum.picks += c->picks;
		sum.switches += c->switches;
		sum.migrations += c->migrations;
		sum.preemptions += c->preemptions;
		(void)snprintf(name, sizeof(name), "%u", i);
		if (r->ncpu <= CPU_LINES)
			cpu_line(f, name, c, r->end);
	}
	if (r->ncpu > 1)
		cpu_line(f, "all", &sum, r->end * r->ncpu);
}

static void receiver_line(FILE *f, const char *name,
			  const struct sim_receiver_stats *s, cr_ns time)
{
	double packets = s->packets ? (double)s->packets : 1;

	(void)fprintf(f,
		      "%-14s %6.2f%% %10" PRIu64 " %10" PRIu64 " %10" PRIu64
		      " %8" PRIu64 " %9.3f %9.3f\n",
		      name, 100 * (double)s->busy / (double)(time ? time : 1),
		      s->packets, s->dropped, s->wakes, s->longest,
		      in_ms(s->wait) / packets, in_ms(s->wait_max));
}

static void receiver_lines(const struct simulation_result *r, FILE *f)
{
	struct sim_receiver_stats sum = { 0 };
	char name[16];

	if (!r->nreceivers)
		return;
	(void)fprintf(f, "%-14s %7s %10s %10s %10s %8s %9s %9s\n", "receiver",
		      "busy", "packets", "dropped", "wakes", "longest",
		      "wait ms", "max ms");
	for (unsigned i = 0; i < r->nreceivers; i++) {
		receiver_stats_merge(&sum, &r->receiver[i]);
		(void)snprintf(name, sizeof(name), "%u", i);
		if (r->nreceivers <= CPU_LINES)
			receiver_line(f, name, &r->receiver[i], r->end);
	}
	if (r->nreceivers > 1)
		receiver_line(f, "all", &sum, r->end * r->nreceivers);
}

/* Settings that are legal and seldom meant. */
static void print_notes(const struct sim_report *r, FILE *f)
{
	const struct campaign *c = r->cfg->plan->campaign;
	const struct campaign_platform *p = &r->cfg->platform;
	char quantum[UNITS_TEXT], period[UNITS_TEXT];

	if (r->result->refusal[0])
		(void)fprintf(f, "refused: %s\n", r->result->refusal);
	/* a scheduler may give up, too */
	if (p->shed != SHED_AGE || r->result->total->shed)
		(void)fprintf(f,
			      "shed (%s): %" PRIu64 " of %" PRIu64
			      " jobs lost were given up early\n",
			      shed_names[p->shed], r->result->total->shed,
			      flow_stats_lost(r->result->total));
	for (unsigned i = 0; i < c->flow_count; i++)
		if (p->preempt == SIM_QUANTUM && p->quantum > c->flows[i].ptime)
			(void)fprintf(f,
				      "note: quantum %s is longer than the "
				      "period of flow %s, %s: its calls wait "
				      "for whole jobs of others\n",
				      units_format_time(p->quantum, quantum,
							sizeof(quantum)),
				      c->flows[i].name,
				      units_format_time(c->flows[i].ptime,
							period,
							sizeof(period)));
}

void sim_report_table(const struct sim_report *r, FILE *f)
{
	const struct campaign *c = r->cfg->plan->campaign;
	const struct simulation_result *result = r->result;
	char name[RUN_PATH_MAX];

	sim_report_name(r, name, sizeof(name));
	(void)fprintf(f, "%s: %.3f s%s\n", name, (double)result->end / 1e9,
		      result->interrupted ? ", interrupted" : "");
	(void)fprintf(f, "%-14s %6s %6s %9s %9s %8s %8s %7s %9s %9s %9s\n",
		      "flow", "calls", "refus.", "jobs", "done", "late",
		      "missed", "lost", "mean ms", "p99 ms", "max ms");
	for (unsigned i = 0; i < c->flow_count; i++)
		flow_line(f, c->flows[i].name, &result->flows[i]);
	if (c->flow_count > 1)
		flow_line(f, "all", result->total);
	cpu_lines(result, f);
	receiver_lines(result, f);
	verdicts_print(&r->verdicts, c->path, f);
	print_notes(r, f);
}
