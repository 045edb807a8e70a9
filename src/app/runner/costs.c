/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of costs that codec-runner --codecs shows.
 */
#include "app/runner/costs.h"

#include <math.h>

#include "codecs/kernels/kernels.h"

static const char *source_of(const struct cost_table *t, bool wide)
{
	return cost_is_recorded(t, wide) ? "recorded" : "synthetic";
}

static const char *kernels(void)
{
	return cr_kernels_names[cr_kernels_active()];
}

static void print_line(FILE *out, const struct cost_line *l)
{
	const struct cost_result *r = l->result;
	char stock[32] = "-";

	if (l->stock)
		(void)snprintf(stock, sizeof(stock), "%.2f",
			       (double)l->stock->cost.mean / 1e3);
	(void)fprintf(out,
		      "%-8s %-6s %5u %4.0f ms  %-6s %9.2f %9s %9.2f %8.2f "
		      "%10.0f %9.0f\n",
		      l->codec, l->mode, l->sample_rate, (double)r->frame / 1e6,
		      l->direction, (double)r->cost.mean / 1e3, stock,
		      (double)r->cost.p99 / 1e3,
		      sqrt((double)r->cost.variance_ns2) / 1e3,
		      l->calls_per_core, l->weight);
}

void costs_print(FILE *out, const struct cost_table *t)
{
	const char *missing = cr_kernels_missing();

	(void)fprintf(out,
		      "CPU time per frame on this machine, over %s speech at 8 "
		      "kHz and %s at 16 kHz.\n"
		      "Codec kernels in use: %s. stock: us/frame with the "
		      "libraries' own, where they differ.\n"
		      "weight: cores for 12 million simultaneous calls.\n\n"
		      "codec    mode      Hz   frame  dir     us/frame     "
		      "stock       p99   stddev calls/core    weight\n",
		      source_of(t, false), source_of(t, true), kernels());
	for (size_t i = 0; i < cost_lines(t); i++) {
		struct cost_line l = cost_line(t, i);

		print_line(out, &l);
	}
	if (missing)
		(void)fprintf(out, "\nWARNING: codec kernels are off: %s\n",
			      missing);
}

static json_t *line_json(const struct cost_line *l)
{
	const struct cost_result *r = l->result;
	json_t *stock = l->stock ? json_real((double)l->stock->cost.mean / 1e3)
				 : json_null();

	return json_pack(
		"{s:s, s:s, s:i, s:s, s:f, s:f, s:o, s:f, s:f, s:I, s:f, s:f}",
		"codec", l->codec, "mode", l->mode, "sample_rate",
		(int)l->sample_rate, "direction", l->direction, "frame_ms",
		(double)r->frame / 1e6, "mean_us", (double)r->cost.mean / 1e3,
		"stock_us", stock, "p99_us", (double)r->cost.p99 / 1e3,
		"stddev_us", sqrt((double)r->cost.variance_ns2) / 1e3, "frames",
		(json_int_t)r->frames, "calls_per_core", l->calls_per_core,
		"weight", l->weight);
}

json_t *costs_json(const struct cost_table *t)
{
	json_t *rows = json_array();
	int failed = !rows;

	for (size_t i = 0; i < cost_lines(t); i++) {
		struct cost_line l = cost_line(t, i);

		failed |= json_array_append_new(rows, line_json(&l));
	}
	if (failed) {
		json_decref(rows);
		return NULL;
	}
	return json_pack("{s:s, s:s, s:s, s:s?, s:o}", "narrow_speech",
			 source_of(t, false), "wide_speech", source_of(t, true),
			 "kernels", kernels(), "kernels_missing",
			 cr_kernels_missing(), "rows", rows);
}
