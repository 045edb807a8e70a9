/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What codec-runner prints instead of serving.
 */
#include "app/runner/tables.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "app/runner/costs.h"
#include "base/options.h"
#include "protocol/describe.h"
#include "protocol/field_json.h"
#include "engine/scheduler.h"

int runner_print_json(FILE *out, json_t *o)
{
	int bad = !o || json_dumpf(o, out, JSON_INDENT(2)) ||
		  fputc('\n', out) == EOF;

	json_decref(o);
	return bad;
}

/* "quantum=TIME  a turn (...)" in two columns: "admits by" and "quantum=TIME"
 * are of one width for all policies. */
static void show_row(const char *left, const char *right, FILE *out)
{
	(void)fprintf(out, "  %-18s %s\n", left, right);
}

static void show_option(const struct cr_opt *o, FILE *out)
{
	char line[256];
	char *gap;

	option_describe(o, line, sizeof(line));
	gap = strstr(line, "  ");
	/* analyzer: two spaces are always between them */
	*gap = '\0';
	show_row(line, gap + 2, out);
}

static void show_scheduler(const struct scheduler *s, FILE *out)
{
	const struct cr_opt *o = scheduler_opts(s);
	struct scheduler_info info;

	describe_scheduler(s, &info);
	(void)fprintf(out, "%-20s %s\n", info.name, info.help);
	for (; o && o->name; o++)
		show_option(o, out);
	show_row("admits by", info.admission, out);
	(void)fputc('\n', out);
}

static json_t *scheduler_json(const struct scheduler *s)
{
	struct scheduler_info info;

	describe_scheduler(s, &info);
	return field_write(scheduler_info_fields, &info);
}

/* The text's rows: those of hello, and the kernel's, marked. */
static json_t *all_schedulers(void)
{
	json_t *list = json_array();

	for (unsigned i = 0; cr_schedulers[i]; i++) {
		const struct scheduler s = { .policy = cr_schedulers[i] };

		(void)json_array_append_new(list, scheduler_json(&s));
	}
	for (unsigned i = 0; kernel_scheds[i]; i++) {
		const struct scheduler s = { .kernel = kernel_scheds[i] };
		json_t *o = scheduler_json(&s);

		(void)json_object_set_new(o, "baseline", json_true());
		(void)json_array_append_new(list, o);
	}
	return list;
}

int runner_show_schedulers(FILE *out, bool json)
{
	if (json)
		return runner_print_json(out, all_schedulers());
	for (unsigned i = 0; cr_schedulers[i]; i++)
		show_scheduler(
			&(struct scheduler){ .policy = cr_schedulers[i] }, out);
	(void)fputs("Baselines: the kernel decides. Only from the start to the "
		    "end of a codec-runner.\n\n",
		    out);
	for (unsigned i = 0; kernel_scheds[i]; i++)
		show_scheduler(
			&(struct scheduler){ .kernel = kernel_scheds[i] }, out);
	return 0;
}

int runner_show_codecs(FILE *out, const struct runner_options *o)
{
	struct cost_table *t;
	struct cr_err e = { "" };
	int err;

	if (!o->json)
		(void)fprintf(stderr,
			      "measuring every codec and mode, %.0f s ...\n",
			      (double)o->seconds / 1e9);
	err = cost_table_open(&t, (double)o->seconds / 1e9, &e);
	if (err) {
		(void)fprintf(stderr, "codec-runner: %s\n", e.text);
		return 1;
	}
	if (o->json)
		err = runner_print_json(out, costs_json(t));
	else
		costs_print(out, t);
	cost_table_close(t);
	return err;
}
