/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One flow of a campaign, or the two of a two-way flow: a's speech to b and b's
 * to a. What both have is said once; what a party sends, and what happens to
 * it, is said of the party. Values are read by the tables, then checked against
 * each other and against what the codecs can do.
 */
#include <errno.h>
#include <string.h>

#include "base/field.h"
#include "campaign/section.h"
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

static int check_buffer(const struct section *s, struct campaign_flow *f)
{
	struct campaign_buffer *b = &f->buffer;
	const cr_ns room = (JITTER_SLOTS_MAX - MORE_SLOTS) * f->ptime;
	int rc = section_check_model(s, b->kind, NULL);

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

/* --- the arrival model "envelope", checked against the flow's costs --- */

/* A job that never fits into its bucket would never come. */
static int check_jobs(const struct section *s, const struct section *arrival,
		      const struct campaign_flow *f)
{
	bool constant = f->cost.kind == COST_CONSTANT;

	if (!f->synthetic || f->cost.kind == COST_MEASURED)
		return section_fail(arrival, "model",
				    "model=envelope needs the flow's cost");
	if (!constant && !section_has(section_get(s, "cost"), "max"))
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
	if (f->arrival.peak_ppm && f->arrival.peak_ppm < f->arrival.rate_ppm)
		return section_fail(arrival, "peak", "peak is below the rate");
	return 0;
}

/*
 * What calls say, and what only the simulator reads of a flow: what jobs cost
 * and when they come.
 */

/* Of a talker: a turn is whole blocks of speech/speech.c. */
#define TURN_MIN (10 * CR_MS)

static int read_share(const struct section *s, struct campaign_flow *f)
{
	int64_t ppm = section_range(s, "share").least;

	if (section_any(section_get(s, "cost")))
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

static int check_flow_cost(const struct section *s, struct campaign_flow *f)
{
	const struct section *cost = section_get(s, "cost");
	struct campaign_cost *c = &f->cost;
	int rc;

	if (section_has(s, "share"))
		return read_share(s, f);
	if (!section_has(cost, "model") && section_has(cost, "mean"))
		c->kind = COST_CONSTANT;
	if (f->synthetic && c->kind == COST_MEASURED &&
	    f->arrival.kind != ARRIVAL_LOOP)
		return section_fail(s, NULL,
				    "a flow without codecs needs cost (or "
				    "share)");
	rc = section_check_model(cost, c->kind, NULL);
	if (!rc && section_has(cost, "half-life") && !c->warm &&
	    c->kind != COST_MEASURED)
		return section_fail(cost, "half-life", "half-life needs warm");
	if (!rc && c->sd > 1000 * c->mean)
		return section_fail(cost, "sd",
				    "sd is more than 1000 times the mean");
	if (!rc && c->min > c->max)
		return section_fail(cost, "min", "min is above max");
	return rc;
}

static int check_arrival(const struct section *s, const struct section *arrival,
			 struct campaign_flow *f)
{
	static const char *const plans[] = { "network", "drift", "talk" };
	struct campaign_arrival *a = &f->arrival;
	int rc = section_check_model(arrival, a->kind, NULL);

	if (rc)
		return rc;
	/* the plan's network, talk and clock models make arrivals of their own
	 */
	for (unsigned i = 0; a->kind != ARRIVAL_PLAN && i < 3; i++) {
		if (section_any(section_get(s, plans[i])))
			return section_fail(s, plans[i],
					    "network, talk and drift belong to "
					    "arrival: {model: plan}");
	}
	if (a->kind == ARRIVAL_LOOP && !f->ptime)
		f->ptime = CR_SEC;
	if (!f->ptime)
		return section_fail(s, NULL,
				    "needs in and out (codecs), or period (a "
				    "flow for the simulator)");
	if (a->kind == ARRIVAL_BURSTY &&
	    a->spacing * (a->burst - 1) >= f->ptime * a->burst)
		return section_fail(arrival, "spacing",
				    "spacing: a burst must end before the next "
				    "one begins, %lld periods later",
				    (long long)a->burst);
	return rc;
}

/* A length of talk, or of turns, which is whole blocks of
 * speech/speech.c; what is there already is the default. */
static int read_turn(const struct section *s, const char *name, bool turns,
		     struct field_range *to)
{
	const struct field_range at = section_range(s, name);

	if (!section_has(s, name))
		return 0;
	if (turns && at.least < TURN_MIN)
		return section_fail(s, name, "%s: of turns, at least 10ms",
				    name);
	if (!turns && at.least != at.most)
		return section_fail(s, name,
				    "%s: model=talk has a mean, such as 1.2s",
				    name);
	*to = at;
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

/* Cost and arrival models of flow @s, of which the rest is in @f; without
 * codecs they make it a synthetic one. */
static int check_models(const struct section *s, struct campaign_flow *f)
{
	const struct section *arrival = section_get(s, "arrival");
	int rc = check_arrival(s, arrival, f);

	if (!rc)
		rc = check_flow_cost(s, f);
	if (!rc)
		rc = read_voice(section_get(s, "voice"), &f->voice);
	if (!rc && f->arrival.kind == ARRIVAL_LOOP) {
		if (!f->synthetic || section_any(section_get(s, "cost")) ||
		    section_has(s, "share") || section_has(s, "deadline") ||
		    section_has(s, "period") || section_has(s, "class"))
			return section_fail(
				s, NULL,
				"arrival: {model: loop} is one job of best "
				"effort that never ends: no codecs, "
				"period, cost, deadline or class");
		f->terms.cls = CR_BE;
	}
	if (rc || f->arrival.kind != ARRIVAL_ENVELOPE)
		return rc;
	return check_jobs(s, arrival, f);
}

/* --- one-way and two-way flows --- */

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

int section_check_codec(const struct section *s, struct codec_use *endpoint)
{
	unsigned rate = endpoint->cfg.sample_rate;
	struct cr_err e;
	char text[80];
	int rc;

	if (!endpoint->codec)
		return section_fail(s, NULL, "'codec' is missing");
	if (codec_mode_named(&endpoint->cfg.mode, endpoint->codec,
			     section_text(s, "mode"), &e))
		return section_fail(s, "mode", "mode: %.350s", e.text);
	endpoint->name = endpoint->codec->name;
	endpoint->mode = endpoint->codec->modes[endpoint->cfg.mode].name;
	endpoint->pt = CODEC_PT_UNSAID;
	rc = check_endpoint_keys(s, endpoint->codec);
	if (!rc && rate && !cr_codec_has_rate(endpoint->codec, rate))
		return section_fail(s, "rate", "rate=%u: needs %s (Hz)", rate,
				    cr_codec_rates_text(endpoint->codec, text,
							sizeof(text)));
	return rc;
}

/* One packet carries one frame; only PCM codecs leave its length free. */
static int set_samples(const struct section *s, cr_ns ptime,
		       struct codec_use *endpoint)
{
	const struct cr_codec *c = endpoint->codec;
	unsigned rate = codec_use_rate(endpoint);
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

/* The ptime of flow @s, 0: its codec's; and the samples of both endpoints. */
static int check_flow_ptime(const struct section *s, struct campaign_flow *f)
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
static void follow_other_rate(struct codec_use *endpoint,
			      const struct codec_use *other)
{
	unsigned rate = codec_use_rate(other);

	if (endpoint->codec->rate_follows && !endpoint->cfg.sample_rate &&
	    cr_codec_has_rate(endpoint->codec, rate))
		endpoint->cfg.sample_rate = rate;
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
	    !section_has(section_get(s, "start"), "poisson"))
		return section_fail(s, NULL,
				    "needs count (calls), load (share of the "
				    "capacity), like (another flow) or "
				    "start.poisson");
	return 0;
}

/* Read the values of flow @s into @f, and those of @party of a two-way flow. */
static int read_flow_values(struct section *s, struct section *party,
			    struct campaign_flow *f)
{
	static const char *const kinds[] = {
		[FLOW_ONE_WAY] = "a one-way flow",
		[FLOW_TWO_WAY] = "a two-way flow; see a and b",
		[FLOW_SYNTHETIC] = "a flow without codecs",
	};
	enum flow_kind kind = party ? FLOW_TWO_WAY : FLOW_ONE_WAY;
	int rc;

	f->line = section_line(s, NULL);
	f->synthetic = !party && !section_any(section_get(s, "in")) &&
		       !section_any(section_get(s, "out"));
	if (f->synthetic)
		kind = FLOW_SYNTHETIC;
	rc = section_check_model(s, kind, kinds[kind]);
	if (!rc)
		rc = check_count(s, f->synthetic);
	if (!rc)
		rc = section_values(s, f);
	if (!rc && party)
		rc = section_values(party, f);
	if (rc)
		return rc;
	if (f->synthetic)
		f->ptime = section_range(s, "period").least;
	if (f->synthetic && !has_count(s) &&
	    !section_has(section_get(s, "start"), "poisson"))
		f->count = 1;
	if (f->terms.cls == CR_BE && section_has(s, "deadline"))
		return section_fail(s, "deadline",
				    "class best-effort has no deadline");
	return 0;
}

/* Name flow number @i; of a two-way flow, each direction of @f. */
static int name_flow(const struct section *s, unsigned i,
		     struct campaign_flow f[2], bool both)
{
	char name[CAMPAIGN_NAME_MAX];

	(void)snprintf(name, sizeof(name), "flow%u", i + 1);
	if (f->name[0])
		memcpy(name, f->name, sizeof(name));
	if (both && strlen(name) + 2 >= CAMPAIGN_NAME_MAX)
		return section_fail(s, "name",
				    "name=%s: a two-way flow's has at most %u "
				    "letters",
				    name, CAMPAIGN_NAME_MAX - 3);
	if (!both)
		memcpy(f->name, name, sizeof(name));
	for (unsigned k = 0; k < 2 && both; k++) {
		(void)snprintf(f[k].name, sizeof(f[k].name), "%.29s.%c", name,
			       k ? 'b' : 'a');
		memcpy(f[k].party.flow, name, sizeof(name));
		f[k].party.side = k;
	}
	return 0;
}

/* Deadline, release, contract, start, expectations. */
static int check_terms(const struct section *s, struct campaign_flow *f)
{
	const struct section *release = section_get(s, "release");
	const struct section *start = section_get(s, "start");
	const struct section *contract = section_get(s, "contract");
	struct contract_flaw flaw;
	int rc;

	if (!f->terms.deadline)
		f->terms.deadline = f->terms.cls == CR_BE ? CR_NEVER : f->ptime;
	f->release_named = section_has(release, "model");
	rc = section_check_model(release, f->release.kind, NULL);
	if (rc)
		return rc;
	/* all that the contract may contradict is in @f */
	if (section_has(contract, "burst") && section_has(release, "burst"))
		return section_fail(contract, "burst",
				    "burst: release says it already: leave one "
				    "of them out");
	if (contract_check(&f->terms, f->ptime,
			   (enum release_kind)f->release.kind, &flaw))
		return section_fail(contract, flaw.member, "%s: %s",
				    flaw.member, flaw.text);
	if (f->start.poisson.rates > 1 && !f->start.spread)
		return section_fail(start, "poisson",
				    "poisson: a ramp needs spread: how long it "
				    "takes");
	/* shares of the rate count / hold */
	if (f->start.poisson.of_hold &&
	    (!has_count(s) || !section_has(section_get(s, "hold"), "mean")))
		return section_fail(start, "poisson",
				    "poisson: a share is of what keeps count "
				    "calls up: give %s, or calls per second",
				    has_count(s) ? "the mean of hold"
						 : "count, load or like");
	return read_expect(section_get(s, "expect"), METRIC_LOSS, f->expect);
}

/* --- calls --- */

static int check_call_endpoints(const struct section *s,
				struct campaign_flow *f)
{
	const struct section *in = section_get(s, "in");
	const struct section *out = section_get(s, "out");
	int rc;

	if (!section_any(in) || !section_any(out))
		return section_fail(s, NULL, "'%s' is missing",
				    section_any(in) ? "out" : "in");
	rc = section_check_codec(in, &f->in);
	if (!rc)
		rc = section_check_codec(out, &f->out);
	if (rc)
		return rc;
	if (!f->in.codec->encoder_open || !f->in.codec->decoder_open)
		return section_fail(s, "in", "in: %s works one way only",
				    f->in.codec->name);
	if (!f->out.codec->encoder_open)
		return section_fail(s, "out", "out: %s cannot encode",
				    f->out.codec->name);
	follow_other_rate(&f->in, &f->out);
	follow_other_rate(&f->out, &f->in);
	return check_flow_ptime(s, f);
}

/* --- two-way flows --- */

#define CN_STATIC 13
#define CLOCK_STATIC 8000u

bool section_is_two_way(const struct section *s)
{
	return section_any(section_get(s, "a")) ||
	       section_any(section_get(s, "b"));
}

static unsigned endpoint_clock(const struct codec_use *endpoint)
{
	return cr_codec_clock(endpoint->codec, endpoint->cfg.sample_rate);
}

/* A payload type stands for one thing; from 64 to 95 they look like RTCP. */
static int check_pt(const struct section *s, int64_t pt, int64_t other)
{
	if (pt >= 64 && pt <= 95)
		return section_fail(s, "pt", "pt=%lld: 64 to 95 look like RTCP",
				    (long long)pt);
	if (pt == other)
		return section_fail(s, "pt", "pt=%lld: is the codec's",
				    (long long)pt);
	if (pt == 0)
		return section_fail(s, "pt", "pt=0: is that of PCMU");
	return 0;
}

static int check_pts(const struct section *party, const struct campaign_flow *f)
{
	const struct campaign_party *p = &f->party;
	const struct section *dtmf = section_get(party, "dtmf");
	const struct section *cn = section_get(party, "cn");
	int own = f->in.codec->static_pt;
	int rc = 0;

	if (own < 0)
		own = 96; /* what the daemon chooses */
	if (p->dtmf.digits[0])
		rc = check_pt(dtmf, p->dtmf.pt, own);
	if (!rc && p->cn.given)
		rc = check_pt(cn, p->cn.pt, own);
	if (!rc && p->dtmf.digits[0] && p->cn.given && p->dtmf.pt == p->cn.pt)
		rc = section_fail(dtmf, "pt", "pt=%lld: is that of cn",
				  (long long)p->dtmf.pt);
	return rc;
}

static int check_when(const struct section *s, const struct campaign_change *w)
{
	if (section_any(s) && !w->at && !w->every)
		return section_fail(s, NULL,
				    "needs at (the first time) or every");
	return 0;
}

/* Both parties' codecs; what each is sent, and in which packets. */
static int check_party_endpoints(const struct section *s,
				 struct section *const party[2],
				 struct campaign_flow f[2])
{
	struct codec_use endpoint[2];
	int rc = 0;

	for (unsigned k = 0; k < 2; k++) {
		if (!section_any(party[k]))
			return section_fail(s, NULL, "'%s' is missing",
					    k ? "b" : "a");
		rc = section_check_codec(party[k], &f[k].in);
		if (rc)
			return rc;
		if (!f[k].in.codec->encoder_open ||
		    !f[k].in.codec->decoder_open)
			return section_fail(party[k], "codec",
					    "codec: %s works one way only",
					    f[k].in.codec->name);
	}
	follow_other_rate(&f[0].in, &f[1].in);
	follow_other_rate(&f[1].in, &f[0].in);
	endpoint[0] = f[0].in;
	endpoint[1] = f[1].in;
	for (unsigned k = 0; k < 2 && !rc; k++) {
		const struct codec_use *in = &f[k].in;

		f[k].out = endpoint[!k];
		/* codecs with frames have their length; PCM takes that of the
		 * other one */
		if (!f[k].ptime &&
		    in->codec->any_length != f[k].out.codec->any_length)
			f[k].ptime = in->codec->any_length
					     ? cr_codec_frame_ns(f[k].out.codec,
								 &f[k].out.cfg)
					     : cr_codec_frame_ns(in->codec,
								 &in->cfg);
		f[k].party.ptime = f[k].ptime;
		rc = check_flow_ptime(s, &f[k]);
	}
	return rc;
}

static int check_flow_party(const struct section *s, struct campaign_flow *f)
{
	const struct section *dtmf = section_get(s, "dtmf");
	const struct section *cn = section_get(s, "cn");
	const struct campaign_party *p = &f->party;
	int rc;

	if (section_any(dtmf) && !section_has(dtmf, "digits"))
		return section_fail(dtmf, NULL, "'digits' is missing");
	f->party.cn.given = section_any(cn);
	if (p->cn.given && !f->talk.spurt)
		return section_fail(cn, NULL,
				    "comfort noise is sent in pauses: give "
				    "talk, too");
	if (p->cn.given && !section_has(cn, "pt") &&
	    endpoint_clock(&f->in) != CLOCK_STATIC)
		return section_fail(cn, "pt",
				    "pt: the static payload type %d is of "
				    "8000 Hz; give one for %u Hz",
				    CN_STATIC, endpoint_clock(&f->in));
	rc = check_pts(s, f);
	if (!rc && p->address == ADDRESS_LEARNED &&
	    p->learn == CAMPAIGN_LEARN_STRICT)
		return section_fail(s, "learn",
				    "learn=strict needs address: known");
	if (!rc)
		rc = check_when(section_get(s, "ssrc-change"), &p->ssrc.when);
	return rc ? rc
		  : check_when(section_get(s, "address-change"), &p->port.when);
}

/* --- the whole flow --- */

int read_flow(struct section *s, unsigned i, struct campaign_flow f[2])
{
	struct section *const party[] = { section_get(s, "a"),
					  section_get(s, "b") };
	bool both = section_is_two_way(s);
	int rc = 0;

	for (unsigned k = 0; k < 1u + both && !rc; k++)
		rc = read_flow_values(s, both ? party[k] : NULL, &f[k]);
	if (!rc)
		rc = name_flow(s, i, f, both);
	if (!rc && both)
		rc = check_party_endpoints(s, party, f);
	else if (!rc && !f->synthetic)
		rc = check_call_endpoints(s, f);
	for (unsigned k = 0; k < 1u + both && !rc; k++) {
		rc = check_models(s, &f[k]);
		if (!rc)
			rc = check_terms(s, &f[k]);
		if (!rc)
			rc = check_buffer(
				section_get(both ? party[k] : s, "jitter"),
				&f[k]);
		if (!rc && both)
			rc = check_flow_party(party[k], &f[k]);
	}
	return rc;
}
