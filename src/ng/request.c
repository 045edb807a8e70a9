/* SPDX-License-Identifier: Apache-2.0 */
#include "ng/request.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/address.h"
#include "ng/words.h"

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
			       "%s %s", what, name);
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

static int read_host(struct ng_request *r, const char *key, const char *text,
		     struct cr_err *e)
{
	return address_parse_host(text, &r->host) ? wrong(key, "IP address", e)
						  : 0;
}

/* One word, or a list of them. */
static int take_words(struct ng_request *r, const struct ng_word *words,
		      const char *key, const json_t *v, struct cr_err *e)
{
	const json_t *one = v;
	const char *text;

	for (size_t i = 0; !json_is_array(v) ? i < 1 : i < json_array_size(v);
	     i++) {
		if (json_is_array(v))
			one = json_array_get(v, i);
		if (read_text(&text, key, one, e))
			return -EINVAL;
		/* rules of codecs are read elsewhere */
		if (!ng_word_take(r, words, text) &&
		    strncmp(text, "codec", 5) != 0)
			note_unknown(r, key, text);
	}
	return 0;
}

/* --- keys --- */

struct key {
	const char *name;
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

static int read_flags(struct ng_request *r, const char *key, const json_t *v,
		      struct cr_err *e)
{
	return take_words(r, ng_flag_words, key, v, e);
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
	if (json_array_size(v) != 2)
		return wrong(key, "list of two interfaces", e);
	for (unsigned i = 0; i < 2; i++)
		if (read_name(&r->interface[i], key, json_array_get(v, i), e))
			return -EINVAL;
	return 0;
}

static int read_family(struct ng_request *r, const char *key, const json_t *v,
		       struct cr_err *e)
{
	const char *text;

	if (read_text(&text, key, v, e))
		return -EINVAL;
	if (strcmp(text, "IP4") != 0 && strcmp(text, "IP6") != 0)
		return wrong(key, "IP4 or IP6", e);
	r->family = text[2] == '6' ? AF_INET6 : AF_INET;
	return 0;
}

static int read_media_address(struct ng_request *r, const char *key,
			      const json_t *v, struct cr_err *e)
{
	const char *text;

	return read_text(&text, key, v, e) ? -EINVAL
					   : read_host(r, key, text, e);
}

/* Only RTP without keys is spoken here. */
static int read_proto(struct ng_request *r, const char *key, const json_t *v,
		      struct cr_err *e)
{
	if (read_text(&r->proto, key, v, e))
		return -EINVAL;
	if (!strcmp(r->proto, "accept")) {
		r->proto = NULL;
		return 0;
	}
	if (!strcmp(r->proto, "RTP/AVP") || !strcmp(r->proto, "RTP/AVPF"))
		return 0;
	return cr_fail(e, -EINVAL,
		       "%s: %.40s: this node has RTP/AVP and RTP/AVPF only",
		       key, r->proto);
}

static int read_ice(struct ng_request *r, const char *key, const json_t *v,
		    struct cr_err *e)
{
	const char *text;

	if (read_text(&text, key, v, e))
		return -EINVAL;
	if (!strcmp(text, "force") || !strcmp(text, "force-relay") ||
	    !strcmp(text, "optional"))
		ng_request_warn(r, "ICE: this node has none: it is removed");
	return 0;
}

static int read_record(struct ng_request *r, const char *key, const json_t *v,
		       struct cr_err *e)
{
	const char *text;

	if (read_text(&text, key, v, e))
		return -EINVAL;
	if (strcmp(text, "no") != 0 && strcmp(text, "off") != 0)
		ng_request_warn(r, "record-call: this node does not record");
	return 0;
}

/* "off", in one of its forms. */
static bool is_off(const json_t *v)
{
	const char *text =
		json_string_value(json_is_array(v) ? json_array_get(v, 0) : v);

	return text && (!strcmp(text, "off") || !strcmp(text, "no") ||
			!strcmp(text, "disable"));
}

static int read_keys(struct ng_request *r, const char *key, const json_t *v,
		     struct cr_err *e)
{
	(void)key, (void)e;
	if (!is_off(v))
		ng_request_warn(r, "SDES, DTLS: this node has no SRTP");
	return 0;
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

static const struct key keys[] = {
	{ "command", pass_over },
	{ "call-id", read_call_id },
	{ "from-tag", read_from_tag },
	{ "to-tag", read_to_tag },
	{ "via-branch", read_branch },
	{ "sdp", read_sdp },
	{ "flags", read_flags },
	{ "replace", read_replace },
	{ "supports", read_supports },
	{ "rtcp-mux", read_mux },
	{ "direction", read_direction },
	{ "address-family", read_family },
	{ "media-address", read_media_address },
	{ "transport-protocol", read_proto },
	{ "endpoint-learning", read_learning },
	{ "ptime", read_ptime },
	{ "ptime-reverse", read_ptime_reverse },
	{ "ICE", read_ice },
	{ "record-call", read_record },
	{ "SDES", read_keys },
	{ "DTLS", read_keys },
	{ "OSRTP", read_keys },
	{ "T.38", read_fax },
	{ "limit", read_limit },
	{ "codec", pass_over },		/* codec_rules_read() */
	{ "received-from", pass_over }, /* read_source() */
	/* nothing waits before it is deleted */
	{ "delete-delay", pass_over },
	{ NULL, NULL },
};

static int read_key(struct ng_request *r, const char *name, const json_t *v,
		    struct cr_err *e)
{
	for (const struct key *k = keys; k->name; k++)
		if (ng_is_named(name, k->name))
			return k->read(r, k->name, v, e);
	note_unknown(r, "key", name);
	return 0;
}

/* --- the whole --- */

/* A value by either form of its name. */
static const json_t *value_of(const json_t *body, const char *name)
{
	const char *key;
	json_t *v;

	json_object_foreach ((json_t *)(uintptr_t)body, key, v)
		if (ng_is_named(key, name))
			return v;
	return NULL;
}

static bool has_word(const json_t *list, const char *name)
{
	const char *text;

	for (size_t i = 0; i < json_array_size(list); i++) {
		text = json_string_value(json_array_get(list, i));
		if (text && ng_is_named(text, name))
			return true;
	}
	return false;
}

/* Where its signalling came from is where the party is, if that is wished. */
static int read_source(struct ng_request *r, const json_t *body,
		       struct cr_err *e)
{
	const json_t *from = value_of(body, "received-from");
	const char *text = json_string_value(json_array_get(from, 1));

	if (r->host.ss_family ||
	    !has_word(value_of(body, "flags"), "SIP-source-address"))
		return 0;
	if (!text)
		return cr_fail(e, -EINVAL,
			       "SIP-source-address: received-from is missing");
	return read_host(r, "received-from", text, e);
}

static int read_command(enum ng_command *out, const json_t *body,
			struct cr_err *e)
{
	const char *name = json_string_value(json_object_get(body, "command"));

	for (int i = 0; name && i < NG_COMMANDS; i++)
		if (!strcmp(name, ng_command_names[i])) {
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

int ng_request_read(struct ng_request *out, const json_t *body,
		    struct cr_err *e)
{
	const char *name;
	json_t *v;

	memset(out, 0, offsetof(struct ng_request, codecs));
	out->learn = -1;
	out->limit = LIST_LIMIT;
	if (read_command(&out->command, body, e))
		return -EINVAL;
	json_object_foreach ((json_t *)(uintptr_t)body, name, v)
		if (read_key(out, name, v, e))
			return -EINVAL;
	if (check_needed(out, e) || read_source(out, body, e))
		return -EINVAL;
	return codec_rules_read(&out->codecs, body, e);
}
