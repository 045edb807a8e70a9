/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One flow of a campaign: its values converted, then checked against each
 * other and against what the codecs can do.
 */
#include <string.h>

#include "base/nearest.h"
#include "base/units.h"
#include "campaign/parts.h"

#define MAX_NAMES 64u
/* ppm; crystals are within 100 */
#define DRIFT_MAX (CR_PPM / 10)

int read_name(const struct section *s, unsigned i, char *out)
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

static int find_codec(const struct section *s, const struct cr_codec **out)
{
	const char *names[MAX_NAMES + 1] = { NULL };
	const char *text = section_text(s, "codec");
	const struct cr_codec *c;
	char hint[200];

	if (!text)
		return section_fail(s, NULL, "'codec' is missing");
	c = cr_codec_find(text);
	for (unsigned i = 0; !c && cr_codecs[i] && i < MAX_NAMES; i++)
		names[i] = cr_codecs[i]->name;
	if (!c)
		return section_fail(
			s, "codec", "codec=%.64s: no such codec; %s", text,
			nearest_hint(text, names, hint, sizeof(hint)));
	*out = c;
	return 0;
}

static int find_mode(const struct section *s,
		     struct campaign_endpoint *endpoint)
{
	const struct cr_codec *c = endpoint->codec;
	const char *names[MAX_NAMES + 1] = { NULL };
	const char *text = section_text(s, "mode");
	char hint[200];
	int mode;

	endpoint->cfg.mode = c->default_mode;
	if (!text)
		return 0;
	mode = cr_codec_mode_find(c, text);
	if (mode < 0) {
		for (unsigned i = 0; i < c->nmodes && i < MAX_NAMES; i++)
			names[i] = c->modes[i].name;
		return section_fail(
			s, "mode", "mode=%.64s: %s has no such mode; %s", text,
			c->name, nearest_hint(text, names, hint, sizeof(hint)));
	}
	endpoint->cfg.mode = (unsigned)mode;
	return 0;
}

static bool is_amr(const struct cr_codec *c)
{
	return strcmp(c->name, "amr") == 0 || strcmp(c->name, "amr-wb") == 0;
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
		{ "octet-align", is_amr(c) },
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
	int rc = find_codec(s, &endpoint->codec);
	unsigned rate;
	char text[80];

	if (!rc)
		rc = find_mode(s, endpoint);
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

int check_ptime(const struct section *s, struct campaign_flow *f)
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

static unsigned endpoint_rate(const struct campaign_endpoint *endpoint)
{
	return endpoint->cfg.sample_rate ? endpoint->cfg.sample_rate
					 : endpoint->codec->sample_rate;
}

/* As the daemon does when no rate is said. */
void follow_rate(struct campaign_endpoint *endpoint,
		 const struct campaign_endpoint *other)
{
	unsigned rate = endpoint_rate(other);

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

static int read_release(const struct section *s, struct campaign_flow *f)
{
	const struct section *r = section_below(s, "release");
	int rc = section_values(r, &f->release);
	bool x = section_has(r, "x"), y = section_has(r, "y");

	if (rc)
		return rc;
	f->release_named = section_has(r, "model");
	if (f->release.kind == RELEASE_RATE && (!x || !y))
		return section_fail(r, "model",
				    "model=rate needs x (jobs) and y (time)");
	if (f->release.kind != RELEASE_RATE && (x || y))
		return section_fail(r, x ? "x" : "y",
				    "x and y belong to model=rate");
	if (f->release.kind != RELEASE_LBAP && section_has(r, "burst"))
		return section_fail(r, "burst", "burst belongs to model=lbap");
	return 0;
}

static int read_network(const struct section *s, struct campaign_network *n)
{
	int rc = section_values(s, n);

	if (!rc && section_has(s, "burst") && !n->loss)
		return section_fail(s, "burst", "burst needs loss");
	if (!rc && section_has(s, "depth") && !n->reorder)
		return section_fail(s, "depth", "depth needs reorder");
	return rc;
}

static int read_talk(const struct section *s, struct campaign_talk *t)
{
	bool spurt = section_has(s, "spurt");
	int rc = section_values(s, t);

	if (!rc && spurt != section_has(s, "pause"))
		return section_fail(s, spurt ? "spurt" : "pause",
				    "needs both spurt and pause");
	return rc;
}

/* "50ppm", or a range. */
static int read_drift(const struct section *s, struct campaign_drift *d)
{
	const char *text = section_text(s, "drift");
	int64_t at[2];
	unsigned n;

	if (!text)
		return 0;
	n = read_series(text, units_parse_ppm, at, 2);
	if (!n || at[0] < -DRIFT_MAX || at[n - 1] < at[0] ||
	    at[n - 1] > DRIFT_MAX)
		return section_fail(s, "drift",
				    "drift=%.64s: needs how fast the clock is, "
				    "or a range of it, such as 50ppm or "
				    "-100ppm..100ppm, from -10%% to 10%%",
				    text);
	*d = (struct campaign_drift){ at[0], at[n - 1] };
	return 0;
}

bool has_count(const struct section *s)
{
	return section_has(s, "count") || section_has(s, "load") ||
	       section_has(s, "like");
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
	int rc;

	f->synthetic = !campaign_converses(f) &&
		       !section_any(section_below(s, "in")) &&
		       !section_any(section_below(s, "out"));
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

static int read_endpoints(const struct section *s, struct campaign_flow *f)
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
		follow_rate(&f->in, &f->out);
		follow_rate(&f->out, &f->in);
	}
	return rc ? rc : check_ptime(s, f);
}

int read_terms(const struct section *s, struct campaign_flow *f)
{
	int rc;

	if (!f->terms.deadline)
		f->terms.deadline = f->terms.cls == CR_BE ? CR_NEVER : f->ptime;
	rc = read_release(s, f);
	if (!rc)
		rc = read_contract(s, f);
	if (!rc)
		rc = read_start(s, f);
	if (!rc)
		rc = read_expect(section_below(s, "expect"), METRIC_LOSS,
				 f->expect);
	return rc ? rc
		  : section_copy_list(s, "input", &f->input, &f->input_count);
}

int read_sender(const struct section *s, struct campaign_flow *f)
{
	int rc = read_network(section_below(s, "network"), &f->network);

	if (!rc)
		rc = read_buffer(section_below(s, "jitter"), f);
	if (!rc)
		rc = read_talk(section_below(s, "talk"), &f->talk);
	return rc ? rc : read_drift(s, &f->drift);
}

int read_flow(const struct section *s, unsigned i, struct campaign_flow *f)
{
	int rc = read_name(s, i, f->name);

	if (!rc && section_has(s, "relay"))
		rc = section_fail(s, "relay", "relay: is of conversations");

	f->line = section_line(s, NULL);
	if (!rc)
		rc = read_numbers(s, f);
	if (!rc && !f->synthetic)
		rc = read_endpoints(s, f);
	if (!rc)
		rc = read_models(s, f);
	if (rc)
		return rc;
	rc = read_terms(s, f);
	return rc ? rc : read_sender(s, f);
}
