/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The cost matrix: measuring all codecs.
 */
#include "cost/cost.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "codecs/kernels/kernels.h"

/* CPU time of the whole table unless asked otherwise, seconds. */
static const double default_seconds = 10;
/* Of it for the curves. */
static const double curves_share = 0.4;
/* Calls whose cores make a weight of the thesis. */
static const double weight_calls = 12e6;

/* Both directions of one codec, mode and sample rate. */
/* The sampling rates of speech, Hz. */
static const unsigned rates[] = { 8000, 16000, 48000 };

enum { RATES = sizeof(rates) / sizeof(rates[0]) };

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
	bool synthetic[RATES];
	struct row *rows;
	size_t n;
	struct curve_row *curves;
	size_t ncurves;
	struct cost_result resampling[CONVERSIONS];
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

/* Which of rates[] @rate is; the highest, if none. */
static unsigned rank(unsigned rate)
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
static bool listed(const struct cr_codec *c)
{
	return !c->declares_cost && c->encoder_open && c->decoder_open;
}

static int list_rows(struct cost_table *t)
{
	size_t n = 0, ncurves = 0;

	for (const struct cr_codec *const *c = cr_codecs; *c; c++) {
		n += listed(*c) ? rows_of(*c, NULL) : 0;
		ncurves += listed(*c);
	}
	t->rows = calloc(n, sizeof(*t->rows));
	t->curves = calloc(ncurves, sizeof(*t->curves));
	if (!t->rows || !t->curves)
		return -ENOMEM;
	for (const struct cr_codec *const *c = cr_codecs; *c; c++) {
		if (!listed(*c))
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

static int measure_row(struct row *r, const struct cost_plan *plan,
		       struct cr_err *e)
{
	const struct cr_codec_cfg cfg = { .mode = r->mode,
					  .sample_rate = r->sample_rate };

	if (r->codec->kernels && cr_kernels_active() != CR_KERNELS_STOCK)
		return measure_both(r, &cfg, *plan, e);
	return cost_measure(r->codec, &cfg, plan, &r->cost, e);
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
			.corpus = corpus[rank(r->sample_rate)],
		};

		ret = measure_row(r, &plan, e);
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
			.corpus = corpus[rank(cfg.sample_rate)],
		};

		ret = cost_measure_curve(r->codec, &cfg, &plan, &r->curve, e);
	}
	return ret;
}

/* @share of @seconds for each of @n. */
static cr_ns budget_of(double seconds, double share, size_t n)
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
		t->synthetic[i] =
			speech_open(&corpus[i], rates[i], NULL, NULL) != 0;
	ret = measure_rows(t, corpus,
			   budget_of(seconds, 1 - curves_share, t->n), e);
	if (!ret)
		ret = measure_curves(
			t, corpus, budget_of(seconds, curves_share, t->ncurves),
			e);
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

bool cost_is_recorded(const struct cost_table *t, bool wide)
{
	return !t->synthetic[wide];
}

size_t cost_curves(const struct cost_table *t)
{
	return t->ncurves;
}

struct cost_curve_line cost_curve_line(const struct cost_table *t, size_t i)
{
	const struct curve_row *r = &t->curves[i];

	return (struct cost_curve_line){
		.codec = r->codec->name,
		.mode = r->codec->modes[r->codec->default_mode].name,
		.sample_rate = r->codec->sample_rate,
		.curve = &r->curve,
	};
}

size_t cost_lines(const struct cost_table *t)
{
	return 2 * t->n + CONVERSIONS;
}

static struct cost_line converted(const struct cost_table *t, size_t i)
{
	bool up = conversions[i].to > conversions[i].from;

	return (struct cost_line){
		.codec = "resample",
		.mode = conversions[i].name,
		.sample_rate = conversions[i].from,
		.direction = up ? "up" : "down",
		.result = &t->resampling[i],
	};
}

/* Codecs, encoding before decoding, then resampling up and down. */
static struct cost_line measured(const struct cost_table *t, size_t i)
{
	const struct row *r = &t->rows[i / 2];
	const struct cost_pair *stock = &r->stock;
	bool second = i % 2;

	if (i >= 2 * t->n)
		return converted(t, i - 2 * t->n);
	return (struct cost_line){
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

struct cost_line cost_line(const struct cost_table *t, size_t i)
{
	struct cost_line l = measured(t, i);

	l.calls_per_core = calls_per_core(l.result);
	l.weight = weight_of(l.result);
	return l;
}
