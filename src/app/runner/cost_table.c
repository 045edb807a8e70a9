/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of costs that codec-runner --codecs shows.
 */
#include "app/runner/cost_table.h"

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

/* "   19.84", and "-" for each point there was no time for. */
static void print_points(FILE *out, const cr_ns *cost, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		(void)fprintf(out, " %7.2f", (double)cost[i] / 1e3);
	for (unsigned i = n; i < COST_POINTS; i++)
		(void)fprintf(out, " %7s", "-");
}

static void print_curves(FILE *out, const struct cost_table *t)
{
	(void)fputs("\nus/frame by the number of other states that had frames "
		    "since this one had its\nlast one.\n\n"
		    "                       encode                       "
		    "             decode\n"
		    "codec    mode      Hz        0       1      10     100 "
		    "   1000         0       1      10     100    1000\n",
		    out);
	for (size_t i = 0; i < cost_curves(t); i++) {
		struct cost_curve_line l = cost_curve_line(t, i);

		(void)fprintf(out, "%-8s %-6s %5u ", l.codec, l.mode,
			      l.sample_rate);
		print_points(out, l.curve->enc, l.curve->points);
		(void)fputs("  ", out);
		print_points(out, l.curve->dec, l.curve->points);
		(void)fputc('\n', out);
	}
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
		const struct cost_result *r = l.result;
		char stock[32] = "-";

		if (l.stock)
			(void)snprintf(stock, sizeof(stock), "%.2f",
				       (double)l.stock->cost.mean / 1e3);
		(void)fprintf(
			out,
			"%-8s %-6s %5u %4.0f ms  %-6s %9.2f %9s %9.2f %8.2f "
			"%10.0f %9.0f\n",
			l.codec, l.mode, l.sample_rate, (double)r->frame / 1e6,
			l.direction, (double)r->cost.mean / 1e3, stock,
			(double)r->cost.p99 / 1e3,
			sqrt((double)r->cost.variance_ns2) / 1e3,
			l.calls_per_core, l.weight);
	}
	print_curves(out, t);
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

static json_t *curve_json(const struct cost_curve_line *l)
{
	json_t *points = json_array();
	int failed = !points;

	for (unsigned i = 0; i < l->curve->points; i++)
		failed |= json_array_append_new(
			points,
			json_pack("{s:i, s:f, s:f}", "others",
				  (int)l->curve->others[i], "encode_us",
				  (double)l->curve->enc[i] / 1e3, "decode_us",
				  (double)l->curve->dec[i] / 1e3));
	if (failed) {
		json_decref(points);
		return NULL;
	}
	return json_pack("{s:s, s:s, s:i, s:o}", "codec", l->codec, "mode",
			 l->mode, "sample_rate", (int)l->sample_rate, "points",
			 points);
}

json_t *costs_json(const struct cost_table *t)
{
	json_t *rows = json_array(), *curves = json_array();
	int failed = !rows || !curves;

	for (size_t i = 0; i < cost_lines(t); i++) {
		struct cost_line l = cost_line(t, i);

		failed |= json_array_append_new(rows, line_json(&l));
	}
	for (size_t i = 0; i < cost_curves(t); i++) {
		struct cost_curve_line l = cost_curve_line(t, i);

		failed |= json_array_append_new(curves, curve_json(&l));
	}
	if (failed) {
		json_decref(rows);
		json_decref(curves);
		return NULL;
	}
	return json_pack("{s:s, s:s, s:s, s:s?, s:o, s:o}", "narrow_speech",
			 source_of(t, false), "wide_speech", source_of(t, true),
			 "kernels", kernels(), "kernels_missing",
			 cr_kernels_missing(), "rows", rows, "curves", curves);
}
