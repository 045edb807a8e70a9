/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What calls say, and what only the simulator reads of a flow: what jobs cost
 * and when they come.
 */
#include "base/units.h"
#include "campaign/parts.h"

/* Of a talker: a turn is whole blocks of speech/talk_spurts.c. */
#define TURN_MIN (10 * CR_MS)
#define TURN_MAX (600 * CR_SEC)

/* A key that is there must belong to the model, one that is missing not. */
struct key_check {
	const char *name;
	bool belongs, needed;
};

static int check_keys(const struct section *s, const char *model,
		      const struct key_check *k)
{
	for (; k->name; k++) {
		bool has = section_has(s, k->name);

		if (has && !k->belongs)
			return section_fail(s, k->name,
					    "%s does not belong to model=%s",
					    k->name, model);
		if (!has && k->needed)
			return section_fail(s, "model", "model=%s needs '%s'",
					    model, k->name);
	}
	return 0;
}

static int check_cost(const struct section *s, const struct campaign_cost *c)
{
	bool drawn = c->kind == COST_NORMAL || c->kind == COST_LOGNORMAL ||
		     c->kind == COST_EXPONENTIAL;
	bool mean = drawn || c->kind == COST_CONSTANT;
	bool sd = c->kind == COST_NORMAL || c->kind == COST_LOGNORMAL;
	bool file = c->kind == COST_HISTOGRAM || c->kind == COST_TRACE;
	const struct key_check keys[] = {
		{ "mean", mean, mean },
		{ "sd", sd, sd },
		{ "min", c->kind != COST_CONSTANT, false },
		{ "max", c->kind != COST_CONSTANT, false },
		{ "file", file, file },
		{ NULL, false, false },
	};
	int rc = check_keys(s, key_costs[c->kind], keys);

	if (!rc && section_has(s, "half-life") && !c->warm &&
	    c->kind != COST_MEASURED)
		return section_fail(s, "half-life", "half-life needs warm");

	if (!rc && c->sd > 1000 * c->mean)
		return section_fail(s, "sd",
				    "sd is more than 1000 times the mean");
	if (!rc && c->min > c->max)
		return section_fail(s, "min", "min is above max");
	return rc;
}

static int read_share(const struct section *s, struct campaign_flow *f)
{
	int64_t ppm = section_number(s, "share");

	if (section_any(section_below(s, "cost")))
		return section_fail(s, "share",
				    "share and cost exclude each other");
	if (!f->synthetic)
		return section_fail(s, "share",
				    "share belongs to flows without codecs; "
				    "give cost");
	f->cost.kind = COST_CONSTANT;
	f->cost.mean = (int64_t)((__int128)f->ptime * ppm / CR_PPM);
	if (!f->cost.mean)
		return section_fail(s, "share",
				    "share: less than 1 ns of the period");
	if (f->cost.mean > CAMPAIGN_COST_MAX)
		return section_fail(s, "share",
				    "share: more than %llds of the period, and "
				    "no job costs as much; lower it, or "
				    "shorten the period",
				    (long long)(CAMPAIGN_COST_MAX / CR_SEC));
	return 0;
}

static int read_cost(const struct section *s, struct campaign_flow *f)
{
	const struct section *cost = section_below(s, "cost");
	int rc = section_values(cost, &f->cost);

	if (rc)
		return rc;
	if (section_has(s, "share"))
		return read_share(s, f);
	if (!section_has(cost, "model") && section_has(cost, "mean"))
		f->cost.kind = COST_CONSTANT;
	if (f->synthetic && f->cost.kind == COST_MEASURED &&
	    f->arrival.kind != ARRIVAL_LOOP)
		return section_fail(s, NULL,
				    "a flow without codecs needs cost (or "
				    "share)");
	rc = check_cost(cost, &f->cost);
	return rc ? rc : section_copy(cost, "file", &f->cost.file);
}

static int check_arrival(const struct section *s,
			 const struct campaign_arrival *a)
{
	bool bursty = a->kind == ARRIVAL_BURSTY;
	bool jittered = a->kind == ARRIVAL_JITTERED;
	bool tspec = a->kind == ARRIVAL_TSPEC;
	bool trace = a->kind == ARRIVAL_TRACE;
	bool envelope = a->kind == ARRIVAL_ENVELOPE;
	const struct key_check keys[] = {
		{ "jitter", jittered, jittered },
		{ "burst", bursty, bursty },
		{ "spacing", bursty, false },
		{ "rate", tspec || envelope, envelope },
		{ "peak", tspec || envelope, false },
		{ "bucket", tspec, false },
		{ "depth", envelope, envelope },
		{ "on", envelope, false },
		{ "off", envelope, false },
		{ "file", trace, trace },
		{ NULL, false, false },
	};

	return check_keys(s, key_arrivals[a->kind], keys);
}

static int read_tspec(const struct section *s, cr_ns period,
		      struct campaign_arrival *a)
{
	int rc;

	a->rate_ppm = CR_PPM * CR_SEC / period;
	rc = read_rate(s, "rate", &a->rate_ppm);
	if (!rc)
		rc = read_rate(s, "peak", &a->peak_ppm);
	if (!rc && a->peak_ppm && a->peak_ppm < a->rate_ppm)
		return section_fail(s, "peak", "peak is below the rate");
	return rc;
}

/* The plan's network, talk and clock models make arrivals of their own. */
static int check_alone(const struct section *s)
{
	static const char *const keys[] = { "network", "drift", "talk" };

	for (unsigned i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		const struct section *below = section_below(s, keys[i]);

		if (below ? section_any(below) : section_has(s, keys[i]))
			return section_fail(s, keys[i],
					    "network, talk and drift belong to "
					    "arrival: {model: plan}");
	}
	return 0;
}

static int read_arrival(const struct section *s, struct campaign_flow *f)
{
	const struct section *arrival = section_below(s, "arrival");
	struct campaign_arrival *a = &f->arrival;
	int rc = section_values(arrival, a);

	if (!rc)
		rc = check_arrival(arrival, a);
	if (!rc && a->kind != ARRIVAL_PLAN)
		rc = check_alone(s);
	if (rc)
		return rc;
	if (a->kind == ARRIVAL_LOOP && !f->ptime)
		f->ptime = CR_SEC;
	if (!f->ptime)
		return section_fail(s, NULL,
				    "needs in and out (codecs), or period (a "
				    "flow for the simulator)");
	if (a->kind == ARRIVAL_TSPEC)
		rc = read_tspec(arrival, f->ptime, a);
	if (a->kind == ARRIVAL_BURSTY &&
	    a->spacing * (a->burst - 1) >= f->ptime * a->burst)
		return section_fail(arrival, "spacing",
				    "spacing: a burst must end before the next "
				    "one begins, %lld periods later",
				    (long long)a->burst);
	return rc ? rc : section_copy(arrival, "file", &a->file);
}

static int check_loop(const struct section *s, struct campaign_flow *f)
{
	if (!f->synthetic || section_any(section_below(s, "cost")) ||
	    section_has(s, "share") || section_has(s, "deadline") ||
	    section_has(s, "period") || section_has(s, "class"))
		return section_fail(s, NULL,
				    "arrival: {model: loop} is one job of best "
				    "effort that never ends: no codecs, "
				    "period, cost, deadline or class");
	f->terms.cls = CR_BE;
	return 0;
}

/* A length of a talker's turns: a time, or a range of it if @most; what is
 * there already is the default. */
static int read_turn(const struct section *s, const char *name, cr_ns *least,
		     cr_ns *most)
{
	const char *text = section_text(s, name);
	cr_ns at[2];
	unsigned n;

	if (!text)
		return 0;
	n = read_series(text, units_parse_time, at, most ? 2 : 1);
	if (!n || at[0] < (most ? TURN_MIN : CR_MS) || at[n - 1] < at[0] ||
	    at[n - 1] > TURN_MAX)
		return section_fail(s, name,
				    "%s=%.64s: needs a time%s, from %s to "
				    "600s",
				    name, text,
				    most ? ", or a range of it, such as "
					   "700ms..1800ms"
					 : " such as 1.2s",
				    most ? "10ms" : "1ms");
	*least = at[0];
	if (most)
		*most = at[n - 1];
	return 0;
}

static int read_turns(const struct section *s, struct campaign_voice *v)
{
	struct talk_spurts *t = &v->turns;
	int rc;

	*t = (struct talk_spurts){ { 700 * CR_MS, 1800 * CR_MS },
				   { 600 * CR_MS, 1600 * CR_MS },
				   (unsigned)v->noise };
	rc = read_turn(s, "spurt", &t->spurt.least, &t->spurt.most);
	return rc ? rc : read_turn(s, "pause", &t->pause.least, &t->pause.most);
}

static int read_talk_model(const struct section *s, struct campaign_voice *v)
{
	int rc;

	v->spurt = v->pause = 1200 * CR_MS;
	rc = read_turn(s, "spurt", &v->spurt, NULL);
	return rc ? rc : read_turn(s, "pause", &v->pause, NULL);
}

static int read_voice(const struct section *s, struct campaign_voice *v)
{
	int rc = section_values(s, v);
	bool talk = v->kind == VOICE_TALK, turns = v->kind == VOICE_TURNS;
	const struct key_check keys[] = {
		{ "spurt", talk || turns, false },
		{ "pause", talk || turns, false },
		{ "level", talk, false },
		{ "noise", talk || turns, false },
		{ NULL, false, false },
	};

	if (!rc)
		rc = check_keys(s, key_voices[v->kind], keys);
	if (!rc && turns)
		rc = read_turns(s, v);
	if (!rc && talk)
		rc = read_talk_model(s, v);
	return rc;
}

int read_models(const struct section *s, struct campaign_flow *f)
{
	int rc;

	if (!f->synthetic && section_has(s, "period"))
		return section_fail(s, "period",
				    "period belongs to flows without codecs; "
				    "theirs is ptime");
	if (f->synthetic && section_has(s, "ptime"))
		return section_fail(s, "ptime",
				    "ptime belongs to flows with codecs; give "
				    "period");
	rc = read_arrival(s, f);
	if (!rc)
		rc = read_cost(s, f);
	if (!rc)
		rc = read_voice(section_below(s, "voice"), &f->voice);
	if (!rc && f->arrival.kind == ARRIVAL_LOOP)
		rc = check_loop(s, f);
	if (!rc && f->arrival.kind == ARRIVAL_ENVELOPE)
		rc = read_envelope(s, f);
	return rc;
}
