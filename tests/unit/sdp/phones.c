/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What phones send passes the gate and stays what it was when it is written
 * and read again; what has not the shape of a description is refused by line.
 */
#include "cmocka_cr.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/address.h"
#include "sdp/sdp.h"

#define HEAD "v=0\no=- 1 1 IN IP4 192.0.2.1\n"
#define LINE HEAD "c=IN IP4 192.0.2.1\nm=audio 4 RTP/AVP 0\n"

static struct sdp *read_ok(const char *what, const char *text, size_t bytes)
{
	struct cr_err e = { "" };
	struct sdp *s = NULL;

	if (sdp_read(&s, text, bytes, &e))
		fail_msg("%s: %s", what, e.text);
	return s;
}

/* Seeds of the fuzzer are the collection of what phones send. */
static size_t read_seed(const char *name, char *text, size_t size)
{
	char path[1024];
	size_t n;
	FILE *f;

	(void)snprintf(path, sizeof(path), "%s/%s", CORPUS, name);
	f = fopen(path, "rb");
	if (!f)
		fail_msg("%s is missing", path);
	n = fread(text, 1, size, f);
	assert_int_equal(fclose(f), 0);
	assert_true(n > 0 && n < size);
	return n;
}

static struct sdp_line_out same(const struct sdp_line *l)
{
	struct sdp_line_out out = {
		.refused = l->refused || !l->nformats,
		.proto = l->proto,
		.mode = l->mode,
		.ptime = l->ptime,
		.maxptime = l->maxptime,
		.formats = l->formats,
		.nformats = l->nformats,
	};

	assert_int_equal(address_parse("192.0.2.99:30000", &out.rtp), 0);
	return out;
}

static void assert_same_formats(const struct sdp_line *a,
				const struct sdp_line *b)
{
	assert_int_equal(a->nformats, b->nformats);
	for (unsigned i = 0; i < a->nformats; i++) {
		assert_int_equal(a->formats[i].pt, b->formats[i].pt);
		assert_string_equal(a->formats[i].name, b->formats[i].name);
		assert_string_equal(a->formats[i].fmtp, b->formats[i].fmtp);
		assert_int_equal(a->formats[i].rate, b->formats[i].rate);
		assert_int_equal(a->formats[i].channels,
				 b->formats[i].channels);
	}
}

static void assert_same_line(const struct sdp_line *a, const struct sdp_line *b,
			     bool refused)
{
	assert_string_equal(a->media, b->media);
	assert_int_equal(b->refused, refused);
	if (refused)
		return;
	assert_string_equal(a->proto, b->proto);
	assert_int_equal(a->mode, b->mode);
	assert_int_equal(a->ptime, b->ptime);
	assert_int_equal(a->maxptime, b->maxptime);
	assert_same_formats(a, b);
}

static void assert_survives(const char *name, unsigned nlines)
{
	struct sdp_line_out lines[SDP_LINES_MAX];
	char text[8192], again[16384];
	size_t bytes = read_seed(name, text, sizeof(text));
	struct sdp *a = read_ok(name, text, bytes), *b;
	struct cr_err e = { "" };
	long n;

	assert_int_equal(sdp_lines(a), nlines);
	for (unsigned i = 0; i < nlines; i++)
		lines[i] = same(sdp_line(a, i));
	n = sdp_write(a, &(struct sdp_out){ .lines = lines }, again,
		      sizeof(again), &e);
	if (n < 0)
		fail_msg("%s: %s", name, e.text);
	b = read_ok(name, again, (size_t)n);
	assert_int_equal(sdp_lines(b), nlines);
	assert_int_equal(sdp_version(a), sdp_version(b));
	for (unsigned i = 0; i < nlines; i++)
		assert_same_line(sdp_line(a, i), sdp_line(b, i),
				 lines[i].refused);
	sdp_free(b);
	sdp_free(a);
}

static void what_phones_send_survives(void **state)
{
	static const struct {
		const char *name;
		unsigned lines;
	} all[] = {
		{ "phone", 1 },
		{ "browser", 1 },
		{ "lines", 3 },
		{ "sipp", 1 },
		{ "sipp-blank-lines", 1 },
		{ "baresip", 1 },
		{ "linphone", 2 },
		{ "webrtc", 3 },
		{ "fax", 2 },
		{ "ipv6", 1 },
		{ "volte", 1 },
		{ "freeswitch-unordered", 2 },
		{ "sloppy", 1 },
		{ "no-name-no-time", 1 },
		{ "times", 1 },
		{ "msrp", 4 },
	};

	for (unsigned i = 0; i < sizeof(all) / sizeof(*all); i++)
		assert_survives(all[i].name, all[i].lines);
}

static void assert_address(const struct sockaddr_storage *a, const char *is)
{
	char text[80];

	assert_string_equal(address_text(a, text, sizeof(text)), is);
}

/* Blanks behind and between, other case, fmtp of what is not there. */
static void a_sloppy_phone_is_understood(void **state)
{
	char text[4096];
	size_t n = read_seed("sloppy", text, sizeof(text));
	struct sdp *s = read_ok("sloppy", text, n);
	const struct sdp_line *l = sdp_line(s, 0);

	assert_true(sdp_version(s) == UINT64_C(1109162014219192));
	assert_int_equal(l->transport, SDP_RTP);
	assert_int_equal(l->mode, SDP_SENDONLY);
	assert_int_equal(l->ptime, 20);
	assert_address(&l->rtp, "192.0.2.16:5004");
	assert_address(&l->rtcp, "192.0.2.17:5009");
	assert_int_equal(l->nformats, 3);
	assert_string_equal(l->formats[0].name, "pcmu");
	assert_string_equal(l->formats[2].fmtp, "");
	sdp_free(s);
}

static void long_parameters_stay_whole(void **state)
{
	char text[4096];
	size_t n = read_seed("volte", text, sizeof(text));
	struct sdp *s = read_ok("volte", text, n);
	const struct sdp_line *l = sdp_line(s, 0);
	unsigned i = 0;

	while (i < l->nformats && l->formats[i].pt != 100)
		i++;
	assert_in_range(i, 0, l->nformats - 1);
	assert_string_equal(l->formats[i].fmtp,
			    "mode-set=0,2,4,7; mode-change-period=2; "
			    "mode-change-capability=2; "
			    "mode-change-neighbor=1; max-red=220");
	assert_int_equal(l->maxptime, 240);
	sdp_free(s);
}

/* The library does not write what it stripped: no "s=" without a text. */
static void a_name_of_a_blank_becomes_a_dash(void **state)
{
	static const char text[] = HEAD "s= \nt=0 0\na=candidate:1\n"
					"a=ptime:20\n";
	struct sdp *s = read_ok("s=", text, strlen(text));
	struct cr_err e;
	char to[200];

	assert_true(sdp_write(s, &(struct sdp_out){ 0 }, to, sizeof(to), &e) >
		    0);
	assert_string_equal(to, "v=0\r\no=- 1 1 IN IP4 192.0.2.1\r\ns=-\r\n"
				"t=0 0\r\n");
	sdp_free(s);
}

struct refusal {
	const char *text;
	const char *why;
};

static void assert_refused(const struct refusal *all, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		struct cr_err e = { "" };
		struct sdp *s;

		if (!sdp_read(&s, all[i].text, strlen(all[i].text), &e))
			fail_msg("accepted: %s", all[i].text);
		if (!strstr(e.text, all[i].why))
			fail_msg("%s\nis refused with: %s", all[i].text,
				 e.text);
	}
}

static void a_wrong_line_is_named(void **state)
{
	static const struct refusal all[] = {
		{ "v=0\no=- 1 1 IN IP4 h/1\n", "line 2 of the SDP: it is not "
					       "as in o=" },
		{ "v=0\no=a b 1 IN IP4 h\n", "as in o=" },
		{ "v=0\no=- 1 1 IN IP5 h\n", "as in o=" },
		{ "v=0\no=- 1 1 XX IP4 h\n", "as in o=" },
		{ "v=0\no=- -1 1 IN IP4 h\n", "as in o=" },
		{ "v=1\n", "line 1 of the SDP: it is not as in v=0" },
		{ HEAD "c=IN IP4 \n", "line 3 of the SDP: it is not as in c=" },
		{ HEAD "c=IN IP4 h/256\n", "as in c=" },
		{ HEAD "c=IN IP6 h/1/2\n", "as in c=" },
		{ HEAD "b=AS 80\n", "as in b=" },
		{ HEAD "b=AS:\n", "as in b=" },
		{ HEAD "t=0\n", "as in t=" },
		{ HEAD "t=0 -1\n", "as in t=" },
		{ HEAD "t=0 0\nr=1 2\n", "as in r=" },
		{ HEAD "t=0 0\nz=1 -\n", "as in z=" },
		{ HEAD "k=\n", "as in k=" },
		{ HEAD "a=\n", "as in a=name:value" },
		{ HEAD "a=x y\n", "as in a=name:value" },
		{ HEAD "a=\xc3\xa4:y\n", "as in a=name:value" },
		{ HEAD "m=audio 4 RTP/AVP 128\n", "as in m=" },
		{ HEAD "m=audio 65536 RTP/AVP 0\n", "as in m=" },
		{ HEAD "m=audio 4/ RTP/AVP 0\n", "as in m=" },
		{ HEAD "m=audio 4 RTP/ 0\n", "as in m=" },
		{ HEAD "m=audio 4 UDP/TLS/RTP/SAVPF x\n", "as in m=" },
		{ HEAD "m=audio\t4 RTP/AVP 0\n", "as in m=" },
	};

	assert_refused(all, sizeof(all) / sizeof(*all));
}

static void a_wrong_attribute_is_named(void **state)
{
	static const struct refusal all[] = {
		{ LINE "a=rtpmap\n", "line 5 of the SDP: it is not as in "
				     "a=rtpmap:" },
		{ LINE "a=rtpmap:128 X/8000\n", "as in a=rtpmap:" },
		{ LINE "a=rtpmap:+1 X/8000\n", "as in a=rtpmap:" },
		{ LINE "a=rtpmap:97 X\n", "as in a=rtpmap:" },
		{ LINE "a=rtpmap:97 X/\n", "as in a=rtpmap:" },
		{ LINE "a=rtpmap:97 X/8000/y\n", "as in a=rtpmap:" },
		{ LINE "a=rtpmap:97 X/4294967296\n", "as in a=rtpmap:" },
		{ LINE "a=RTPMAP:97 \n", "as in a=rtpmap:" },
		{ LINE "a=fmtp:\n", "as in a=fmtp:" },
		{ LINE "a=fmtp:97;x=y\n", "as in a=fmtp:" },
		{ LINE "a=fmtp:200 x=y\n", "as in a=fmtp:" },
		{ LINE "a=rtcp\n", "as in a=rtcp:" },
		{ LINE "a=rtcp:65536\n", "as in a=rtcp:" },
		{ LINE "a=rtcp:5 IN IP4\n", "as in a=rtcp:" },
		{ LINE "a=ptime:\n", "as in a=ptime:" },
		{ LINE "a=ptime:inf\n", "as in a=ptime:" },
		{ LINE "a=ptime:0x20\n", "as in a=ptime:" },
		{ LINE "a=maxptime:20 ms\n", "as in a=maxptime:" },
	};

	assert_refused(all, sizeof(all) / sizeof(*all));
}

static void a_wrong_octet_is_named(void **state)
{
	static const struct refusal all[] = {
		{ LINE "a=rtpmap:97 \f\fX/8000\n", "line 5 of the SDP: it has "
						   "the octet 0x0c" },
		{ LINE "a=x:\x7f\n", "0x7f" },
		{ LINE "a=x:\x1b[2J\n", "0x1b" },
		{ LINE "a=x:1\ra=y:2\r\n", "0x0d" },
	};
	struct cr_err e;
	struct sdp *s;

	assert_refused(all, sizeof(all) / sizeof(*all));
	assert_int_equal(sdp_read(&s, LINE "a=x:\0y", sizeof(LINE) + 5, &e),
			 -EINVAL);
	assert_non_null(strstr(e.text, "0x00"));
	sdp_free(
		read_ok("tab", LINE "a=x:\ty\xc3\xa4\xff\n", sizeof(LINE) + 9));
}

static void a_wrong_order_is_named(void **state)
{
	static const struct refusal all[] = {
		{ "o=- 1 1 IN IP4 h\nv=0\n", "line 1 of the SDP: the first is "
					     "v=0" },
		{ "v=0\nm=audio 4 RTP/AVP 0\n", "o= belongs before it" },
		{ "v=0\ns=-\n", "it has no line o=" },
		{ "\r\n \n", "it is empty" },
		{ HEAD HEAD, "line 3 of the SDP: it has v= once more" },
		{ HEAD "c=IN IP4 h\nc=IN IP4 h\n", "it has c= once more" },
		{ HEAD "s=a\ns=b\n", "it has s= once more" },
		{ LINE "i=a\ni=b\n", "it has i= once more" },
		{ LINE "t=0 0\n", "t= belongs before the first m=" },
		{ LINE "o=- 1 1 IN IP4 h\n", "o= belongs before the first m=" },
		{ HEAD "r=7d 1h 0\n", "r= belongs after t=" },
		{ HEAD "t=0 0\nz=1 1\nz=1 1\n", "it has z= once more" },
		{ HEAD "x=y\n", "x= is unknown" },
		{ HEAD "hello\n", "a line is a small letter" },
		{ HEAD " a=x\n", "a line is a small letter" },
	};

	assert_refused(all, sizeof(all) / sizeof(*all));
}

static void more_lines_of_text_than_it_holds_are_refused(void **state)
{
	static char text[SDP_BYTES_MAX];
	char *p = text + sprintf(text, HEAD);
	struct cr_err e;
	struct sdp *s;

	for (unsigned i = 2; i < SDP_TEXT_LINES_MAX; i++)
		p += sprintf(p, "a=x\n\n");
	sdp_free(read_ok("many", text, (size_t)(p - text)));
	p += sprintf(p, "a=x\n");
	assert_int_equal(sdp_read(&s, text, (size_t)(p - text), &e), -EINVAL);
	assert_non_null(strstr(e.text, "more than 4096 lines"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_phones_send_survives),
		cmocka_unit_test(a_sloppy_phone_is_understood),
		cmocka_unit_test(long_parameters_stay_whole),
		cmocka_unit_test(a_name_of_a_blank_becomes_a_dash),
		cmocka_unit_test(a_wrong_line_is_named),
		cmocka_unit_test(a_wrong_attribute_is_named),
		cmocka_unit_test(a_wrong_octet_is_named),
		cmocka_unit_test(a_wrong_order_is_named),
		cmocka_unit_test(more_lines_of_text_than_it_holds_are_refused),
	};

	return cmocka_run_group_tests_name("sdp phones", tests, NULL, NULL);
}
