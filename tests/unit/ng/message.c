/* SPDX-License-Identifier: Apache-2.0 */
/* Messages of NG: cookie, encoding, dictionary. */
#include "cmocka_cr.h"

#include <errno.h>
#include <string.h>

#include "ng/message.h"

static int read_text(struct ng_message *m, const char *text, struct cr_err *e)
{
	e->text[0] = '\0';
	return ng_message_read(m, text, strlen(text), e);
}

static void assert_answer(const char *request, const char *is)
{
	struct ng_message m;
	struct cr_err e;
	char text[100];
	json_t *pong = json_pack("{s:s}", "result", "pong");
	long n;

	assert_int_equal(read_text(&m, request, &e), 0);
	n = ng_message_write(&m, pong, text, sizeof(text));
	assert_int_equal(n, strlen(is));
	assert_memory_equal(text, is, strlen(is));
	for (size_t size = 0; size < strlen(is); size++)
		assert_int_equal(ng_message_write(&m, pong, text, size),
				 -ENOSPC);
	json_decref(pong);
	ng_message_free(&m);
}

static void an_answer_is_as_its_request(void **state)
{
	assert_answer("5323_1 d7:command4:pinge", "5323_1 d6:result4:ponge");
	assert_answer("a/b-1 {\"command\": \"ping\"}",
		      "a/b-1 {\"result\":\"pong\"}");
}

/* Bencode names by octets, and who asks by JSON is to hear of them, too. */
static void what_is_no_utf8_is_told_by_json(void **state)
{
	struct ng_message m;
	struct cr_err e;
	char text[128];
	json_t *body = json_pack("{s:[o, s], s:{s:i}}", "calls",
				 json_string_nocheck("a\xff\xfe@b"), "c", "of",
				 "n", 2);
	long n;

	assert_int_equal(read_text(&m, "1 {}", &e), 0);
	n = ng_message_write(&m, body, text, sizeof(text) - 1);
	assert_true(n > 0);
	text[n] = '\0';
	assert_string_equal(text, "1 {\"calls\":[\"a??@b\",\"c\"],"
				  "\"of\":{\"n\":2}}");
	/* and too long is too long */
	assert_int_equal(ng_message_write(&m, body, text, 20), -ENOSPC);
	json_decref(body);
	ng_message_free(&m);
}

/* An error can be answered as soon as there is a cookie. */
static void what_is_no_message_is_told_so(void **state)
{
	static const struct {
		const char *text, *cookie, *says;
	} wrong[] = {
		{ "", "", "begins with a cookie" },
		{ " d", "", "begins with a cookie" },
		{ "cookie", "", "begins with a cookie" },
		{ "coo\tkie d", "", "begins with a cookie" },
		{ "1 ", "1", "bencode, octet 0" },
		{ "1 le", "1", "is a dictionary" },
		{ "1 i5e", "1", "is a dictionary" },
		{ "1 {\"a\": 1, \"a\": 2}", "1", "JSON, octet" },
		{ "1 {\"a\": ", "1", "JSON, octet" },
		{ "1 {\"a\": \"\\u0000\"}", "1", "JSON, octet" },
		{ "1 {} {}", "1", "JSON, octet" },
	};

	for (unsigned i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
		struct ng_message m;
		struct cr_err e;

		assert_int_equal(read_text(&m, wrong[i].text, &e), -EINVAL);
		assert_string_equal(m.cookie, wrong[i].cookie);
		assert_null(m.body);
		if (!strstr(e.text, wrong[i].says))
			fail_msg("%s: %s", wrong[i].text, e.text);
	}
}

static void length_has_a_limit(void **state)
{
	static char text[NG_BYTES_MAX + 1];
	struct ng_message m;
	struct cr_err e;

	memset(text, 'x', sizeof(text));
	assert_int_equal(ng_message_read(&m, text, sizeof(text), &e), -EINVAL);
	assert_non_null(strstr(e.text, "65507"));
	assert_int_equal(ng_message_read(&m, text, NG_COOKIE_MAX + 1, &e),
			 -EINVAL);
	assert_non_null(strstr(e.text, "1 to 64"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_answer_is_as_its_request),
		cmocka_unit_test(what_is_no_utf8_is_told_by_json),
		cmocka_unit_test(what_is_no_message_is_told_so),
		cmocka_unit_test(length_has_a_limit),
	};

	return cmocka_run_group_tests_name("ng message", tests, NULL, NULL);
}
