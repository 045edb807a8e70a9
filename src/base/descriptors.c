/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The limit of file descriptors.
 */
#include "base/descriptors.h"

#include <sys/resource.h>

void descriptors_raise(void)
{
	struct rlimit files;

	if (getrlimit(RLIMIT_NOFILE, &files))
		return;
	files.rlim_cur = files.rlim_max;
	(void)setrlimit(RLIMIT_NOFILE, &files);
}

uint64_t descriptors_limit(void)
{
	struct rlimit files;

	if (getrlimit(RLIMIT_NOFILE, &files) || files.rlim_cur == RLIM_INFINITY)
		return UINT64_MAX;
	return files.rlim_cur;
}
