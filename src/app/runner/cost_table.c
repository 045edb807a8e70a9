/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The matrix of what all codecs cost, as codec-runner --codecs shows it:
 * measured, printed, and as JSON.
 */
#include "app/runner/cost_table.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "codecs/kernels/kernels.h"
#include "codecs/registry.h"
#include "cost/cost.h"
#include "cr/sched.h"

/* CPU time of the whole table unless asked otherwise, seconds. */
static const double default_seconds = 10;
/* Of it for the curves. */
static const double curves_share = 0.4;
/* Calls whose cores make a weight of the thesis. */
static const double weight_calls = 12e6;

/* The sampling rates of speech, Hz. */
static const unsigned rates[] = { 8000, 16000, 48000 };

enum { RATES = sizeof(rates) / sizeof(rates[0]) };

/* Both directions of one codec, mode and sample rate. */
struct row {
	const struct cr_codec *codec;
	unsigned mode, sample_rate;
	bool compared; /* stock is set */
	struct cost_pair cost, stock;
};

/* Conversions between sampling rates, Hz. */
static const struct {
	unsigned from, to;
	const char *name; /* of "to" */
} conversions[] = {
	{ 8000, 16000, "16000" },  { 8000, 48000, "48000" },
	{ 16000, 48000, "48000" }, { 16000, 8000, "8000" },
	{ 48000, 8000, "8000" },   { 48000, 16000, "16000" },
};

enum { CONVERSIONS = sizeof(conversions) / sizeof(conversions[0]) };

/* Of a codec at its own rate, in its default mode. */
struct curve_row {
	const struct cr_codec *codec;
	struct cost_curve curve;
};

struct cost_table {
	const char *source[RATES]; /* of the speech */
	struct row *rows;
	size_t n;
	struct curve_row *curves;
	size_t ncurves;
	struct cost_result resampling[CONVERSIONS];
};

/* The index of @rate among rates[]; of the highest, if it is none. */
static unsigned rank_of_rate(unsigned rate)
{
	unsigned i = 0;

	while (i < RATES - 1 && rates[i] != rate)
		i++;
	return i;
}

/* Write the rows of @c to @rows, or only count them when that is NULL. */
static size_t rows_of(const struct cr_codec *c, struct row *rows)
{
	size_t n = 0;

	const unsigned own[] = { c->sample_rate, 0 };

	for (const unsigned *rate = c->rates ? c->rates : own; *rate; rate++) {
		for (unsigned mode = 0; mode < c->nmodes; mode++) {
			if (rows)
				rows[n] = (struct row){ .codec = c,
							.mode = mode,
							.sample_rate = *rate };
			n++;
		}
	}
	return n;
}

/* "spin" costs what one asks for; a codec of one direction has no row. */
static bool is_listed(const struct cr_codec *c)
{
	return !c->declares_cost && c->encoder_open && c->decoder_open;
}

static int list_rows(struct cost_table *t)
{
	size_t n = 0, ncurves = 0;

	for (const struct cr_codec *const *c = cr_codecs; *c; c++) {
		n += is_listed(*c) ? rows_of(*c, NULL) : 0;
		ncurves += is_listed(*c);
	}
	t->rows = calloc(n, sizeof(*t->rows));
	t->curves = calloc(ncurves, sizeof(*t->curves));
	if (!t->rows || !t->curves)
		return -ENOMEM;
	for (const struct cr_codec *const *c = cr_codecs; *c; c++) {
		if (!is_listed(*c))
			continue;
		t->n += rows_of(*c, t->rows + t->n);
		t->curves[t->ncurves++].codec = *c;
	}
	return 0;
}

/* The library's own functions, then ours, half the time each. */
static int measure_both(struct row *r, const struct cr_codec_cfg *cfg,
			struct cost_plan plan, struct cr_err *e)
{
	enum cr_kernels ours = cr_kernels_active();
	int ret;

	plan.budget = (plan.budget + 1) / 2;
	(void)cr_kernels_choose(CR_KERNELS_STOCK, NULL);
	ret = cost_measure(r->codec, cfg, &plan, &r->stock, e);
	(void)cr_kernels_choose(ours, NULL);
	r->compared = true;
	return ret ? ret : cost_measure(r->codec, cfg, &plan, &r->cost, e);
}

static int measure_rows(struct cost_table *t,
			struct speech_corpus *corpus[RATES], cr_ns budget,
			struct cr_err *e)
{
	int ret = 0;

	for (size_t i = 0; !ret && i < t->n; i++) {
		struct row *r = &t->rows[i];
		struct cost_plan plan = {
			.budget = budget,
			.corpus = corpus[rank_of_rate(r->sample_rate)],
		};
		const struct cr_codec_cfg cfg = { .mode = r->mode,
						  .sample_rate =
							  r->sample_rate };

		ret = r->codec->kernels &&
				      cr_kernels_active() != CR_KERNELS_STOCK
			      ? measure_both(r, &cfg, plan, e)
			      : cost_measure(r->codec, &cfg, &plan, &r->cost,
					     e);
	}
	return ret;
}

static int measure_curves(struct cost_table *t,
			  struct speech_corpus *corpus[RATES], cr_ns budget,
			  struct cr_err *e)
{
	int ret = 0;

	for (size_t i = 0; !ret && i < t->ncurves; i++) {
		struct curve_row *r = &t->curves[i];
		const struct cr_codec_cfg cfg = {
			.mode = r->codec->default_mode,
			.sample_rate = r->codec->sample_rate,
		};
		const struct cost_plan plan = {
			.budget = budget,
			.corpus = corpus[rank_of_rate(cfg.sample_rate)],
		};

		ret = cost_measure_curve(r->codec, &cfg, &plan, &r->curve, e);
	}
	return ret;
}

/* @share of @seconds for each of @n. */
static cr_ns share_of_budget(double seconds, double share, size_t n)
{
	cr_ns budget = (cr_ns)(fmin(seconds, 1e6) * 1e9 * share / (double)n);

	return cr_ns_max(budget, 1);
}

int cost_table_open(struct cost_table **out, double seconds, struct cr_err *e)
{
	struct speech_corpus *corpus[RATES] = { NULL };
	struct cost_table *t = calloc(1, sizeof(*t));
	int ret;

	if (!t || list_rows(t)) {
		cost_table_close(t);
		return cr_fail(e, -ENOMEM, "cost: out of memory");
	}
	if (!(seconds > 0))
		seconds = default_seconds;
	/* Without recordings the table is synthetic, and says so. */
	for (unsigned i = 0; i < RATES; i++)
		t->source[i] = speech_open(&corpus[i], rates[i], NULL, NULL)
				       ? "synthetic"
				       : "recorded";
	ret = measure_rows(t, corpus,
			   share_of_budget(seconds, 1 - curves_share, t->n), e);
	if (!ret)
		ret = measure_curves(
			t, corpus,
			share_of_budget(seconds, curves_share, t->ncurves), e);
	for (unsigned i = 0; i < RATES; i++)
		speech_close(corpus[i]);
	for (unsigned i = 0; !ret && i < CONVERSIONS; i++)
		ret = cost_resample(conversions[i].from, conversions[i].to,
				    &t->resampling[i], e);
	if (ret) {
		cost_table_close(t);
		return ret;
	}
	*out = t;
	return 0;
}

void cost_table_close(struct cost_table *t)
{
	if (!t)
		return;
	free(t->rows);
	free(t->curves);
	free(t);
}

/* --- lines --- */

static const char *kernels(void)
{
	return cr_kernels_names[cr_kernels_active()];
}

/* One line of the matrix. Texts are static, results the table's. */
struct line {
	const char *codec, *mode;
	const char *direction; /* of codec "resample": "up", "down", and its
				* mode is the new rate */
	unsigned sample_rate;
	const struct cost_result *result;
	const struct cost_result *stock; /* with the library's own functions;
					  * NULL: measured once only */
	double streams_per_core;	 /* that a core serves at most */
	double weight; /* cores for 12 million calls: the thesis, 6.1 */
};

/* Line @i: codecs, encoding before decoding, then resampling up and down.
 * False: there are no more. */
static bool read_table_line(const struct cost_table *t, size_t i,
			    struct line *l)
{
	if (i < 2 * t->n) {
		const struct row *r = &t->rows[i / 2];
		bool decode = i % 2;

		*l = (struct line){
			.codec = r->codec->name,
			.mode = r->codec->modes[r->mode].name,
			.direction = decode ? "decode" : "encode",
			.sample_rate = r->sample_rate,
			.result = decode ? &r->cost.dec : &r->cost.enc,
			.stock = !r->compared ? NULL
				 : decode     ? &r->stock.dec
					      : &r->stock.enc,
		};
	} else if (i < 2 * t->n + CONVERSIONS) {
		size_t k = i - 2 * t->n;
		bool up = conversions[k].to > conversions[k].from;

		*l = (struct line){
			.codec = "resample",
			.mode = conversions[k].name,
			.direction = up ? "up" : "down",
			.sample_rate = conversions[k].from,
			.result = &t->resampling[k],
		};
	} else {
		return false;
	}
	l->streams_per_core = (double)l->result->frame /
			      (double)cr_ns_max(l->result->cost.mean, 1);
	l->weight = weight_calls * (double)l->result->cost.mean /
		    (double)l->result->frame;
	return true;
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
	for (size_t i = 0; i < t->ncurves; i++) {
		const struct curve_row *r = &t->curves[i];

		(void)fprintf(out, "%-8s %-6s %5u ", r->codec->name,
			      r->codec->modes[r->codec->default_mode].name,
			      r->codec->sample_rate);
		print_points(out, r->curve.enc, r->curve.points);
		(void)fputs("  ", out);
		print_points(out, r->curve.dec, r->curve.points);
		(void)fputc('\n', out);
	}
}

void costs_print(FILE *out, const struct cost_table *t)
{
	const char *missing = cr_kernels_missing();
	struct line l;

	(void)fprintf(out,
		      "CPU time per frame on this machine, over %s speech at 8 "
		      "kHz and %s at 16 kHz.\n"
		      "Codec kernels in use: %s. stock: us/frame with the "
		      "libraries' own, where they differ.\n"
		      "weight: cores for 12 million simultaneous calls.\n\n"
		      "codec    mode      Hz   frame  dir     us/frame     "
		      "stock       p99   stddev streams/core    weight\n",
		      t->source[0], t->source[1], kernels());
	for (size_t i = 0; read_table_line(t, i, &l); i++) {
		const struct cost_result *r = l.result;
		char stock[32] = "-";

		if (l.stock)
			(void)snprintf(stock, sizeof(stock), "%.2f",
				       (double)l.stock->cost.mean / 1e3);
		(void)fprintf(
			out,
			"%-8s %-6s %5u %4.0f ms  %-6s %9.2f %9s %9.2f %8.2f "
			"%12.0f %9.0f\n",
			l.codec, l.mode, l.sample_rate, (double)r->frame / 1e6,
			l.direction, (double)r->cost.mean / 1e3, stock,
			(double)r->cost.p99 / 1e3,
			sqrt((double)r->cost.variance_ns2) / 1e3,
			l.streams_per_core, l.weight);
	}
	print_curves(out, t);
	if (missing)
		(void)fprintf(out, "\nWARNING: codec kernels are off: %s\n",
			      missing);
}

static json_t *line_json(const struct line *l)
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
		(json_int_t)r->frames, "streams_per_core", l->streams_per_core,
		"weight", l->weight);
}

static json_t *curve_json(const struct curve_row *r)
{
	const struct cost_curve *c = &r->curve;
	json_t *points = json_array();
	int failed = !points;

	for (unsigned i = 0; i < c->points; i++)
		failed |= json_array_append_new(
			points, json_pack("{s:i, s:f, s:f}", "others",
					  (int)c->others[i], "encode_us",
					  (double)c->enc[i] / 1e3, "decode_us",
					  (double)c->dec[i] / 1e3));
	if (failed) {
		json_decref(points);
		return NULL;
	}
	return json_pack("{s:s, s:s, s:i, s:o}", "codec", r->codec->name,
			 "mode", r->codec->modes[r->codec->default_mode].name,
			 "sample_rate", (int)r->codec->sample_rate, "points",
			 points);
}

json_t *costs_json(const struct cost_table *t)
{
	json_t *rows = json_array(), *curves = json_array();
	int failed = !rows || !curves;
	struct line l;

	for (size_t i = 0; read_table_line(t, i, &l); i++)
		failed |= json_array_append_new(rows, line_json(&l));
	for (size_t i = 0; i < t->ncurves; i++)
		failed |= json_array_append_new(curves,
						curve_json(&t->curves[i]));
	if (failed) {
		json_decref(rows);
		json_decref(curves);
		return NULL;
	}
	return json_pack("{s:s, s:s, s:s, s:s?, s:o, s:o}", "narrow_speech",
			 t->source[0], "wide_speech", t->source[1], "kernels",
			 kernels(), "kernels_missing", cr_kernels_missing(),
			 "rows", rows, "curves", curves);
}
