/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is said of calls by SDP, whole; what is read of a peer's; and what
 * cannot be said, by its name.
 */
#include <errno.h>
#include <string.h>

#include "cmocka_cr.h"
#include "base/address.h"
#include "feeder/peer_ng.h"

static struct codec_use endpoint(const char *codec, const char *mode)
{
	struct codec_use l = { .codec = cr_codec_find(codec) };

	assert_non_null(l.codec);
	l.cfg.mode = mode ? (unsigned)cr_codec_mode_find(l.codec, mode)
			  : l.codec->default_mode;
	return l;
}

static void a_party_is_described(void **state)
{
	struct codec_use amr = endpoint("amr", "12.2");
	char text[PEER_SDP_BYTES];

	amr.amr.octet_align = true;
	assert_int_equal(
		peer_sdp_write(text, &amr, 97, 20 * CR_MS, "127.0.0.1:40100"),
		0);
	assert_string_equal(text, "v=0\r\no=- 1 1 IN IP4 127.0.0.1\r\ns=-\r\n"
				  "c=IN IP4 127.0.0.1\r\nt=0 0\r\n"
				  "m=audio 40100 RTP/AVP 97\r\n"
				  "a=rtpmap:97 AMR/8000\r\n"
				  "a=fmtp:97 mode-set=7;octet-align=1\r\n"
				  "a=ptime:20\r\na=rtcp-mux\r\n");
	assert_int_equal(peer_sdp_write(text, &amr, 97, 20 * CR_MS, "here"),
			 -EINVAL);
}

static void an_address_of_ipv6_is_said_to_be_one(void **state)
{
	struct codec_use opus = endpoint("opus", NULL);
	char text[PEER_SDP_BYTES];

	assert_int_equal(
		peer_sdp_write(text, &opus, 96, 20 * CR_MS, "[::1]:40100"), 0);
	assert_non_null(strstr(text, "\r\nc=IN IP6 ::1\r\n"));
	assert_non_null(strstr(text, "\r\na=rtpmap:96 opus/48000/2\r\n"));
	assert_null(strstr(text, "fmtp"));
}

static void assert_codec(struct codec_use l, const char *is)
{
	char text[160];

	peer_sdp_codec(text, sizeof(text), &l);
	assert_string_equal(text, is);
}

static void a_codec_is_asked_for_as_ng_has_it(void **state)
{
	struct codec_use aligned = endpoint("amr", "12.2");
	struct codec_use narrow = endpoint("opus", NULL);

	aligned.amr.octet_align = true;
	narrow.cfg.sample_rate = 8000;
	assert_codec(endpoint("pcma", NULL), "PCMA/8000/1");
	assert_codec(endpoint("g722", NULL), "G722/8000/1");
	assert_codec(endpoint("amr", "4.75"), "AMR/8000/1/4750//mode-set--0");
	assert_codec(aligned, "AMR/8000/1/12200//mode-set--7;octet-align--1");
	assert_codec(endpoint("amr-wb", "12.65"),
		     "AMR-WB/16000/1/12650//mode-set--2");
	assert_codec(endpoint("g723_1", NULL), "G723/8000/1");
	assert_codec(narrow, "opus/48000/2/24000//maxplaybackrate--8000");
	assert_int_equal(peer_sdp_pt(&aligned), 96);
	assert_int_equal(peer_sdp_pt(&(struct codec_use){
				 .codec = cr_codec_find("pcma") }),
			 8);
}

#define HEAD "v=0\r\no=- 1 1 IN IP4 127.0.0.1\r\ns=-\r\nt=0 0\r\n"

static void a_peer_s_description_says_where_and_what(void **state)
{
	struct codec_use amr = endpoint("amr", NULL);
	struct sockaddr_storage at;
	struct cr_err e;
	char text[64];
	unsigned pt = 0;

	assert_int_equal(peer_sdp_read(HEAD "m=audio 20000 RTP/AVP 99 0\r\n"
					    "c=IN IP4 127.0.0.9\r\n"
					    "a=rtpmap:99 amr/8000\r\n",
				       &amr, &at, &pt, &e),
			 0);
	assert_string_equal(address_text(&at, text, sizeof(text)),
			    "127.0.0.9:20000");
	assert_int_equal(pt, 99);
}

static void assert_unread(const char *sdp, const char *says)
{
	struct codec_use amr = endpoint("amr", NULL);
	struct sockaddr_storage at;
	struct cr_err e = { "" };
	unsigned pt = 200;

	assert_int_equal(peer_sdp_read(sdp, &amr, &at, &pt, &e), -EPROTO);
	assert_int_equal(pt, 200);
	if (!strstr(e.text, says))
		fail_msg("'%s' does not say '%s'", e.text, says);
}

static void what_is_not_what_was_asked_for_is_told(void **state)
{
	assert_unread("hello", "its description is none: ");
	assert_unread(HEAD, "no line of audio");
	assert_unread(HEAD "m=audio 0 RTP/AVP 96\r\na=rtpmap:96 AMR/8000\r\n",
		      "no line of audio");
	assert_unread(HEAD "m=audio 20000 RTP/AVP 0\r\n"
			   "c=IN IP4 127.0.0.1\r\n",
		      "it settles on PCMU/8000 where AMR/8000 is asked for");
}

static void assert_refused(const struct campaign_flow *f, const char *says)
{
	struct cr_err e = { "" };

	assert_int_equal(peer_sdp_check(f, &e), -ENOTSUP);
	if (!strstr(e.text, says))
		fail_msg("'%s' does not say '%s'", e.text, says);
}

static void what_ng_cannot_say_is_refused_by_name(void **state)
{
	struct campaign_flow f = { .name = "talk",
				   .in = endpoint("amr", NULL),
				   .out = endpoint("opus", NULL) };
	struct cr_err e;

	assert_int_equal(peer_sdp_check(&f, &e), 0);
	f.out.cfg.fec = 10;
	assert_refused(&f, "flow talk: fec cannot be asked for by NG (opus)");
	f.out.cfg.complexity = 3;
	assert_refused(&f, "complexity");
	f.in.cfg.dtx = true;
	assert_refused(&f, "flow talk: dtx cannot be asked for by NG (amr)");
	f.in = endpoint("spin", NULL);
	assert_refused(&f, "(spin)");
	(void)snprintf(f.party.flow, sizeof(f.party.flow), "pair");
	assert_refused(&f, "pair is a two-way flow");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_party_is_described),
		cmocka_unit_test(an_address_of_ipv6_is_said_to_be_one),
		cmocka_unit_test(a_codec_is_asked_for_as_ng_has_it),
		cmocka_unit_test(a_peer_s_description_says_where_and_what),
		cmocka_unit_test(what_is_not_what_was_asked_for_is_told),
		cmocka_unit_test(what_ng_cannot_say_is_refused_by_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
