/* SPDX-License-Identifier: Apache-2.0 */
#include "ng/codec_rules.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "ng/words.h"
#include "sdp/fmtp.h"

const char *const codec_rule_names[CODEC_RULES] = {
	[CODEC_IGNORE] = "ignore", [CODEC_STRIP] = "strip",
	[CODEC_MASK] = "mask",	   [CODEC_CONSUME] = "consume",
	[CODEC_ACCEPT] = "accept", [CODEC_EXCEPT] = "except",
	[CODEC_OFFER] = "offer",   [CODEC_TRANSCODE] = "transcode",
	[CODEC_SET] = "set",
};

/* --- one codec --- */

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

int codec_spec_read(struct codec_spec *out, const char *text, struct cr_err *e)
{
	const char *p = text;

	memset(out, 0, sizeof(*out));
	if (!take_rule_part(&p, out->name, sizeof(out->name)) ||
	    !out->name[0] || !number_part(&p, &out->rate) ||
	    !number_part(&p, &out->channels) ||
	    !number_part(&p, &out->bit_rate) || !number_part(&p, &out->ptime) ||
	    !take_rule_part(&p, out->fmtp, sizeof(out->fmtp)))
		return cr_fail(e, -EINVAL,
			       "codec %.60s: it is written as in "
			       "AMR/8000/1/12200//mode-set--7",
			       text);
	unescape(out->fmtp);
	return 0;
}

bool codec_spec_is(const struct codec_spec *spec, const struct sdp_format *f)
{
	return !strcasecmp(spec->name, f->name) &&
	       (!spec->rate || spec->rate == f->rate) &&
	       (!spec->channels || spec->channels == f->channels) &&
	       fmtp_has_all(f->name, f->fmtp, spec->fmtp);
}

/* --- all of them --- */

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
	return codec_spec_read(&r->item[r->n++].spec, text, e);
}

static int read_rule_list(struct codec_rules *r, enum codec_rule rule,
			  const json_t *list, struct cr_err *e)
{
	const json_t *item;
	size_t i;
	int err = 0;

	if (json_is_string(list))
		return add_codec_rule(r, rule, json_string_value(list), e);
	if (list && !json_is_array(list))
		return cr_fail(e, -EINVAL, "codec %s: is a list of codecs",
			       codec_rule_names[rule]);
	json_array_foreach (list, i, item) {
		if (!json_is_string(item))
			return cr_fail(e, -EINVAL,
				       "codec %s: is a list of codecs",
				       codec_rule_names[rule]);
		err = add_codec_rule(r, rule, json_string_value(item), e);
		if (err)
			return err;
	}
	return 0;
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

static int read_flag(struct codec_rules *r, const char *flag, struct cr_err *e)
{
	enum codec_rule rule;
	const char *codec = behind_rule(flag, &rule);

	return codec ? add_codec_rule(r, rule, codec, e) : 0;
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
	json_array_foreach (flags, n, flag)
		if (!err && json_is_string(flag))
			err = read_flag(out, json_string_value(flag), e);
	return err;
}

const struct codec_spec *codec_rules_next(const struct codec_rules *r,
					  enum codec_rule rule, unsigned *k)
{
	while (*k < r->n)
		if (r->item[(*k)++].rule == rule)
			return &r->item[*k - 1].spec;
	return NULL;
}

const struct codec_spec *codec_rules_find(const struct codec_rules *r,
					  enum codec_rule rule,
					  const struct sdp_format *f)
{
	const struct codec_spec *spec;
	unsigned k = 0;

	while ((spec = codec_rules_next(r, rule, &k)))
		if (codec_spec_is(spec, f))
			return spec;
	return NULL;
}
