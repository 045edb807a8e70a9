/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sandbox PROGRAM [ARGUMENT]...: the program, without io_uring. It is refused
 * as containers refuse it: by a seccomp filter, with EPERM.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include "forbid.h"

int main(int argc, char **argv)
{
	if (argc < 2 || !test_forbid(SYS_io_uring_setup, EPERM))
		return 1;
	(void)execv(argv[1], argv + 1);
	perror(argv[1]);
	return 1;
}
