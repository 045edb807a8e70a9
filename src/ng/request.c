/* SPDX-License-Identifier: Apache-2.0 */
#include "ng/request.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/address.h"
#include "ng/rtpp_flags.h"
#include "ng/words.h"
#include "rtp/learn.h"

/* What list answers where nothing is said. */
enum { LIST_LIMIT = 32, LIST_LIMIT_MAX = 1000, PTIME_MAX = 200 };

const char *const ng_command_names[NG_COMMANDS + 1] = {
	"ping", "offer", "answer", "delete", "query", "list", "statistics", NULL
};

void ng_request_warn(struct ng_request *r, const char *text)
{
	if (!*r->warning.text)
		(void)cr_fail(&r->warning, 0, "%s", text);
}

static void note_unknown(struct ng_request *r, const char *what,
			 const char *name)
{
	if (r->nunknown < NG_UNKNOWN_MAX)
		(void)snprintf(r->unknown[r->nunknown++], NG_UNKNOWN_BYTES,
			       "%.18s %.28s", what, name);
}

/* A flag that nobody knows, and of codecs something is hoped for from it. */
static void note_strange(struct ng_request *r, const char *key,
			 const char *text)
{
	struct cr_err e;

	note_unknown(r, key, text);
	(void)cr_fail(&e, 0, "%.40s: there is no such rule of codecs", text);
	if (!strcmp(key, "codec") || ng_behind(text, "codec"))
		ng_request_warn(r, e.text);
}

/* --- values --- */

static int wrong(const char *key, const char *wants, struct cr_err *e)
{
	return cr_fail(e, -EINVAL, "%.40s: is no %s", key, wants);
}

static int read_text(const char **out, const char *key, const json_t *v,
		     struct cr_err *e)
{
	if (!json_is_string(v))
		return wrong(key, "string", e);
	if (memchr(json_string_value(v), 0, json_string_length(v)))
		return wrong(key, "text: it has an octet 0", e);
	*out = json_string_value(v);
	return 0;
}

static int read_name(const char **out, const char *key, const json_t *v,
		     struct cr_err *e)
{
	int err = read_text(out, key, v, e);

	if (!err && strlen(*out) > NG_NAME_MAX)
		return cr_fail(e, -EINVAL, "%.40s: is longer than %u octets",
			       key, NG_NAME_MAX);
	return err;
}

/* Numbers come as such, or as text. */
static int read_number(unsigned *out, unsigned most, const char *key,
		       const json_t *v, struct cr_err *e)
{
	const char *text = json_string_value(v);
	char *end = NULL;
	long long n = text ? strtoll(text, &end, 10) : json_integer_value(v);

	if (text ? (!*text || *end) : !json_is_integer(v))
		return wrong(key, "number", e);
	if (n < 0 || n > most)
		return cr_fail(e, -EINVAL, "%.40s: is not between 0 and %u",
			       key, most);
	*out = (unsigned)n;
	return 0;
}

/* Several words in one text, between blanks; or one that has blanks itself. */
static void take_text(struct ng_request *r, const struct ng_word *words,
		      const char *key, const char *text)
{
	char word[NG_UNKNOWN_BYTES];

	if (ng_word_take(r, words, text))
		return;
	while (text += strspn(text, " "), *text) {
		size_t n = strcspn(text, " ");

		(void)snprintf(word, sizeof(word), "%.*s", (int)n, text);
		if (n >= sizeof(word) || !ng_word_take(r, words, word))
			note_unknown(r, key, word);
		text += n;
	}
}

/* A text, or a list of words. */
static int take_words(struct ng_request *r, const struct ng_word *words,
		      const char *key, const json_t *v, struct cr_err *e)
{
	const json_t *one;
	const char *text;
	size_t i;

	if (!json_is_array(v)) {
		if (read_text(&text, key, v, e))
			return -EINVAL;
		take_text(r, words, key, text);
	}
	json_array_foreach (v, i, one) {
		if (read_text(&text, key, one, e))
			return -EINVAL;
		if (!ng_word_take(r, words, text))
			note_unknown(r, key, text);
	}
	return 0;
}

/* --- keys --- */

struct key {
	const char *name;
	/* a wrong value is an error, not a warning */
	bool strict;
	int (*read)(struct ng_request *r, const char *key, const json_t *v,
		    struct cr_err *e);
};

static int read_call_id(struct ng_request *r, const char *key, const json_t *v,
			struct cr_err *e)
{
	return read_name(&r->call_id, key, v, e);
}

static int read_from_tag(struct ng_request *r, const char *key, const json_t *v,
			 struct cr_err *e)
{
	return read_name(&r->from_tag, key, v, e);
}

static int read_to_tag(struct ng_request *r, const char *key, const json_t *v,
		       struct cr_err *e)
{
	return read_name(&r->to_tag, key, v, e);
}

static int read_branch(struct ng_request *r, const char *key, const json_t *v,
		       struct cr_err *e)
{
	return read_name(&r->via_branch, key, v, e);
}

static int read_sdp(struct ng_request *r, const char *key, const json_t *v,
		    struct cr_err *e)
{
	if (!json_is_string(v))
		return wrong(key, "string", e);
	r->sdp = json_string_value(v);
	r->sdp_bytes = json_string_length(v);
	return 0;
}

/* Those of codecs are codec_rules_read()'s. */
static int read_flags(struct ng_request *r, const char *key, const json_t *v,
		      struct cr_err *e)
{
	const json_t *one;
	const char *text;
	size_t i;

	if (!json_is_array(v))
		return wrong(key, "list of flags", e);
	json_array_foreach (v, i, one)
		if (read_text(&text, key, one, e))
			return -EINVAL;
		else if (!codec_rule_is_flag(text) &&
			 !ng_word_take(r, ng_flag_words, text))
			note_strange(r, key, text);
	return 0;
}

static int read_codec(struct ng_request *r, const char *key, const json_t *v,
		      struct cr_err *e)
{
	enum codec_rule rule;
	json_t *rules;
	const char *name;

	if (!json_is_object(v))
		return wrong(key, "dictionary of rules", e);
	json_object_foreach ((json_t *)(uintptr_t)v, name, rules)
		if (!codec_rule_is_named(name, &rule))
			note_strange(r, key, name);
	return 0;
}

static int read_replace(struct ng_request *r, const char *key, const json_t *v,
			struct cr_err *e)
{
	return take_words(r, ng_replace_words, key, v, e);
}

static int read_mux(struct ng_request *r, const char *key, const json_t *v,
		    struct cr_err *e)
{
	return take_words(r, ng_mux_words, key, v, e);
}

static int read_supports(struct ng_request *r, const char *key, const json_t *v,
			 struct cr_err *e)
{
	return take_words(r, ng_support_words, key, v, e);
}

static int read_learning(struct ng_request *r, const char *key, const json_t *v,
			 struct cr_err *e)
{
	return take_words(r, ng_learn_words, key, v, e);
}

static int read_direction(struct ng_request *r, const char *key,
			  const json_t *v, struct cr_err *e)
{
	if (!json_is_array(v))
		return wrong(key, "list of interfaces", e);
	for (unsigned i = 0; i < 2 && i < json_array_size(v); i++)
		if (read_name(&r->interface[i], key, json_array_get(v, i), e))
			return -EINVAL;
	return 0;
}

static int read_from_interface(struct ng_request *r, const char *key,
			       const json_t *v, struct cr_err *e)
{
	return read_name(&r->interface[0], key, v, e);
}

static int read_to_interface(struct ng_request *r, const char *key,
			     const json_t *v, struct cr_err *e)
{
	return read_name(&r->interface[1], key, v, e);
}

static int read_family(struct ng_request *r, const char *key, const json_t *v,
		       struct cr_err *e)
{
	const char *text;

	if (read_text(&text, key, v, e))
		return -EINVAL;
	if (strcasecmp(text, "IP4") != 0 && strcasecmp(text, "IP6") != 0)
		return wrong(key, "IP4 or IP6", e);
	r->family = text[2] == '6' ? AF_INET6 : AF_INET;
	return 0;
}

static int read_media_address(struct ng_request *r, const char *key,
			      const json_t *v, struct cr_err *e)
{
	const char *text;

	if (read_text(&text, key, v, e))
		return -EINVAL;
	if (!address_parse_host(text, &r->shown) && !address_any(&r->shown))
		return 0;
	r->shown.ss_family = AF_UNSPEC;
	return wrong(key, "IP address", e);
}

/* Only RTP without keys is spoken here: who wants something else of that kind
 * does not get less. */
static int read_proto(struct ng_request *r, const char *key, const json_t *v,
		      struct cr_err *e)
{
	static const char *const can[] = { "RTP/AVP", "RTP/AVPF" };
	static const char *const cannot[] = { "RTP/SAVP", "RTP/SAVPF",
					      "UDP/TLS/RTP/SAVP",
					      "UDP/TLS/RTP/SAVPF", "udptl" };
	const char *text = json_string_value(v);

	for (unsigned i = 0; text && i < 2; i++)
		if (!strcasecmp(text, can[i]))
			r->proto = can[i];
	for (unsigned i = 0; text && i < sizeof(cannot) / sizeof(*cannot); i++)
		if (!strcasecmp(text, cannot[i]))
			return cr_fail(e, -EINVAL,
				       "%s: %.40s: this node has RTP/AVP and "
				       "RTP/AVPF only",
				       key, text);
	if (!r->proto && (!text || (!ng_is_named(text, "accept") &&
				    !ng_is_named(text, "transparent"))))
		note_unknown(r, key, text ? text : "that is no text");
	return 0;
}

static int read_ice(struct ng_request *r, const char *key, const json_t *v,
		    struct cr_err *e)
{
	return take_words(r, ng_ice_words, key, v, e);
}

static int read_record(struct ng_request *r, const char *key, const json_t *v,
		       struct cr_err *e)
{
	const char *text;

	if (read_text(&text, key, v, e))
		return -EINVAL;
	if (!ng_is_named(text, "no") && !ng_is_named(text, "off"))
		ng_request_warn(r, "record-call: this node does not record");
	return 0;
}

static int read_keys(struct ng_request *r, const char *key, const json_t *v,
		     struct cr_err *e)
{
	return take_words(r, ng_key_words, key, v, e);
}

static int read_fax(struct ng_request *r, const char *key, const json_t *v,
		    struct cr_err *e)
{
	(void)key, (void)v, (void)e;
	ng_request_warn(r, "T.38: this node has no fax");
	return 0;
}

static int read_ptime(struct ng_request *r, const char *key, const json_t *v,
		      struct cr_err *e)
{
	return read_number(&r->ptime, PTIME_MAX, key, v, e);
}

static int read_ptime_reverse(struct ng_request *r, const char *key,
			      const json_t *v, struct cr_err *e)
{
	return read_number(&r->ptime_reverse, PTIME_MAX, key, v, e);
}

static int read_limit(struct ng_request *r, const char *key, const json_t *v,
		      struct cr_err *e)
{
	return read_number(&r->limit, LIST_LIMIT_MAX, key, v, e);
}

static int pass_over(struct ng_request *r, const char *key, const json_t *v,
		     struct cr_err *e)
{
	(void)r, (void)key, (void)v, (void)e;
	return 0;
}

static int read_undone(struct ng_request *r, const char *key, const json_t *v,
		       struct cr_err *e)
{
	(void)v;
	(void)cr_fail(e, 0, "%s: is not done here", key);
	ng_request_warn(r, e->text);
	return 0;
}

static const struct key keys[] = {
	{ "command", true, pass_over },
	{ "call-id", true, read_call_id },
	{ "from-tag", true, read_from_tag },
	{ "to-tag", true, read_to_tag },
	{ "via-branch", true, read_branch },
	{ "sdp", true, read_sdp },
	{ "transport-protocol", true, read_proto },
	{ "flags", false, read_flags },
	{ "replace", false, read_replace },
	{ "supports", false, read_supports },
	{ "rtcp-mux", false, read_mux },
	{ "direction", false, read_direction },
	{ "from-interface", false, read_from_interface },
	{ "to-interface", false, read_to_interface },
	{ "address-family", false, read_family },
	{ "media-address", false, read_media_address },
	{ "endpoint-learning", false, read_learning },
	{ "ptime", false, read_ptime },
	{ "ptime-reverse", false, read_ptime_reverse },
	{ "ICE", false, read_ice },
	{ "record-call", false, read_record },
	{ "SDES", false, read_keys },
	{ "DTLS", false, read_keys },
	{ "OSRTP", false, read_keys },
	{ "T.38", false, read_fax },
	{ "T38", false, read_fax },
	{ "sdp-attr", false, read_undone },
	{ "sdp-media-remove", false, read_undone },
	{ "alias-key", false, read_undone },
	{ "media-echo", false, read_undone },
	{ "limit", false, read_limit },
	{ "codec", false, read_codec },	       /* and codec_rules_read() */
	{ "received-from", false, pass_over }, /* read_source() */
	{ "rtpp-flags", false, pass_over },    /* spread() */
	/* nothing waits before it is deleted */
	{ "delete-delay", false, pass_over },
	{ "sip-message-type", false, pass_over },
	{ NULL, false, NULL },
};

const char *ng_key_name(const char *text)
{
	for (const struct key *k = keys; k->name; k++)
		if (ng_is_named(text, k->name))
			return k->name;
	return text;
}

static int read_key(struct ng_request *r, const char *name, const json_t *v,
		    struct cr_err *e)
{
	for (const struct key *k = keys; k->name; k++) {
		if (strcmp(name, k->name) != 0)
			continue;
		if (!k->read(r, k->name, v, e))
			return 0;
		if (k->strict)
			return -EINVAL;
		ng_request_warn(r, e->text);
		return 0;
	}
	note_unknown(r, "key", name);
	return 0;
}

/* --- the whole --- */

/* Keys get their usual names. Of one that comes in two forms the last counts.
 */
static int name_keys(json_t *body)
{
	json_t *named = json_object(), *v;
	const char *key;
	int err = named ? 0 : -ENOMEM;

	json_object_foreach (body, key, v)
		if (!err && json_object_set_nocheck(named, ng_key_name(key), v))
			err = -ENOMEM;
	if (!err &&
	    (json_object_clear(body) || json_object_update(body, named)))
		err = -ENOMEM;
	json_decref(named);
	return err;
}

static bool has_usual_names(json_t *body)
{
	const char *key;
	json_t *v;

	json_object_foreach (body, key, v)
		if (strcmp(key, ng_key_name(key)) != 0)
			return false;
	return true;
}

/* What is said by one text of flags, as keys and flags. Once: it is none of
 * @body then. */
static int spread(struct ng_request *r, json_t *body, struct cr_err *e)
{
	static const char *const in[] = { "flags", "rtpp-flags" };
	int err = 0;

	for (unsigned i = 0; i < 2 && !err; i++) {
		json_t *v = json_incref(json_object_get(body, in[i]));
		const char *text = json_string_value(v);

		if (text) {
			(void)json_object_del(body, in[i]);
			/* one flag may have blanks itself */
			err = ng_word_take(r, ng_flag_words, text)
				      ? json_object_set_new(body, "flags",
							    json_pack("[O]", v))
				      : rtpp_flags_read(body, text, e);
		}
		json_decref(v);
	}
	return err;
}

/* Where its signalling came from is where the party is, if that is wished. */
static void read_source(struct ng_request *r, const json_t *body)
{
	const json_t *from = json_object_get(body, "received-from");
	const char *text = json_string_value(
		json_is_array(from) ? json_array_get(from, 1) : from);

	if (!r->sip_source)
		return;
	if (!text || address_parse_host(text, &r->host))
		ng_request_warn(r, "SIP-source-address: received-from has no "
				   "address");
}

static int read_command(enum ng_command *out, const json_t *body,
			struct cr_err *e)
{
	const char *name = json_string_value(json_object_get(body, "command"));

	for (int i = 0; name && i < NG_COMMANDS; i++)
		if (ng_is_named(name, ng_command_names[i])) {
			*out = (enum ng_command)i;
			return 0;
		}
	return cr_fail(e, -EINVAL, "%s%.40s",
		       name ? "Unrecognized command: " : "command: is missing",
		       name ? name : "");
}

static int check_needed(const struct ng_request *r, struct cr_err *e)
{
	bool speaks = r->command == NG_OFFER || r->command == NG_ANSWER;
	const struct {
		bool needed;
		const char *name;
		const void *value;
	} row[] = {
		{ speaks || r->command == NG_DELETE || r->command == NG_QUERY,
		  "call-id", r->call_id },
		{ speaks, "from-tag", r->from_tag },
		{ r->command == NG_ANSWER, "to-tag", r->to_tag },
		{ speaks, "sdp", r->sdp },
	};

	for (unsigned i = 0; i < sizeof(row) / sizeof(*row); i++)
		if (row[i].needed && !row[i].value)
			return cr_fail(e, -EINVAL, "%s: is missing",
				       row[i].name);
	if (speaks && r->to_tag && !strcmp(r->from_tag, r->to_tag))
		return cr_fail(e, -EINVAL, "to-tag: is the from-tag");
	return 0;
}

int ng_request_read(struct ng_request *out, json_t *body, struct cr_err *e)
{
	const char *name;
	json_t *v;
	int err;

	memset(out, 0, offsetof(struct ng_request, codecs));
	out->learn = -1;
	out->limit = LIST_LIMIT;
	if (!has_usual_names(body) && name_keys(body))
		return cr_fail(e, -ENOMEM, "out of memory for a request");
	err = spread(out, body, e);
	if (!err)
		err = read_command(&out->command, body, e);
	json_object_foreach (body, name, v)
		if (!err)
			err = read_key(out, name, v, e);
	if (!err)
		err = check_needed(out, e);
	if (err)
		return err;
	if (out->learn == LEARN_ASYMMETRIC && out->strict_source)
		out->learn = LEARN_STRICT;
	read_source(out, body);
	return codec_rules_read(&out->codecs, body, e);
}
