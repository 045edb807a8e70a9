/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program that was built without kernels knows it and says why. The choice is
 * compiled into the test, with a cmake's words of the test's.
 */
#include <errno.h>
#include <string.h>

#include "cmocka_cr.h"

#undef CR_HAVE_KERNELS
#include "codecs/kernels/kernels.c"

static void it_says_what_cmake_said(void **state)
{
	assert_string_equal(cr_kernels_missing(),
			    "a \"reason\".\nWhat to do: x");
}

static void it_has_the_librarys_own_only(void **state)
{
	struct cr_err e = { "" };

	assert_int_equal(cr_kernels_active(), CR_KERNELS_STOCK);
	assert_int_equal(cr_kernels_choose(CR_KERNELS_AVX2, &e), -ENOTSUP);
	assert_non_null(strstr(e.text, "built without them"));
	assert_int_equal(cr_kernels_choose(CR_KERNELS_AUTO, NULL), 0);
	assert_int_equal(cr_kernels_active(), CR_KERNELS_STOCK);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(it_says_what_cmake_said),
		cmocka_unit_test(it_has_the_librarys_own_only),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
