/* SPDX-License-Identifier: Apache-2.0 */
/*
 * UTF-8: every character is known by its length, and nothing else is one.
 */
#include "base/utf8.h"

#include <limits.h>
#include <stdbool.h>
#include <string.h>

#include "cmocka_cr.h"

enum { LAST = 0x10ffff, BEYOND = 0x1fffff };

/* @c as if it were a character, in @n octets. */
static void put(char *to, unsigned c, size_t n)
{
	static const unsigned char first[] = { 0, 0x00, 0xc0, 0xe0, 0xf0 };

	for (size_t i = n; i > 1; i--, c >>= 6)
		to[i - 1] = (char)(0x80 | (c & 0x3f));
	to[0] = (char)(first[n] | c);
}

static size_t octets_of(unsigned c)
{
	return c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
}

/* How many values there are in @n octets. */
static unsigned values_in(size_t n)
{
	static const unsigned values[] = { 0, 0x80, 0x800, 0x10000,
					   BEYOND + 1 };

	return values[n];
}

static void all_characters_and_no_other_values_are_some(void **state)
{
	char text[4];

	for (size_t n = 1; n <= 4; n++)
		for (unsigned c = 0; c < values_in(n); c++) {
			bool is = n == octets_of(c) && c <= LAST &&
				  (c < 0xd800 || c > 0xdfff);

			put(text, c, n);
			assert_int_equal(utf8_length(text, n), is ? n : 0);
			assert_int_equal(utf8_code(text, n), c);
			/* cut short */
			assert_int_equal(utf8_length(text, n - 1), 0);
		}
}

static void octets_that_do_not_belong_together_are_none(void **state)
{
	char text[4];

	for (unsigned c = 0x80; c <= LAST; c += 37) {
		size_t n = octets_of(c);

		for (size_t i = 1; i < n; i++) {
			put(text, c, n);
			text[i] = (char)(text[i] ^ 0x80);
			assert_int_equal(utf8_length(text, n), 0);
			text[i] = (char)(text[i] | 0xc0);
			assert_int_equal(utf8_length(text, n), 0);
		}
	}
	/* none begins so */
	for (unsigned first = 0x80; first <= 0xff; first++) {
		memset(text, 0x80, sizeof(text));
		text[0] = (char)first;
		if (first < 0xc2 || first > 0xf4)
			assert_int_equal(utf8_length(text, 4), 0);
	}
}

static void a_control_character_is_one_but_a_tab(void **state)
{
	unsigned controls = 0;

	for (int c = CHAR_MIN; c <= CHAR_MAX; c++)
		controls += utf8_is_control((char)c);
	assert_int_equal(controls, 32 - 1 + 1);
	assert_true(utf8_is_control('\0') && utf8_is_control('\r') &&
		    utf8_is_control('\x1f') && utf8_is_control('\x7f'));
	assert_false(utf8_is_control('\t') || utf8_is_control(' ') ||
		     utf8_is_control('\x80') || utf8_is_control('\xff'));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_control_character_is_one_but_a_tab),
		cmocka_unit_test(all_characters_and_no_other_values_are_some),
		cmocka_unit_test(octets_that_do_not_belong_together_are_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
