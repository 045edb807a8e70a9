/* SPDX-License-Identifier: Apache-2.0 */
#include "ng/rtpp_flags.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "ng/words.h"

/* What is read, and what it becomes. */
struct script {
	const char *p; /* what is left of it */
	json_t *body;
	unsigned depth; /* of brackets around @p */
	/* "RTP AVPF" and such: TRANSPORT_SAID and the others */
	unsigned transport;
	bool no_memory;
};

/* --- values --- */

static json_t *word(struct script *s, const char *stops)
{
	size_t n = strcspn(s->p, stops);
	json_t *v = json_stringn_nocheck(s->p, n);

	s->no_memory |= !v;
	s->p += n;
	return v;
}

/* How many octets the key at @p has, which a "=" follows; 0: there is none. No
 * key has a slash: "AMR/8000/1///mode-set=7" is a codec. */
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

/* A list, or a dictionary if its first member has a key. */
static json_t *bracket(struct script *s)
{
	json_t *v;

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

static json_t *value(struct script *s, const char *stops)
{
	if (*s->p != '[')
		return word(s, stops);
	s->p++;
	return bracket(s);
}

/* --- what they are put into --- */

/* These add up; of others the last one counts. */
static bool is_list(const char *key)
{
	static const char *const lists[] = {
		"flags", "replace", "rtcp-mux",	 "supports",
		"SDES",	 "OSRTP",   "direction", "T.38",
	};

	for (unsigned i = 0; i < sizeof(lists) / sizeof(*lists); i++)
		if (ng_is_named(key, lists[i]))
			return true;
	return false;
}

/* @v, or its members, behind the others of the list @key of @to. */
static void append(struct script *s, json_t *to, const char *key, json_t *v)
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
		append(s, to, rule, json_incref(rules));
	json_decref(v);
}

static void put(struct script *s, const char *key, json_t *v)
{
	if (is_list(key))
		append(s, s->body, key, v);
	else if (!strcmp(key, "codec"))
		put_codec(s, v);
	else if (!strcmp(key, "via-branch") && json_object_get(s->body, key))
		json_decref(v);
	else
		s->no_memory |=
			json_object_set_new_nocheck(s->body, key, v) != 0;
}

/* --- words --- */

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
		put(s, "transport-protocol",
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
		put(s, "flags", word(s, " "));
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
		put(s, "flags", json_string_nocheck(flag));
	}
	json_decref(v);
	return v ? 0 : -EINVAL;
}

static int take_word(struct script *s)
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

		put(s, at && bytes == 8 ? "direction" : "flags", word(s, " "));
		return 0;
	}
	key = json_stringn_nocheck(s->p, n);
	s->p += n + 1;
	v = value(s, " ");
	s->no_memory |= !key;
	if (key && v)
		put(s, ng_key_name(json_string_value(key)), v);
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
		err = take_word(&s);
	put_transport(&s);
	if (s.no_memory)
		return cr_fail(e, -ENOMEM, "out of memory for flags");
	return err ? cr_fail(e, -EINVAL,
			     "rtpp-flags: brackets are wrong before %.40s",
			     *s.p ? s.p : "its end")
		   : 0;
}
