/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The run folder: its name, run.json and calls.csv. The trace is written as it
 * happens.
 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "run/folder.h"
#include "sim/report.h"

static void write_call(FILE *f, const struct sim_report *r, size_t i)
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

static int write_calls(const struct sim_report *r, const char *dir,
		       struct cr_err *e)
{
	struct run_file file;
	int rc = run_file_open(&file, dir, "calls.csv", e);

	if (rc)
		return rc;
	(void)fprintf(file.f,
		      "call,flow,index,codec_in,codec_out,start_s,drift_ppm,"
		      "jobs,done,"
		      "late,missed,overwritten,expired,shed,left,delay_mean_ms,"
		      "delay_max_ms,unbuffered,violations,unreceived\n");
	for (size_t i = 0; i < r->cfg->plan->count; i++)
		if (r->result->calls[i].admitted)
			write_call(file.f, r, i);
	return run_file_close(&file, e);
}

int sim_report_write(const struct sim_report *r, const char *dir,
		     struct cr_err *e)
{
	json_t *j = sim_report_json(r);
	int rc = run_folder_write(dir, j, e);

	json_decref(j);
	return rc ? rc : write_calls(r, dir, e);
}

/* What a scheduler's options may be told with in a file name. */
static bool is_plain(char c)
{
	return strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123"
		      "456789=._-",
		      c) != NULL;
}

/* campaigns/player/names.py has the same rule. */
void sim_folder_name(const char *scheduler, char name[RUN_PATH_MAX])
{
	(void)snprintf(name, RUN_PATH_MAX, "%s",
		       scheduler + strspn(scheduler, "./"));
	for (char *s = name; *s; s++)
		if (!is_plain(*s))
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
