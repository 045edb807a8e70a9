/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What payload types stand for to a stream, and which are refused.
 */
#include <errno.h>
#include <string.h>

#include "cmocka_cr.h"
#include "rtp/rtp.h"
#include "transcode_fixture.h"

static struct codec_use use_of(const char *codec, uint8_t pt)
{
	struct codec_use use = side(codec);

	use.pt = pt;
	return use;
}

/* A phone's: PCMU, PCMA, linear PCM. */
static struct stream_codecs phone(void)
{
	return (struct stream_codecs){
		.n = 3,
		.one = { use_of("pcmu", 0), use_of("pcma", 8),
			 use_of("l16", 127) },
	};
}

static struct stream *phone_stream(const struct stream_codecs *codecs)
{
	struct stream_cfg cfg = plain_call();

	cfg.codecs = codecs;
	return new_call(cfg)->stream;
}

/* The types of @s, if its party may send @codecs from now on. */
static int change(struct stream *s, const struct stream_codecs *codecs,
		  struct stream_types **t, struct cr_err *e)
{
	const struct stream_cfg to = plain_call();
	const struct stream_change by = { .to = &to,
					  .transcoder = stream_transcoder(s),
					  .codecs = codecs };

	return stream_types_new(t, s, &by, e);
}

static void each_type_stands_for_what_was_said(void **state)
{
	const struct stream_codecs codecs = phone();
	struct stream *s = phone_stream(&codecs);
	unsigned named = 0;

	for (uint8_t pt = 0; pt < 128; pt++) {
		struct packet_type type = stream_type_of(s, pt);

		assert_int_equal(type.pt, pt);
		assert_int_equal(type.as, PACKET_NOT_PASSED);
		assert_int_equal(type.what, FRAME_RING_SPEECH);
		named += type.codec != PACKET_NO_CODEC;
	}
	assert_int_equal(named, 3);
	assert_int_equal(stream_type_of(s, 0).codec, 0);
	assert_int_equal(stream_type_of(s, 8).codec, 1);
	assert_int_equal(stream_type_of(s, 127).codec, 2);
	stream_free(s);
}

static void former_types_stay_where_their_numbers_are_free(void **state)
{
	const struct stream_codecs codecs = phone();
	const struct stream_codecs other = { .n = 1,
					     .one = { use_of("pcma", 0) } };
	struct stream *s = phone_stream(&codecs);
	struct stream_types *t;

	assert_int_equal(change(s, &other, &t, NULL), 0);
	assert_int_equal(stream_types_find(t, 0).codec, 1);
	assert_int_equal(stream_types_find(t, 8).codec, 1);
	assert_int_equal(stream_types_find(t, 127).codec, 2);
	free(t);
	stream_free(s);
}

static void a_type_is_given_once(void **state)
{
	struct stream_codecs codecs = phone();
	struct stream *s = phone_stream(NULL);
	struct stream_types *t = NULL;
	struct cr_err e = { "" };

	codecs.one[codecs.n++] = use_of("l16", 8);
	assert_int_equal(change(s, &codecs, &t, &e), -EEXIST);
	assert_string_equal(e.text, "payload type 8 is given twice: it is "
				    "codec 1 of the list already");
	assert_null(t);
	stream_free(s);
}

/* rtp_parse() takes those for RTCP when they have a marker. */
static void types_that_look_like_rtcp_are_refused(void **state)
{
	struct stream *s = phone_stream(NULL);
	uint8_t buf[RTP_HEADER_BYTES];
	struct rtp_packet packet;

	for (unsigned pt = 0; pt < 128; pt++) {
		const struct stream_codecs one = {
			.n = 1, .one = { use_of("pcmu", (uint8_t)pt) }
		};
		const struct rtp_packet h = { .pt = (uint8_t)pt,
					      .marker = true };
		struct stream_types *t = NULL;
		struct cr_err e = { "" };
		int got = change(s, &one, &t, &e);

		(void)rtp_build(buf, &h);
		assert_int_equal(rtp_parse(buf, sizeof(buf), &packet) ==
					 RTP_IS_RTCP,
				 got == -EINVAL);
		assert_int_equal(got, pt >= 64 && pt <= 95 ? -EINVAL : 0);
		if (pt == 72)
			assert_string_equal(e.text,
					    "payload type 72 cannot be told "
					    "from RTCP (RFC 5761): use 0 to 63 "
					    "or 96 to 127");
		free(t);
	}
	stream_free(s);
}

static void what_cannot_be_is_refused(void **state)
{
	struct stream *s = phone_stream(NULL);
	const struct stream_codecs one = { .n = 1,
					   .one = { use_of("pcmu", 128) } };
	struct stream_types *t = NULL;
	struct cr_err e = { "" };

	assert_int_equal(change(s, &one, &t, &e), -ERANGE);
	assert_string_equal(e.text, "payload type 128 is too large: use 0 to "
				    "63 or 96 to 127");
	assert_null(t);
	stream_free(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_type_stands_for_what_was_said),
		cmocka_unit_test(
			former_types_stay_where_their_numbers_are_free),
		cmocka_unit_test(a_type_is_given_once),
		cmocka_unit_test(types_that_look_like_rtcp_are_refused),
		cmocka_unit_test(what_cannot_be_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
