/* SPDX-License-Identifier: Apache-2.0 */
/*
 * JSON that every run.json has. Members keep their order.
 */
#include "run/json.h"

void run_put(json_t *o, const char *key, json_t *value)
{
	(void)json_object_set_new(o, key, value);
}

void run_put_int(json_t *o, const char *key, int64_t value)
{
	run_put(o, key, json_integer(value));
}

static json_t *text(const char *s)
{
	json_t *v = json_string(s);

	return v ? v : json_null();
}

void run_put_text(json_t *o, const char *key, const char *s)
{
	run_put(o, key, text(s));
}

static json_t *texts_json(int n, char *const *texts)
{
	json_t *list = json_array();

	for (int i = 0; i < n; i++)
		(void)json_array_append_new(list, text(texts[i]));
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
