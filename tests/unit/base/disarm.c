/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Text of others: what a terminal or a reader of lines would act on.
 */
#include "cmocka_cr.h"

#include <string.h>

#include "base/utf8.h"

static void expect(const char *text, const char *want)
{
	char got[64];

	(void)strcpy(got, text);
	disarm(got);
	assert_string_equal(got, want);
	assert_int_equal(disarm_is_needless(text), !strcmp(text, want));
	assert_true(disarm_is_needless(want));
}

static void what_stands_there_stays(void **state)
{
	expect("", "");
	expect("call=7 why=\"no room\" \\ ~", "call=7 why=\"no room\" \\ ~");
	/* beside each range that does harm */
	expect("\xc2\xa0 \xd8\x9b\xd8\x9d \xe2\x80\x8d\xe2\x80\x90 "
	       "\xe2\x80\xa7\xe2\x80\xaf \xe2\x81\xa5\xe2\x81\xaa",
	       "\xc2\xa0 \xd8\x9b\xd8\x9d \xe2\x80\x8d\xe2\x80\x90 "
	       "\xe2\x80\xa7\xe2\x80\xaf \xe2\x81\xa5\xe2\x81\xaa");
	expect("g\xc3\xb6t \xd7\xa9\xd7\x9c\xd7\x95\xd7\x9d "
	       "\xe6\xbc\xa2 \xf0\x9f\x98\x80",
	       "g\xc3\xb6t \xd7\xa9\xd7\x9c\xd7\x95\xd7\x9d "
	       "\xe6\xbc\xa2 \xf0\x9f\x98\x80");
}

static void controls_do_not(void **state)
{
	for (char c = 1; c < ' '; c++)
		expect((char[]){ 'a', c, 'b', '\0' }, "a?b");
	expect("\x7f", "?");
	for (unsigned c = 0x80; c <= 0x9f; c++)
		expect((char[]){ 'a', '\xc2', (char)c, 'b', '\0' }, "a?b");
}

static void nor_what_turns_the_direction_or_ends_a_line(void **state)
{
	for (unsigned c = 0xa8; c <= 0xae; c++)
		expect((char[]){ '\xe2', '\x80', (char)c, 'b', '\0' }, "?b");
	for (unsigned c = 0xa6; c <= 0xa9; c++)
		expect((char[]){ '\xe2', '\x81', (char)c, '\0' }, "?");
	expect("\xe2\x80\x8e\xe2\x80\x8f\xd8\x9c", "???");
}

/* Terminals that know no UTF-8 take 0x9b alone for a command. */
static void nor_what_is_no_character(void **state)
{
	expect("\x9b"
	       "31m\xff\xc0\xaf\xed\xa0\x80",
	       "?31m??????");
	expect("cut \xe2\x80", "cut ??");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_stands_there_stays),
		cmocka_unit_test(controls_do_not),
		cmocka_unit_test(nor_what_turns_the_direction_or_ends_a_line),
		cmocka_unit_test(nor_what_is_no_character),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
