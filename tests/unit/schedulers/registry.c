/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finding policies by name and loading outside ones; what goes wrong is said
 * so that a person can mend it. PLUGINS is the folder of the built objects.
 */
#include <errno.h>

#include "schedulers/registry.h"
#include "steps.h"

static void built_in_ones_are_found_with_their_options(void **state)
{
	const struct cr_sched_ops *ops = NULL;
	const char *opts = NULL;

	for (unsigned i = 0; cr_schedulers[i]; i++) {
		assert_int_equal(cr_scheduler_find(cr_schedulers[i]->name, &ops,
						   &opts, NULL),
				 0);
		assert_ptr_equal(ops, cr_schedulers[i]);
		assert_string_equal(opts, "");
	}
	assert_int_equal(cr_scheduler_find("rr,quantum=5ms", &ops, &opts, NULL),
			 0);
	assert_string_equal(ops->name, "rr");
	assert_string_equal(opts, "quantum=5ms");
}

static void check_error(const char *spec, int code, const char *says)
{
	const struct cr_sched_ops *ops = NULL;
	const char *opts = NULL;
	struct cr_err e = { "" };

	assert_int_equal(cr_scheduler_find(spec, &ops, &opts, &e), code);
	if (!strstr(e.text, says))
		fail_msg("'%s' gave '%s', not '%s'", spec, e.text, says);
	assert_null(ops);
	assert_null(opts);
}

static void unknown_names_get_the_nearest(void **state)
{
	char longer[2000];

	check_error("efd", -ENOENT, "no scheduler 'efd'; did you mean 'edf'?");
	check_error("", -ENOENT, "known: fifo, rr, edf");
	memset(longer, 'x', sizeof(longer));
	longer[sizeof(longer) - 1] = '\0';
	check_error(longer, -ENOENT, "too long");
}

static void what_is_no_policy_does_not_load(void **state)
{
	check_error("./no-such.so", -ENOEXEC, "no-such.so");
	check_error(PLUGINS "/bad_symbol.so", -ENOEXEC,
		    "exports no 'cr_sched_plugin'");
	check_error(PLUGINS "/bad_abi.so", -ENOEXEC,
		    "was built for scheduler ABI 8, this program has 7");
	check_error(PLUGINS "/bad_pick.so", -ENOEXEC,
		    "enqueue, dequeue, pick and stop are mandatory");
	check_error(PLUGINS "/bad_size.so", -ENOEXEC, "above CR_TASK_PRIV");
	check_error(PLUGINS "/bad_option.so", -ENOEXEC, "outside opts_size");
	check_error(PLUGINS "/bad_options.so", -ENOEXEC,
		    "more than 128 options");
}

static void the_example_loads_and_schedules(void **state)
{
	static const struct step_job job[3][1] = { { { 0, 3, 99 } },
						   { { 1, 2, 99 } },
						   { { 2, 1, 99 } } };
	struct steps *s = calloc(1, sizeof(*s));
	const char *opts;
	struct cr_err e = { "" };

	assert_non_null(s);
	if (cr_scheduler_find(PLUGINS "/lifo.so,", &s->ops, &opts, &e))
		fail_msg("%s", e.text);
	assert_string_equal(s->ops->name, "lifo");
	assert_string_equal(opts, "");
	s->ncpu = 1;
	for (unsigned i = 0; i < 3; i++)
		steps_add(s, CR_SOFT, job[i], 1);
	steps_run(s, 7);
	assert_string_equal(s->line[0], "AAACBB.");
	free(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(built_in_ones_are_found_with_their_options),
		cmocka_unit_test(unknown_names_get_the_nearest),
		cmocka_unit_test(what_is_no_policy_does_not_load),
		cmocka_unit_test(the_example_loads_and_schedules),
	};

	return cmocka_run_group_tests_name("registry", tests, NULL, NULL);
}
