/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What only the simulator reads of a flow: what jobs cost and when they come.
 */
#include <errno.h>
#include <string.h>

#include "base/options.h"
#include "campaign/campaign.h"
#include "campaign/convert.h"

static const char *const key_costs[] = { "measured",	"constant",
					 "normal",	"lognormal",
					 "exponential", "histogram",
					 "trace",	NULL };
static const char *const key_arrivals[] = { "plan",	"periodic", "jittered",
					    "poisson",	"bursty",   "closed",
					    "loop",	"tspec",    "trace",
					    "envelope", NULL };

#define COST_ROW(...)                                                          \
	KEY_ROW(struct raw_cost, struct campaign_cost, __VA_ARGS__)
#define ARRIVAL_ROW(...)                                                       \
	KEY_ROW(struct raw_arrival, struct campaign_arrival, __VA_ARGS__)
#define END_ROW                                                                \
	{                                                                      \
		{ .name = NULL }, 0                                            \
	}

static const struct key_row cost_rows[] = { COST_KEYS(COST_ROW, KEY_SKIP)
						    END_ROW };
static const struct key_row arrival_rows[] = { ARRIVAL_KEYS(ARRIVAL_ROW,
							    KEY_SKIP) END_ROW };

/* A key that is there must belong to the model, one that is missing not. */
struct key_check {
	const char *key, *text;
	bool belongs, needed;
};

static int check_keys(struct loader *l, const char *path, const char *model,
		      const struct key_check *k)
{
	for (; k->key; k++) {
		if (k->text && !k->belongs)
			return convert_fail(l, path, k->key,
					    "%s does not belong to model=%s",
					    k->key, model);
		if (!k->text && k->needed)
			return convert_fail(l, path, "model",
					    "model=%s needs '%s'", model,
					    k->key);
	}
	return 0;
}

static int copy_file(struct loader *l, const char *text, char **out)
{
	return text ? convert_copy(l, text, out) : 0;
}

static int check_cost(struct loader *l, const char *path,
		      const struct raw_cost *raw, const struct campaign_cost *c)
{
	bool drawn = c->kind == COST_NORMAL || c->kind == COST_LOGNORMAL ||
		     c->kind == COST_EXPONENTIAL;
	bool mean = drawn || c->kind == COST_CONSTANT;
	bool sd = c->kind == COST_NORMAL || c->kind == COST_LOGNORMAL;
	bool file = c->kind == COST_HISTOGRAM || c->kind == COST_TRACE;
	const struct key_check keys[] = {
		{ "mean", raw->mean, mean, mean },
		{ "sd", raw->sd, sd, sd },
		{ "min", raw->min, c->kind != COST_CONSTANT, false },
		{ "max", raw->max, c->kind != COST_CONSTANT, false },
		{ "file", raw->file, file, file },
		{ NULL, NULL, false, false },
	};
	int rc = check_keys(l, path, key_costs[c->kind], keys);

	if (!rc && c->sd > 1000 * c->mean)
		return convert_fail(l, path, "sd",
				    "sd is more than 1000 times the mean");
	if (!rc && c->min > c->max)
		return convert_fail(l, path, "min", "min is above max");
	return rc;
}

static bool cost_given(const struct raw_cost *raw)
{
	return raw->kind || raw->mean || raw->sd || raw->min || raw->max ||
	       raw->file;
}

static int convert_share(struct loader *l, const char *path,
			 const struct raw_flow *raw, struct campaign_flow *f)
{
	static const struct cr_opt opt = { .name = "share",
					   .kind = CR_OPT_PPM,
					   .min = 1,
					   .max = 100 * CR_PPM };
	int64_t ppm;

	if (option_parse(&opt, raw->share_ppm, &ppm, NULL))
		return 0; /* refused before, with the rest of the row */
	if (cost_given(&raw->cost))
		return convert_fail(l, path, "share",
				    "share and cost exclude each other");
	if (!f->synthetic)
		return convert_fail(l, path, "share",
				    "share belongs to flows without codecs; "
				    "give cost");
	f->cost.kind = COST_CONSTANT;
	f->cost.mean = (int64_t)((__int128)f->ptime * ppm / CR_PPM);
	if (!f->cost.mean)
		return convert_fail(l, path, "share",
				    "share: less than 1 ns of the period");
	return 0;
}

static int convert_cost(struct loader *l, const char *path,
			const struct raw_flow *raw, struct campaign_flow *f)
{
	char buf[PLACE_MAX];
	int rc = convert_rows(l, cost_rows, convert_below(buf, path, "cost"),
			      &raw->cost, &f->cost);

	if (rc)
		return rc;
	if (raw->share_ppm)
		return convert_share(l, path, raw, f);
	if (!raw->cost.kind && raw->cost.mean)
		f->cost.kind = COST_CONSTANT;
	if (f->synthetic && f->cost.kind == COST_MEASURED &&
	    f->arrival.kind != ARRIVAL_LOOP)
		return convert_fail(l, path, NULL,
				    "a flow without codecs needs cost (or "
				    "share)");
	rc = check_cost(l, buf, &raw->cost, &f->cost);
	return rc ? rc : copy_file(l, raw->cost.file, &f->cost.file);
}

static int check_arrival(struct loader *l, const char *path,
			 const struct raw_arrival *raw,
			 const struct campaign_arrival *a)
{
	bool bursty = a->kind == ARRIVAL_BURSTY;
	bool jittered = a->kind == ARRIVAL_JITTERED;
	bool tspec = a->kind == ARRIVAL_TSPEC;
	bool trace = a->kind == ARRIVAL_TRACE;
	bool envelope = a->kind == ARRIVAL_ENVELOPE;
	const struct key_check keys[] = {
		{ "jitter", raw->jitter, jittered, jittered },
		{ "burst", raw->burst, bursty, bursty },
		{ "spacing", raw->spacing, bursty, false },
		{ "rate", raw->rate, tspec || envelope, envelope },
		{ "peak", raw->peak, tspec || envelope, false },
		{ "bucket", raw->bucket, tspec, false },
		{ "depth", raw->depth, envelope, envelope },
		{ "on", raw->on, envelope, false },
		{ "off", raw->off, envelope, false },
		{ "file", raw->file, trace, trace },
		{ NULL, NULL, false, false },
	};

	return check_keys(l, path, key_arrivals[a->kind], keys);
}

static int convert_tspec(struct loader *l, const char *path,
			 const struct raw_arrival *raw, cr_ns period,
			 struct campaign_arrival *a)
{
	int rc = 0;

	a->rate_ppm = CR_PPM * CR_SEC / period;
	if (raw->rate)
		rc = convert_rate(l, path, "rate", raw->rate, &a->rate_ppm);
	if (!rc && raw->peak)
		rc = convert_rate(l, path, "peak", raw->peak, &a->peak_ppm);
	if (!rc && a->peak_ppm && a->peak_ppm < a->rate_ppm)
		return convert_fail(l, path, "peak", "peak is below the rate");
	return rc;
}

/* The plan's network, talk and clock models make arrivals of their own. */
static int check_alone(struct loader *l, const char *path,
		       const struct raw_flow *raw)
{
	const struct raw_network *n = &raw->network;
	bool network =
		n->jitter || n->loss || n->burst || n->reorder || n->duplicate;

	if (network || raw->talk.spurt || raw->talk.pause || raw->drift)
		return convert_fail(l, path,
				    network	 ? "network"
				    : raw->drift ? "drift"
						 : "talk",
				    "network, talk and drift belong to "
				    "arrival: {model: plan}");
	return 0;
}

static int convert_arrival(struct loader *l, const char *path,
			   const struct raw_flow *raw, struct campaign_flow *f)
{
	struct campaign_arrival *a = &f->arrival;
	char buf[PLACE_MAX];
	int rc = convert_rows(l, arrival_rows,
			      convert_below(buf, path, "arrival"),
			      &raw->arrival, a);

	if (!rc)
		rc = check_arrival(l, buf, &raw->arrival, a);
	if (!rc && a->kind != ARRIVAL_PLAN)
		rc = check_alone(l, path, raw);
	if (rc)
		return rc;
	if (a->kind == ARRIVAL_LOOP && !f->ptime)
		f->ptime = CR_SEC;
	if (!f->ptime)
		return convert_fail(l, path, NULL,
				    "needs in and out (codecs), or period (a "
				    "flow for the simulator)");
	if (a->kind == ARRIVAL_TSPEC)
		rc = convert_tspec(l, buf, &raw->arrival, f->ptime, a);
	if (a->kind == ARRIVAL_BURSTY &&
	    a->spacing * (a->burst - 1) >= f->ptime * a->burst)
		return convert_fail(l, buf, "spacing",
				    "spacing: a burst must end before the next "
				    "one begins, %lld periods later",
				    (long long)a->burst);
	return rc ? rc : copy_file(l, raw->arrival.file, &a->file);
}

static int check_loop(struct loader *l, const char *path,
		      const struct raw_flow *raw, struct campaign_flow *f)
{
	if (!f->synthetic || cost_given(&raw->cost) || raw->share_ppm ||
	    raw->deadline || raw->period || raw->cls)
		return convert_fail(l, path, NULL,
				    "arrival: {model: loop} is one job of best "
				    "effort that never ends: no codecs, "
				    "period, cost, deadline or class");
	f->cls = CR_BE;
	return 0;
}

int convert_models(struct loader *l, const char *path,
		   const struct raw_flow *raw, struct campaign_flow *f)
{
	char buf[PLACE_MAX];
	int rc;

	if (!f->synthetic && raw->period)
		return convert_fail(l, path, "period",
				    "period belongs to flows without codecs; "
				    "theirs is ptime");
	if (f->synthetic && raw->ptime)
		return convert_fail(l, path, "ptime",
				    "ptime belongs to flows with codecs; give "
				    "period");
	rc = convert_arrival(l, path, raw, f);
	if (!rc)
		rc = convert_cost(l, path, raw, f);
	if (!rc && f->arrival.kind == ARRIVAL_LOOP)
		rc = check_loop(l, path, raw, f);
	if (!rc && f->arrival.kind == ARRIVAL_ENVELOPE)
		rc = convert_envelope(l, convert_below(buf, path, "arrival"),
				      raw, f);
	return rc;
}
