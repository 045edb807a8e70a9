/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One codec: formats of SDP and the codecs of this node, how a call uses a
 * codec that SDP describes, the format parameters of an answer; and the rules
 * that a request has for codecs. Texts are the arguments' or static.
 */
#include "ng/codecs.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "ng/request.h"
#include "sdp/fmtp.h"

enum format_kind format_kind(const struct sdp_format *f)
{
	if (!strcasecmp(f->name, "telephone-event"))
		return FORMAT_EVENTS;
	return strcasecmp(f->name, "CN") ? FORMAT_SPEECH : FORMAT_NOISE;
}

bool format_is_amr(const struct sdp_format *f)
{
	return !strcasecmp(f->name, "AMR") || !strcasecmp(f->name, "AMR-WB");
}

static unsigned modes_of(const struct sdp_format *f)
{
	struct fmtp_amr amr;

	return fmtp_amr_read(&amr, f->fmtp, 16, NULL) ? 0 : amr.mode_set;
}

bool codec_modes_agree(const struct sdp_format *a, const struct sdp_format *b)
{
	unsigned offered, answered;

	if (!format_is_amr(a) || !format_is_amr(b))
		return true;
	offered = modes_of(a);
	answered = modes_of(b);
	/* one that says nothing has taken what was offered */
	return !offered || !answered || offered == answered;
}

/* Does it say no to the silence descriptor of its codec, which either side can
 * do without (RFC 7261)? */
static bool wants_no_annex(const struct sdp_format *f)
{
	return (!strcasecmp(f->name, "G729") &&
		fmtp_says_no(f->fmtp, "annexb")) ||
	       (!strcasecmp(f->name, "G723") &&
		fmtp_says_no(f->fmtp, "annexa"));
}

const char *codec_fmtp_passed(const struct sdp_format *a,
			      const struct sdp_format *b)
{
	if (format_is_amr(a) && modes_of(a) && modes_of(a) != modes_of(b))
		return a->fmtp;
	if (wants_no_annex(a))
		return a->fmtp; /* a no is not to be overruled */
	return b->fmtp;
}

const char *codec_fmtp_own(const struct sdp_format *a)
{
	struct fmtp_opus opus;

	if (strcasecmp(a->name, "opus"))
		return a->fmtp;
	/* Parameters of Opus are about their sender (RFC 7587, 7): those of
	 * the offerer, said by us, would limit or promise what they do not
	 * mean. We speak and hear one channel, and hear redundancy. */
	fmtp_opus_read(&opus, a->fmtp);
	return opus.fec ? "useinbandfec=1" : "";
}

/* --- which is which --- */

static bool runs_at(const struct cr_codec *c, unsigned clock, unsigned *rate)
{
	*rate = 0;
	if (!c->clock_is_rate)
		return clock == cr_codec_clock(c, 0);
	if (!cr_codec_has_rate(c, clock))
		return false;
	*rate = clock;
	return true;
}

/* By @name, and @clock if that is said. */
static const struct cr_codec *find_rtp_codec(const char *name, unsigned clock,
					     unsigned *rate)
{
	*rate = 0;
	for (unsigned i = 0; cr_codecs[i]; i++) {
		const struct cr_codec *c = cr_codecs[i];

		if (c->encoder_open && c->decoder_open &&
		    !strcasecmp(c->rtp_name, name) &&
		    (!clock || runs_at(c, clock, rate)))
			return c;
	}
	return NULL;
}

const struct cr_codec *codec_find(const struct sdp_format *f, unsigned *rate)
{
	const struct cr_codec *c = find_rtp_codec(f->name, f->rate, rate);

	return c && f->channels == sdp_channels(c->rtp_name) ? c : NULL;
}

bool codec_able(const struct sdp_format *f)
{
	struct codec_use use;

	return format_kind(f) != FORMAT_SPEECH ||
	       (!codec_side(&use, f, 0, NULL) &&
		use.name != cr_codec_relayed.name);
}

/* Formats that speak of other payload types, which get other numbers. */
static bool is_about_others(const char *name)
{
	static const char *const names[] = { "RED", "rtx", "ulpfec",
					     "parityfec", "flexfec" };

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (!strcasecmp(name, names[i]))
			return true;
	return false;
}

/* Of a codec that is here, it is of a kind that is not. */
bool codec_passes(const struct sdp_format *f)
{
	unsigned rate;

	return *f->name && !codec_find(f, &rate) && !is_about_others(f->name) &&
	       cr_codec_has_rate(&cr_codec_relayed, f->rate);
}

bool codec_resolve(struct sdp_format *f, int *pt)
{
	unsigned rate;
	const struct cr_codec *c = find_rtp_codec(f->name, f->rate, &rate);

	if (!c || (f->channels && f->channels != sdp_channels(c->rtp_name)))
		return false;
	f->name = c->rtp_name;
	f->rate = cr_codec_clock(c, rate);
	f->channels = sdp_channels(c->rtp_name);
	*pt = c->static_pt;
	return true;
}

/* --- how it is used --- */

/* The best of @set (0: all) that @bit_rate pays for; the least if none is. */
static unsigned best_mode(const struct cr_codec *c, unsigned set,
			  unsigned bit_rate)
{
	unsigned least = c->nmodes, best = c->nmodes;

	for (unsigned i = 0; i < c->nmodes; i++) {
		uint32_t rate = c->modes[i].bit_rate;

		if (set && !(set >> i & 1u))
			continue;
		if (least == c->nmodes || rate < c->modes[least].bit_rate)
			least = i;
		if (rate <= bit_rate &&
		    (best == c->nmodes || rate >= c->modes[best].bit_rate))
			best = i;
	}
	return best < c->nmodes ? best : least;
}

static int use_amr(struct codec_use *out, const struct cr_codec *c,
		   const struct sdp_format *f, unsigned bit_rate,
		   struct cr_err *e)
{
	int err = fmtp_amr_read(&out->amr, f->fmtp, c->nmodes, e);

	if (err)
		return err;
	if (out->amr.crc || out->amr.robust_sorting || out->amr.interleaving)
		return cr_fail(e, -EINVAL,
			       "%s: crc, robust-sorting and interleaving are "
			       "not known here",
			       c->rtp_name);
	out->mode = c->modes[best_mode(c, out->amr.mode_set, bit_rate)].name;
	return 0;
}

int codec_side(struct codec_use *out, const struct sdp_format *f,
	       unsigned bit_rate, struct cr_err *e)
{
	unsigned rate;
	const struct cr_codec *c = codec_find(f, &rate);
	struct fmtp_opus opus;

	if (!c && !codec_passes(f))
		return cr_fail(e, -EINVAL, "%.40s/%u: there is no such codec",
			       f->name, f->rate);
	*out = (struct codec_use){
		.name = c ? c->name : cr_codec_relayed.name,
		.pt = f->pt,
		.cfg.sample_rate = c ? rate : f->rate,
	};
	if (!c)
		return 0;
	if (!bit_rate)
		bit_rate = c->modes[c->default_mode].bit_rate;
	if (format_is_amr(f))
		return use_amr(out, c, f, bit_rate, e);
	if (!strcasecmp(f->name, "opus")) {
		fmtp_opus_read(&opus, f->fmtp);
		if (opus.max_bit_rate && opus.max_bit_rate < bit_rate)
			bit_rate = opus.max_bit_rate;
		out->cfg.dtx = opus.dtx;
		out->cfg.fec = opus.fec ? 10 : 0; /* of loss, not known yet */
		if (opus.max_rate < 48000)
			out->cfg.sample_rate =
				opus.max_rate < 16000 ? 8000 : 16000;
	}
	out->mode = c->modes[best_mode(c, 0, bit_rate)].name;
	return 0;
}

/* --- a codec by name --- */

/* Cut the next part of @*text, up to a slash. False: it does not fit. */
static bool take_rule_part(const char **text, char *out, size_t size)
{
	size_t n = strcspn(*text, "/");

	if (n >= size)
		return false;
	memcpy(out, *text, n);
	out[n] = '\0';
	*text += n + ((*text)[n] == '/');
	return true;
}

static bool number_part(const char **text, unsigned *out)
{
	char digits[11], *end;
	unsigned long n;

	if (!take_rule_part(text, digits, sizeof(digits)))
		return false;
	n = strtoul(digits, &end, 10);
	*out = (unsigned)n;
	return !*end && n <= UINT32_MAX && digits[0] != '-';
}

/* "--" stands for "=", which is taken where flags have values. */
static void unescape(char *text)
{
	char *to = text;

	for (; *text; text++)
		if (text[0] == '-' && text[1] == '-') {
			*to++ = '=';
			text++;
		} else {
			*to++ = *text;
		}
	*to = '\0';
}

int codec_rule_item_read(struct codec_rule_item *out, const char *text,
			 struct cr_err *e)
{
	struct codec_item *i = &out->codec;
	const char *p = text;

	*i = (struct codec_item){
		.format = { .name = out->name, .fmtp = out->fmtp },
	};
	if (!take_rule_part(&p, out->name, sizeof(out->name)) ||
	    !out->name[0] || !number_part(&p, &i->format.rate) ||
	    !number_part(&p, &i->format.channels) ||
	    !number_part(&p, &i->bit_rate) || !number_part(&p, &i->ptime) ||
	    !take_rule_part(&p, out->fmtp, sizeof(out->fmtp)))
		return cr_fail(e, -EINVAL,
			       "codec %.60s: it is written as in "
			       "AMR/8000/1/12200//mode-set--7",
			       text);
	unescape(out->fmtp);
	return 0;
}

bool codec_is(const struct sdp_format *wanted, const struct sdp_format *f)
{
	return !strcasecmp(wanted->name, f->name) &&
	       (!wanted->rate || wanted->rate == f->rate) &&
	       (!wanted->channels || wanted->channels == f->channels) &&
	       fmtp_has_all(f->name, f->fmtp, wanted->fmtp);
}

/* --- rules --- */

const char *const codec_rule_names[CODEC_RULES] = {
	[CODEC_IGNORE] = "ignore", [CODEC_STRIP] = "strip",
	[CODEC_MASK] = "mask",	   [CODEC_CONSUME] = "consume",
	[CODEC_ACCEPT] = "accept", [CODEC_EXCEPT] = "except",
	[CODEC_OFFER] = "offer",   [CODEC_TRANSCODE] = "transcode",
	[CODEC_SET] = "set",
};

static int add_codec_rule(struct codec_rules *r, enum codec_rule rule,
			  const char *text, struct cr_err *e)
{
	if (ng_is_named(text, "all")) {
		r->all[rule] = true;
		return 0;
	}
	if (ng_is_named(text, "full")) {
		r->all[rule] = r->full[rule] = true;
		return 0;
	}
	if (r->n == CODEC_RULES_MAX)
		return cr_fail(e, -EINVAL,
			       "codec %s: %u rules are the most that are taken",
			       codec_rule_names[rule], CODEC_RULES_MAX);
	r->item[r->n].rule = rule;
	return codec_rule_item_read(&r->item[r->n++], text, e);
}

/* @list is one codec, or a list of them. */
static int read_rule_list(struct codec_rules *r, enum codec_rule rule,
			  const json_t *list, struct cr_err *e)
{
	const bool one = !json_is_array(list);
	const size_t n = one ? 1 : json_array_size(list);
	int err = 0;

	for (size_t i = 0; i < n && !err; i++) {
		const json_t *v = one ? list : json_array_get(list, i);

		err = json_is_string(v)
			      ? add_codec_rule(r, rule, json_string_value(v), e)
			      : cr_fail(e, -EINVAL,
					"codec %s: is a list of codecs",
					codec_rule_names[rule]);
	}
	return err;
}

bool codec_rule_is_named(const char *name, enum codec_rule *rule)
{
	for (unsigned i = 0; i < CODEC_RULES; i++)
		if (ng_is_named(name, codec_rule_names[i])) {
			*rule = (enum codec_rule)i;
			return true;
		}
	return false;
}

/* The codec behind the rule that @flag begins with, or NULL: "codec-mask-all";
 * "always-transcode" and "transcode-PCMA" are older. */
static const char *behind_rule(const char *flag, enum codec_rule *rule)
{
	const char *codec;

	*rule = CODEC_ACCEPT;
	if (ng_is_named(flag, "always-transcode"))
		return "all";
	*rule = CODEC_TRANSCODE;
	codec = ng_behind(flag, "transcode-");
	if (codec)
		return codec;
	flag = ng_behind(flag, "codec-");
	for (unsigned i = 0; flag && i < CODEC_RULES; i++) {
		*rule = (enum codec_rule)i;
		codec = ng_behind(flag, codec_rule_names[i]);
		if (codec && *codec && codec[1])
			return codec + 1;
	}
	return NULL;
}

bool codec_rule_is_flag(const char *flag)
{
	enum codec_rule rule;

	return behind_rule(flag, &rule);
}

int codec_rules_read(struct codec_rules *out, const json_t *request,
		     struct cr_err *e)
{
	json_t *codec = json_object_get(request, "codec"), *list;
	const json_t *flags = json_object_get(request, "flags"), *flag;
	enum codec_rule rule;
	const char *name;
	size_t n;
	int err = 0;

	/* the items say themselves what they are */
	memset(out, 0, offsetof(struct codec_rules, item));
	json_object_foreach (codec, name, list)
		if (!err && codec_rule_is_named(name, &rule))
			err = read_rule_list(out, rule, list, e);
	json_array_foreach (flags, n, flag) {
		name = json_is_string(flag)
			       ? behind_rule(json_string_value(flag), &rule)
			       : NULL;
		if (!err && name)
			err = add_codec_rule(out, rule, name, e);
	}
	return err;
}

const struct codec_item *codec_rules_next(const struct codec_rules *r,
					  enum codec_rule rule, unsigned *k)
{
	while (*k < r->n)
		if (r->item[(*k)++].rule == rule)
			return &r->item[*k - 1].codec;
	return NULL;
}

const struct codec_item *codec_rules_find(const struct codec_rules *r,
					  enum codec_rule rule,
					  const struct sdp_format *f)
{
	const struct codec_item *i;
	unsigned k = 0;

	while ((i = codec_rules_next(r, rule, &k)))
		if (codec_is(&i->format, f))
			return i;
	return NULL;
}
