/* SPDX-License-Identifier: Apache-2.0 */
/* Messages in a stream: where each ends, however it is cut into pieces. */
#include "cmocka_cr.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ng/message.h"

#define PING "d7:command4:pinge"

/* Feed @text in pieces of @piece; the messages go to @out, each in brackets. */
static void cut(const char *text, size_t piece, char *out)
{
	struct framing f = { .state = FRAMING_BEFORE };
	size_t n = strlen(text), at = 0;

	*out = '\0';
	while (at < n) {
		size_t end = at + piece < n ? at + piece : n, used;
		enum framing_is is;

		do {
			is = framing_feed(&f, text + at, end - at, &used);
			at += used;
			if (is == FRAMING_DONE)
				out += sprintf(out, "[%.*s]", (int)f.bytes,
					       text + at - f.bytes);
			if (is == FRAMING_BROKEN) {
				(void)strcpy(out, "!");
				return;
			}
		} while (is == FRAMING_DONE && at < end);
	}
	if (f.state != FRAMING_END && f.bytes)
		(void)strcpy(out, "...");
}

struct row {
	const char *text, *is;
};

static const struct row rows[] = {
	{ "", "" },
	{ " \r\n\t", "" },
	{ "1 " PING, "[1 " PING "]" },
	{ "1 " PING "2 " PING, "[1 " PING "][2 " PING "]" },
	{ "\n1 " PING "\r\n 2 " PING "\n", "[1 " PING "][2 " PING "]" },
	{ "1 {}2 {\"a\":[{}]}3 de", "[1 {}][2 {\"a\":[{}]}][3 de]" },
	/* ends of dictionaries within strings */
	{ "1 {\"a\":\"}\\\"}\\\\\"}2 de", "[1 {\"a\":\"}\\\"}\\\\\"}][2 de]" },
	{ "1 d1:a3:eee1:bi-3e1:clli1e0:edeee2 {}",
	  "[1 d1:a3:eee1:bi-3e1:clli1e0:edeee][2 {}]" },
	{ "1 d1:a11:0123456789ee2 de", "[1 d1:a11:0123456789ee][2 de]" },
	/* halves */
	{ "1", "..." },
	{ "1 ", "..." },
	{ "1 d", "..." },
	{ "1 d1:a", "..." },
	{ "1 {\"a", "..." },
	{ "1 {\"a\\", "..." },
	/* framing does not care for what a dictionary is */
	{ "1 {]2 {]", "[1 {]][2 {]]" },
	{ "1 di1elee2 de", "[1 di1elee][2 de]" },
	/* nobody knows where these end */
	{ "1 l", "!" },
	{ "1  de", "!" },
	{ "GET / HTTP/1.1", "!" },
	{ "\x01 de", "!" },
	{ "1 d1a", "!" },
	{ "1 dx", "!" },
	{ "1 di1x", "!" },
	{ "1 d1:a65508:", "!" },
	{ "1 d1:a99999999999999999999:", "!" },
	{ "12345678901234567890123456789012345678901234567890123456789012345 "
	  "de",
	  "!" },
	{ "1 de1 d-", "[1 de]!" },
};

static void every_message_ends_where_its_dictionary_does(void **state)
{
	char out[300];

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		for (size_t piece = 1; piece < 80; piece++) {
			cut(rows[i].text, piece, out);
			assert_string_equal(out, rows[i].is);
		}
}

static void a_message_has_a_limit(void **state)
{
	size_t n = NG_BYTES_MAX, used;
	char *text = malloc(n + 1);
	struct framing f = { .state = FRAMING_BEFORE };

	assert_non_null(text);
	memset(text, ' ', n + 1);
	memcpy(text, "1 {", 3);
	text[n - 1] = '}';
	assert_int_equal(framing_feed(&f, text, n, &used), FRAMING_DONE);
	assert_int_equal(used, n);
	text[n - 1] = ' ';
	assert_int_equal(framing_feed(&f, text, n, &used), FRAMING_MORE);
	text[n] = '}';
	assert_int_equal(framing_feed(&f, text + n, 1, &used), FRAMING_BROKEN);
	assert_non_null(strstr(f.why, "too long"));
	/* and stays so */
	assert_int_equal(framing_feed(&f, "1 de", 4, &used), FRAMING_BROKEN);
	assert_int_equal(used, 0);
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_message_ends_where_its_dictionary_does),
		cmocka_unit_test(a_message_has_a_limit),
	};

	return cmocka_run_group_tests_name("ng framing", tests, NULL, NULL);
}
