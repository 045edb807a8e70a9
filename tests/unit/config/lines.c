/* SPDX-License-Identifier: Apache-2.0 */
/* Any text becomes names and values, or is told what is wrong with it. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cmocka_cr.h"
#include "config/config.h"

/* "3 name|value\n" or "3 !why\n" for each line that says something. */
static char *read_bytes(const char *bytes, size_t size)
{
	static char out[4096];
	char *text = malloc(size + 1), *name, *value;
	struct config_lines l = { .text = text, .size = size };
	struct cr_err e = { "" };
	size_t n = 0;
	int got;

	assert_non_null(text);
	memcpy(text, bytes, size);
	text[size] = '\0';
	out[0] = '\0';
	while ((got = config_lines_next(&l, &name, &value, &e)))
		n += (size_t)snprintf(out + n, sizeof(out) - n,
				      got > 0 ? "%u %s|%s\n" : "%u !%s%s\n",
				      l.line, got > 0 ? name : e.text,
				      got > 0 ? value : "");
	free(text);
	return out;
}

#define READ(text) read_bytes(text, sizeof(text) - 1)

static void says(const char *reported, const char *what)
{
	if (!strstr(reported, what))
		fail_msg("\"%s\" is not in \"%s\"", what, reported);
}

static void names_and_values_have_no_blanks_around(void **state)
{
	assert_string_equal(READ("a=1\n  b  =\t two words \n"),
			    "1 a|1\n2 b|two words\n");
}

static void comments_are_lines_and_values_have_any_sign(void **state)
{
	assert_string_equal(READ("# a = 1\n\n  # b\na = x # y=z\n"),
			    "4 a|x # y=z\n");
}

static void quotation_marks_keep_blanks_and_nothing(void **state)
{
	assert_string_equal(READ("a = \" x \"\nb = \"\"\nc = \"x\"y\"\n"),
			    "1 a| x \n2 b|\n3 c|x\"y\n");
	says(READ("a = \"x\n"), "1 !a quotation mark is not closed");
	says(READ("a = \"\n"), "1 !a quotation mark is not closed");
	says(READ("a = \"x\" # y\n"), "1 !a quotation mark is not closed");
}

static void lines_end_as_on_any_system(void **state)
{
	assert_string_equal(READ("a = 1\r\n\r\nb = 2\r\n"), "1 a|1\n3 b|2\n");
	assert_string_equal(READ("a = 1\nb = 2"), "1 a|1\n2 b|2\n");
	assert_string_equal(READ("a = 1\r"), "1 a|1\n");
	assert_string_equal(READ(""), "");
	assert_string_equal(READ("\n\n"), "");
}

static void a_byte_order_mark_is_nothing_or_wrong(void **state)
{
	assert_string_equal(READ("\xef\xbb\xbf"
				 "a = 1\n"),
			    "1 a|1\n");
	assert_string_equal(READ("\xff\xfe"
				 "a\0=\0"
				 "1\0\n\0b\0"),
			    "1 !this is UTF-16: save the file as UTF-8\n");
}

static void what_is_no_text_is_told_once(void **state)
{
	assert_string_equal(READ("a = 1\nb = \0\nc = 3\nd = \0\n"),
			    "1 a|1\n2 !a NUL byte: this is no text file\n");
}

static void another_encoding_is_told_once(void **state)
{
	/* Latin-1 */
	assert_string_equal(
		READ("a = \xc3\xa4\nb = n\xe4he\nc = \xfc\nd = 1\n"),
		"1 a|\xc3\xa4\n"
		"2 !octet 6 (0xe4) is not UTF-8: save the file as UTF-8\n");
	/* a character that the line's end cuts */
	says(READ("a = \xe2\x82\n"), "1 !octet 5 (0xe2) is not UTF-8");
	says(READ("# \xfc\n"), "1 !octet 3 (0xfc) is not UTF-8");
	assert_true(config_can_hold("/\xc3\xa4"));
	assert_false(config_can_hold("/\xe4"));
}

static void other_faults_leave_the_next_line_alone(void **state)
{
	const char *reported = READ("poll\na =\n= 3\nb = \x1b[31m\nc = 3\n");

	says(reported, "1 !\"poll\" has no value: write name = value");
	says(reported, "2 !a has no value: leave the line out");
	says(reported, "3 !there is no name before the \"=\"\n");
	says(reported, "4 !a control character (0x1b)\n");
	says(reported, "5 c|3\n");
}

static void a_long_line_is_not_repeated(void **state)
{
	size_t size = 1 << 20;
	char *bytes = malloc(size), *reported;

	assert_non_null(bytes);
	memset(bytes, 'x', size);
	memcpy(bytes + size - 7, "\na = 1\n", 7);
	reported = read_bytes(bytes, size);
	assert_string_equal(
		reported,
		"1 !a line of 1048569 bytes; 4096 are the most\n2 a|1\n");
	memset(bytes, ' ', size);
	memcpy(bytes, "a = 1", 5);
	bytes[4096] = '\n';
	assert_string_equal(read_bytes(bytes, 4097), "1 a|1\n");
	says(read_bytes(bytes, 4096), "1 a|1\n");
	bytes[4096] = ' ';
	says(read_bytes(bytes, 4097), "1 !a line of 4097 bytes");
	free(bytes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_and_values_have_no_blanks_around),
		cmocka_unit_test(comments_are_lines_and_values_have_any_sign),
		cmocka_unit_test(quotation_marks_keep_blanks_and_nothing),
		cmocka_unit_test(lines_end_as_on_any_system),
		cmocka_unit_test(a_byte_order_mark_is_nothing_or_wrong),
		cmocka_unit_test(what_is_no_text_is_told_once),
		cmocka_unit_test(another_encoding_is_told_once),
		cmocka_unit_test(other_faults_leave_the_next_line_alone),
		cmocka_unit_test(a_long_line_is_not_repeated),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
