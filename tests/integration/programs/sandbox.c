/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sandbox io_uring|seccomp PROGRAM [ARGUMENT]...: the program, without that. It
 * is refused as containers refuse it: by a seccomp filter, with EPERM.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "forbid.h"

int main(int argc, char **argv)
{
	long call;

	if (argc < 3)
		return 1;
	call = strcmp(argv[1], "seccomp") ? SYS_io_uring_setup : SYS_seccomp;
	if (!test_forbid(call, EPERM))
		return 1;
	(void)execv(argv[2], argv + 2);
	perror(argv[2]);
	return 1;
}
