/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The words of a proxy's script become what they would have been had the proxy
 * itself read them.
 */
#include "cmocka_cr.h"

#include <string.h>

#include "json_text.h"
#include "ng/request.h"

static void words_are_flags_and_keys(void **state)
{
	static const struct {
		const char *body, *text, *is;
	} row[] = {
		{ "{}", "", "{}" },
		{ "{}", "  a  b ", "{'flags': ['a', 'b']}" },
		/* what rtpengine's documentation has */
		{ "{}",
		  "replace-origin via-branch=auto-next strict-source "
		  "label=callee OSRTP-accept transport-protocol=RTP/AVP "
		  "address-family=IP4",
		  "{'flags': ['replace-origin', 'strict-source', "
		  "'OSRTP-accept'], 'via-branch': 'auto-next', 'label': "
		  "'callee', 'transport-protocol': 'RTP/AVP', "
		  "'address-family': 'IP4'}" },
		{ "{}",
		  "via-branch=auto-next OSRTP=[accept] codec=[transcode=[PCMA "
		  "PCMU] accept=[AMR-WB AMR] strip=[EVS]]",
		  "{'via-branch': 'auto-next', 'OSRTP': ['accept'], 'codec': "
		  "{'transcode': ['PCMA', 'PCMU'], 'accept': ['AMR-WB', "
		  "'AMR'], 'strip': ['EVS']}}" },
		{ "{}", "codec=[ transcode=[ PCMA ] ] x",
		  "{'codec': {'transcode': ['PCMA']}, 'flags': ['x']}" },
		{ "{}", "replace=[] a=", "{'replace': [], 'a': ''}" },
		/* codecs have equal signs themselves */
		{ "{}",
		  "codec-mask-all codec-transcode-AMR/8000/1/12200//mode-set=7"
		  " transcode=PCMA codec-strip=[EVS opus]",
		  "{'flags': ['codec-mask-all', 'codec-transcode-AMR/8000/1/"
		  "12200//mode-set=7', 'transcode-PCMA', 'codec-strip-EVS', "
		  "'codec-strip-opus']}" },
		{ "{}", "codec_mask=PCMA", "{'flags': ['codec_mask-PCMA']}" },
		{ "{}", "codec=[transcode=[AMR/8000/1///mode-set=7;a=1 PCMA]]",
		  "{'codec': {'transcode': ['AMR/8000/1///mode-set=7;a=1', "
		  "'PCMA']}}" },
		/* transports come in parts */
		{ "{}", "RTP AVP", "{'transport-protocol': 'RTP/AVP'}" },
		{ "{}", "RTP/AVPF", "{'transport-protocol': 'RTP/AVPF'}" },
		{ "{}", "SRTP AVPF", "{'transport-protocol': 'RTP/SAVPF'}" },
		{ "{}", "UDP/TLS/RTP/SAVPF RTP/AVP",
		  "{'transport-protocol': 'RTP/AVP'}" },
		{ "{}", "DTLS AVPF",
		  "{'transport-protocol': 'UDP/TLS/RTP/SAVPF'}" },
		/* directions come one by one, too */
		{ "{}", "direction=a direction=b",
		  "{'direction': ['a', 'b']}" },
		{ "{}", "direction=[a b]", "{'direction': ['a', 'b']}" },
		{ "{}", "external internal",
		  "{'direction': ['external', 'internal']}" },
		/* to what the proxy itself has said */
		{ "{'flags': ['x'], 'replace': 'origin', 'codec': {'mask': "
		  "['PCMA'], 'offer': 'AMR'}, 'via-branch': 'z', 'to-tag': "
		  "'b'}",
		  "y replace=username codec=[mask=[opus] offer=[PCMU]] "
		  "via-branch=auto to-tag=c",
		  "{'flags': ['x', 'y'], 'replace': ['origin', 'username'], "
		  "'codec': {'mask': ['PCMA', 'opus'], 'offer': ['AMR', "
		  "'PCMU']}, 'via-branch': 'z', 'to-tag': 'c'}" },
		/* keys have their usual names */
		{ "{'flags': ['x']}", "Address_Family=IP6 Flags=y",
		  "{'address-family': 'IP6', 'flags': ['x', 'y']}" },
	};

	for (unsigned i = 0; i < sizeof(row) / sizeof(*row); i++) {
		json_t *body = json_text(row[i].body);
		json_t *is = json_text(row[i].is);
		struct cr_err e = { "" };

		if (rtpp_flags_read(body, row[i].text, &e))
			fail_msg("%s: %s", row[i].text, e.text);
		if (!json_equal(body, is))
			fail_msg("%s: %s", row[i].text, json_dumps(body, 0));
		json_decref(body);
		json_decref(is);
	}
}

static void wrong_brackets_are_refused(void **state)
{
	static const char *const row[] = {
		"a=[",		"a=[b",
		"a=[b=[c]",	"codec=[mask=[a] b]",
		"codec-mask=[", "a=[[[[[b]]]]]",
	};

	for (unsigned i = 0; i < sizeof(row) / sizeof(*row); i++) {
		json_t *body = json_object();
		struct cr_err e = { "" };

		assert_int_equal(rtpp_flags_read(body, row[i], &e), -22);
		assert_non_null(strstr(e.text, "brackets"));
		json_decref(body);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(words_are_flags_and_keys),
		cmocka_unit_test(wrong_brackets_are_refused),
	};

	return cmocka_run_group_tests_name("rtpp_flags", tests, NULL, NULL);
}
