/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The cost matrix: measuring all codecs, printing them.
 */
#include "cost/cost.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "codecs/kernels/kernels.h"

/* CPU time of the whole table unless asked otherwise, seconds. */
static const double default_seconds = 10;
/* Calls whose cores make a weight of the thesis. */
static const double weight_calls = 12e6;

/* Both directions of one codec, mode and sample rate. */
struct row {
	const struct cr_codec *codec;
	unsigned mode, sample_rate;
	bool compared; /* stock is set */
	struct cost_pair cost, stock;
};

/* One line of the table. */
struct line {
	const char *codec, *mode, *direction;
	unsigned sample_rate;
	const struct cost_result *result, *stock; /* stock may be NULL */
};

struct cost_table {
	bool synthetic[2]; /* narrow, wide */
	struct row *rows;
	size_t n;
	struct cost_result up, down; /* resampling */
};

/* Calls that one core serves at most. */
static double calls_per_core(const struct cost_result *r)
{
	return (double)r->frame / (double)(r->cost.mean ? r->cost.mean : 1);
}

/* Cores for 12 million simultaneous calls: the weight of the thesis, 6.1. */
static double weight_of(const struct cost_result *r)
{
	return weight_calls * (double)r->cost.mean / (double)r->frame;
}

/* Write the rows of @c to @rows, or only count them when that is NULL. */
static size_t rows_of(const struct cr_codec *c, struct row *rows)
{
	size_t n = 0;

	for (unsigned rate = 8000; rate <= 16000; rate += 8000) {
		if (rate != c->sample_rate && !c->any_rate)
			continue;
		for (unsigned mode = 0; mode < c->nmodes; mode++) {
			if (rows)
				rows[n] = (struct row){ .codec = c,
							.mode = mode,
							.sample_rate = rate };
			n++;
		}
	}
	return n;
}

/* "spin" costs what one asks for; a codec of one direction has no row. */
static bool listed(const struct cr_codec *c)
{
	return strcmp(c->name, "spin") != 0 && c->encoder_open &&
	       c->decoder_open;
}

static int list_rows(struct cost_table *t)
{
	size_t n = 0;

	for (const struct cr_codec *const *c = cr_codecs; *c; c++)
		n += listed(*c) ? rows_of(*c, NULL) : 0;
	t->rows = calloc(n, sizeof(*t->rows));
	if (!t->rows)
		return -ENOMEM;
	for (const struct cr_codec *const *c = cr_codecs; *c; c++)
		t->n += listed(*c) ? rows_of(*c, t->rows + t->n) : 0;
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

static int measure_row(struct row *r, const struct cost_plan *plan,
		       struct cr_err *e)
{
	const struct cr_codec_cfg cfg = { .mode = r->mode,
					  .sample_rate = r->sample_rate };

	if (r->codec->kernels && cr_kernels_active() != CR_KERNELS_STOCK)
		return measure_both(r, &cfg, *plan, e);
	return cost_measure(r->codec, &cfg, plan, &r->cost, e);
}

static int measure_rows(struct cost_table *t, struct speech_corpus *corpus[2],
			cr_ns budget, struct cr_err *e)
{
	int ret = 0;

	for (size_t i = 0; !ret && i < t->n; i++) {
		struct row *r = &t->rows[i];
		struct cost_plan plan = {
			.budget = budget,
			.corpus = corpus[r->sample_rate == 16000],
		};

		ret = measure_row(r, &plan, e);
	}
	return ret;
}

int cost_table_open(struct cost_table **out, double seconds, struct cr_err *e)
{
	struct speech_corpus *corpus[2] = { NULL, NULL };
	struct cost_table *t = calloc(1, sizeof(*t));
	cr_ns budget;
	int ret;

	if (!t || list_rows(t)) {
		cost_table_close(t);
		return cr_fail(e, -ENOMEM, "cost: out of memory");
	}
	if (!(seconds > 0))
		seconds = default_seconds;
	budget = (cr_ns)(fmin(seconds, 1e6) * 1e9 / (double)t->n);
	/* Without recordings the table is synthetic, and says so. */
	t->synthetic[0] = speech_open(&corpus[0], 8000, NULL, NULL) != 0;
	t->synthetic[1] = speech_open(&corpus[1], 16000, NULL, NULL) != 0;
	ret = measure_rows(t, corpus, budget > 0 ? budget : 1, e);
	speech_close(corpus[0]);
	speech_close(corpus[1]);
	if (!ret)
		ret = cost_resample(8000, 16000, &t->up, e);
	if (!ret)
		ret = cost_resample(16000, 8000, &t->down, e);
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
	free(t);
}

static const char *source_of(const struct cost_table *t, bool wide)
{
	return t->synthetic[wide] ? "synthetic" : "recorded";
}

/* How many lines the table has. */
static size_t count_lines(const struct cost_table *t)
{
	return 2 * t->n + 2;
}

/* Line @i: codecs, encoding before decoding, then resampling up and down. */
static struct line line_of(const struct cost_table *t, size_t i)
{
	const struct row *r = &t->rows[i / 2];
	const struct cost_pair *stock = &r->stock;
	bool second = i % 2;

	if (i >= 2 * t->n)
		return (struct line){
			.codec = "resample",
			.mode = "-",
			.sample_rate = second ? 16000 : 8000,
			.direction = second ? "down" : "up",
			.result = second ? &t->down : &t->up,
		};
	return (struct line){
		.codec = r->codec->name,
		.mode = r->codec->modes[r->mode].name,
		.sample_rate = r->sample_rate,
		.direction = second ? "decode" : "encode",
		.result = second ? &r->cost.dec : &r->cost.enc,
		.stock = !r->compared ? NULL
			 : second     ? &stock->dec
				      : &stock->enc,
	};
}

static const char *kernels(void)
{
	return cr_kernels_names[cr_kernels_active()];
}

static void print_line(FILE *out, const struct line *l)
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
		      calls_per_core(r), weight_of(r));
}

void cost_print(FILE *out, const struct cost_table *t)
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
	for (size_t i = 0; i < count_lines(t); i++) {
		struct line l = line_of(t, i);

		print_line(out, &l);
	}
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
		(json_int_t)r->frames, "calls_per_core", calls_per_core(r),
		"weight", weight_of(r));
}

json_t *cost_json(const struct cost_table *t)
{
	json_t *rows = json_array();
	int failed = !rows;

	for (size_t i = 0; i < count_lines(t); i++) {
		struct line l = line_of(t, i);

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
