/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The result for people.
 */
#include <inttypes.h>

#include "base/units.h"
#include "sim/report.h"

/* CPUs or receivers that get a line each. */
#define CPU_LINES 16u

static double ms(cr_ns t)
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
		      flow_stats_lost(s), ms(histogram_mean(&s->delay)),
		      ms(histogram_quantile(&s->delay, 990000)),
		      ms(histogram_max(&s->delay)));
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
			  const struct receiver_stats *s, cr_ns time)
{
	double packets = s->packets ? (double)s->packets : 1;

	(void)fprintf(f,
		      "%-14s %6.2f%% %10" PRIu64 " %10" PRIu64 " %10" PRIu64
		      " %8" PRIu64 " %9.3f %9.3f\n",
		      name, 100 * (double)s->busy / (double)(time ? time : 1),
		      s->packets, s->dropped, s->wakes, s->longest,
		      ms(s->wait) / packets, ms(s->wait_max));
}

static void receiver_lines(const struct simulation_result *r, FILE *f)
{
	struct receiver_stats sum = { 0 };
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
static void notes(const struct sim_report *r, FILE *f)
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
	notes(r, f);
}
