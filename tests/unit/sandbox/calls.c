/* SPDX-License-Identifier: Apache-2.0 */
/* The lists of system calls mean what they say. */
#include <seccomp.h>
#include <string.h>

#include "cmocka_cr.h"
#include "sandbox/sandbox.h"

/* Newer than the library of Debian 12. */
static const char *const newer[] = { "futex_wait", "futex_wake",
				     "futex_requeue", NULL };

static bool is_in(const char *name, const char *const *list)
{
	for (; *list; list++)
		if (!strcmp(name, *list))
			return true;
	return false;
}

static void known(const char *name)
{
	if (seccomp_syscall_resolve_name(name) == __NR_SCMP_ERROR &&
	    !is_in(name, newer))
		fail_msg("there is no system call %s", name);
}

static void test_names_are_those_of_system_calls(void **state)
{
	const struct syscall_rule *const lists[] = { calls_needed, calls_uring,
						     calls_refused };
	unsigned n = 0;

	for (unsigned i = 0; i < sizeof(lists) / sizeof(lists[0]); i++)
		for (const struct syscall_rule *c = lists[i]; c->name; c++, n++)
			known(c->name);
	assert_true(n > 150);
	for (n = 0; calls_hostile[n]; n++)
		known(calls_hostile[n]);
	assert_true(n > 40);
	/* it would have reported that */
	assert_int_equal(seccomp_syscall_resolve_name("execute"),
			 __NR_SCMP_ERROR);
}

static void test_what_is_hostile_is_never_needed(void **state)
{
	for (const struct syscall_rule *c = calls_needed; c->name; c++)
		assert_false(is_in(c->name, calls_hostile));
	assert_true(is_in("execve", calls_hostile));
	assert_true(is_in("ptrace", calls_hostile));
}

/* A second row without conditions would make the conditions of the first one
 * meaningless; a row twice is an oversight. */
static void test_no_row_takes_back_another_ones_conditions(void **state)
{
	for (const struct syscall_rule *a = calls_needed; a->name; a++)
		for (const struct syscall_rule *b = a + 1; b->name; b++) {
			if (strcmp(a->name, b->name))
				continue;
			assert_true(a->own || a->only[0].mask);
			assert_true(b->own || b->only[0].mask);
			assert_memory_not_equal(a, b, sizeof(*a));
		}
}

static void test_what_is_refused_has_an_answer(void **state)
{
	for (const struct syscall_rule *c = calls_refused; c->name; c++)
		assert_true(c->err > 0);
	for (const struct syscall_rule *c = calls_needed; c->name; c++)
		assert_int_equal(c->err, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_names_are_those_of_system_calls),
		cmocka_unit_test(test_what_is_hostile_is_never_needed),
		cmocka_unit_test(
			test_no_row_takes_back_another_ones_conditions),
		cmocka_unit_test(test_what_is_refused_has_an_answer),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
