/* SPDX-License-Identifier: Apache-2.0 */
#include "ng/words.h"

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

static void learn_strictly(struct ng_request *r)
{
	r->learn = LEARN_STRICT;
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

static void tell_whole_rtcp(struct ng_request *r)
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

static void nothing(struct ng_request *r)
{
	(void)r;
}

/* "SIP-source-address" is looked at where "received-from" is read. */
const struct ng_word ng_flag_words[] = {
	{ "replace-origin", replace_origin },
	{ "replace-session-connection", replace_connection },
	{ "replace-SDP-version", replace_version },
	{ "single-codec", one_codec },
	{ "asymmetric", learn_strictly },
	{ "endpoint-learning-off", learn_strictly },
	{ "endpoint-learning-immediate", learn_at_once },
	{ "endpoint-learning-delayed", learn_delayed },
	{ "endpoint-learning-heuristic", learn_delayed },
	{ "rtcp-mux-require", require_mux },
	{ "rtcp-mux-reject", reject_mux },
	{ "rtcp-mux-offer", offer_mux },
	{ "rtcp-mux-demux", demux },
	{ "rtcp-mux-accept", nothing },
	{ "no-rtcp-attribute", hide_rtcp },
	{ "full-rtcp-attribute", tell_whole_rtcp },
	{ "record-call", warn_record },
	{ "loop-protect", warn_loop },
	{ "fatal", be_fatal },
	{ "SIP-source-address", nothing },
	/* what is so by itself */
	{ "trust-address", nothing },
	{ "symmetric", nothing },
	{ "strict-source", nothing },
	{ "port-latching", nothing },
	{ "reset", nothing },
	{ "reject-ICE", nothing },
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
	{ "off", learn_strictly },
	{ "immediate", learn_at_once },
	{ "delayed", learn_delayed },
	{ "heuristic", learn_delayed },
	{ NULL, NULL },
};

bool ng_is_named(const char *text, const char *name)
{
	for (; *text && *name; text++, name++)
		if (*text != *name && !(*text == ' ' && *name == '-'))
			return false;
	return *text == *name;
}

bool ng_word_take(struct ng_request *r, const struct ng_word *words,
		  const char *text)
{
	for (; words->name; words++)
		if (ng_is_named(text, words->name)) {
			words->take(r);
			return true;
		}
	return false;
}
