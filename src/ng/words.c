/* SPDX-License-Identifier: Apache-2.0 */
#include "ng/words.h"

#include <stddef.h>

#include "base/options.h"
#include "rtp/learn.h"

static const char no_ice[] = "ICE: this node has none: it is removed";

#define SET(member, v)                                                         \
	.offset = offsetof(struct ng_request, member),                         \
	.bytes = sizeof(((struct ng_request *)0)->member), .value = v

const struct ng_word ng_flag_words[] = {
	{ "single-codec", SET(single_codec, true) },
	{ "asymmetric", SET(learn, LEARN_ASYMMETRIC) },
	{ "strict-source", SET(strict_source, true) },
	{ "record-call", .warning = "record-call: this node does not record" },
	{ "loop-protect", .warning = "loop-protect: is not done here" },
	{ "fatal", SET(fatal, true) },
	{ "SIP-source-address", SET(sip_source, true) },
	{ "no-rtcp-attribute", SET(no_rtcp, true) },
	{ "full-rtcp-attribute", SET(full_rtcp, true) },
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
	{ .name = NULL },
};

const struct ng_word ng_replace_words[] = {
	{ "origin", SET(origin, true) },
	{ "session-connection", SET(connection, true) },
	{ "SDP-version", SET(version, true) },
	{ "force-increment-sdp-ver", SET(version_rises, true) },
	{ .name = "zero-address" },
	{ .name = NULL },
};

const struct ng_word ng_mux_words[] = {
	{ "offer", .mux = NG_MUX_OFFER },
	{ "require", .mux = NG_MUX_REQUIRE },
	{ "demux", .mux = NG_MUX_DEMUX },
	{ .name = "accept" },
	{ "reject", .mux = NG_MUX_REJECT },
	{ .name = NULL },
};

const struct ng_word ng_support_words[] = {
	{ "load-limit", SET(load_limit, true) },
	{ .name = NULL },
};

const struct ng_word ng_learn_words[] = {
	{ "off", SET(learn, LEARN_ASYMMETRIC) },
	{ "immediate", SET(learn, LEARN_IMMEDIATE) },
	{ "delayed", SET(learn, LEARN_DELAYED) },
	{ "heuristic", SET(learn, LEARN_DELAYED) },
	{ .name = NULL },
};

const struct ng_word ng_key_words[] = {
	{ .name = "off" },
	{ .name = "no" },
	{ .name = "disable" },
	{ .name = "disabled" },
	/* all others are about keys that there are */
	{ "", .warning = "SDES, DTLS: this node has no SRTP" },
	{ .name = NULL },
};

const struct ng_word ng_ice_words[] = {
	{ .name = "remove" },
	{ .name = "default" },
	{ "force", .warning = no_ice },
	{ "force-relay", .warning = no_ice },
	{ "optional", .warning = no_ice },
	{ .name = NULL },
};

static const struct ng_word fax_words[] = {
	{ "", .warning = "T.38: this node has no fax" },
	{ .name = NULL },
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

static void put_word(struct ng_request *r, const struct ng_word *word)
{
	if (word->bytes)
		integer_put((char *)r + word->offset, word->bytes, word->value);
	r->mux |= word->mux;
	if (word->warning)
		ng_request_warn(r, word->warning);
}

static bool take_ng_word(struct ng_request *r, const struct ng_word *words,
			 const char *text)
{
	for (; words->name; words++)
		if (!*words->name || ng_is_named(text, words->name)) {
			put_word(r, words);
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
