/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The run folder: run.json and calls.csv. The trace is written as it happens.
 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "sim/report.h"

static int open_in(const char *dir, const char *name, FILE **f,
		   struct cr_err *e)
{
	char path[4096];

	(void)snprintf(path, sizeof(path), "%s/%s", dir, name);
	*f = fopen(path, "w");
	return *f ? 0 : cr_fail(e, -errno, "%s: %s", path, strerror(errno));
}

static int close_in(FILE *f, const char *dir, const char *name,
		    struct cr_err *e)
{
	int bad = ferror(f);

	if (fclose(f) || bad)
		return cr_fail(e, -EIO, "%s/%s: cannot be written (disk full?)",
			       dir, name);
	return 0;
}

static void write_call(FILE *f, const struct sim_report *r, size_t i)
{
	const struct plan_call *p = &r->cfg->plan->calls[i];
	const struct campaign_flow *flow =
		&r->cfg->plan->campaign->flows[p->flow];
	const struct call_sum *c = &r->result->calls[i];
	double done = c->done ? (double)c->done : 1;

	(void)fprintf(
		f,
		"%zu,%s,%u,%s,%s,%.6f,%" PRIu64 ",%" PRIu64 ",%" PRIu64
		",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%.6f,%.6f\n",
		i + 1, flow->name, p->index,
		flow->synthetic ? flow->name : flow->in.codec->name,
		flow->synthetic ? "synthetic" : flow->out.codec->name,
		(double)p->start / 1e9, c->jobs, c->done, c->late, c->missed,
		c->overwritten, c->stale, c->left,
		(double)c->delay / done / 1e6, (double)c->delay_max / 1e6);
}

static int write_calls(const struct sim_report *r, const char *dir,
		       struct cr_err *e)
{
	FILE *f;
	int rc = open_in(dir, "calls.csv", &f, e);

	if (rc)
		return rc;
	(void)fprintf(f, "call,flow,index,codec_in,codec_out,start_s,jobs,done,"
			 "late,missed,overwritten,stale,left,delay_mean_ms,"
			 "delay_max_ms\n");
	for (size_t i = 0; i < r->cfg->plan->count; i++)
		if (r->result->calls[i].admitted)
			write_call(f, r, i);
	return close_in(f, dir, "calls.csv", e);
}

int sim_report_write(const struct sim_report *r, const char *dir,
		     struct cr_err *e)
{
	json_t *j = sim_report_json(r);
	FILE *f;
	int rc = open_in(dir, "run.json", &f, e);

	if (!rc) {
		(void)json_dumpf(j, f, JSON_INDENT(1));
		(void)fputc('\n', f);
		rc = close_in(f, dir, "run.json", e);
	}
	json_decref(j);
	return rc ? rc : write_calls(r, dir, e);
}
