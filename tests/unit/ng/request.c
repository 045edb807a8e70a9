/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a proxy may say: keys and flags in all their forms.
 */
#include "cmocka_cr.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/address.h"
#include "json_text.h"
#include "ng/request.h"
#include "rtp/learn.h"

/* Read @text, JSON with single quotes; *@body keeps its texts. */
static int read_it(struct ng_request *r, const char *text, json_t **body,
		   struct cr_err *e)
{
	*body = json_text(text);
	memset(e, 0, sizeof(*e));
	return ng_request_read(r, *body, e);
}

static struct ng_request good(const char *text, json_t **body)
{
	static struct ng_request r;
	struct cr_err e;

	if (read_it(&r, text, body, &e))
		fail_msg("%s: %s", text, e.text);
	return r;
}

#define OFFER                                                                  \
	"'command': 'offer', 'call-id': 'c', 'from-tag': 'a', 'sdp': 'v=0'"

/* As WORLD's proxy sends it: captured from Kamailio 5.6.3. */
static void what_a_proxy_says_is_read(void **state)
{
	json_t *body;
	const struct ng_request r =
		good("{'supports': ['load limit'], 'ICE': 'remove', 'replace': "
		     "['origin', 'session-connection'], 'codec': {'mask': "
		     "['all'], 'transcode': ['AMR/8000']}, "
		     "'transport-protocol': 'RTP/AVP', 'received-from': "
		     "['IP4', '127.0.0.1'], " OFFER "}",
		     &body);

	assert_int_equal(r.command, NG_OFFER);
	assert_string_equal(r.call_id, "c");
	assert_string_equal(r.key.from, "a");
	assert_null(r.key.to);
	assert_null(r.key.branch);
	assert_true(r.load_limit && r.origin && r.connection);
	assert_false(r.version);
	assert_string_equal(r.proto, "RTP/AVP");
	assert_true(r.codecs.all[CODEC_MASK]);
	assert_int_equal(r.codecs.n, 1);
	assert_int_equal(r.codecs.item[0].rule, CODEC_TRANSCODE);
	assert_int_equal(r.host.ss_family, 0); /* SDP's is believed */
	assert_int_equal(r.learn, -1);
	assert_int_equal(r.nunknown, 0);
	assert_string_equal(r.warning.text, "");
	json_decref(body);
}

static void flags_say_the_same(void **state)
{
	static const char *const text[] = {
		"'flags': ['replace-origin', 'replace session connection', "
		"'single-codec', 'asymmetric']",
		"'replace': ['origin', 'session connection'], 'flags': "
		"['single codec', 'endpoint-learning-off']",
		"'replace': ['origin', 'session-connection'], 'flags': "
		"['single codec'], 'endpoint learning': 'off'",
	};

	for (unsigned i = 0; i < 3; i++) {
		char all[512];
		json_t *body;
		struct ng_request r;

		(void)snprintf(all, sizeof(all), "{" OFFER ", %s}", text[i]);
		r = good(all, &body);
		assert_true(r.origin && r.connection && r.single_codec);
		assert_int_equal(r.learn, LEARN_ASYMMETRIC);
		assert_int_equal(r.nunknown, 0);
		json_decref(body);
	}
	for (unsigned i = 0; i < 2; i++) {
		static const char *const strict[] = {
			"'flags': ['strict source', 'asymmetric']",
			"'flags': ['strict-source'], "
			"'endpoint-learning': 'off'"
		};
		char all[512];
		json_t *body;

		(void)snprintf(all, sizeof(all), "{" OFFER ", %s}", strict[i]);
		assert_int_equal(good(all, &body).learn, LEARN_STRICT);
		json_decref(body);
	}
}

static void a_party_may_be_elsewhere(void **state)
{
	static const struct {
		const char *text, *host;
	} row[] = {
		{ "'received-from': ['IP4', '10.0.0.1'], 'flags': "
		  "['SIP-source-address']",
		  "10.0.0.1" },
		{ "'flags': ['SIP source address'], 'received from': ['IP6', "
		  "'2001:db8::1']",
		  "2001:db8::1" },
		{ "'media address': '10.0.0.9', 'received-from': ['IP4', "
		  "'10.0.0.1'], 'flags': ['SIP-source-address']",
		  "10.0.0.1" },
	};

	for (unsigned i = 0; i < sizeof(row) / sizeof(*row); i++) {
		char all[512], host[64];
		json_t *body;
		struct ng_request r;

		(void)snprintf(all, sizeof(all), "{" OFFER ", %s}",
			       row[i].text);
		r = good(all, &body);
		assert_string_equal(
			address_host_text(&r.host, host, sizeof(host)),
			row[i].host);
		json_decref(body);
	}
}

/* Numbers come as such, or as text. */
static void numbers(void **state)
{
	json_t *body;
	struct ng_request r =
		good("{" OFFER ", 'ptime': 40, 'ptime-reverse': '30'}", &body);

	assert_int_equal(r.ptime, 40);
	assert_int_equal(r.ptime_reverse, 30);
	json_decref(body);
	r = good("{'command': 'list', 'limit': 7}", &body);
	assert_int_equal(r.limit, 7);
	json_decref(body);
	r = good("{'command': 'list'}", &body);
	assert_int_equal(r.limit, 32);
	json_decref(body);
}

static void a_transport_is_named_or_the_others_is_accepted(void **state)
{
	static const struct {
		const char *said, *proto;
	} row[] = {
		{ "RTP/AVP", "RTP/AVP" }, { "RTP/AVPF", "RTP/AVPF" },
		{ "rtp/avp", "RTP/AVP" }, { "accept", NULL },
		{ "transparent", NULL },  { "RTP/FOO", NULL },
	};

	for (unsigned i = 0; i < sizeof(row) / sizeof(*row); i++) {
		char all[512];
		json_t *body;
		struct ng_request r;

		(void)snprintf(all, sizeof(all),
			       "{" OFFER ", 'transport-protocol': '%s'}",
			       row[i].said);
		r = good(all, &body);
		if (row[i].proto)
			assert_string_equal(r.proto, row[i].proto);
		else
			assert_null(r.proto);
		json_decref(body);
	}
}

/* Not an error: the same flags go to any node. */
static void what_cannot_be_done_is_warned_of(void **state)
{
	static const struct {
		const char *text, *why;
	} row[] = {
		{ "'ICE': 'force'", "ICE" },
		{ "'SDES': ['pad']", "SRTP" },
		{ "'DTLS': 'passive'", "SRTP" },
		{ "'T.38': ['decode']", "fax" },
		{ "'record-call': 'yes'", "record" },
		{ "'flags': ['record call']", "record" },
		{ "'SDES': ['off']", "" },
		{ "'DTLS': 'off'", "" },
		{ "'record-call': 'no'", "" },
		{ "'ICE': 'remove'", "" },
		{ "'ICE': ['remove']", "" },
		{ "'ICE': ['optional']", "ICE" },
		{ "'OSRTP': ['accept']", "SRTP" },
		{ "'flags': ['SDES-off', 'OSRTP-off']", "" },
		{ "'flags': ['SDES-pad']", "SRTP" },
		{ "'flags': ['T38-decode']", "fax" },
		/* nor what cannot be understood */
		{ "'ptime': 'soon'", "ptime" },
		{ "'ptime': 7000", "ptime" },
		{ "'ptime': -20", "ptime" },
		{ "'direction': 'in'", "direction" },
		{ "'direction': ['in', 7]", "direction" },
		{ "'ICE': 7", "ICE" },
		{ "'flags': [7]", "flags" },
		{ "'flags': {'a': 1}", "flags" },
		{ "'codec': 'all'", "codec" },
		{ "'replace': {}", "replace" },
		{ "'address-family': 'IP5'", "address-family" },
		{ "'media-address': 'home'", "media-address" },
		{ "'flags': ['SIP-source-address']", "received-from" },
		{ "'flags': ['SIP-source-address'], 'received-from': "
		  "['IP4', 'home']",
		  "received-from" },
		/* of codecs much is hoped for */
		{ "'flags': ['codec-hide-PCMA']", "codec-hide-PCMA" },
		{ "'flags': ['codec-mask']", "codec-mask" },
		{ "'codec': {'hide': ['PCMA']}", "hide" },
		{ "'flags': ['codec-mask-PCMA', 'transcode-PCMU', "
		  "'always-transcode'], 'codec': {'set': ['PCMA']}",
		  "" },
	};

	for (unsigned i = 0; i < sizeof(row) / sizeof(*row); i++) {
		char all[512];
		json_t *body;
		struct ng_request r;

		(void)snprintf(all, sizeof(all), "{" OFFER ", %s}",
			       row[i].text);
		r = good(all, &body);
		assert_non_null(strstr(r.warning.text, row[i].why));
		assert_int_equal(*row[i].why == '\0', *r.warning.text == '\0');
		json_decref(body);
	}
}

static void rtcp_has_words_and_flags(void **state)
{
	static const struct {
		const char *text;
		unsigned mux;
	} row[] = {
		{ "'rtcp-mux': []", 0 },
		{ "'rtcp-mux': ['accept']", 0 },
		{ "'rtcp-mux': ['offer', 'demux']",
		  NG_MUX_OFFER | NG_MUX_DEMUX },
		{ "'rtcp-mux': ['require']", NG_MUX_REQUIRE },
		{ "'flags': ['rtcp-mux-offer', 'rtcp mux reject']",
		  NG_MUX_OFFER | NG_MUX_REJECT },
		{ "'flags': ['rtcp-mux-require', 'rtcp-mux-accept', "
		  "'rtcp-mux-demux']",
		  NG_MUX_REQUIRE | NG_MUX_DEMUX },
	};

	for (unsigned i = 0; i < sizeof(row) / sizeof(*row); i++) {
		char all[512];
		json_t *body;
		struct ng_request r;

		(void)snprintf(all, sizeof(all), "{" OFFER ", %s}",
			       row[i].text);
		r = good(all, &body);
		assert_int_equal(r.mux, row[i].mux);
		assert_int_equal(r.nunknown, 0);
		assert_string_equal(r.warning.text, "");
		json_decref(body);
	}
}

/* Keys and flags in the forms that proxies write them in, and in one text. */
/* Keys and words as they are (0), in capitals (1), those with underscores. */
static void write_as(char *text, unsigned how)
{
	for (; *text && how; text++) {
		if (how == 2 && *text == '-')
			*text = '_';
		*text = (char)toupper((unsigned char)*text);
	}
}

static void a_request_is_the_same_however_it_is_written(void **state)
{
	static const char *const text[] = {
		"'flags': ['replace-origin', 'trust-address', 'rtcp-mux-demux',"
		" 'SIP-source-address', 'to-tag'], 'direction': ['a', 'b'], "
		"'ICE': 'remove', 'transport-protocol': 'RTP/AVP', 'ptime': "
		"40, 'codec': {'mask': ['all'], 'transcode': ['AMR']}, "
		"'received-from': ['IP4', '10.0.0.1'], 'supports': ['load "
		"limit']",
		"'Flags': ['Replace_Origin', 'trust address', 'RTCP-mux-demux',"
		" 'sip source address'], 'DIRECTION': ['a', 'b'], 'ice': "
		"'remove', 'transport_protocol': 'RTP/AVP', 'Ptime': 40, "
		"'CODEC': {'mask': ['all'], 'transcode': ['AMR']}, "
		"'received_from': ['IP4', '10.0.0.1'], 'Supports': 'load "
		"limit'",
		"'flags': 'replace-origin trust-address rtcp-mux=demux "
		"direction=a SIP-source-address direction=b ICE=remove "
		"transport-protocol=RTP/AVP ptime=40 codec-mask-all "
		"transcode-AMR received-from=10.0.0.1 supports=load-limit'",
		"'rtpp-flags': 'replace=[origin] rtcp-mux=[demux] "
		"direction=[a b] SIP-source-address ICE=[remove] RTP AVP "
		"ptime=40 codec=[mask=[all] transcode=[AMR]] received-from="
		"[IP4 10.0.0.1]', 'supports': ['load limit']",
		"'rtpp_flags': 'replace-origin rtcp-mux-demux from-interface=a "
		"to-interface=b ICE=remove RTP/AVP ptime=40 codec-mask=all', "
		"'codec': {'transcode': ['AMR']}, 'flags': ["
		"'SIP-source-address'], 'supports': 'load limit', "
		"'received-from': ['IP4', '10.0.0.1']",
		"'rtpp flags': 'replace-origin rtcp-mux-demux', 'flags': "
		"'SIP source address', 'direction': ['a', 'b'], 'codec': "
		"{'mask': 'all', 'transcode': 'AMR'}, 'ptime': '40', "
		"'transport protocol': 'RTP/AVP', 'supports': ['load-limit'], "
		"'received from': '10.0.0.1'",
	};

	static const char *const more = "'command': 'offer', "
					"'address-family': 'IP6', "
					"'record-call': 'off'";

	for (unsigned i = 0; i < 3 * sizeof(text) / sizeof(*text); i++) {
		char all[1100], words[1024], host[64];
		json_t *body;
		struct ng_request r;

		(void)snprintf(words, sizeof(words), "%s, %s", text[i / 3],
			       more);
		write_as(words, i % 3);
		(void)snprintf(all, sizeof(all),
			       "{'call-id': 'c', 'from-tag': 'a', 'sdp': "
			       "'v=0', %s}",
			       words);
		r = good(all, &body);
		for (unsigned again = 0; again < 2; again++) {
			struct cr_err e;

			assert_string_equal(r.call_id, "c");
			assert_true(r.origin && r.load_limit);
			assert_false(r.connection || r.version);
			assert_string_equal(r.proto, "RTP/AVP");
			assert_int_equal(r.mux, NG_MUX_DEMUX);
			assert_int_equal(tolower(r.interface[0][0]), 'a');
			assert_int_equal(tolower(r.interface[1][0]), 'b');
			assert_int_equal(r.ptime, 40);
			assert_int_equal(r.family, AF_INET6);
			assert_string_equal(
				address_host_text(&r.host, host, sizeof(host)),
				"10.0.0.1");
			assert_true(r.codecs.all[CODEC_MASK]);
			assert_int_equal(r.codecs.n, 1);
			assert_int_equal(r.codecs.item[0].rule,
					 CODEC_TRANSCODE);
			assert_int_equal(r.nunknown, 0);
			assert_string_equal(r.warning.text, "");
			/* one that had to wait is read once more */
			assert_int_equal(ng_request_read(&r, body, &e), 0);
		}
		json_decref(body);
	}
}

static void what_is_unknown_is_named(void **state)
{
	json_t *body;
	const struct ng_request r =
		good("{" OFFER ", 'colour': 'red', 'flags': ['fast', "
		     "'codec-mask-all', 'symmetric'], 'replace': 'origin me', "
		     "'ICE': 'maybe', 'transport-protocol': 'RTP/FOO', "
		     "'rtpp-flags': 'slow label=x'}",
		     &body);
	static const char *const names[] = {
		"key colour", "flags fast", "flags slow",
		"replace me", "ICE maybe",  "transport-protocol RTP/FOO",
		"key label",
	};

	assert_int_equal(r.nunknown, 7);
	for (unsigned i = 0; i < 7; i++) {
		unsigned k = 0;

		while (k < 7 && strcmp(r.unknown[k], names[i]) != 0)
			k++;
		if (k == 7)
			fail_msg("%s is not named", names[i]);
	}
	assert_true(r.codecs.all[CODEC_MASK]);
	json_decref(body);
}

static void what_is_wrong_is_refused_by_name(void **state)
{
	static const struct {
		const char *text, *why;
	} row[] = {
		{ "{}", "command" },
		{ "{'command': 'dance'}", "dance" },
		{ "{'command': 7}", "command" },
		{ "{'command': 'offer'}", "call-id" },
		{ "{'command': 'offer', 'call-id': 'c'}", "from-tag" },
		{ "{'command': 'offer', 'call-id': 'c', 'from-tag': 'a'}",
		  "sdp" },
		{ "{'command': 'answer', 'call-id': 'c', 'from-tag': 'a', "
		  "'sdp': 'v=0'}",
		  "to-tag" },
		{ "{'command': 'delete'}", "call-id" },
		{ "{'command': 'query'}", "call-id" },
		{ "{" OFFER ", 'transport protocol': 'RTP/SAVPF'}",
		  "RTP/SAVPF" },
		{ "{" OFFER ", 'transport-protocol': 'RTP/SAVP'}", "RTP/SAVP" },
		{ "{" OFFER ", 'rtpp-flags': 'codec=[mask=['}", "brackets" },
		{ "{" OFFER ", 'rtpp-flags': 'SRTP AVP'}", "RTP/SAVP" },
		{ "{" OFFER ", 'to-tag': 7}", "to-tag" },
		{ "{" OFFER ", 'codec': {'mask': [7]}}", "codec" },
	};

	for (unsigned i = 0; i < sizeof(row) / sizeof(*row); i++) {
		struct ng_request r;
		struct cr_err e;
		json_t *body;

		assert_int_equal(read_it(&r, row[i].text, &body, &e), -22);
		if (!strstr(e.text, row[i].why))
			fail_msg("%s: %s", row[i].text, e.text);
		json_decref(body);
	}
}

static void an_octet_0_is_no_text(void **state)
{
	struct ng_request r;
	struct cr_err e;
	json_t *body = json_pack("{s:s, s:s#}", "command", "query", "call-id",
				 "a\0b", 3);

	assert_int_equal(ng_request_read(&r, body, &e), -22);
	assert_non_null(strstr(e.text, "call-id"));
	json_decref(body);
}

static void long_names_are_refused(void **state)
{
	char id[NG_NAME_MAX + 2];
	struct ng_request r;
	struct cr_err e;
	json_t *body;

	for (unsigned n = NG_NAME_MAX; n <= NG_NAME_MAX + 1; n++) {
		memset(id, 'x', n);
		id[n] = '\0';
		body = json_pack("{s:s, s:s}", "command", "query", "call-id",
				 id);
		assert_int_equal(ng_request_read(&r, body, &e),
				 n > NG_NAME_MAX ? -22 : 0);
		json_decref(body);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_a_proxy_says_is_read),
		cmocka_unit_test(flags_say_the_same),
		cmocka_unit_test(a_party_may_be_elsewhere),
		cmocka_unit_test(numbers),
		cmocka_unit_test(
			a_transport_is_named_or_the_others_is_accepted),
		cmocka_unit_test(what_cannot_be_done_is_warned_of),
		cmocka_unit_test(rtcp_has_words_and_flags),
		cmocka_unit_test(a_request_is_the_same_however_it_is_written),
		cmocka_unit_test(what_is_unknown_is_named),
		cmocka_unit_test(what_is_wrong_is_refused_by_name),
		cmocka_unit_test(an_octet_0_is_no_text),
		cmocka_unit_test(long_names_are_refused),
	};

	return cmocka_run_group_tests_name("request", tests, NULL, NULL);
}
