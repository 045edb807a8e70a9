/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The hint names what was meant, and nothing when nothing is near.
 */
#include <string.h>

#include "base/nearest.h"
#include "cmocka_cr.h"

static const char *const names[] = { "fifo", "rr", "edf", "edf-hsb", NULL };

static void a_slip_finds_the_name(void **state)
{
	assert_string_equal(nearest_name("fifi", names), "fifo");
	assert_string_equal(nearest_name("ffio", names), "fifo");
	assert_string_equal(nearest_name("EDF", names), "edf");
	assert_string_equal(nearest_name("edfhsb", names), "edf-hsb");
	assert_string_equal(nearest_name("r", names), "rr");
}

static void something_else_finds_nothing(void **state)
{
	char longer[200];

	assert_null(nearest_name("quantum", names));
	assert_null(nearest_name("", names));
	memset(longer, 'e', sizeof(longer));
	longer[sizeof(longer) - 1] = '\0';
	assert_null(nearest_name(longer, names));
}

static void equally_near_names_give_the_first(void **state)
{
	static const char *const two[] = { "ab", "ac", NULL };

	assert_string_equal(nearest_name("ad", two), "ab");
}

static void the_hint_lists_all_when_nothing_is_near(void **state)
{
	char buf[64], tiny[12];

	assert_string_equal(nearest_hint("efd", names, buf, sizeof(buf)),
			    "did you mean 'edf'?");
	assert_string_equal(nearest_hint("quantum", names, buf, sizeof(buf)),
			    "known: fifo, rr, edf, edf-hsb");
	/* the last name is whole, too, or not there */
	for (size_t size = sizeof("known: fifo, ..."); size <= sizeof(buf);
	     size++) {
		size_t n = strlen(nearest_hint("quantum", names, buf, size));

		assert_true(n < size);
		assert_true(strstr(buf, ", ...") || strstr(buf, "edf-hsb"));
	}
	assert_string_equal(nearest_hint("quantum", names, tiny, sizeof(tiny)),
			    "known: fifo");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_slip_finds_the_name),
		cmocka_unit_test(something_else_finds_nothing),
		cmocka_unit_test(equally_near_names_give_the_first),
		cmocka_unit_test(the_hint_lists_all_when_nothing_is_near),
	};

	return cmocka_run_group_tests_name("nearest", tests, NULL, NULL);
}
