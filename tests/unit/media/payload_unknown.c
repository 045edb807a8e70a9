/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The count of payload types that stand for nothing.
 */
#include <string.h>

#include "cmocka_cr.h"
#include "media/endpoint.h"

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
		cmocka_unit_test(unknown_types_are_counted_by_number),
		cmocka_unit_test(too_many_types_are_counted_together),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
