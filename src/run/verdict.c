/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Metrics, which are shares in parts per million and quantiles of histograms,
 * and expectations against them. Who measured the run says what each metric
 * is; whether it is good enough is campaign_expect_met()'s.
 */
#include "run/verdict.h"

#include <errno.h>
#include <stdlib.h>

#include "base/units.h"

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

/* Who is asked for values. */
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

static json_t *verdict_json(const struct verdict *v)
{
	return json_pack("{s:s?,s:s,s:s,s:s,s:I,s:b}", "flow", v->flow,
			 "metric", campaign_metric_name(v->metric), "expect",
			 v->expect->text, "unit",
			 campaign_metric_is_time(v->metric) ? "ns" : "ppm",
			 "value", (json_int_t)v->value, "met", (int)v->met);
}

json_t *verdicts_json(const struct verdicts *v)
{
	json_t *list = json_array();

	for (unsigned i = 0; i < v->count; i++)
		(void)json_array_append_new(list, verdict_json(&v->item[i]));
	return list;
}

static void print_one(const struct verdict *v, const char *path, FILE *f)
{
	char value[UNITS_TEXT];

	if (campaign_metric_is_time(v->metric)) /* nobody reads nanoseconds */
		(void)units_format_time(v->value / CR_US * CR_US, value,
					sizeof(value));
	else
		(void)units_format_ppm(v->value, value, sizeof(value));
	(void)fprintf(f, "%s %s:%u: %s %s, is %s%s%s%s\n",
		      v->met ? "met   " : "MISSED", path, v->expect->line,
		      campaign_metric_name(v->metric), v->expect->text, value,
		      v->flow ? " (flow " : "", v->flow ? v->flow : "",
		      v->flow ? ")" : "");
}

void verdicts_print(const struct verdicts *v, const char *path, FILE *f)
{
	for (unsigned i = 0; i < v->count; i++)
		print_one(&v->item[i], path, f);
}

void verdicts_fini(struct verdicts *v)
{
	free(v->item);
	*v = (struct verdicts){ 0 };
}
