/* SPDX-License-Identifier: Apache-2.0 */
#include "ng/words.h"

#include <string.h>

#include "rtp/learn.h"

static void replace_origin(struct ng_request *r)
{
	r->origin = true;
}

static void replace_connection(struct ng_request *r)
{
	r->connection = true;
}

static void replace_version(struct ng_request *r)
{
	r->version = true;
}

static void raise_version(struct ng_request *r)
{
	r->version = r->version_rises = true;
}

static void one_codec(struct ng_request *r)
{
	r->single_codec = true;
}

static void learn_nothing(struct ng_request *r)
{
	r->learn = LEARN_ASYMMETRIC;
}

static void be_strict(struct ng_request *r)
{
	r->strict_source = true;
}

static void learn_at_once(struct ng_request *r)
{
	r->learn = LEARN_IMMEDIATE;
}

static void learn_delayed(struct ng_request *r)
{
	r->learn = LEARN_DELAYED;
}

static void be_fatal(struct ng_request *r)
{
	r->fatal = true;
}

static void know_load_limit(struct ng_request *r)
{
	r->load_limit = true;
}

static void require_mux(struct ng_request *r)
{
	r->mux |= NG_MUX_REQUIRE;
}

static void reject_mux(struct ng_request *r)
{
	r->mux |= NG_MUX_REJECT;
}

static void offer_mux(struct ng_request *r)
{
	r->mux |= NG_MUX_OFFER;
}

static void demux(struct ng_request *r)
{
	r->mux |= NG_MUX_DEMUX;
}

static void hide_rtcp(struct ng_request *r)
{
	r->no_rtcp = true;
}

static void report_whole_rtcp(struct ng_request *r)
{
	r->full_rtcp = true;
}

static void warn_record(struct ng_request *r)
{
	ng_request_warn(r, "record-call: this node does not record");
}

static void warn_loop(struct ng_request *r)
{
	ng_request_warn(r, "loop-protect: is not done here");
}

static void warn_keys(struct ng_request *r)
{
	ng_request_warn(r, "SDES, DTLS: this node has no SRTP");
}

static void warn_ice(struct ng_request *r)
{
	ng_request_warn(r, "ICE: this node has none: it is removed");
}

static void warn_fax(struct ng_request *r)
{
	ng_request_warn(r, "T.38: this node has no fax");
}

static void believe_signalling(struct ng_request *r)
{
	r->sip_source = true;
}

static void nothing(struct ng_request *r)
{
	(void)r;
}

const struct ng_word ng_flag_words[] = {
	{ "single-codec", one_codec },
	{ "asymmetric", learn_nothing },
	{ "strict-source", be_strict },
	{ "record-call", warn_record },
	{ "loop-protect", warn_loop },
	{ "fatal", be_fatal },
	{ "SIP-source-address", believe_signalling },
	{ "no-rtcp-attribute", hide_rtcp },
	{ "full-rtcp-attribute", report_whole_rtcp },
	/* what is so by itself */
	{ "trust-address", nothing },
	{ "symmetric", nothing },
	{ "port-latching", nothing },
	{ "reset", nothing },
	{ "reject-ICE", nothing },
	{ "to-tag", nothing },
	{ "generate-RTCP", nothing },
	{ "allow-transcoding", nothing },
	{ "original-sendrecv", nothing },
	{ "debug", nothing },
	{ NULL, NULL },
};

const struct ng_word ng_replace_words[] = {
	{ "origin", replace_origin },
	{ "session-connection", replace_connection },
	{ "SDP-version", replace_version },
	{ "force-increment-sdp-ver", raise_version },
	{ "zero-address", nothing },
	{ NULL, NULL },
};

const struct ng_word ng_mux_words[] = {
	{ "offer", offer_mux }, { "require", require_mux }, { "demux", demux },
	{ "accept", nothing },	{ "reject", reject_mux },   { NULL, NULL },
};

const struct ng_word ng_support_words[] = {
	{ "load-limit", know_load_limit },
	{ NULL, NULL },
};

const struct ng_word ng_learn_words[] = {
	{ "off", learn_nothing },
	{ "immediate", learn_at_once },
	{ "delayed", learn_delayed },
	{ "heuristic", learn_delayed },
	{ NULL, NULL },
};

const struct ng_word ng_key_words[] = {
	{ "off", nothing },
	{ "no", nothing },
	{ "disable", nothing },
	{ "disabled", nothing },
	/* all others are about keys that there are */
	{ "", warn_keys },
	{ NULL, NULL },
};

const struct ng_word ng_ice_words[] = {
	{ "remove", nothing },	  { "default", nothing },
	{ "force", warn_ice },	  { "force-relay", warn_ice },
	{ "optional", warn_ice }, { NULL, NULL },
};

static const struct ng_word fax_words[] = {
	{ "", warn_fax },
	{ NULL, NULL },
};

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

static bool take_ng_word(struct ng_request *r, const struct ng_word *words,
			 const char *text)
{
	for (; words->name; words++)
		if (!*words->name || ng_is_named(text, words->name)) {
			words->take(r);
			return true;
		}
	return false;
}

bool ng_word_take(struct ng_request *r, const struct ng_word *words,
		  const char *text)
{
	static const struct {
		const char *name;
		const struct ng_word *words;
	} list[] = {
		{ "replace-", ng_replace_words },
		{ "rtcp-mux-", ng_mux_words },
		{ "endpoint-learning-", ng_learn_words },
		{ "SDES-", ng_key_words },
		{ "OSRTP-", ng_key_words },
		{ "T.38-", fax_words },
		{ "T38-", fax_words },
	};

	if (take_ng_word(r, words, text))
		return true;
	for (unsigned i = 0; i < sizeof(list) / sizeof(*list); i++) {
		const char *rest = ng_behind(text, list[i].name);

		if (words == ng_flag_words && rest)
			return take_ng_word(r, list[i].words, rest);
	}
	return false;
}
