/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where a simulation is written: one folder, or one for each scheduler in it.
 */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "cmocka_cr.h"
#include "scratch.h"
#include "sim/sim_report.h"

static void alone_it_is_the_folder_given(void **state)
{
	char out[SCRATCH_MAX], dir[RUN_PATH_MAX];
	struct cr_err e;

	(void)scratch_folder(out);
	assert_int_equal(sim_folder_make(out, NULL, dir, &e), 0);
	assert_string_equal(dir, out);
}

static void several_share_it_under_harmless_names(void **state)
{
	char top[SCRATCH_MAX], out[SCRATCH_MAX + 8];
	char dir[RUN_PATH_MAX];
	char want[SCRATCH_MAX + 40];
	struct cr_err e;

	(void)snprintf(out, sizeof(out), "%s/o,p",
		       scratch_folder(top)); /* kept as given */
	(void)snprintf(want, sizeof(want), "%s/a-b.so_x=1.5ms", out);
	assert_int_equal(sim_folder_make(out, "../a-b.so,x=1.5ms", dir, &e), 0);
	assert_string_equal(dir, want);
	assert_int_equal(rmdir(dir), 0);
	assert_int_equal(rmdir(out), 0); /* it was the only one */
}

static void no_folder_is_hidden_or_above(void **state)
{
	static const char *const names[][2] = {
		{ "edf", "edf" },
		{ "rr,quantum=5ms", "rr_quantum=5ms" },
		{ "./x.so,boost=5", "x.so_boost=5" },
		{ "../../mine/.x.so", "mine_.x.so" },
		{ "/opt/x.so,a=../b", "opt_x.so_a=.._b" },
	};
	char name[RUN_PATH_MAX];

	for (unsigned i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		sim_folder_name(names[i][0], name);
		assert_string_equal(name, names[i][1]);
	}
}

static void a_name_too_long_is_told(void **state)
{
	char out[RUN_PATH_MAX - 3], dir[RUN_PATH_MAX];
	struct cr_err e;

	memset(out, '/', sizeof(out));
	out[sizeof(out) - 1] = '\0';
	assert_int_equal(sim_folder_make(out, "edf", dir, &e), -ENAMETOOLONG);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(alone_it_is_the_folder_given),
		cmocka_unit_test(several_share_it_under_harmless_names),
		cmocka_unit_test(no_folder_is_hidden_or_above),
		cmocka_unit_test(a_name_too_long_is_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
