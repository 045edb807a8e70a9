/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tests of codec kernels need a CPU that runs them: on others the library would
 * be compared with itself.
 */
#ifndef TESTS_KERNELS_NEEDED_H
#define TESTS_KERNELS_NEEDED_H

#include <stdio.h>
#include <stdlib.h>

#include "codecs/kernels/kernels.h"

/** The exit code that ctest takes as "skipped". */
#define TEST_SKIPPED 77

/** A group's setup: ends a program that has no kernels to test. */
static inline int kernels_needed(void **state)
{
	struct cr_err e = { "" };

	if (!cr_kernels_choose(CR_KERNELS_AVX2, &e))
		return 0;
	(void)printf("skipped: %s\n", e.text);
	(void)fflush(stdout);
	exit(TEST_SKIPPED);
}

#endif
