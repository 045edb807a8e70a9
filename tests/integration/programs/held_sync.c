/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Preloaded: a disk whose fsync() returns when somebody says so. It waits until
 * the pipe $HOLD has been opened for writing, and closed again.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

typedef int sync_fd(int fd);

static void wait_for_word(const char *pipe)
{
	char octet;
	int fd = open(pipe, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return;
	while (read(fd, &octet, 1) > 0)
		;
	(void)close(fd);
}

int fsync(int fd)
{
	const char *pipe = getenv("HOLD");
	sync_fd *real = (sync_fd *)dlsym(RTLD_NEXT, "fsync");

	if (pipe)
		wait_for_word(pipe);
	return real(fd);
}
