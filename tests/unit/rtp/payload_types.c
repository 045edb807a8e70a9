/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The meaning of payload types, refused ones, and the count of those that
 * stand for nothing.
 */
#include <errno.h>
#include <string.h>

#include "cmocka_cr.h"
#include "rtp/payload_types.h"
#include "rtp/rtp.h"

static enum payload_type_kind kind_of(const struct payload_types *t, uint8_t pt)
{
	return payload_type_kind(payload_types_find(t, pt));
}

/* A phone's: PCMU, PCMA, AMR-WB. */
static struct payload_types phone(void)
{
	struct payload_types t = { { 0 } };

	assert_int_equal(payload_types_add_speech(&t, 0, 0, NULL), 0);
	assert_int_equal(payload_types_add_speech(&t, 8, 1, NULL), 0);
	assert_int_equal(payload_types_add_speech(&t, 127, 63, NULL), 0);
	return t;
}

static void each_type_stands_for_what_was_said(void **state)
{
	const struct payload_types t = phone();
	unsigned named = 0;

	for (uint8_t pt = 0; pt < 128; pt++)
		named += kind_of(&t, pt) != PAYLOAD_TYPE_NOTHING;
	assert_int_equal(named, 3);
	assert_int_equal(kind_of(&t, 0), PAYLOAD_TYPE_SPEECH);
	assert_int_equal(payload_type_codec(payload_types_find(&t, 0)), 0);
	assert_int_equal(kind_of(&t, 8), PAYLOAD_TYPE_SPEECH);
	assert_int_equal(payload_type_codec(payload_types_find(&t, 8)), 1);
	assert_int_equal(kind_of(&t, 127), PAYLOAD_TYPE_SPEECH);
	assert_int_equal(payload_type_codec(payload_types_find(&t, 127)), 63);
}

static void a_type_is_given_once(void **state)
{
	struct payload_types t = phone();
	const struct payload_types before = t;
	struct cr_err e = { "" };

	assert_int_equal(payload_types_add_speech(&t, 8, 2, &e), -EEXIST);
	assert_string_equal(e.text, "payload type 8 is given twice: it is "
				    "codec 1 of the list already");
	assert_memory_equal(&t, &before, sizeof(t));
}

/* rtp_parse() takes those for RTCP when they have a marker. */
static void types_that_look_like_rtcp_are_refused(void **state)
{
	uint8_t buf[RTP_HEADER_BYTES];
	struct rtp_packet packet;

	for (unsigned pt = 0; pt < 128; pt++) {
		const struct rtp_header h = { .pt = (uint8_t)pt,
					      .marker = true };
		struct payload_types t = { { 0 } };
		struct cr_err e = { "" };
		int got = payload_types_add_speech(&t, pt, 0, &e);

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
	}
}

static void what_cannot_be_is_refused(void **state)
{
	struct payload_types t = phone();
	const struct payload_types before = t;
	struct cr_err e = { "" };

	assert_int_equal(payload_types_add_speech(&t, 128, 0, &e), -ERANGE);
	assert_string_equal(e.text, "payload type 128 is too large: use 0 to "
				    "63 or 96 to 127");
	assert_int_equal(payload_types_add_speech(&t, 256 + 100, 0, &e),
			 -ERANGE);
	assert_int_equal(payload_types_add_speech(&t, 100, 64, &e), -ERANGE);
	assert_string_equal(e.text,
			    "payload type 100: an endpoint has at most 64 "
			    "codecs");
	assert_memory_equal(&t, &before, sizeof(t));
}

static void unknown_types_are_counted_by_number(void **state)
{
	struct payload_unknown u = { .others = 0 };
	char text[PAYLOAD_UNKNOWN_TEXT];
	uint8_t pt = 0;

	assert_string_equal(payload_unknown_text(&u, text, sizeof(text)), "");
	assert_int_equal(payload_unknown_type(&u, 0, &pt), 0);
	for (unsigned i = 0; i < 12; i++)
		payload_unknown_count(&u, 96);
	payload_unknown_count(&u, 0);
	payload_unknown_count(&u, 127);
	payload_unknown_count(&u, 0);
	assert_string_equal(payload_unknown_text(&u, text, sizeof(text)),
			    "12 of type 96, 2 of type 0, 1 of type 127");
	assert_int_equal(payload_unknown_type(&u, 1, &pt), 2);
	assert_int_equal(pt, 0);
	assert_int_equal(payload_unknown_type(&u, 3, &pt), 0);
}

static void too_many_types_are_counted_together(void **state)
{
	struct payload_unknown u = { .others = 0 };
	char text[PAYLOAD_UNKNOWN_TEXT], small[16];
	uint8_t pt;

	for (unsigned round = 0; round < 3; round++)
		for (unsigned i = 0; i < 128; i++)
			payload_unknown_count(&u, (uint8_t)(127 - i));
	assert_string_equal(payload_unknown_text(&u, text, sizeof(text)),
			    "3 of type 127, 3 of type 126, 3 of type 125, "
			    "3 of type 124, 3 of type 123, 3 of type 122, "
			    "3 of type 121, 3 of type 120, 360 of others");
	assert_int_equal(payload_unknown_type(&u, PAYLOAD_UNKNOWN_TYPES, &pt),
			 360);
	assert_int_equal(pt, 255);
	assert_string_equal(payload_unknown_text(&u, small, sizeof(small)),
			    "3 of type 127, ");
	/* the longest text there is */
	for (unsigned i = 0; i < PAYLOAD_UNKNOWN_TYPES; i++)
		atomic_store(&u.type[i],
			     UINT64_C(128) << 56 | ((UINT64_C(1) << 56) - 1));
	atomic_store(&u.others, UINT64_MAX);
	assert_true(strlen(payload_unknown_text(&u, text, sizeof(text))) + 1 <
		    sizeof(text));
	assert_non_null(strstr(text, "of others"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_type_stands_for_what_was_said),
		cmocka_unit_test(a_type_is_given_once),
		cmocka_unit_test(types_that_look_like_rtcp_are_refused),
		cmocka_unit_test(what_cannot_be_is_refused),
		cmocka_unit_test(unknown_types_are_counted_by_number),
		cmocka_unit_test(too_many_types_are_counted_together),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
