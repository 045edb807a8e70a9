/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading requests of NG, and the words of a proxy's script, which some proxies
 * hand over as they are ("rtpp-flags"): "replace-origin ICE=remove
 * codec=[mask=[all] offer=[AMR]]". Words are flags, or keys with a value;
 * values in brackets are lists, or dictionaries where they have keys. Pure but
 * for memory.
 */
#include "ng/request.h"

#include <errno.h>
#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/address.h"
#include "base/field.h"
#include "cr/error.h"
#include "rtp/learn.h"

/* Bounds of the numbers of a request, and how many calls list answers if it
 * does not say. */
enum { LIST_LIMIT = 32, LIST_LIMIT_MAX = 1000, PTIME_MAX = 200 };

const char *const ng_command_names[NG_COMMANDS + 1] = {
	"ping", "offer", "answer", "delete", "query", "list", "statistics", NULL
};

/* --- names --- */

/* ASCII's, whatever the locale. */
static char plain(char c)
{
	if (c == ' ' || c == '_')
		return '-';
	return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

const char *ng_behind(const char *text, const char *name)
{
	for (; *name; text++, name++)
		if (plain(*text) != plain(*name))
			return NULL;
	return text;
}

bool ng_is_named(const char *text, const char *name)
{
	const char *end = ng_behind(text, name);

	return end && !*end;
}

/* Note that a request cannot be fulfilled; the first one is reported. */
static void warn_request(struct ng_request *r, const char *text)
{
	if (!*r->warning.text)
		(void)cr_fail(&r->warning, 0, "%s", text);
}

static void note_unknown_word(struct ng_request *r, const char *what,
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

	note_unknown_word(r, key, text);
	(void)cr_fail(&e, 0, "%.40s: there is no such rule of codecs", text);
	if (!strcmp(key, "codec") || ng_behind(text, "codec"))
		warn_request(r, e.text);
}

/* --- words: flags, and members of lists --- */

/* Words are rows, too: the member becomes .dflt; without one, as of rtcp-mux,
 * .dflt is added to the request's mux. .help is a warning. "": any other word.
 */
#define MEMBER(m) FIELD_IN(struct ng_request, m)
#define SET(word, member, value) .name = (word), .dflt = (value), MEMBER(member)

static const char no_fax[] = "T.38: this node has no fax";
static const char no_ice[] = "ICE: this node has none: it is removed";

static const struct field flag_words[] = {
	{ SET("single-codec", single_codec, true) },
	{ SET("asymmetric", learn, LEARN_ASYMMETRIC) },
	{ SET("strict-source", strict_source, true) },
	{ .name = "record-call",
	  .help = "record-call: this node does not record" },
	{ .name = "loop-protect", .help = "loop-protect: is not done here" },
	{ SET("fatal", fatal, true) },
	{ SET("SIP-source-address", sip_source, true) },
	{ SET("no-rtcp-attribute", no_rtcp, true) },
	{ SET("full-rtcp-attribute", full_rtcp, true) },
	/* what is so by itself */
	{ .name = "trust-address" },
	{ .name = "symmetric" },
	{ .name = "port-latching" },
	{ .name = "reset" },
	{ .name = "reject-ICE" },
	{ .name = "to-tag" },
	{ .name = "generate-RTCP" },
	{ .name = "allow-transcoding" },
	{ .name = "original-sendrecv" },
	{ .name = "debug" },
	{ 0 },
};

static const struct field replace_words[] = {
	{ SET("origin", origin, true) },
	{ SET("session-connection", connection, true) },
	{ SET("SDP-version", version, true) },
	{ SET("force-increment-sdp-ver", version_rises, true) },
	{ .name = "zero-address" },
	{ 0 },
};

static const struct field mux_words[] = {
	{ .name = "offer", .dflt = NG_MUX_OFFER },
	{ .name = "require", .dflt = NG_MUX_REQUIRE },
	{ .name = "demux", .dflt = NG_MUX_DEMUX },
	{ .name = "accept" },
	{ .name = "reject", .dflt = NG_MUX_REJECT },
	{ 0 },
};

static const struct field supports_words[] = {
	{ SET("load-limit", load_limit, true) },
	{ 0 },
};

static const struct field learning_words[] = {
	{ SET("off", learn, LEARN_ASYMMETRIC) },
	{ SET("immediate", learn, LEARN_IMMEDIATE) },
	{ SET("delayed", learn, LEARN_DELAYED) },
	{ SET("heuristic", learn, LEARN_DELAYED) },
	{ 0 },
};

static const struct field sdes_words[] = {
	{ .name = "off" },
	{ .name = "no" },
	{ .name = "disable" },
	{ .name = "disabled" },
	/* all others are about keys that there are */
	{ .name = "", .help = "SDES, DTLS: this node has no SRTP" },
	{ 0 },
};

static const struct field ice_words[] = {
	{ .name = "remove" },
	{ .name = "default" },
	{ .name = "force", .help = no_ice },
	{ .name = "force-relay", .help = no_ice },
	{ .name = "optional", .help = no_ice },
	{ 0 },
};

static const struct field fax_words[] = {
	{ .name = "", .help = no_fax },
	{ 0 },
};

/* False: @text is none of @words. */
static bool take_listed_word(struct ng_request *r, const struct field *words,
			     const char *text)
{
	for (const struct field *w = words; !field_is_end(w); w++) {
		if (*w->name && !ng_is_named(text, w->name))
			continue;
		if (w->size)
			field_default(w, r);
		else
			r->mux |= (unsigned)w->dflt;
		if (w->help)
			warn_request(r, w->help);
		return true;
	}
	return false;
}

/* Let @r have what @text, one of @words, means; words of some other lists are
 * flags, too, behind their list's name: "replace-origin". False: it is none. */
static bool take_ng_word(struct ng_request *r, const struct field *words,
			 const char *text)
{
	static const struct {
		const char *prefix;
		const struct field *words;
	} other[] = {
		{ "replace-", replace_words },
		{ "rtcp-mux-", mux_words },
		{ "endpoint-learning-", learning_words },
		{ "SDES-", sdes_words },
		{ "OSRTP-", sdes_words },
		{ "T.38-", fax_words },
		{ "T38-", fax_words },
	};

	if (take_listed_word(r, words, text))
		return true;
	for (size_t i = 0; i < sizeof(other) / sizeof(*other); i++) {
		const char *rest = ng_behind(text, other[i].prefix);

		if (rest && words == flag_words)
			return take_listed_word(r, other[i].words, rest);
	}
	return false;
}

/* --- values --- */

static int wrong_value(const char *key, const char *wants, struct cr_err *e)
{
	return cr_fail(e, -EINVAL, "%.40s: is no %s", key, wants);
}

static int read_text(const char **out, const char *key, const json_t *v,
		     struct cr_err *e)
{
	if (!json_is_string(v))
		return wrong_value(key, "string", e);
	if (memchr(json_string_value(v), 0, json_string_length(v)))
		return wrong_value(key, "text: it has an octet 0", e);
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
static int read_request_number(const struct field *f, struct ng_request *r,
			       const json_t *v, struct cr_err *e)
{
	const char *text = json_string_value(v);
	int64_t n = json_integer_value(v);
	char why[200];

	if ((text ? !field_read_number(f, text, &n) : !json_is_integer(v)) ||
	    !field_fits(f, n))
		return cr_fail(e, -EINVAL, "%.40s: %s", f->name,
			       field_needs(f, "", true, why, sizeof(why)));
	field_set_integer(f, r, n);
	return 0;
}

/* Several words in one text, between blanks; or one that has blanks itself. */
static void take_text(struct ng_request *r, const struct field *f,
		      const char *text)
{
	char word[NG_UNKNOWN_BYTES];

	if (take_ng_word(r, f->members, text))
		return;
	while (text += strspn(text, " "), *text) {
		size_t n = strcspn(text, " ");

		(void)snprintf(word, sizeof(word), "%.*s", (int)n, text);
		if (n >= sizeof(word) || !take_ng_word(r, f->members, word))
			note_unknown_word(r, f->name, word);
		text += n;
	}
}

/* A text, or a list of words. */
static int take_words(struct ng_request *r, const struct field *f,
		      const json_t *v, struct cr_err *e)
{
	const json_t *one;
	const char *text;
	size_t i;

	if (!json_is_array(v)) {
		if (read_text(&text, f->name, v, e))
			return -EINVAL;
		take_text(r, f, text);
	}
	json_array_foreach (v, i, one) {
		if (read_text(&text, f->name, one, e))
			return -EINVAL;
		if (!take_ng_word(r, f->members, text))
			note_unknown_word(r, f->name, text);
	}
	return 0;
}

/* --- keys --- */

struct key {
	/* .members: its words; else a member that gets the text, or the number
	 * within the bounds. .help: a warning, it has no effect */
	struct field f;
	/* a wrong value is an error, not a warning */
	bool strict;
	bool adds; /* in a script several add up */
	/* what becomes of the value in place of that */
	int (*read)(struct ng_request *r, const char *key, const json_t *v,
		    struct cr_err *e);
};

static int read_sdp(struct ng_request *r, const char *key, const json_t *v,
		    struct cr_err *e)
{
	if (!json_is_string(v))
		return wrong_value(key, "string", e);
	r->sdp = json_string_value(v);
	r->sdp_bytes = json_string_length(v);
	return 0;
}

/* Read the flags but for those of codecs, which codec_rules_read() reads. */
static int read_flags(struct ng_request *r, const char *key, const json_t *v,
		      struct cr_err *e)
{
	const json_t *one;
	const char *text;
	size_t i;

	if (!json_is_array(v))
		return wrong_value(key, "list of flags", e);
	json_array_foreach (v, i, one)
		if (read_text(&text, key, one, e))
			return -EINVAL;
		else if (!codec_rule_is_flag(text) &&
			 !take_ng_word(r, flag_words, text))
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
		return wrong_value(key, "dictionary of rules", e);
	json_object_foreach ((json_t *)(uintptr_t)v, name, rules)
		if (!codec_rule_is_named(name, &rule))
			note_strange(r, key, name);
	return 0;
}

static int read_direction_words(struct ng_request *r, const char *key,
				const json_t *v, struct cr_err *e)
{
	if (!json_is_array(v))
		return wrong_value(key, "list of interfaces", e);
	for (unsigned i = 0; i < 2 && i < json_array_size(v); i++)
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
	if (strcasecmp(text, "IP4") != 0 && strcasecmp(text, "IP6") != 0)
		return wrong_value(key, "IP4 or IP6", e);
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
	return wrong_value(key, "IP address", e);
}

/* Only RTP without keys is spoken here: a request for something else of that
 * kind does not get less. */
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
		note_unknown_word(r, key, text ? text : "that is no text");
	return 0;
}

static int read_record(struct ng_request *r, const char *key, const json_t *v,
		       struct cr_err *e)
{
	const char *text;

	if (read_text(&text, key, v, e))
		return -EINVAL;
	if (!ng_is_named(text, "no") && !ng_is_named(text, "off"))
		warn_request(r, "record-call: this node does not record");
	return 0;
}

#define TEXT(key, m) .f = { .name = (key), .kind = FIELD_TEXT, MEMBER(m) }
#define NUMBER(key, m, most) .f = { .name = (key), .max = (most), MEMBER(m) }
#define WORDS(key, words) .f = { .name = (key), .members = (words) }
#define READ(key, how) .f.name = (key), .read = (how)
#define NOTHING(key) .f.name = (key)
#define NOT_DONE(key) .f = { .name = (key), .help = key ": is not done here" }

static const struct key keys[] = {
	{ NOTHING("command") }, /* read_command() */
	{ TEXT("call-id", call_id), .strict = true },
	{ TEXT("from-tag", key.from), .strict = true },
	{ TEXT("to-tag", key.to), .strict = true },
	{ TEXT("via-branch", key.branch), .strict = true },
	{ READ("sdp", read_sdp), .strict = true },
	{ READ("transport-protocol", read_proto), .strict = true },
	{ READ("flags", read_flags), .adds = true },
	{ WORDS("replace", replace_words), .adds = true },
	{ WORDS("supports", supports_words), .adds = true },
	{ WORDS("rtcp-mux", mux_words), .adds = true },
	{ READ("direction", read_direction_words), .adds = true },
	{ TEXT("from-interface", interface[0]) },
	{ TEXT("to-interface", interface[1]) },
	{ READ("address-family", read_family) },
	{ READ("media-address", read_media_address) },
	{ WORDS("endpoint-learning", learning_words) },
	{ NUMBER("ptime", ptime, PTIME_MAX) },
	{ NUMBER("ptime-reverse", ptime_reverse, PTIME_MAX) },
	{ WORDS("ICE", ice_words) },
	{ READ("record-call", read_record) },
	{ WORDS("SDES", sdes_words), .adds = true },
	{ WORDS("DTLS", sdes_words) },
	{ WORDS("OSRTP", sdes_words), .adds = true },
	{ .f = { .name = "T.38", .help = no_fax }, .adds = true },
	{ .f = { .name = "T38", .help = no_fax } },
	{ NOT_DONE("sdp-attr") },
	{ NOT_DONE("sdp-media-remove") },
	{ NOT_DONE("alias-key") },
	{ NOT_DONE("media-echo") },
	{ NUMBER("limit", limit, LIST_LIMIT_MAX) },
	{ READ("codec", read_codec) }, /* and codec_rules_read() */
	{ NOTHING("received-from") },  /* read_source() */
	{ NOTHING("rtpp-flags") },     /* spread_flags() */
	{ NOTHING("delete-delay") },   /* nothing waits before it is deleted */
	{ NOTHING("sip-message-type") },
	{ NOTHING(NULL) },
};

/* The key that @text is, however it is spelled; or NULL. */
static const struct key *find_key(const char *text)
{
	for (const struct key *k = keys; k->f.name; k++)
		if (ng_is_named(text, k->f.name))
			return k;
	return NULL;
}

/* The usual name of the key @text, or @text. */
static const char *key_name(const char *text)
{
	const struct key *k = find_key(text);

	return k ? k->f.name : text;
}

static int read_by_key(const struct key *k, struct ng_request *r,
		       const json_t *v, struct cr_err *e)
{
	const struct field *f = &k->f;

	if (f->help)
		warn_request(r, f->help);
	if (k->read)
		return k->read(r, f->name, v, e);
	if (f->members)
		return take_words(r, f, v, e);
	if (!f->size)
		return 0;
	return f->kind == FIELD_TEXT ? read_name(field_at(f, r), f->name, v, e)
				     : read_request_number(f, r, v, e);
}

static int read_key(struct ng_request *r, const char *name, const json_t *v,
		    struct cr_err *e)
{
	const struct key *k = find_key(name);

	if (!k)
		note_unknown_word(r, "key", name);
	if (!k || !read_by_key(k, r, v, e))
		return 0;
	if (k->strict)
		return -EINVAL;
	warn_request(r, e->text);
	return 0;
}

/* A script that is read, and the request that it becomes. */
struct script {
	const char *p; /* what is left of it */
	json_t *body;
	unsigned depth; /* of brackets around @p */
	/* "RTP AVPF" and such: TRANSPORT_SAID and the others */
	unsigned transport;
	bool no_memory;
};

/* --- a script: its values --- */

static json_t *read_word(struct script *s, const char *stops)
{
	size_t n = strcspn(s->p, stops);
	json_t *v = json_stringn_nocheck(s->p, n);

	s->no_memory |= !v;
	s->p += n;
	return v;
}

/* Return how many octets the key at @p has, which a "=" follows; 0: there is
 * none. No key has a slash: "AMR/8000/1///mode-set=7" is a codec. */
static size_t key_bytes(const char *p, const char *stops)
{
	size_t most = strcspn(p, stops), n = 0;

	while (n < most && p[n] != '=' && p[n] != '/')
		n++;
	return n < most && p[n] == '=' ? n : 0;
}

static json_t *value(struct script *s, const char *stops);

/* The members of what a "[" has begun, as many as a "]" is behind. */
static int members(struct script *s, json_t *to)
{
	int err;

	while (s->p += strspn(s->p, " "), *s->p && *s->p != ']') {
		const char *key = s->p;
		size_t n = json_is_object(to) ? key_bytes(s->p, " ]") : 0;

		s->p += n ? n + 1 : 0;
		if (n)
			err = json_object_setn_new_nocheck(to, key, n,
							   value(s, " ]"));
		else if (json_is_array(to))
			err = json_array_append_new(to, value(s, " ]"));
		else
			return -EINVAL;
		if (err)
			return -EINVAL; /* or no memory, which value() noted */
	}
	if (!*s->p)
		return -EINVAL;
	s->p++;
	return 0;
}

static json_t *value(struct script *s, const char *stops)
{
	json_t *v;

	if (*s->p != '[')
		return read_word(s, stops);
	s->p++;
	/* A list, or a dictionary if its first member has a key. */
	s->p += strspn(s->p, " ");
	v = key_bytes(s->p, " ]") ? json_object() : json_array();
	s->no_memory |= !v;
	if (v && ++s->depth <= RTPP_FLAGS_DEPTH_MAX && !members(s, v)) {
		s->depth--;
		return v;
	}
	json_decref(v);
	return NULL;
}

/* --- what they are put into --- */

/* @v, or its members, behind the others of the list @key of @to. */
static void append_value(struct script *s, json_t *to, const char *key,
			 json_t *v)
{
	json_t *list = json_object_get(to, key);

	if (!json_is_array(list)) {
		json_t *first = json_incref(list);

		list = json_array();
		s->no_memory |=
			json_object_set_new_nocheck(to, key, list) != 0 ||
			(first &&
			 json_array_append_new(list, json_incref(first)) != 0);
		json_decref(first);
	}
	if (json_is_array(v))
		s->no_memory |= json_array_extend(list, v) != 0;
	else
		s->no_memory |= json_array_append(list, v) != 0;
	json_decref(v);
}

/* The rules of codecs that are there already go on. */
static void put_codec(struct script *s, json_t *v)
{
	json_t *to = json_object_get(s->body, "codec"), *rules;
	const char *rule;

	if (!json_is_object(to) || !json_is_object(v)) {
		s->no_memory |=
			json_object_set_new_nocheck(s->body, "codec", v) != 0;
		return;
	}
	json_object_foreach (v, rule, rules)
		append_value(s, to, rule, json_incref(rules));
	json_decref(v);
}

static void put_key(struct script *s, const char *key, json_t *v)
{
	const struct key *k = find_key(key);

	if (k && k->adds) /* of others the last one counts */
		append_value(s, s->body, key, v);
	else if (!strcmp(key, "codec"))
		put_codec(s, v);
	else if (!strcmp(key, "via-branch") && json_object_get(s->body, key))
		json_decref(v);
	else
		s->no_memory |=
			json_object_set_new_nocheck(s->body, key, v) != 0;
}

/* --- its words --- */

enum {
	TRANSPORT_SECURE = 1,
	TRANSPORT_FEEDBACK = 2,
	TRANSPORT_DTLS = 4,
	TRANSPORT_SAID = 8
};

/* Words that are a part of a transport's name, or all of it. */
static bool is_transport(struct script *s, const char *word, size_t n)
{
	static const struct {
		const char *name;
		unsigned clears, sets;
	} row[] = {
		{ "RTP", TRANSPORT_SECURE, 0 },
		{ "SRTP", 0, TRANSPORT_SECURE },
		{ "AVP", TRANSPORT_FEEDBACK, 0 },
		{ "AVPF", 0, TRANSPORT_FEEDBACK },
		{ "DTLS", 0, TRANSPORT_DTLS },
		{ "RTP/AVP", 7, 0 },
		{ "RTP/AVPF", 7, TRANSPORT_FEEDBACK },
		{ "RTP/SAVP", 7, TRANSPORT_SECURE },
		{ "RTP/SAVPF", 7, TRANSPORT_SECURE | TRANSPORT_FEEDBACK },
		{ "UDP/TLS/RTP/SAVP", 7, TRANSPORT_DTLS },
		{ "UDP/TLS/RTP/SAVPF", 7, TRANSPORT_DTLS | TRANSPORT_FEEDBACK },
	};

	for (unsigned i = 0; i < sizeof(row) / sizeof(*row); i++) {
		if (strlen(row[i].name) != n ||
		    strncasecmp(row[i].name, word, n))
			continue;
		s->transport &= ~row[i].clears;
		s->transport |= row[i].sets | TRANSPORT_SAID;
		return true;
	}
	return false;
}

static void put_transport(struct script *s)
{
	static const char *const names[] = {
		"RTP/AVP",	     "RTP/SAVP",	  "RTP/AVPF",
		"RTP/SAVPF",	     "UDP/TLS/RTP/SAVP",  "UDP/TLS/RTP/SAVP",
		"UDP/TLS/RTP/SAVPF", "UDP/TLS/RTP/SAVPF",
	};

	if (s->transport & TRANSPORT_SAID)
		put_key(s, "transport-protocol",
			json_string_nocheck(names[s->transport & 7u]));
}

/* "codec-mask-PCMA", "transcode=PCMA", "codec-mask=[PCMA PCMU]": flags, each
 * with one codec. */
static int take_codec(struct script *s, size_t n)
{
	const char *rule = s->p;
	char flag[256]; /* longer ones are none */
	json_t *v, *one;
	size_t i;

	if (!n) {
		put_key(s, "flags", read_word(s, " "));
		return 0;
	}
	s->p += n + 1;
	v = value(s, " ");
	if (json_is_string(v))
		v = json_pack("[o]", v);
	json_array_foreach (v, i, one) {
		const char *codec = json_string_value(one);

		(void)snprintf(flag, sizeof(flag), "%.*s-%s", (int)n, rule,
			       codec ? codec : "");
		put_key(s, "flags", json_string_nocheck(flag));
	}
	json_decref(v);
	return v ? 0 : -EINVAL;
}

static int take_flag_word(struct script *s)
{
	size_t n = key_bytes(s->p, " "), bytes = strcspn(s->p, " ");
	json_t *key, *v;

	if (ng_behind(s->p, "codec-") || ng_behind(s->p, "transcode"))
		return take_codec(s, n);
	if (!n && is_transport(s, s->p, bytes)) {
		s->p += bytes;
		return 0;
	}
	if (!n) {
		bool at = ng_behind(s->p, "internal") ||
			  ng_behind(s->p, "external");

		put_key(s, at && bytes == 8 ? "direction" : "flags",
			read_word(s, " "));
		return 0;
	}
	key = json_stringn_nocheck(s->p, n);
	s->p += n + 1;
	v = value(s, " ");
	s->no_memory |= !key;
	if (key && v)
		put_key(s, key_name(json_string_value(key)), v);
	else
		json_decref(v);
	json_decref(key);
	return v ? 0 : -EINVAL;
}

int rtpp_flags_read(json_t *body, const char *text, struct cr_err *e)
{
	struct script s = { .p = text, .body = body };
	int err = 0;

	while (s.p += strspn(s.p, " "), *s.p && !err)
		err = take_flag_word(&s);
	put_transport(&s);
	if (s.no_memory)
		return cr_fail(e, -ENOMEM, "out of memory for flags");
	return err ? cr_fail(e, -EINVAL,
			     "rtpp-flags: brackets are wrong before %.40s",
			     *s.p ? s.p : "its end")
		   : 0;
}

/* --- the whole --- */

/* Keys get their usual names, mostly those that they have. Of one that comes in
 * two forms the last counts. */
static int name_keys(json_t *body)
{
	json_t *named, *v;
	const char *key;
	bool usual = true;
	int err;

	json_object_foreach (body, key, v)
		usual = usual && !strcmp(key, key_name(key));
	if (usual)
		return 0;
	named = json_object();
	err = named ? 0 : -ENOMEM;
	json_object_foreach (body, key, v)
		if (!err && json_object_set_nocheck(named, key_name(key), v))
			err = -ENOMEM;
	if (!err &&
	    (json_object_clear(body) || json_object_update(body, named)))
		err = -ENOMEM;
	json_decref(named);
	return err;
}

/* Turn a text of flags into keys and flags, and take it out of @body. */
static int spread_flags(struct ng_request *r, json_t *body, struct cr_err *e)
{
	static const char *const in[] = { "flags", "rtpp-flags" };
	int err = 0;

	for (unsigned i = 0; i < 2 && !err; i++) {
		json_t *v = json_incref(json_object_get(body, in[i]));
		const char *text = json_string_value(v);

		if (text) {
			(void)json_object_del(body, in[i]);
			/* one flag may have blanks itself */
			err = take_ng_word(r, flag_words, text)
				      ? json_object_set_new(body, "flags",
							    json_pack("[O]", v))
				      : rtpp_flags_read(body, text, e);
		}
		json_decref(v);
	}
	return err;
}

/* Let the party be at the address that its signalling came from, if that is
 * asked for. */
static void read_source(struct ng_request *r, const json_t *body)
{
	const json_t *from = json_object_get(body, "received-from");
	const char *text = json_string_value(
		json_is_array(from) ? json_array_get(from, 1) : from);

	if (!r->sip_source)
		return;
	if (!text || address_parse_host(text, &r->host))
		warn_request(r, "SIP-source-address: received-from has no "
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
		{ speaks, "from-tag", r->key.from },
		{ r->command == NG_ANSWER, "to-tag", r->key.to },
		{ speaks, "sdp", r->sdp },
	};

	for (unsigned i = 0; i < sizeof(row) / sizeof(*row); i++)
		if (row[i].needed && !row[i].value)
			return cr_fail(e, -EINVAL, "%s: is missing",
				       row[i].name);
	if (speaks && r->key.to && !strcmp(r->key.from, r->key.to))
		return cr_fail(e, -EINVAL, "to-tag: is the from-tag");
	return 0;
}

int ng_request_read(struct ng_request *out, json_t *body, struct cr_err *e)
{
	const char *name;
	json_t *v;
	int err;

	memset(out, 0, offsetof(struct ng_request, codecs));
	out->body = body;
	out->learn = -1;
	out->limit = LIST_LIMIT;
	if (name_keys(body))
		return cr_fail(e, -ENOMEM, "out of memory for a request");
	err = spread_flags(out, body, e);
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
	out->version |= out->version_rises;
	read_source(out, body);
	return codec_rules_read(&out->codecs, body, e);
}
