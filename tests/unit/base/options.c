/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Option text: exact values, exact bounds, errors that show the way out.
 */
#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "base/field.h"
#include "cmocka_cr.h"
#include "cr/time.h"

struct vals {
	int64_t level, quantum, bound, hold, mode;
};

static const char *const modes[] = { "pfair", "erfair", NULL };

static const struct cr_opt table[] = {
	{ "level", "a count", CR_OPT_INT, offsetof(struct vals, level), -5, 40,
	  3, NULL },
	{ "quantum", "one turn", CR_OPT_TIME, offsetof(struct vals, quantum),
	  10 * CR_US, CR_NEVER, CR_MS, NULL },
	{ "bound", "a share", CR_OPT_PPM, offsetof(struct vals, bound), 0,
	  1000000, 970000, NULL },
	{ "hold", "a choice", CR_OPT_BOOL, offsetof(struct vals, hold), 0, 1, 0,
	  NULL },
	{ "mode", "a way", CR_OPT_ENUM, offsetof(struct vals, mode), 0, 1, 0,
	  modes },
	{ NULL, NULL, CR_OPT_INT, 0, 0, 0, 0, NULL },
};

static void check_text(const char *text, const char *want)
{
	struct vals v;
	struct cr_err e = { "" };
	char buf[200];

	options_defaults(table, &v);
	assert_int_equal(options_parse(table, &v, text, &e), 0);
	options_format(table, &v, buf, sizeof(buf));
	assert_string_equal(buf, want);
	/* and what was written reads back */
	assert_int_equal(options_parse(table, &v, buf, &e), 0);
	options_format(table, &v, buf, sizeof(buf));
	assert_string_equal(buf, want);
}

static void values_are_read_exactly_and_written_back(void **state)
{
	check_text(NULL, "level=3,quantum=1ms,bound=97%,hold=no,mode=pfair");
	check_text("", "level=3,quantum=1ms,bound=97%,hold=no,mode=pfair");
	check_text(
		"level=-5,quantum=5.12s,bound=0.123456,hold=yes,mode=erfair",
		"level=-5,quantum=5.12s,bound=12.3456%,hold=yes,mode=erfair");
	check_text("quantum=750us",
		   "level=3,quantum=750us,bound=97%,hold=no,mode=pfair");
	check_text("quantum=0.75ms",
		   "level=3,quantum=750us,bound=97%,hold=no,mode=pfair");
	check_text(
		"quantum=1.000000001s,bound=0.5%",
		"level=3,quantum=1.000000001s,bound=0.5%,hold=no,mode=pfair");
	check_text("quantum=never,bound=1",
		   "level=3,quantum=never,bound=100%,hold=no,mode=pfair");
}

static void check_error(const char *text, const char *says)
{
	struct vals v, before;
	struct cr_err e = { "" };

	options_defaults(table, &v);
	before = v;
	assert_int_equal(options_parse(table, &v, text, &e), -EINVAL);
	if (!strstr(e.text, says))
		fail_msg("'%s' gave '%s', not '%s'", text, e.text, says);
	assert_memory_equal(&v, &before, sizeof(v));
}

static void errors_name_the_key_and_the_way_out(void **state)
{
	check_error("quantm=5ms",
		    "no option 'quantm'; did you mean 'quantum'?");
	check_error("xyzzy=1", "known: level, quantum, bound, hold, mode");
	check_error("quantum=5", "needs a time with its unit (ns, us, ms, s) "
				 "from 10us to never");
	check_error("quantum=9us", "from 10us to never");
	check_error("quantum=1.5ns", "quantum=1.5ns: needs");
	check_error("level=41", "level=41: needs a whole number from -5 to 40");
	check_error("level=4x", "whole number");
	check_error("level=", "whole number");
	check_error("level=--4", "whole number");
	check_error("level=99999999999999999999", "whole number");
	check_error("quantum=9999999999999s", "needs a time");
	check_error("bound=97", "from 0% to 100%");
	check_error("bound=1.2.3%", "a share");
	check_error("hold=perhaps", "needs yes or no");
	check_error("mode=erfare", "did you mean 'erfair'?");
	check_error("level", "'level': write key=value");
	check_error("=4", "write key=value");
	check_error("level=1,,hold=yes", "write key=value");
	check_error("level=1,level=2", "level is given twice");
}

static void one_bad_value_changes_nothing(void **state)
{
	check_error("level=7,quantum=2ms,hold=maybe", "hold=maybe");
}

static void without_a_table_any_key_is_refused(void **state)
{
	struct cr_err e;
	char buf[8] = "x";

	assert_int_equal(options_parse(NULL, NULL, "", &e), 0);
	assert_int_equal(options_parse(NULL, NULL, "a=1", &e), -EINVAL);
	assert_string_equal(e.text, "'a': there are no options here");
	options_format(NULL, NULL, buf, sizeof(buf));
	assert_string_equal(buf, "");
}

static void a_row_describes_itself(void **state)
{
	char buf[100];

	option_describe(&table[1], buf, sizeof(buf));
	assert_string_equal(buf, "quantum=TIME  one turn (10us..never, 1ms)");
	option_describe(&table[3], buf, sizeof(buf));
	assert_string_equal(buf, "hold=yes|no  a choice (no)");
	option_describe(&table[4], buf, sizeof(buf));
	assert_string_equal(buf, "mode=NAME  a way (pfair|erfair, pfair)");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(values_are_read_exactly_and_written_back),
		cmocka_unit_test(errors_name_the_key_and_the_way_out),
		cmocka_unit_test(one_bad_value_changes_nothing),
		cmocka_unit_test(without_a_table_any_key_is_refused),
		cmocka_unit_test(a_row_describes_itself),
	};

	return cmocka_run_group_tests_name("options", tests, NULL, NULL);
}
