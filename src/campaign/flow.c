/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One flow of a campaign: its values converted, then checked against each
 * other and against what the codecs can do.
 */
#include <errno.h>
#include <string.h>

#include "base/options.h"
#include "campaign/parts.h"
#include "codecs/registry.h"
#include "rtp/jitter.h"

/* Does flow @s say how many calls it has: by count, load or like? */
static bool has_count(const struct section *s)
{
	return section_has(s, "count") || section_has(s, "load") ||
	       section_has(s, "like");
}

/* --- the jitter buffer; the simulator has it --- */

/* Beside what fits into the delay: one that comes, one that goes. */
#define MORE_SLOTS 3

unsigned campaign_buffer_slots(const struct campaign_buffer *b, cr_ns ptime)
{
	return (unsigned)(b->most / ptime) + MORE_SLOTS;
}

/* The jitter buffer of flow @s, whose arrivals and ptime are in @f. */
static int read_buffer(const struct section *s, struct campaign_flow *f)
{
	struct campaign_buffer *b = &f->buffer;
	const cr_ns room = (JITTER_SLOTS_MAX - MORE_SLOTS) * f->ptime;
	int rc = section_values(s, b);

	if (!rc)
		rc = section_check_model(s, b->kind, NULL);
	if (rc || b->kind == JITTER_OFF)
		return rc;
	if (f->arrival.kind != ARRIVAL_PLAN)
		return section_fail(s, "buffer",
				    "a jitter buffer belongs to arrival: "
				    "{model: plan}");
	if (!section_has(s, "least"))
		b->least = cr_ns_min(b->least, b->most);
	if (b->least > b->most)
		return section_fail(s, "least", "least is above most");
	if (b->most > room)
		return section_fail(s, "most",
				    "most: a jitter buffer holds %u packets, "
				    "here %lldms",
				    JITTER_SLOTS_MAX - MORE_SLOTS,
				    (long long)(room / CR_MS));
	return 0;
}

/* --- the contract, in the words that call.start has for it --- */

/* The contract of flow @s; all that it may contradict is in @f. */
static int read_contract(const struct section *s, struct campaign_flow *f)
{
	const struct section *k = section_below(s, "contract");
	struct contract_flaw flaw;

	if (section_has(k, "burst") &&
	    section_has(section_below(s, "release"), "burst"))
		return section_fail(k, "burst",
				    "burst: release says it already: leave one "
				    "of them out");
	if (contract_check(&f->terms, f->ptime,
			   (enum release_kind)f->release.kind, &flaw))
		return section_fail(k, flaw.member, "%s: %s", flaw.member,
				    flaw.text);
	return 0;
}

/* --- when calls begin, and how long they last --- */

/* "5/s", "90%", "20%..110%..20%"; with the unit of a share, as 5 would be
 * 500 %, and 5/s is meant. */
static int read_poisson(const struct section *s, struct campaign_poisson *p)
{
	static const struct option_row rate = {
		.kind = OPTION_RATE,
		.flags = OPTION_ZERO,
		.min = CAMPAIGN_RATE_MIN,
		.max = CAMPAIGN_RATE_MAX,
	};
	static const struct option_row share = {
		.kind = CR_OPT_PPM,
		.flags = OPTION_ZERO | OPTION_UNIT,
		.min = CR_PPM / 1000,
		.max = 100 * CR_PPM,
	};
	const char *text = section_text(s, "poisson");
	bool some = false;

	if (!text)
		return 0;
	p->rates = option_series(&rate, text, p->rate, CAMPAIGN_RATES);
	p->of_hold = !p->rates;
	if (p->of_hold)
		p->rates = option_series(&share, text, p->rate, CAMPAIGN_RATES);
	for (unsigned i = 0; i < p->rates; i++)
		some |= p->rate[i] != 0;
	if (some)
		return 0;
	return section_fail(
		s, "poisson",
		"poisson=%.64s: needs a number per second, such as 5/s, from "
		"0.001/s to 100000/s, or a share of what keeps count calls up, "
		"such as 90%%, from 0.1%% to 10000%%; or a ramp of up to %u of "
		"them, such as 20%%..110%%..20%%",
		text, CAMPAIGN_RATES);
}

/* Shares of the rate count / hold. */
static int check_of_hold(const struct section *flow, const struct section *s)
{
	if (!has_count(flow))
		return section_fail(s, "poisson",
				    "poisson: a share is of what keeps count "
				    "calls up: give count, load or like, or "
				    "calls per second");
	if (!section_has(section_below(flow, "hold"), "mean"))
		return section_fail(s, "poisson",
				    "poisson: a share is of what keeps count "
				    "calls up: give the mean of hold, or calls "
				    "per second");
	return 0;
}

static int read_flow_start(const struct section *s, struct campaign_flow *f)
{
	const struct section *start = section_below(s, "start");
	int rc = read_poisson(start, &f->start.poisson);

	if (rc)
		return rc;
	if (f->start.poisson.rates > 1 && !f->start.spread)
		return section_fail(start, "poisson",
				    "poisson: a ramp needs spread: how long it "
				    "takes");
	if (f->start.poisson.of_hold)
		rc = check_of_hold(s, start);
	return rc;
}

/* --- the arrival model "envelope", checked against the flow's costs --- */

/* A job that never fits into its bucket would never come. */
static int check_jobs(const struct section *s, const struct section *arrival,
		      const struct campaign_flow *f)
{
	bool constant = f->cost.kind == COST_CONSTANT;

	if (!f->synthetic || f->cost.kind == COST_MEASURED)
		return section_fail(arrival, "model",
				    "model=envelope needs the flow's cost");
	if (!constant && !section_has(section_below(s, "cost"), "max"))
		return section_fail(arrival, "model",
				    "model=envelope needs 'max' of the cost: "
				    "the longest job");
	if ((constant ? f->cost.mean : f->cost.max) > f->arrival.depth)
		return section_fail(arrival, "depth",
				    "depth: the longest job does not fit");
	if (section_has(s, "ring"))
		return section_fail(arrival, "model",
				    "model=envelope and ring exclude each "
				    "other");
	return 0;
}

/* Rate and peak of arrivals, as numbers of @kind. */
static int read_rates(const struct section *s, unsigned kind, int64_t least,
		      int64_t most, struct campaign_arrival *a)
{
	struct option_row row = {
		.name = "rate", .kind = kind, .min = least, .max = most
	};
	int rc = section_number_as(s, &row, &a->rate_ppm);

	row.name = "peak";
	if (!rc)
		rc = section_number_as(s, &row, &a->peak_ppm);
	if (!rc && a->peak_ppm && a->peak_ppm < a->rate_ppm)
		return section_fail(s, "peak", "peak is below the rate");
	return rc;
}

/* What only the arrival model "envelope" has, of flow @s whose cost is in
 * @f. */
static int read_envelope(const struct section *s, struct campaign_flow *f)
{
	const struct section *arrival = section_below(s, "arrival");
	struct campaign_arrival *a = &f->arrival;
	int rc = read_rates(arrival, CR_OPT_PPM, 1, 100 * CR_PPM, a);

	return rc ? rc : check_jobs(s, arrival, f);
}

/*
 * What calls say, and what only the simulator reads of a flow: what jobs cost
 * and when they come.
 */

/* Of a talker: a turn is whole blocks of speech/talk_spurts.c. */
#define TURN_MIN (10 * CR_MS)

static int check_flow_cost(const struct section *s,
			   const struct campaign_cost *c)
{
	int rc = section_check_model(s, c->kind, NULL);

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
	int rc;

	if (section_has(s, "share"))
		return read_share(s, f);
	if (!section_has(cost, "model") && section_has(cost, "mean"))
		f->cost.kind = COST_CONSTANT;
	if (f->synthetic && f->cost.kind == COST_MEASURED &&
	    f->arrival.kind != ARRIVAL_LOOP)
		return section_fail(s, NULL,
				    "a flow without codecs needs cost (or "
				    "share)");
	rc = check_flow_cost(cost, &f->cost);
	return rc ? rc : section_copy(cost, "file", &f->cost.file);
}

/* The plan's network, talk and clock models make arrivals of their own. */
static int check_arrival_alone(const struct section *s)
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
	int rc = section_check_model(arrival, a->kind, NULL);

	if (!rc && a->kind != ARRIVAL_PLAN)
		rc = check_arrival_alone(s);
	if (rc)
		return rc;
	if (a->kind == ARRIVAL_LOOP && !f->ptime)
		f->ptime = CR_SEC;
	if (!f->ptime)
		return section_fail(s, NULL,
				    "needs in and out (codecs), or period (a "
				    "flow for the simulator)");
	if (a->kind == ARRIVAL_TSPEC) {
		a->rate_ppm = CR_PPM * CR_SEC / f->ptime;
		rc = read_rates(arrival, OPTION_RATE, CAMPAIGN_RATE_MIN,
				CAMPAIGN_RATE_MAX, a);
	}
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

/* A length of talk, or of turns, which is whole blocks of
 * speech/talk_spurts.c; what is there already is the default. */
static int read_turn(const struct section *s, const char *name, bool turns,
		     struct speech_span *to)
{
	const struct campaign_range at = section_range(s, name);

	if (!section_has(s, name))
		return 0;
	if (turns && at.least < TURN_MIN)
		return section_fail(s, name, "%s: of turns, at least 10ms",
				    name);
	if (!turns && at.least != at.most)
		return section_fail(s, name,
				    "%s: model=talk has a mean, such as 1.2s",
				    name);
	*to = (struct speech_span){ at.least, at.most };
	return 0;
}

static int read_voice(const struct section *s, struct campaign_voice *v)
{
	int rc = section_check_model(s, v->kind, NULL);
	bool talk = v->kind == VOICE_TALK, turns = v->kind == VOICE_TURNS;
	struct talk_spurts t = { { 700 * CR_MS, 1800 * CR_MS },
				 { 600 * CR_MS, 1600 * CR_MS },
				 (unsigned)v->noise };

	if (rc || !(talk || turns))
		return rc;
	if (talk)
		t.spurt.least = t.pause.least = 1200 * CR_MS;
	rc = read_turn(s, "spurt", turns, &t.spurt);
	if (!rc)
		rc = read_turn(s, "pause", turns, &t.pause);
	if (turns)
		v->turns = t;
	v->spurt = t.spurt.least;
	v->pause = t.pause.least;
	return rc;
}

int read_models(const struct section *s, struct campaign_flow *f)
{
	int rc;

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

/* --- the whole flow --- */

int read_flow_name(const struct section *s, unsigned i, char *out)
{
	static const char allowed[] = "abcdefghijklmnopqrstuvwxyz"
				      "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.";
	const char *text = section_text(s, "name");
	size_t n;

	if (!text) {
		(void)snprintf(out, CAMPAIGN_NAME_MAX, "flow%u", i + 1);
		return 0;
	}
	n = strlen(text);
	if (!n || n >= CAMPAIGN_NAME_MAX || strspn(text, allowed) != n)
		return section_fail(s, "name",
				    "name=%.64s: needs 1 to %u letters, digits "
				    "or -_.",
				    text, CAMPAIGN_NAME_MAX - 1);
	(void)snprintf(out, CAMPAIGN_NAME_MAX, "%s", text);
	return 0;
}

static int find_codec(const struct section *s,
		      struct campaign_endpoint *endpoint)
{
	const char *text = section_text(s, "codec");
	struct cr_err e;

	if (!text)
		return section_fail(s, NULL, "'codec' is missing");
	if (codec_named(&endpoint->codec, text, &e))
		return section_fail(s, "codec", "codec: %.350s", e.text);
	if (codec_mode_named(&endpoint->cfg.mode, endpoint->codec,
			     section_text(s, "mode"), &e))
		return section_fail(s, "mode", "mode: %.350s", e.text);
	return 0;
}

/* Keys that this codec does not know must not be given. */
static int check_endpoint_keys(const struct section *s,
			       const struct cr_codec *c)
{
	const struct {
		const char *name;
		bool fits;
	} keys[] = {
		{ "rate", c->rates != NULL },
		{ "octet-align",
		  !strcmp(c->name, "amr") || !strcmp(c->name, "amr-wb") },
		{ "dtx", c->dtx },
		{ "complexity", c->tunable },
		{ "fec", c->tunable },
		{ "spin", strcmp(c->name, "spin") == 0 },
	};

	for (unsigned i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
		if (section_has(s, keys[i].name) && !keys[i].fits)
			return section_fail(s, keys[i].name,
					    "%s: does not apply to codec %s",
					    keys[i].name, c->name);
	return 0;
}

int read_endpoint(const struct section *s, struct campaign_endpoint *endpoint)
{
	int rc = find_codec(s, endpoint);
	unsigned rate;
	char text[80];

	if (!rc)
		rc = check_endpoint_keys(s, endpoint->codec);
	if (!rc)
		rc = section_values(s, endpoint);
	if (rc)
		return rc;
	endpoint->cfg.complexity = (unsigned)(endpoint->complexity + 1);
	rate = endpoint->cfg.sample_rate;
	if (rate && !cr_codec_has_rate(endpoint->codec, rate))
		return section_fail(s, "rate", "rate=%u: needs %s (Hz)", rate,
				    cr_codec_rates_text(endpoint->codec, text,
							sizeof(text)));
	return 0;
}

/* One packet carries one frame; only PCM codecs leave its length free. */
static int set_samples(const struct section *s, cr_ns ptime,
		       struct campaign_endpoint *endpoint)
{
	const struct cr_codec *c = endpoint->codec;
	unsigned rate = endpoint->cfg.sample_rate ? endpoint->cfg.sample_rate
						  : c->sample_rate;
	cr_ns frame = cr_codec_frame_ns(c, &endpoint->cfg);

	if (ptime == frame || !cr_codec_has_length(c, ptime))
		return 0;
	if (c->any_length && (ptime * rate % CR_SEC ||
			      ptime * rate / CR_SEC > CR_PCM_SAMPLES_MAX))
		return section_fail(s, "ptime",
				    "ptime: %s needs whole samples, %u at most",
				    c->name, CR_PCM_SAMPLES_MAX);
	endpoint->cfg.samples = (unsigned)(ptime * rate / CR_SEC);
	return 0;
}

int check_flow_ptime(const struct section *s, struct campaign_flow *f)
{
	cr_ns frame = cr_codec_frame_ns(f->in.codec, &f->in.cfg);
	int rc;

	if (!f->ptime)
		f->ptime = frame;
	if (f->ptime != frame && !cr_codec_has_length(f->in.codec, f->ptime))
		return section_fail(
			s, "ptime", "ptime: frames of %s last %lldms",
			f->in.codec->name, (long long)(frame / CR_MS));
	rc = set_samples(s, f->ptime, &f->in);
	return rc ? rc : set_samples(s, f->ptime, &f->out);
}

/* As the daemon does when no rate is said. */
void follow_other_rate(struct campaign_endpoint *endpoint,
		       const struct campaign_endpoint *other)
{
	unsigned rate = campaign_endpoint_rate(other);

	if (endpoint->codec->rate_follows && !endpoint->cfg.sample_rate &&
	    cr_codec_has_rate(endpoint->codec, rate))
		endpoint->cfg.sample_rate = rate;
}

static int check_directions(const struct section *s,
			    const struct campaign_flow *f)
{
	if (!f->in.codec->encoder_open || !f->in.codec->decoder_open)
		return section_fail(s, "in", "in: %s works one way only",
				    f->in.codec->name);
	if (!f->out.codec->encoder_open)
		return section_fail(s, "out", "out: %s cannot encode",
				    f->out.codec->name);
	return 0;
}

static int check_count(const struct section *s, bool synthetic)
{
	bool count = section_has(s, "count"), load = section_has(s, "load");

	if (count && load)
		return section_fail(s, "load",
				    "count and load exclude each other");
	if (section_has(s, "like") && (count || load))
		return section_fail(s, "like", "like excludes count and load");
	if (!has_count(s) && !synthetic &&
	    !section_has(section_below(s, "start"), "poisson"))
		return section_fail(s, NULL,
				    "needs count (calls), load (share of the "
				    "capacity), like (another flow) or "
				    "start.poisson");
	return 0;
}

int read_numbers(const struct section *s, struct campaign_flow *f)
{
	static const char *const kinds[] = {
		[FLOW_CALL] = "a call",
		[FLOW_CONVERSATION] = "a conversation; see a and b",
		[FLOW_SYNTHETIC] = "a flow without codecs",
	};
	enum flow_kind kind = FLOW_CALL;
	int rc;

	f->synthetic = !campaign_converses(f) &&
		       !section_any(section_below(s, "in")) &&
		       !section_any(section_below(s, "out"));
	if (f->synthetic)
		kind = FLOW_SYNTHETIC;
	else if (campaign_converses(f))
		kind = FLOW_CONVERSATION;
	rc = section_check_model(s, kind, kinds[kind]);
	if (!rc)
		rc = check_count(s, f->synthetic);
	if (!rc)
		rc = section_values(s, f);
	if (rc)
		return rc;
	if (f->synthetic)
		f->ptime = section_number(s, "period");
	if (f->synthetic && !has_count(s) &&
	    !section_has(section_below(s, "start"), "poisson"))
		f->count = 1;
	if (f->terms.cls == CR_BE && section_has(s, "deadline"))
		return section_fail(s, "deadline",
				    "class best-effort has no deadline");
	return 0;
}

static int read_flow_endpoints(const struct section *s, struct campaign_flow *f)
{
	const struct section *in = section_below(s, "in");
	const struct section *out = section_below(s, "out");
	int rc;

	if (!section_any(in) || !section_any(out))
		return section_fail(s, NULL, "'%s' is missing",
				    section_any(in) ? "out" : "in");
	rc = read_endpoint(in, &f->in);
	if (!rc)
		rc = read_endpoint(out, &f->out);
	if (!rc)
		rc = check_directions(s, f);
	if (!rc) {
		follow_other_rate(&f->in, &f->out);
		follow_other_rate(&f->out, &f->in);
	}
	return rc ? rc : check_flow_ptime(s, f);
}

int read_terms(const struct section *s, struct campaign_flow *f)
{
	const struct section *release = section_below(s, "release");
	int rc;

	if (!f->terms.deadline)
		f->terms.deadline = f->terms.cls == CR_BE ? CR_NEVER : f->ptime;
	f->release_named = section_has(release, "model");
	rc = section_check_model(release, f->release.kind, NULL);
	if (!rc)
		rc = read_contract(s, f);
	if (!rc)
		rc = read_flow_start(s, f);
	if (!rc)
		rc = read_expect(section_below(s, "expect"), METRIC_LOSS,
				 f->expect);
	return rc ? rc
		  : section_copy_list(s, "input", &f->input, &f->input_count);
}

int read_flow_sender(const struct section *s, struct campaign_flow *f)
{
	int rc = section_values(section_below(s, "network"), &f->network);

	if (!rc)
		rc = read_buffer(section_below(s, "jitter"), f);
	if (!rc)
		rc = section_values(section_below(s, "talk"), &f->talk);
	f->drift = section_range(s, "drift");
	return rc;
}

int read_flow(const struct section *s, unsigned i, struct campaign_flow *f)
{
	int rc = read_flow_name(s, i, f->name);

	f->line = section_line(s, NULL);
	if (!rc)
		rc = read_numbers(s, f);
	if (!rc && !f->synthetic)
		rc = read_flow_endpoints(s, f);
	if (!rc)
		rc = read_models(s, f);
	if (rc)
		return rc;
	rc = read_terms(s, f);
	return rc ? rc : read_flow_sender(s, f);
}
