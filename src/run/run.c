/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The JSON that every run.json has, the files of a run, and verdicts.
 */
#include "run/run.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/units.h"

void run_put(json_t *o, const char *key, json_t *value)
{
	(void)json_object_set_new(o, key, value);
}

void run_put_int(json_t *o, const char *key, int64_t value)
{
	run_put(o, key, json_integer(value));
}

static json_t *text_or_null(const char *s)
{
	json_t *v = json_string(s);

	return v ? v : json_null();
}

void run_put_text(json_t *o, const char *key, const char *s)
{
	run_put(o, key, text_or_null(s));
}

static json_t *texts_json(int n, char *const *texts)
{
	json_t *list = json_array();

	for (int i = 0; i < n; i++)
		(void)json_array_append_new(list, text_or_null(texts[i]));
	return list;
}

json_t *run_head_json(const struct run_head *h)
{
	json_t *o = json_object(), *campaign = json_object();

	run_put_text(o, "program", h->program);
	run_put_text(o, "version", CR_VERSION);
	run_put(o, "command", texts_json(h->argc, h->argv));
	run_put_text(campaign, "path", h->campaign->path);
	run_put_text(campaign, "text", h->campaign->text);
	if (h->campaign->setting_count)
		run_put(campaign, "set",
			texts_json((int)h->campaign->setting_count,
				   h->campaign->settings));
	run_put(o, "campaign", campaign);
	run_put_int(o, "seed", (int64_t)h->seed);
	run_put_int(o, "duration_ns", h->duration);
	return o;
}

json_t *run_histogram_json(const struct histogram *h)
{
	struct histogram_summary s;

	histogram_summarise(h, &s);
	return json_pack("{s:I, s:I, s:I, s:I, s:I, s:I, s:I}", "count",
			 (json_int_t)s.count, "mean_ns", (json_int_t)s.mean,
			 "p50_ns", (json_int_t)s.p50, "p90_ns",
			 (json_int_t)s.p90, "p99_ns", (json_int_t)s.p99,
			 "p999_ns", (json_int_t)s.p999, "max_ns",
			 (json_int_t)s.max);
}

void run_json_print(const json_t *j, FILE *f)
{
	if (!j)
		return;
	(void)json_dumpf(j, f, JSON_INDENT(1));
	(void)fputc('\n', f);
}

/* --- files, written through stdio: one check at the end sees any error on
 * the way --- */

int run_folder_make(const char *dir, struct cr_err *e)
{
	char above[RUN_PATH_MAX];
	struct stat is;
	int n = snprintf(above, sizeof(above), "%s", dir);

	if (n < 0 || n >= (int)sizeof(above))
		return cr_fail(e, -ENAMETOOLONG, "%s: %s", dir,
			       strerror(ENAMETOOLONG));
	for (char *s = above + 1; n && (s = strchr(s, '/')); s++) {
		*s = '\0';
		if (mkdir(above, 0777) && errno != EEXIST)
			return cr_fail(e, -errno, "%s: %s", above,
				       strerror(errno));
		*s = '/';
	}
	if (mkdir(dir, 0777) == 0)
		return 0;
	if (errno != EEXIST || stat(dir, &is))
		return cr_fail(e, -errno, "%s: %s", dir, strerror(errno));
	if (!S_ISDIR(is.st_mode))
		return cr_fail(e, -ENOTDIR,
			       "%s: is there and no folder; name another", dir);
	return 0;
}

int run_file_open(struct run_file *file, const char *dir, const char *name,
		  struct cr_err *e)
{
	int n = snprintf(file->path, sizeof(file->path), "%s/%s", dir, name);

	if (n < 0 || (size_t)n >= sizeof(file->path))
		return cr_fail(e, -ENAMETOOLONG, "%s/%s: %s", dir, name,
			       strerror(ENAMETOOLONG));
	file->f = fopen(file->path, "w");
	return file->f ? 0
		       : cr_fail(e, -errno, "%s: %s", file->path,
				 strerror(errno));
}

int run_file_close(struct run_file *file, struct cr_err *e)
{
	int bad = ferror(file->f);

	bad |= fclose(file->f);
	file->f = NULL;
	return bad ? cr_fail(e, -EIO, "%s: cannot be written (disk full?)",
			     file->path)
		   : 0;
}

int run_folder_write(const char *dir, const json_t *j, struct cr_err *e)
{
	struct run_file file;
	int rc;

	if (!j)
		return cr_fail(e, -ENOMEM, "%s/run.json: out of memory", dir);
	rc = run_file_open(&file, dir, "run.json", e);
	if (rc)
		return rc;
	run_json_print(j, file.f);
	return run_file_close(&file, e);
}

/*
 * Metrics, which are shares in parts per million and quantiles of histograms,
 * and expectations against them. Who measured the run says what each metric
 * is; whether it is good enough is campaign_expect_met()'s.
 */

static int64_t rounded_up(struct run_share s)
{
	return s.whole ? (int64_t)((s.part * CR_PPM + s.whole - 1) / s.whole)
		       : 0;
}

static int64_t rounded_down(struct run_share s)
{
	return s.whole ? (int64_t)(s.part * CR_PPM / s.whole) : 0;
}

int64_t run_metric(const struct run_counts *c, enum campaign_metric m)
{
	switch (m) {
	case METRIC_LOSS:
		return rounded_up(c->lost);
	case METRIC_LATE:
		return rounded_up(c->late);
	case METRIC_MISSED:
		return rounded_up(c->missed);
	case METRIC_ADMITTED:
		return rounded_down(c->admitted);
	case METRIC_MEAN_DELAY:
		return histogram_mean(c->delay);
	case METRIC_P50_DELAY:
		return histogram_quantile(c->delay, 500000);
	case METRIC_P99_DELAY:
		return histogram_quantile(c->delay, 990000);
	case METRIC_P999_DELAY:
		return histogram_quantile(c->delay, 999000);
	case METRIC_MAX_DELAY:
		return histogram_max(c->delay);
	case METRIC_P99_JITTER:
		return histogram_quantile(c->jitter, 990000);
	case METRIC_DIGITS:
		return c->digits.whole ? rounded_down(c->digits) : CR_PPM;
	case METRIC_FINISHED: /* of conversions, which are not counted here */
	case METRIC_MEAN_TURNAROUND:
	case METRIC_MAX_TURNAROUND:
	case NMETRICS:
		break;
	}
	abort();
}

/* --- verdicts --- */

/* The source of values. */
struct source {
	verdict_value_fn *value;
	const void *arg;
};

static void judge_metric(struct verdicts *v, const struct campaign_expect *x,
			 const char *name, int flow, const struct source *from)
{
	for (unsigned i = 0; i < NMETRICS; i++) {
		enum campaign_metric m = (enum campaign_metric)i;
		int64_t value;

		if (!x[m].given)
			continue;
		value = from->value(from->arg, flow, m);
		v->item[v->count++] = (struct verdict){
			.flow = name,
			.metric = m,
			.expect = &x[m],
			.value = value,
			.met = campaign_expect_met(&x[m], value),
		};
	}
}

int verdicts_judge(const struct campaign *c, verdict_value_fn *value,
		   const void *arg, struct verdicts *out, struct cr_err *e)
{
	const struct source from = { value, arg };
	struct verdicts v = {
		.item = calloc(((size_t)c->flow_count + 2) * NMETRICS,
			       sizeof(*v.item)),
	};

	if (!v.item)
		return cr_fail(
			e, -ENOMEM,
			"no memory to judge the expectations of %u flows",
			c->flow_count);
	judge_metric(&v, c->expect, NULL, VERDICT_WHOLE_RUN, &from);
	for (unsigned f = 0; f < c->flow_count; f++)
		judge_metric(&v, c->flows[f].expect, c->flows[f].name, (int)f,
			     &from);
	judge_metric(&v, c->conversions.expect, NULL, VERDICT_CONVERSIONS,
		     &from);
	*out = v;
	return 0;
}

bool verdicts_met(const struct verdicts *v)
{
	for (unsigned i = 0; i < v->count; i++)
		if (!v->item[i].met)
			return false;
	return true;
}

json_t *verdicts_json(const struct verdicts *v)
{
	json_t *list = json_array();

	for (unsigned i = 0; i < v->count; i++) {
		const struct verdict *of = &v->item[i];
		bool time = campaign_metric_is_time(of->metric);

		(void)json_array_append_new(
			list,
			json_pack("{s:s?,s:s,s:s,s:s,s:I,s:b}", "flow",
				  of->flow, "metric",
				  campaign_metric_name(of->metric), "expect",
				  of->expect->text, "unit", time ? "ns" : "ppm",
				  "value", (json_int_t)of->value, "met",
				  (int)of->met));
	}
	return list;
}

void verdicts_print(const struct verdicts *v, const char *path, FILE *f)
{
	for (unsigned i = 0; i < v->count; i++) {
		const struct verdict *one = &v->item[i];
		char value[UNITS_TEXT];

		/* nobody reads nanoseconds */
		if (campaign_metric_is_time(one->metric))
			(void)units_format_time(one->value / CR_US * CR_US,
						value, sizeof(value));
		else
			(void)units_format_ppm(one->value, value,
					       sizeof(value));
		(void)fprintf(
			f, "%s %s:%u: %s %s, is %s%s%s%s\n",
			one->met ? "met   " : "MISSED", path, one->expect->line,
			campaign_metric_name(one->metric), one->expect->text,
			value, one->flow ? " (flow " : "",
			one->flow ? one->flow : "", one->flow ? ")" : "");
	}
}

void verdicts_fini(struct verdicts *v)
{
	free(v->item);
	*v = (struct verdicts){ 0 };
}
