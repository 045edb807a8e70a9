/* SPDX-License-Identifier: Apache-2.0 */
/* Times, shares and integers: exactly what was written, or an error. */
#include <errno.h>
#include <stdint.h>

#include "base/units.h"
#include "cmocka_cr.h"

static void times_are_exact(void **state)
{
	static const struct {
		const char *text;
		cr_ns ns;
	} good[] = {
		{ "0", 0 },
		{ "0ms", 0 },
		{ "20ms", 20000000 },
		{ "1.5s", 1500000000 },
		{ "750us", 750000 },
		{ "0.000000001s", 1 },
		{ "0.1us", 100 },
		{ "2min", INT64_C(120000000000) },
		{ "2m", INT64_C(120000000000) },
		{ "1.5h", INT64_C(5400000000000) },
		{ "-3ms", -3000000 },
		{ "9223372036.854775807s", INT64_MAX },
	};
	cr_ns out;

	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		assert_int_equal(units_parse_time(good[i].text, &out), 0);
		assert_int_equal(out, good[i].ns);
	}
}

static void what_is_no_time_is_refused_and_nothing_is_written(void **state)
{
	static const char *const bad[] = {
		"",	 "20",	"ms",	"20 ms", "20msec",	  "1e3ms",
		"1.s",	 ".5s", "0x1s", "--1s",	 "0.0000000001s", "1.5ns",
		"20ms ", "nan"
	};
	cr_ns out = 77;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(units_parse_time(bad[i], &out), -EINVAL);
	assert_int_equal(units_parse_time("9223372036.854775808s", &out),
			 -ERANGE);
	assert_int_equal(units_parse_time("99999999999999999999h", &out),
			 -ERANGE);
	assert_int_equal(out, 77);
}

static void shares_are_exact(void **state)
{
	int64_t out = 77;

	assert_int_equal(units_parse_ppm("97%", &out), 0);
	assert_int_equal(out, 970000);
	assert_int_equal(units_parse_ppm("0.97", &out), 0);
	assert_int_equal(out, 970000);
	assert_int_equal(units_parse_ppm("103.5%", &out), 0);
	assert_int_equal(out, 1035000);
	assert_int_equal(units_parse_ppm("0.0001%", &out), 0);
	assert_int_equal(out, 1);
	assert_int_equal(units_parse_ppm("-50ppm", &out), 0);
	assert_int_equal(out, -50);
	assert_int_equal(units_parse_ppm("0.5ppm", &out), -EINVAL);
	assert_int_equal(units_parse_ppm("0.00001%", &out), -EINVAL);
	assert_int_equal(units_parse_ppm("97 %", &out), -EINVAL);
	assert_int_equal(units_parse_int("-12", &out), 0);
	assert_int_equal(out, -12);
	assert_int_equal(units_parse_int("1.0", &out), -EINVAL);
	assert_int_equal(units_parse_int("", &out), -EINVAL);
	assert_int_equal(units_parse_int("9223372036854775808", &out), -ERANGE);
}

static void what_is_printed_is_read_back(void **state)
{
	static const cr_ns values[] = { 0,
					1,
					999,
					1000,
					1500,
					20000000,
					1500000000,
					1234567891,
					-750000,
					86400000000000,
					INT64_MAX - 1,
					INT64_MIN + 1 };
	char buf[UNITS_TEXT];
	cr_ns out;

	for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
		(void)units_format_time(values[i], buf, sizeof(buf));
		assert_int_equal(units_parse_time(buf, &out), 0);
		assert_int_equal(out, values[i]);
		(void)units_format_ppm(values[i], buf, sizeof(buf));
		assert_int_equal(units_parse_ppm(buf, &out), 0);
		assert_int_equal(out, values[i]);
	}
	assert_string_equal(units_format_time(20000000, buf, sizeof(buf)),
			    "20ms");
	assert_string_equal(units_format_time(1500000000, buf, sizeof(buf)),
			    "1.5s");
	assert_string_equal(units_format_time(CR_NEVER, buf, sizeof(buf)),
			    "never");
	assert_string_equal(units_format_ppm(970000, buf, sizeof(buf)), "97%");
	assert_string_equal(units_format_ppm(-3500, buf, sizeof(buf)),
			    "-0.35%");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(times_are_exact),
		cmocka_unit_test(
			what_is_no_time_is_refused_and_nothing_is_written),
		cmocka_unit_test(shares_are_exact),
		cmocka_unit_test(what_is_printed_is_read_back),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
