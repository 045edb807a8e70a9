/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A stream cut at line feeds: however it arrives, the same lines come out.
 */
#include <string.h>

#include "cmocka_cr.h"
#include "transport/transport.h"

/* Lines as they were reported, each closed by a bar. */
struct reported {
	char text[100];
	bool begun;
};

static void feed(struct reported *t, const char *text, size_t bytes)
{
	struct line_part part;

	while (lines_next(&t->begun, &text, &bytes, &part)) {
		size_t n = strlen(t->text);

		assert_true(n + part.bytes + 1 < sizeof(t->text));
		memcpy(t->text + n, part.data, part.bytes);
		t->text[n + part.bytes] = part.end ? '|' : '\0';
	}
	assert_int_equal(bytes, 0);
}

static void lines_end_with_a_line_feed(void **state)
{
	struct reported t = { "", false };

	feed(&t, "one\ntwo\nthr", 11);
	assert_string_equal(t.text, "one|two|thr");
	assert_true(t.begun);
	feed(&t, "ee\n", 3);
	assert_string_equal(t.text, "one|two|three|");
	assert_false(t.begun);
}

static void the_end_may_come_alone(void **state)
{
	struct reported t = { "", false };

	feed(&t, "one", 3);
	feed(&t, "\n", 1);
	assert_string_equal(t.text, "one|");
	assert_false(t.begun);
}

static void empty_lines_are_nothing(void **state)
{
	struct reported t = { "", false };

	feed(&t, "\n\none\n\n\ntwo\n\n", 13);
	feed(&t, "\n", 1);
	assert_string_equal(t.text, "one|two|");
	feed(&t, "", 0);
	assert_string_equal(t.text, "one|two|");
}

static void however_it_is_cut_the_lines_are_the_same(void **state)
{
	static const char text[] = "\nab\n\nc\r\n\xff\xfe\nlonger line\nrest";
	const size_t all = sizeof(text) - 1;

	for (size_t a = 0; a <= all; a++) {
		for (size_t b = a; b <= all; b++) {
			struct reported t = { "", false };

			feed(&t, text, a);
			feed(&t, text + a, b - a);
			feed(&t, text + b, all - b);
			assert_string_equal(t.text,
					    "ab|c\r|\xff\xfe|longer line|rest");
			assert_true(t.begun);
		}
	}
}

static void a_nul_is_an_octet_like_others(void **state)
{
	const char *at = "a\0b\n";
	size_t left = 4;
	bool begun = false;
	struct line_part part = { 0 };

	assert_true(lines_next(&begun, &at, &left, &part));
	assert_int_equal(part.bytes, 3);
	assert_memory_equal(part.data, "a\0b", 3);
	assert_true(part.end);
	assert_false(lines_next(&begun, &at, &left, &part));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lines_end_with_a_line_feed),
		cmocka_unit_test(the_end_may_come_alone),
		cmocka_unit_test(empty_lines_are_nothing),
		cmocka_unit_test(however_it_is_cut_the_lines_are_the_same),
		cmocka_unit_test(a_nul_is_an_octet_like_others),
	};

	return cmocka_run_group_tests_name("lines", tests, NULL, NULL);
}
