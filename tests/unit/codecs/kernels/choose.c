/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which kernels a program uses, on a CPU that has what ours need and on one
 * that does not. The choice is compiled into the test, with a CPU of the
 * test's.
 */
#include <cpuid.h>
#include <errno.h>
#include <string.h>

#include "cmocka_cr.h"

static int cpu_has = 1; /* every feature, or none */

#define __builtin_cpu_supports(feature) cpu_has
#define __get_cpuid(leaf, a, b, c, d)                                          \
	(*(a) = *(b) = *(d) = 0, *(c) = cpu_has ? ~0u : 0, 1)
#include "codecs/kernels/kernels.c"

static void a_program_starts_with_the_fastest(void **state)
{
	assert_int_equal(cr_kernels_active(), CR_KERNELS_AVX2);
	assert_null(cr_kernels_missing());
}

static void the_choice_holds_until_the_next(void **state)
{
	assert_int_equal(cr_kernels_choose(CR_KERNELS_STOCK, NULL), 0);
	assert_int_equal(cr_kernels_active(), CR_KERNELS_STOCK);
	assert_int_equal(cr_kernels_choose(CR_KERNELS_AVX2, NULL), 0);
	assert_int_equal(cr_kernels_active(), CR_KERNELS_AVX2);
}

static void a_cpu_without_avx2_has_the_librarys_own(void **state)
{
	struct cr_err e = { "" };

	cpu_has = 0;
	assert_int_equal(cr_kernels_choose(CR_KERNELS_STOCK, NULL), 0);
	assert_int_equal(cr_kernels_choose(CR_KERNELS_AVX2, &e), -ENOTSUP);
	assert_non_null(strstr(e.text, "this CPU lacks AVX2"));
	assert_int_equal(cr_kernels_active(), CR_KERNELS_STOCK);
	assert_int_equal(cr_kernels_choose(CR_KERNELS_AUTO, NULL), 0);
	assert_int_equal(cr_kernels_active(), CR_KERNELS_STOCK);
	assert_non_null(strstr(cr_kernels_missing(), "this CPU lacks AVX2"));
	assert_non_null(strstr(cr_kernels_missing(), "a third of the calls"));
	assert_non_null(strstr(cr_kernels_missing(), "What to do: "));
	cpu_has = 1;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_program_starts_with_the_fastest),
		cmocka_unit_test(the_choice_holds_until_the_next),
		cmocka_unit_test(a_cpu_without_avx2_has_the_librarys_own),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
