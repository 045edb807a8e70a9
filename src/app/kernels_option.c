/* SPDX-License-Identifier: Apache-2.0 */
/*
 * --codec-kernels taken at its word.
 */
#include "app/kernels_option.h"

#include <stdio.h>
#include <stdlib.h>

void kernels_option_use(const char *program, enum cr_kernels want)
{
	struct cr_err e;

	if (!cr_kernels_choose(want, &e))
		return;
	(void)fprintf(stderr, "%s: --codec-kernels: %s\n", program, e.text);
	exit(2);
}
