/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A page of "codec-ctl top".
 */
#include "app/ctl/top_page.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "app/ctl/page.h"
#include "app/ctl/show.h"
#include "protocol/tables/call.h"

/* clang-format off */
#define COLUMN(path)                                                           \
	{ path, NULL, call_top_entry_fields, NULL, NULL }
/* clang-format on */

static const struct ctl_column columns[] = {
	COLUMN("call"),	      COLUMN("class"),	       COLUMN("in_per_s"),
	COLUMN("lost_per_s"), COLUMN("missing_per_s"), COLUMN("late_per_s"),
	COLUMN("load"),	      COLUMN("delay_ms"),      COLUMN("delay_max_ms"),
	COLUMN("waiting"),    COLUMN("age_s"),	       COLUMN("transcoding"),
	COLUMN("to"),	      COLUMN("label"),	       { 0 },
};

/* How many digits of each are of use to people. */
static const struct digits {
	const char *key;
	double scale;
} digits[] = {
	{ "in_per_s", 10 },	  { "lost_per_s", 10 }, { "missing_per_s", 10 },
	{ "late_per_s", 10 },	  { "load", 10000 },	{ "delay_ms", 1000 },
	{ "delay_max_ms", 1000 }, { "age_s", 1 },
};

static double real(const json_t *o, const char *key)
{
	return json_number_value(json_object_get(o, key));
}

static const char *text(const json_t *o, const char *key)
{
	const char *s = json_string_value(json_object_get(o, key));

	return s ? s : "-";
}

static void put_head(const json_t *stats, const json_t *top, const char *keys,
		     FILE *out)
{
	(void)fprintf(out,
		      "%s  %.0f calls  load %.2f of %.2f (measured %.2f)  "
		      "lost since the start: %.0f  up %.0f s%s\n",
		      text(stats, "scheduler"), real(top, "calls"),
		      real(stats, "load"), real(stats, "bound"),
		      real(stats, "measured_load"), real(stats, "lost"),
		      real(stats, "uptime_s"),
		      json_is_true(json_object_get(stats, "draining"))
			      ? "  draining"
			      : "");
	(void)fprintf(out, "by %s, over %.1f s%s%s\n\n", text(top, "sort"),
		      real(top, "window_s"), keys ? "   keys: " : "",
		      keys ? keys : "");
}

/* A copy of @row, as it is shown. */
static json_t *rounded(json_t *row)
{
	json_t *copy = json_copy(row);

	for (size_t i = 0; i < sizeof(digits) / sizeof(*digits); i++) {
		const struct digits *d = &digits[i];
		double x = real(row, d->key) * d->scale + 0.5;

		if (json_object_get(row, d->key))
			(void)json_object_set_new(
				copy, d->key,
				json_real((double)(long long)x / d->scale));
	}
	return copy;
}

static enum ctl_mark mark_of(const json_t *row)
{
	if (real(row, "lost_per_s") > 0)
		return CTL_BAD;
	return real(row, "missing_per_s") > 0 || real(row, "late_per_s") > 0
		       ? CTL_WARN
		       : 0;
}

/* The lines of @table, the first of which is its head, with their marks. */
static void put_marked(const char *table, const json_t *rows, FILE *out)
{
	for (size_t i = 0; *table; i++) {
		enum ctl_mark mark =
			i ? mark_of(json_array_get(rows, i - 1)) : CTL_HEAD;
		int n = (int)strcspn(table, "\n");

		if (mark)
			(void)fputc((int)mark, out);
		(void)fprintf(out, "%.*s\n", n, table);
		table += n;
		table += *table == '\n';
	}
}

void ctl_top_page(const json_t *stats, const json_t *top, const char *keys,
		  FILE *out)
{
	json_t *shown = json_array(), *row;
	const json_t *rows = json_object_get(top, "top");
	char *table = NULL;
	size_t size = 0, i;
	FILE *f = open_memstream(&table, &size);

	put_head(stats, top, keys, out);
	json_array_foreach (rows, i, row)
		(void)json_array_append_new(shown, rounded(row));
	if (f) {
		ctl_table(shown, columns, f);
		if (!fclose(f))
			put_marked(table, shown, out);
	}
	free(table);
	json_decref(shown);
}
