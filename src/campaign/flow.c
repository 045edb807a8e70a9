/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One flow of a campaign: its values converted, then checked against each
 * other and against what the codecs can do.
 */
#include <errno.h>
#include <string.h>

#include "base/nearest.h"
#include "base/options.h"
#include "base/units.h"
#include "campaign/campaign.h"
#include "campaign/convert.h"

#define MAX_NAMES 64u
/* ppm; crystals are within 100 */
#define DRIFT_MAX (CR_PPM / 10)

static const char *const key_classes[] = { "hard", "soft", "best-effort",
					   NULL };
static const char *const key_releases[] = { "sporadic", "periodic", "rate",
					    "lbap", NULL };

struct flow_values {
	FLOW_KEYS(VALUE_ROW, KEY_SKIP)
};
struct leg_values {
	LEG_KEYS(VALUE_ROW, KEY_SKIP)
};

#define FLOW_ROW(...) KEY_ROW(struct raw_flow, struct flow_values, __VA_ARGS__)
#define LEG_ROW(...) KEY_ROW(struct raw_leg, struct leg_values, __VA_ARGS__)
#define RELEASE_ROW(...)                                                       \
	KEY_ROW(struct raw_release, struct campaign_release, __VA_ARGS__)
#define NETWORK_ROW(...)                                                       \
	KEY_ROW(struct raw_network, struct campaign_network, __VA_ARGS__)
#define TALK_ROW(...)                                                          \
	KEY_ROW(struct raw_talk, struct campaign_talk, __VA_ARGS__)
#define END_ROW                                                                \
	{                                                                      \
		{ .name = NULL }, 0                                            \
	}

static const struct key_row flow_rows[] = { FLOW_KEYS(FLOW_ROW, KEY_SKIP)
						    END_ROW };
static const struct key_row leg_rows[] = { LEG_KEYS(LEG_ROW, KEY_SKIP)
						   END_ROW };
static const struct key_row release_rows[] = { RELEASE_KEYS(RELEASE_ROW,
							    KEY_SKIP) END_ROW };
static const struct key_row network_rows[] = { NETWORK_KEYS(NETWORK_ROW,
							    KEY_SKIP) END_ROW };
static const struct key_row talk_rows[] = { TALK_KEYS(TALK_ROW, KEY_SKIP)
						    END_ROW };

static int check_name(struct loader *l, const char *path, unsigned i,
		      const char *text, char *out)
{
	static const char allowed[] = "abcdefghijklmnopqrstuvwxyz"
				      "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.";
	size_t n;

	if (!text) {
		(void)snprintf(out, CAMPAIGN_NAME_MAX, "flow%u", i + 1);
		return 0;
	}
	n = strlen(text);
	if (!n || n >= CAMPAIGN_NAME_MAX || strspn(text, allowed) != n)
		return convert_fail(l, path, "name",
				    "name=%.64s: needs 1 to %u letters, digits "
				    "or -_.",
				    text, CAMPAIGN_NAME_MAX - 1);
	(void)snprintf(out, CAMPAIGN_NAME_MAX, "%s", text);
	return 0;
}

static int find_codec(struct loader *l, const char *path, const char *text,
		      const struct cr_codec **out)
{
	const char *names[MAX_NAMES + 1] = { NULL };
	const struct cr_codec *c;
	char hint[200];

	if (!text)
		return convert_fail(l, path, NULL, "'codec' is missing");
	c = cr_codec_find(text);
	for (unsigned i = 0; !c && cr_codecs[i] && i < MAX_NAMES; i++)
		names[i] = cr_codecs[i]->name;
	if (!c)
		return convert_fail(
			l, path, "codec", "codec=%.64s: no such codec; %s",
			text, nearest_hint(text, names, hint, sizeof(hint)));
	*out = c;
	return 0;
}

static int find_mode(struct loader *l, const char *path, const char *text,
		     struct campaign_leg *leg)
{
	const struct cr_codec *c = leg->codec;
	const char *names[MAX_NAMES + 1] = { NULL };
	char hint[200];
	int mode;

	leg->cfg.mode = c->default_mode;
	if (!text)
		return 0;
	mode = cr_codec_mode_find(c, text);
	if (mode < 0) {
		for (unsigned i = 0; i < c->nmodes && i < MAX_NAMES; i++)
			names[i] = c->modes[i].name;
		return convert_fail(
			l, path, "mode", "mode=%.64s: %s has no such mode; %s",
			text, c->name,
			nearest_hint(text, names, hint, sizeof(hint)));
	}
	leg->cfg.mode = (unsigned)mode;
	return 0;
}

static bool is_amr(const struct cr_codec *c)
{
	return strcmp(c->name, "amr") == 0 || strcmp(c->name, "amr-wb") == 0;
}

/* Keys that this codec does not know must not be given. */
static int check_leg_keys(struct loader *l, const char *path,
			  const struct raw_leg *raw, const struct cr_codec *c)
{
	const struct {
		const char *key, *text;
		bool fits;
	} keys[] = {
		{ "rate", raw->rate, c->any_rate },
		{ "octet-align", raw->octet_align, is_amr(c) },
		{ "dtx", raw->dtx, is_amr(c) },
		{ "spin", raw->spin, strcmp(c->name, "spin") == 0 },
	};

	for (unsigned i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
		if (keys[i].text && !keys[i].fits)
			return convert_fail(l, path, keys[i].key,
					    "%s: does not apply to codec %s",
					    keys[i].key, c->name);
	return 0;
}

int convert_leg(struct loader *l, const char *path, const struct raw_leg *raw,
		struct campaign_leg *leg)
{
	struct leg_values v;
	int rc = find_codec(l, path, raw->codec, &leg->codec);

	if (!rc)
		rc = find_mode(l, path, raw->mode, leg);
	if (!rc)
		rc = check_leg_keys(l, path, raw, leg->codec);
	if (!rc)
		rc = convert_rows(l, leg_rows, path, raw, &v);
	if (rc)
		return rc;
	if (v.rate && v.rate != 8000 && v.rate != 16000)
		return convert_fail(l, path, "rate",
				    "rate=%lld: needs 8000 or 16000 (Hz)",
				    (long long)v.rate);
	leg->cfg.sample_rate = (unsigned)v.rate;
	leg->cfg.dtx = v.dtx;
	leg->cfg.spin = v.spin;
	leg->octet_align = v.octet_align;
	return 0;
}

/* One packet carries one frame; only PCM codecs leave its length free. */
static int set_samples(struct loader *l, const char *path, cr_ns ptime,
		       struct campaign_leg *leg)
{
	const struct cr_codec *c = leg->codec;
	unsigned rate =
		leg->cfg.sample_rate ? leg->cfg.sample_rate : c->sample_rate;
	cr_ns frame = cr_codec_frame_ns(c, &leg->cfg);

	if (!c->any_length || ptime == frame)
		return 0;
	if (ptime * rate % CR_SEC ||
	    ptime * rate / CR_SEC > CR_FRAME_SAMPLES_MAX)
		return convert_fail(l, path, "ptime",
				    "ptime: %s needs whole samples, %u at most",
				    c->name, CR_FRAME_SAMPLES_MAX);
	leg->cfg.samples = (unsigned)(ptime * rate / CR_SEC);
	return 0;
}

static int check_ptime(struct loader *l, const char *path,
		       struct campaign_flow *f)
{
	cr_ns frame = cr_codec_frame_ns(f->in.codec, &f->in.cfg);
	int rc;

	if (!f->ptime)
		f->ptime = frame;
	if (!f->in.codec->any_length && f->ptime != frame)
		return convert_fail(
			l, path, "ptime", "ptime: frames of %s last %lldms",
			f->in.codec->name, (long long)(frame / CR_MS));
	rc = set_samples(l, path, f->ptime, &f->in);
	return rc ? rc : set_samples(l, path, f->ptime, &f->out);
}

static int check_directions(struct loader *l, const char *path,
			    const struct campaign_flow *f)
{
	if (!f->in.codec->encoder_open || !f->in.codec->decoder_open)
		return convert_fail(l, path, "in", "in: %s works one way only",
				    f->in.codec->name);
	if (!f->out.codec->encoder_open)
		return convert_fail(l, path, "out", "out: %s cannot encode",
				    f->out.codec->name);
	return 0;
}

static int check_release(struct loader *l, const char *path,
			 const struct raw_release *raw,
			 struct campaign_release *r)
{
	char buf[PLACE_MAX];
	int rc = convert_rows(l, release_rows,
			      convert_below(buf, path, "release"), raw, r);

	if (rc)
		return rc;
	if (r->kind == RELEASE_RATE && (!raw->x || !raw->y))
		return convert_fail(l, buf, "model",
				    "model=rate needs x (jobs) and y (time)");
	if (r->kind != RELEASE_RATE && (raw->x || raw->y))
		return convert_fail(l, buf, raw->x ? "x" : "y",
				    "x and y belong to model=rate");
	if (r->kind != RELEASE_LBAP && raw->burst)
		return convert_fail(l, buf, "burst",
				    "burst belongs to model=lbap");
	return 0;
}

static int check_network(struct loader *l, const char *path,
			 const struct raw_network *raw,
			 struct campaign_network *n)
{
	char buf[PLACE_MAX];
	int rc = convert_rows(l, network_rows,
			      convert_below(buf, path, "network"), raw, n);

	if (!rc && raw->burst && !n->loss)
		return convert_fail(l, buf, "burst", "burst needs loss");
	return rc;
}

static int check_talk(struct loader *l, const char *path,
		      const struct raw_talk *raw, struct campaign_talk *t)
{
	char buf[PLACE_MAX];
	int rc = convert_rows(l, talk_rows, convert_below(buf, path, "talk"),
			      raw, t);

	if (!rc && !raw->spurt != !raw->pause)
		return convert_fail(l, buf, raw->spurt ? "spurt" : "pause",
				    "needs both spurt and pause");
	return rc;
}

/* "50ppm", or a range. */
static int check_drift(struct loader *l, const char *path, const char *text,
		       struct campaign_drift *d)
{
	int64_t at[2] = { 0, 0 };
	unsigned n = 1;

	if (text)
		n = convert_series(text, units_parse_ppm, at, 2);
	if (!n || at[0] < -DRIFT_MAX || at[n - 1] < at[0] ||
	    at[n - 1] > DRIFT_MAX)
		return convert_fail(l, path, "drift",
				    "drift=%.64s: needs how fast the clock is, "
				    "or a range of it, such as 50ppm or "
				    "-100ppm..100ppm, from -10%% to 10%%",
				    text);
	*d = (struct campaign_drift){ at[0], at[n - 1] };
	return 0;
}

bool convert_leg_given(const struct raw_leg *raw)
{
	return raw->codec || raw->mode || raw->rate || raw->octet_align ||
	       raw->dtx || raw->spin;
}

static bool is_synthetic(const struct raw_flow *raw)
{
	return !convert_leg_given(&raw->in) && !convert_leg_given(&raw->out);
}

static int check_count(struct loader *l, const char *path,
		       const struct raw_flow *raw)
{
	if (raw->count && raw->load_ppm)
		return convert_fail(l, path, "load",
				    "count and load exclude each other");
	if (raw->like && (raw->count || raw->load_ppm))
		return convert_fail(l, path, "like",
				    "like excludes count and load");
	if (!raw->count && !raw->load_ppm && !raw->like &&
	    !raw->start.poisson && !is_synthetic(raw))
		return convert_fail(l, path, NULL,
				    "needs count (calls), load (share of the "
				    "capacity), like (another flow) or "
				    "start.poisson");
	return 0;
}

static int convert_values(struct loader *l, const char *path,
			  const struct raw_flow *raw, struct campaign_flow *f)
{
	struct flow_values v;
	int rc = convert_rows(l, flow_rows, path, raw, &v);

	if (rc)
		return rc;
	f->count = v.count;
	f->load_ppm = v.load_ppm;
	f->ptime = v.ptime;
	f->cls = (enum cr_class)v.cls;
	f->deadline = v.deadline;
	f->nice = v.nice;
	f->weight = v.weight;
	f->ring = v.ring;
	f->synthetic = is_synthetic(raw);
	if (f->synthetic)
		f->ptime = v.period;
	if (f->synthetic && !raw->count && !raw->load_ppm && !raw->like &&
	    !raw->start.poisson)
		f->count = 1;
	if (f->cls == CR_BE && raw->deadline)
		return convert_fail(l, path, "deadline",
				    "class best-effort has no deadline");
	return 0;
}

static int convert_legs(struct loader *l, const char *path,
			const struct raw_flow *raw, struct campaign_flow *f)
{
	char buf[PLACE_MAX];
	int rc;

	if (!convert_leg_given(&raw->in) || !convert_leg_given(&raw->out))
		return convert_fail(l, path, NULL, "'%s' is missing",
				    convert_leg_given(&raw->in) ? "out" : "in");
	rc = convert_leg(l, convert_below(buf, path, "in"), &raw->in, &f->in);
	if (!rc)
		rc = convert_leg(l, convert_below(buf, path, "out"), &raw->out,
				 &f->out);
	if (!rc)
		rc = check_directions(l, path, f);
	return rc ? rc : check_ptime(l, path, f);
}

int convert_flow(struct loader *l, unsigned i, const struct raw_flow *raw,
		 struct campaign_flow *f)
{
	char path[PLACE_MAX], buf[PLACE_MAX];
	int rc;

	(void)snprintf(path, sizeof(path), "flows[%u]", i);
	f->line = places_line(&l->places, path);
	rc = check_name(l, path, i, raw->name, f->name);
	if (!rc)
		rc = check_count(l, path, raw);
	if (!rc)
		rc = convert_values(l, path, raw, f);
	if (!rc && !f->synthetic)
		rc = convert_legs(l, path, raw, f);
	if (!rc)
		rc = convert_models(l, path, raw, f);
	if (!rc && !f->deadline)
		f->deadline = f->cls == CR_BE ? CR_NEVER : f->ptime;
	if (!rc)
		rc = check_release(l, path, &raw->release, &f->release);
	f->release_named = raw->release.kind != NULL;
	if (!rc)
		rc = convert_contract(l, path, raw, f);
	if (!rc)
		rc = convert_start(l, path, raw, f);
	if (!rc)
		rc = check_network(l, path, &raw->network, &f->network);
	if (!rc)
		rc = check_talk(l, path, &raw->talk, &f->talk);
	if (!rc)
		rc = check_drift(l, path, raw->drift, &f->drift);
	if (!rc)
		rc = convert_expect(l, convert_below(buf, path, "expect"),
				    &raw->expect, f->expect);
	if (!rc && raw->input_count)
		rc = convert_list(l, raw->input, raw->input_count, &f->input,
				  &f->input_count);
	return rc;
}
