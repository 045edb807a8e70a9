/* SPDX-License-Identifier: Apache-2.0 */
/* Bencode: what is one value, what is none, and the way back. */
#include "cmocka_cr.h"

#include <errno.h>
#include <string.h>

#include "json_text.h"
#include "ng/message.h"

static void assert_is(const char *text, const char *json)
{
	struct cr_err e = { "" };
	json_t *value = bencode_read(text, strlen(text), &e);
	json_t *want = json_text(json);
	char again[200];

	if (!value)
		fail_msg("%s: %s", text, e.text);
	assert_true(json_equal(value, want));
	json_decref(want);
	assert_int_equal(bencode_write(value, again, sizeof(again)),
			 strlen(text));
	assert_memory_equal(again, text, strlen(text));
	for (size_t size = 0; size < strlen(text); size++)
		assert_int_equal(bencode_write(value, again, size), -ENOSPC);
	json_decref(value);
}

static void values_are_read_and_written(void **state)
{
	assert_is("i0e", "0");
	assert_is("i-42e", "-42");
	assert_is("i9223372036854775807e", "9223372036854775807");
	assert_is("0:", "''");
	assert_is("4:ping", "'ping'");
	assert_is("le", "[]");
	assert_is("l4:spami3ee", "['spam',3]");
	assert_is("de", "{}");
	/* in the order in which they came */
	assert_is("d7:command4:ping1:al1:b1:cee",
		  "{'command':'ping','a':['b','c']}");
	assert_is("d5:codecd4:maskl3:alleee", "{'codec':{'mask':['all']}}");
}

static void octets_of_a_string_may_be_any(void **state)
{
	static const char text[] = "4:\xff\0\r\n";
	struct cr_err e;
	json_t *value = bencode_read(text, 6, &e);
	char again[16];

	assert_non_null(value);
	assert_int_equal(json_string_length(value), 4);
	assert_memory_equal(json_string_value(value), "\xff\0\r\n", 4);
	assert_int_equal(bencode_write(value, again, sizeof(again)), 6);
	assert_memory_equal(again, text, 6);
	json_decref(value);
}

static void what_is_none_is_told_with_its_place(void **state)
{
	static const struct {
		const char *text, *says;
	} wrong[] = {
		{ "", "octet 0: it ends too early" },
		{ "x", "octet 0: neither" },
		{ "i", "i20e" },
		{ "ie", "i20e" },
		{ "i-0e", "i20e" },
		{ "i03e", "i20e" },
		{ "i9223372036854775808e", "i20e" },
		{ "5:ping", "not longer than" },
		{ "99999999999999999999:x", "not longer than" },
		{ "04:ping", "not longer than" },
		{ "l", "octet 1: it ends too early" },
		{ "d", "a key is" },
		{ "di1ei2ee", "a key is" },
		{ "d1:a", "ends too early" },
		{ "d1:ai1e1:ai2ee", "there already" },
		{ "i1ei2e", "octet 3: more behind its end" },
	};

	for (unsigned i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
		struct cr_err e = { "" };

		assert_null(
			bencode_read(wrong[i].text, strlen(wrong[i].text), &e));
		if (!strstr(e.text, wrong[i].says))
			fail_msg("%s: %s", wrong[i].text, e.text);
	}
}

static void depth_has_a_limit(void **state)
{
	char text[2 * BENCODE_DEPTH_MAX + 2];
	struct cr_err e = { "" };
	json_t *value;

	memset(text, 'l', BENCODE_DEPTH_MAX);
	memset(text + BENCODE_DEPTH_MAX, 'e', BENCODE_DEPTH_MAX);
	value = bencode_read(text, 2 * BENCODE_DEPTH_MAX, &e);
	assert_non_null(value);
	json_decref(value);
	memset(text, 'l', BENCODE_DEPTH_MAX + 1);
	memset(text + BENCODE_DEPTH_MAX + 1, 'e', BENCODE_DEPTH_MAX + 1);
	assert_null(bencode_read(text, sizeof(text), &e));
	assert_non_null(strstr(e.text, "within each other"));
}

static void json_has_values_that_bencode_has_not(void **state)
{
	char text[32];
	json_t *o = json_pack("{s:b}", "a", 1);

	assert_int_equal(bencode_write(o, text, sizeof(text)), -EINVAL);
	json_decref(o);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(values_are_read_and_written),
		cmocka_unit_test(octets_of_a_string_may_be_any),
		cmocka_unit_test(what_is_none_is_told_with_its_place),
		cmocka_unit_test(depth_has_a_limit),
		cmocka_unit_test(json_has_values_that_bencode_has_not),
	};

	return cmocka_run_group_tests_name("bencode", tests, NULL, NULL);
}
