/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Session descriptions: what is read, what is written, and that the rest
 * passes.
 */
#include "cmocka_cr.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/address.h"
#include "sdp/sdp.h"

#define HEAD "v=0\r\no=alice 2890844526 7 IN IP4 192.0.2.1\r\ns=-\r\n"
#define SESSION HEAD "c=IN IP4 192.0.2.1\r\nt=0 0\r\n"

static const char phone[] = SESSION "a=tool:x\r\n"
				    "m=audio 49170 RTP/AVP 0 97 101\r\n"
				    "b=AS:80\r\n"
				    "a=rtpmap:97 AMR/8000/1\r\n"
				    "a=fmtp:97 mode-set=7; octet-align=1\r\n"
				    "a=rtpmap:101 telephone-event/8000\r\n"
				    "a=fmtp:101 0-15\r\n"
				    "a=ptime:20\r\n"
				    "a=maxptime:40\r\n"
				    "a=x-colour:blue\r\n"
				    "a=sendonly\r\n";

static struct sdp *read_ok(const char *text)
{
	struct cr_err e = { "" };
	struct sdp *s = NULL;

	if (sdp_read(&s, text, strlen(text), &e))
		fail_msg("%s", e.text);
	return s;
}

static void assert_address(const struct sockaddr_storage *a, const char *is)
{
	char text[80];

	assert_string_equal(address_text(a, text, sizeof(text)), is);
}

static void a_phones_offer_is_read(void **state)
{
	struct sdp *s = read_ok(phone);
	const struct sdp_line *l = sdp_line(s, 0);

	assert_int_equal(sdp_lines(s), 1);
	assert_int_equal(sdp_version(s), 7);
	assert_true(l->audio && !l->refused && !l->held && !l->mux && !l->ice);
	assert_int_equal(l->transport, SDP_RTP);
	assert_int_equal(l->mode, SDP_SENDONLY);
	assert_address(&l->rtp, "192.0.2.1:49170");
	assert_address(&l->rtcp, "192.0.2.1:49171");
	assert_int_equal(l->ptime, 20);
	assert_int_equal(l->maxptime, 40);
	assert_int_equal(l->nformats, 3);
	assert_int_equal(l->formats[0].pt, 0);
	assert_string_equal(l->formats[0].name, "PCMU");
	assert_int_equal(l->formats[0].rate, 8000);
	assert_string_equal(l->formats[1].name, "AMR");
	assert_string_equal(l->formats[1].fmtp, "mode-set=7; octet-align=1");
	assert_int_equal(l->formats[1].channels, 1);
	assert_int_equal(l->formats[2].pt, 101);
	sdp_free(s);
}

static void rtcp_is_where_it_says(void **state)
{
	struct sdp *s = read_ok(HEAD "c=IN IP6 2001:db8::1\r\nt=0 0\r\n"
				     "m=audio 4000 RTP/AVP 0\r\n"
				     "a=rtcp:53020\r\n"
				     "m=audio 4002 RTP/AVP 0\r\n"
				     "c=IN IP4 192.0.2.7\r\n"
				     "a=rtcp:53022 IN IP4 192.0.2.9\r\n"
				     "m=audio 4004 RTP/AVP 0\r\n"
				     "a=rtcp-mux\r\n"
				     "m=audio 65535 RTP/AVP 0\r\n");

	assert_int_equal(sdp_lines(s), 4);
	assert_address(&sdp_line(s, 0)->rtp, "[2001:db8::1]:4000");
	assert_address(&sdp_line(s, 0)->rtcp, "[2001:db8::1]:53020");
	assert_address(&sdp_line(s, 1)->rtp, "192.0.2.7:4002");
	assert_address(&sdp_line(s, 1)->rtcp, "192.0.2.9:53022");
	assert_true(sdp_line(s, 2)->mux);
	assert_address(&sdp_line(s, 2)->rtcp, "[2001:db8::1]:4004");
	assert_int_equal(sdp_line(s, 3)->rtcp.ss_family, AF_UNSPEC);
	sdp_free(s);
}

/* A name is not looked up: packets will tell. */
static void who_has_no_address_has_none(void **state)
{
	struct sdp *s = read_ok(HEAD "c=IN IP4 phone.example.org\r\nt=0 0\r\n"
				     "m=audio 4000 RTP/AVP 0\r\n"
				     "m=audio 4002 RTP/AVP 0\r\n"
				     "c=IN IP4 0.0.0.0\r\n"
				     "m=audio 0 RTP/AVP 0\r\n");

	for (unsigned i = 0; i < 3; i++)
		assert_int_equal(sdp_line(s, i)->rtp.ss_family, AF_UNSPEC);
	assert_false(sdp_line(s, 0)->held);
	assert_true(sdp_line(s, 1)->held);
	assert_true(sdp_line(s, 2)->refused);
	sdp_free(s);
}

static void transports_are_told_apart(void **state)
{
	static const struct {
		const char *proto;
		enum sdp_transport is;
	} all[] = { { "RTP/AVP", SDP_RTP },
		    { "RTP/AVPF", SDP_RTP_FB },
		    { "RTP/SAVP", SDP_SECURE },
		    { "RTP/SAVPF", SDP_SECURE },
		    { "UDP/TLS/RTP/SAVPF", SDP_SECURE },
		    { "udptl", SDP_FOREIGN },
		    { "TCP/MSRP", SDP_FOREIGN } };
	char text[400];
	struct sdp *s;

	for (unsigned i = 0; i < sizeof(all) / sizeof(*all); i++) {
		(void)snprintf(text, sizeof(text),
			       SESSION "m=audio 4000 %s 8 96\r\n"
				       "a=rtpmap:96 opus/48000/2\r\n"
				       "a=fmtp:96 useinbandfec=1\r\n",
			       all[i].proto);
		s = read_ok(text);
		assert_int_equal(sdp_line(s, 0)->transport, all[i].is);
		if (all[i].is != SDP_FOREIGN) {
			const struct sdp_format *f = sdp_line(s, 0)->formats;

			assert_int_equal(sdp_line(s, 0)->nformats, 2);
			assert_string_equal(f[0].name, "PCMA");
			assert_string_equal(f[1].name, "opus");
			assert_int_equal(f[1].rate, 48000);
			assert_int_equal(f[1].channels, 2);
			assert_string_equal(f[1].fmtp, "useinbandfec=1");
		}
		sdp_free(s);
	}
}

static struct sdp_line_out ours(unsigned port)
{
	static const struct sdp_format formats[] = {
		{ 96, "AMR", 8000, 1, "mode-set=7" },
		{ 8, "PCMA", 8000, 1, "" },
		{ 97, "opus", 48000, 2, "" },
	};
	struct sdp_line_out out = { .proto = "RTP/AVP",
				    .mode = SDP_SENDRECV,
				    .ptime = 20,
				    .formats = formats,
				    .nformats = 3 };

	assert_int_equal(address_parse("198.51.100.5:1", &out.rtp), 0);
	address_set_port(&out.rtp, port);
	return out;
}

static void assert_written(const char *text, const struct sdp_out *out,
			   const char *is)
{
	struct sdp *s = read_ok(text);
	struct cr_err e = { "" };
	char to[4096];
	long n = sdp_write(s, out, to, sizeof(to), &e);

	if (n < 0)
		fail_msg("%s", e.text);
	assert_int_equal(n, strlen(to));
	assert_string_equal(to, is);
	sdp_free(s);
}

static void ours_replaces_what_is_of_the_transport(void **state)
{
	const struct sdp_line_out line = ours(30000);

	assert_written(
		phone,
		&(struct sdp_out){
			.lines = &line, .origin = true, .connection = true },
		"v=0\r\no=alice 2890844526 7 IN IP4 198.51.100.5\r\ns=-\r\n"
		"c=IN IP4 198.51.100.5\r\nt=0 0\r\n"
		"a=tool:x\r\n"
		"m=audio 30000 RTP/AVP 96 8 97\r\n"
		"b=AS:80\r\n"
		"a=rtpmap:96 AMR/8000\r\n"
		"a=fmtp:96 mode-set=7\r\n"
		"a=rtpmap:8 PCMA/8000\r\n"
		"a=rtpmap:97 opus/48000/2\r\n"
		"a=sendrecv\r\n"
		"a=x-colour:blue\r\n"
		"a=ptime:20\r\n");
}

/* Not told to touch "o=" and the session's "c=", it leaves them, unless a line
 * has none of its own. */
static void a_line_always_has_our_address(void **state)
{
	struct sdp_line_out line = ours(30000);

	line.nformats = 1;
	line.rtcp_port = 30000;
	line.mux = true;
	line.ptime = 0;
	line.mode = SDP_INACTIVE;
	for (unsigned i = 0; i < 2; i++) {
		char text[1024], is[1024];
		const char *own = i ? "c=IN IP4 192.0.2.1\r\n" : "";

		(void)snprintf(text, sizeof(text),
			       SESSION "m=audio 4 RTP/AVP 0\r\n%sa=rtcp:9\r\n"
				       "a=candidate:x\r\na=ice-ufrag:y\r\n"
				       "a=sendonly\r\na=ssrc:1 cname:z\r\n",
			       own);
		(void)snprintf(
			is, sizeof(is),
			"v=0\r\no=alice 2890844526 9 IN IP4 192.0.2.1\r\n"
			"s=-\r\nc=IN IP4 %s\r\nt=0 0\r\n"
			"m=audio 30000 RTP/AVP 96\r\n%s"
			"a=rtpmap:96 AMR/8000\r\n"
			"a=fmtp:96 mode-set=7\r\n"
			"a=inactive\r\n"
			"a=rtcp:30000\r\n"
			"a=rtcp-mux\r\n",
			i ? "192.0.2.1" : "198.51.100.5",
			i ? "c=IN IP4 198.51.100.5\r\n" : "");
		assert_written(text,
			       &(struct sdp_out){ .lines = &line,
						  .own_version = true,
						  .version = 9 },
			       is);
	}
}

static void what_is_refused_keeps_its_place(void **state)
{
	const struct sdp_line_out lines[] = { { .refused = true },
					      ours(6),
					      { .refused = true } };

	assert_written(SESSION
		       "a=group:BUNDLE 1 2\r\na=ice-lite\r\n"
		       "m=video 5000 RTP/AVP 99\r\na=rtpmap:99 H264/90000\r\n"
		       "a=x:y\r\n"
		       "m=audio 4 RTP/AVP 0\r\n"
		       "m=image 4000 udptl t38\r\na=T38FaxVersion:0\r\n",
		       &(struct sdp_out){ .lines = lines, .connection = true },
		       "v=0\r\no=alice 2890844526 7 IN IP4 192.0.2.1\r\ns=-\r\n"
		       "c=IN IP4 198.51.100.5\r\nt=0 0\r\n"
		       "m=video 0 RTP/AVP 99\r\n"
		       "a=rtpmap:99 H264/90000\r\n"
		       "m=audio 6 RTP/AVP 96 8 97\r\n"
		       "a=rtpmap:96 AMR/8000\r\n"
		       "a=fmtp:96 mode-set=7\r\n"
		       "a=rtpmap:8 PCMA/8000\r\n"
		       "a=rtpmap:97 opus/48000/2\r\n"
		       "a=sendrecv\r\n"
		       "a=ptime:20\r\n"
		       "m=image 0 udptl t38\r\n");
}

/* "i=" and "k=" of the session and of lines, "b=" of any name: of a line that
 * is carried, and of one that is not. */
static void what_is_none_of_ours_passes(void **state)
{
	const struct sdp_line_out lines[] = { ours(6), { .refused = true } };
#define BANDS                                                                  \
	"b=TIAS:64000\r\nb=RS:0\r\nb=RR:800\r\nb=CT:5\r\nb=AS:6\r\nb=X-a:"     \
	"7\r\n"

	assert_written(HEAD "i=all of it\r\nc=IN IP4 192.0.2.1\r\n" BANDS
			    "t=0 0\r\nk=prompt\r\n"
			    "m=audio 4 RTP/AVP 0\r\ni=speech\r\n" BANDS
			    "k=clear:x\r\n"
			    "m=audio 6 RTP/AVP 0\r\ni=more\r\n" BANDS,
		       &(struct sdp_out){ .lines = lines },
		       HEAD "i=all of it\r\nc=IN IP4 198.51.100.5\r\n" BANDS
			    "t=0 0\r\nk=prompt\r\n"
			    "m=audio 6 RTP/AVP 96 8 97\r\ni=speech\r\n" BANDS
			    "k=clear:x\r\n"
			    "a=rtpmap:96 AMR/8000\r\n"
			    "a=fmtp:96 mode-set=7\r\n"
			    "a=rtpmap:8 PCMA/8000\r\n"
			    "a=rtpmap:97 opus/48000/2\r\n"
			    "a=sendrecv\r\n"
			    "a=ptime:20\r\n"
			    "m=audio 0 RTP/AVP 0\r\ni=more\r\n");
#undef BANDS
}

/* Where the description is not to say where the party is, no line says it. */
static void what_is_refused_has_no_address_of_theirs(void **state)
{
	static const char own[] = "m=audio 0 RTP/AVP 8\r\n"
				  "c=IN IP4 10.9.9.9\r\n"
				  "a=altc:1 IP4 10.9.9.9 9\r\n";
	struct sdp_line_out lines[] = { ours(6), { .refused = true } };
	const struct {
		const char *session;
		bool all, known, connection;
		const char *is;
	} row[] = {
		/* the line has ours from the session */
		{ "c=IN IP4 192.0.2.1\r\n", false, true, true,
		  "c=IN IP4 198.51.100.5\r\n" },
		{ "", false, true, true, "c=IN IP4 198.51.100.5\r\n" },
		{ "c=IN IP4 192.0.2.1\r\n", true, true, true,
		  "c=IN IP4 198.51.100.5\r\n" },
		{ "c=IN IP4 192.0.2.1\r\n", true, false, true,
		  "c=IN IP4 0.0.0.0\r\n" },
		/* nobody has asked for it */
		{ "c=IN IP4 192.0.2.1\r\n", true, true, false,
		  "c=IN IP4 10.9.9.9\r\n" },
	};

	for (unsigned i = 0; i < sizeof(row) / sizeof(*row); i++) {
		const struct sdp_out out = { .lines = lines,
					     .origin = row[i].connection,
					     .connection = row[i].connection };
		char text[512], to[1024];
		struct cr_err e;
		struct sdp *s;

		lines[0] = ours(6);
		lines[0].refused = row[i].all;
		if (!row[i].known)
			lines[0].rtp.ss_family = AF_UNSPEC;
		(void)snprintf(text, sizeof(text),
			       HEAD "%st=0 0\r\nm=audio 4 RTP/AVP 0\r\n%s%s",
			       row[i].session,
			       *row[i].session ? "" : "c=IN IP4 192.0.2.1\r\n",
			       own);
		s = read_ok(text);
		assert_true(sdp_write(s, &out, to, sizeof(to), &e) > 0);
		assert_non_null(strstr(to, row[i].is));
		assert_int_equal(row[i].connection, !strstr(to, "10.9.9.9"));
		assert_int_equal(row[i].connection, !strstr(to, "192.0.2.1"));
		sdp_free(s);
	}
}

/* What is wrong with a line that is refused anyway is nobody's trouble. */
static void a_refused_line_may_be_wrong(void **state)
{
	static const struct {
		const char *line, *refused;
	} row[] = {
		{ "m=video 0 RTP/AVP 255", "m=video 0 RTP/AVP 255" },
		{ "m=video 5000 RTP/AVP 255", "m=video 0 RTP/AVP 255" },
		{ "m=video 5/2 RTP/AVPF 31 x", "m=video 0 RTP/AVPF 31 x" },
		{ "m=video 5000 RTP/SAVP x", "m=video 0 RTP/SAVP x" },
		{ "m=audio 0 RTP/AVP 255 0", "m=audio 0 RTP/AVP 255 0" },
		{ "m=image 9 udptl t38", "m=image 0 udptl t38" },
	};
	static const char wrong[] = "c=IN IP7 x\r\nb=what\r\n"
				    "a=rtpmap:255 H264/90000\r\n"
				    "a=rtpmap:99 H264\r\n"
				    "a=fmtp:255 x=y\r\na=ptime:soon\r\n";

	for (unsigned i = 0; i < 2 * sizeof(row) / sizeof(*row); i++) {
		struct sdp_line_out lines[] = { ours(6), { .refused = true } };
		char text[1024], to[1024];
		const struct sdp_out out = { .lines = lines };
		struct cr_err e;
		struct sdp *s;

		(void)snprintf(text, sizeof(text),
			       SESSION "m=audio 4 RTP/AVP 0\r\n%s\r\n%s",
			       row[i / 2].line, i % 2 ? wrong : "");
		s = read_ok(text);
		assert_int_equal(sdp_lines(s), 2);
		assert_true(!sdp_line(s, 0)->refused);
		assert_true(sdp_line(s, 1)->refused || !sdp_line(s, 1)->audio);
		assert_true(sdp_write(s, &out, to, sizeof(to), &e) > 0);
		assert_non_null(strstr(to, row[i / 2].refused));
		sdp_free(s);
		s = read_ok(to);
		assert_true(sdp_line(s, 1)->refused);
		sdp_free(s);
	}
}

static void what_is_no_sdp_is_told_so(void **state)
{
	static const char *const wrong[] = {
		"",
		"hello",
		"v=0\r\n",
		"v=1\r\no=- 1 1 IN IP4 1.1.1.1\r\n",
		SESSION "m=audio x RTP/AVP 0\r\n",
		SESSION "m=audio 70000 RTP/AVP 0\r\n",
		SESSION "m=audio 4 RTP/AVPF 128\r\n",
		SESSION "m=audio 4 RTP/AVP 1000\r\n",
		SESSION "m=audio\r\n",
		SESSION "c=IN IP4\r\n",
		"v=0\r\ns=-\r\nt=0 0\r\n",
		SESSION SESSION,
		SESSION " m=audio 4 RTP/A\xff 0\r\n",
		SESSION "m=audio 4 RTP/AVP 0\r\tm=x 1 Y \xff\r\n",
		SESSION "m=image 4 udptl \xe5\r\n",
		SESSION "m=image 4 udptl t38 \"\r\n"
	};

	for (unsigned i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
		struct cr_err e = { "" };
		struct sdp *s;

		assert_int_equal(sdp_read(&s, wrong[i], strlen(wrong[i]), &e),
				 -EINVAL);
		assert_true(e.text[0]);
	}
}

static void more_than_it_holds_is_refused(void **state)
{
	static char text[SDP_BYTES_MAX + 2];
	struct cr_err e = { "" };
	struct sdp *s;
	char *p = text;

	memset(text, 'a', sizeof(text));
	assert_int_equal(sdp_read(&s, text, sizeof(text), &e), -EINVAL);
	assert_int_equal(sdp_read(&s, "v=0\0x", 5, &e), -EINVAL);
	p += sprintf(p, SESSION);
	for (unsigned i = 0; i <= SDP_LINES_MAX; i++)
		p += sprintf(p, "m=audio 4 RTP/AVP 0\r\n");
	assert_int_equal(sdp_read(&s, text, (size_t)(p - text), &e), -EINVAL);
	assert_non_null(strstr(e.text, "more than 16 media lines"));
	p = text + sprintf(text, SESSION "m=audio 4 RTP/AVP");
	for (unsigned i = 0; i <= SDP_FORMATS_MAX; i++)
		p += sprintf(p, " %u", i);
	p += sprintf(p, "\r\n");
	assert_int_equal(sdp_read(&s, text, (size_t)(p - text), &e), -EINVAL);
	assert_non_null(strstr(e.text, "more than 64 payload types"));
}

static void formats_with_endless_parameters_are_left_out(void **state)
{
	static const char *const protos[] = { "RTP/AVP", "RTP/AVPF" };
	char text[2048];

	for (unsigned i = 0; i < 2; i++) {
		const struct sdp_line *l;
		struct sdp *s;

		(void)snprintf(text, sizeof(text),
			       SESSION "m=audio 4 %s 96 97 8\r\n"
				       "a=rtpmap:96 AMR/8000\r\n"
				       "a=fmtp:96 %0*d\r\n"
				       "a=rtpmap:97 AMR/8000\r\n"
				       "a=fmtp:97 %0*d\r\n",
			       protos[i], (int)SDP_FMTP_MAX + 1, 7,
			       (int)SDP_FMTP_MAX, 7);
		s = read_ok(text);
		l = sdp_line(s, 0);
		assert_int_equal(l->nformats, 2);
		assert_int_equal(l->formats[0].pt, 97);
		assert_int_equal(l->formats[1].pt, 8);
		sdp_free(s);
	}
}

static void what_does_not_fit_is_not_written(void **state)
{
	const struct sdp_line_out line = ours(30000);
	const struct sdp_out out = { .lines = &line };
	struct sdp *s = read_ok(phone);
	struct cr_err e = { "" };
	char to[4096];
	long n = sdp_write(s, &out, to, sizeof(to), &e);

	assert_true(n > 0);
	for (size_t size = 1; size <= (size_t)n; size++)
		assert_int_equal(sdp_write(s, &out, to, size, &e), -ENOSPC);
	assert_int_equal(sdp_write(s, &out, to, (size_t)n + 1, &e), n);
	sdp_free(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_phones_offer_is_read),
		cmocka_unit_test(rtcp_is_where_it_says),
		cmocka_unit_test(who_has_no_address_has_none),
		cmocka_unit_test(transports_are_told_apart),
		cmocka_unit_test(ours_replaces_what_is_of_the_transport),
		cmocka_unit_test(a_line_always_has_our_address),
		cmocka_unit_test(what_is_refused_keeps_its_place),
		cmocka_unit_test(what_is_none_of_ours_passes),
		cmocka_unit_test(what_is_refused_has_no_address_of_theirs),
		cmocka_unit_test(a_refused_line_may_be_wrong),
		cmocka_unit_test(what_is_no_sdp_is_told_so),
		cmocka_unit_test(more_than_it_holds_is_refused),
		cmocka_unit_test(formats_with_endless_parameters_are_left_out),
		cmocka_unit_test(what_does_not_fit_is_not_written),
	};

	return cmocka_run_group_tests_name("sdp", tests, NULL, NULL);
}
