/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From the parameters of call.start to a call's configuration.
 */
#include "node/call_params.h"

#include <errno.h>
#include <string.h>

#include "base/address.h"
#include "base/nearest.h"
#include "node/args.h"

#define FIRST_DYNAMIC_PT 96
/* Each is measured by running it, on the thread that serves all peers. */
#define SPIN_MAX (100 * CR_MS)

static const char *const call_known[] = {
	"in",	"out",	  "ptime", "class", "deadline", "release",  "port",
	"ssrc", "weight", "nice",  "keep",  "pair",	"contract", NULL
};
static const char *const in_known[] = { "codec",  "mode",	 "pt",
					"rate",	  "octet_align", "dtx",
					"source", "ts_first",	 "spin",
					NULL };
static const char *const out_known[] = { "codec",   "mode",	   "pt",
					 "rate",    "octet_align", "dtx",
					 "address", "ssrc",	   "spin",
					 NULL };
static const char *const release_known[] = { "model", "x", "y", "burst", NULL };

static const struct cr_codec *codec_of(struct args *a)
{
	const char *names[32];
	const char *name = args_string(a, "codec", NULL);
	const struct cr_codec *codec;
	char hint[200];
	unsigned n = 0;

	if (!name) {
		(void)args_fail(a, "codec", "is missing");
		return NULL;
	}
	codec = cr_codec_find(name);
	if (codec)
		return codec;
	for (; cr_codecs[n] && n + 1 < 32; n++)
		names[n] = cr_codecs[n]->name;
	names[n] = NULL;
	(void)args_fail(a, "codec", "unknown '%s'; %s", name,
			nearest_hint(name, names, hint, sizeof(hint)));
	return NULL;
}

static int side_of(struct pipeline_side *s, uint8_t *pt, struct args *a)
{
	const struct cr_codec *codec = codec_of(a);
	int64_t rate;

	if (!codec)
		return -EINVAL;
	s->codec = codec;
	s->cfg.mode = args_mode(a, codec);
	s->cfg.dtx = args_bool(a, "dtx", false);
	rate = args_int(a, "rate", 8000, 16000, codec->sample_rate);
	if (rate != 8000 && rate != 16000)
		(void)args_fail(a, "rate", "must be 8000 or 16000");
	else if (!codec->any_rate && rate != codec->sample_rate)
		(void)args_fail(a, "rate", "%s runs at %u Hz only", codec->name,
				codec->sample_rate);
	s->cfg.sample_rate = (unsigned)rate;
	s->cfg.spin = args_time(a, "spin", 0, SPIN_MAX, 0);
	*pt = (uint8_t)args_int(a, "pt", 0, 127,
				codec->static_pt >= 0 ? codec->static_pt
						      : FIRST_DYNAMIC_PT);
	s->payload.kind = payload_kind_find(codec->name);
	s->payload.octet_align = args_bool(a, "octet_align", false);
	s->payload.sample_rate = s->cfg.sample_rate;
	return a->failed ? -EINVAL : 0;
}

static void address_of(struct args *a, const char *key,
		       struct sockaddr_storage *out)
{
	const char *text = args_string(a, key, NULL);

	if (!text)
		return;
	if (address_parse(text, out) || !address_port(out)) {
		memset(out, 0, sizeof(*out));
		(void)args_fail(a, key,
				"'%s' is not an address with a port, such as "
				"127.0.0.1:5004 or [::1]:5004",
				text);
	}
}

static unsigned samples_in(const struct pipeline_side *s, cr_ns t)
{
	return (unsigned)(t * pipeline_side_rate(s) / CR_SEC);
}

/* Packets come every ptime: what the input's frames allow, and PCM follows the
 * other side's frames when nothing was said. */
static void ptime_of(struct args *a, struct call_cfg *cfg)
{
	struct pipeline_side *in = &cfg->media.in, *out = &cfg->media.out;
	bool in_pcm = in->codec->any_length, out_pcm = out->codec->any_length;
	cr_ns in_frame = cr_codec_frame_ns(in->codec, &in->cfg);
	cr_ns out_frame = cr_codec_frame_ns(out->codec, &out->cfg);
	cr_ns natural = !in_pcm ? in_frame : !out_pcm ? out_frame : 20 * CR_MS;
	cr_ns ptime = args_time(a, "ptime", 5 * CR_MS, 60 * CR_MS, natural);

	if (ptime % (in_pcm ? 5 * CR_MS : in_frame))
		(void)args_fail(a, "ptime", "%s comes in frames of %g ms",
				in->codec->name,
				in_pcm ? 5.0 : (double)in_frame / 1e6);
	cfg->release.period = ptime;
	if (in_pcm)
		in->cfg.samples = samples_in(in, ptime);
	if (out_pcm)
		out->cfg.samples = samples_in(out, ptime);
	in->payload.samples = in->cfg.samples;
	out->payload.samples = out->cfg.samples;
}

static void release_of(struct args *a, struct call_cfg *cfg)
{
	static const char *const models[] = { "sporadic", "periodic", "rate",
					      "lbap", NULL };
	static const enum release_kind kinds[] = { RELEASE_SPORADIC,
						   RELEASE_PERIODIC,
						   RELEASE_RATE, RELEASE_LBAP };
	struct args m = args_of(args_member(a, "release"), "release.",
				release_known, a->err);
	struct release_cfg *r = &cfg->release;

	cfg->release_named = args_has(&m, "model");
	r->kind = kinds[args_enum(&m, "model", models, 0)];
	r->x = (unsigned)args_int(&m, "x", 1, RELEASE_MAX_X, 1);
	r->y = args_time(&m, "y", 1, CR_SEC * 10, r->period * r->x);
	r->burst = (unsigned)args_int(&m, "burst", 0, 1000, 1);
	a->failed |= m.failed;
}

/* The deadline is the period's end when nothing is said. */
static void terms_of(struct args *a, struct call_cfg *cfg)
{
	cfg->cls = CR_SOFT;
	cfg->weight = 1024;
	cfg->release.rel_deadline = cfg->release.period;
	release_of(a, cfg);
	if (call_terms_read(a, cfg) && cfg->said.burst &&
	    json_object_get(args_member(a, "release"), "burst"))
		(void)args_fail(a, "contract.burst",
				"release.burst says it already: leave one of "
				"them out");
}

static int sides_of(struct call_cfg *cfg, const json_t *params,
		    struct cr_err *e)
{
	struct args in =
		args_of(json_object_get(params, "in"), "in.", in_known, e);
	struct args out =
		args_of(json_object_get(params, "out"), "out.", out_known, e);
	int err = in.failed || out.failed ? -EINVAL : 0;

	if (err)
		return err;
	err = side_of(&cfg->media.in, &cfg->pt_in, &in);
	if (err)
		return err;
	address_of(&in, "source", &cfg->source);
	cfg->ts_first_known = args_has(&in, "ts_first");
	cfg->ts_first = (uint32_t)args_int(&in, "ts_first", 0, UINT32_MAX, 0);
	err = side_of(&cfg->media.out, &cfg->pt_out, &out);
	if (err)
		return err;
	address_of(&out, "address", &cfg->to);
	cfg->ssrc_out = (uint32_t)args_int(&out, "ssrc", 1, UINT32_MAX, 0);
	if (!cfg->to.ss_family && !out.failed)
		(void)args_fail(&out, "address",
				"is missing: where shall the frames go to?");
	return in.failed || out.failed ? -EINVAL : 0;
}

int call_params(struct call_request *out, const json_t *params,
		struct cr_err *e)
{
	static const char *const ports[] = { "shared", "own", NULL };
	struct call_request r = { .cfg.port_fd = -1 };
	struct args a = args_of(params, "", call_known, e);
	int err;

	if (a.failed)
		return -EINVAL;
	err = sides_of(&r.cfg, params, e);
	if (err)
		return err;
	r.cfg.ssrc_in = (uint32_t)args_int(&a, "ssrc", 1, UINT32_MAX, 0);
	r.cfg.pair = (uint32_t)args_int(&a, "pair", 1, UINT32_MAX, 0);
	r.keep = args_bool(&a, "keep", false);
	r.own_port = args_enum(&a, "port", ports, 0) == 1;
	ptime_of(&a, &r.cfg);
	if (!a.failed)
		terms_of(&a, &r.cfg);
	if (a.failed)
		return -EINVAL;
	*out = r;
	return 0;
}
