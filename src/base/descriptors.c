/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The limit of file descriptors, and how to raise it.
 */
#include "base/descriptors.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

uint64_t descriptors_limit(void)
{
	struct rlimit files;

	if (getrlimit(RLIMIT_NOFILE, &files) || files.rlim_cur == RLIM_INFINITY)
		return UINT64_MAX;
	return files.rlim_cur;
}

int descriptors_used(uint64_t *n)
{
	static const char path[] = "/proc/self/fd";
	struct stat st;
	DIR *dir;
	const struct dirent *entry;

	if (stat(path, &st))
		return -errno;
	*n = (uint64_t)st.st_size;
	if (*n)
		return 0;
	/* Kernels before 6.2 give no size. */
	dir = opendir(path);
	if (!dir)
		return -errno;
	for (*n = 0; (entry = readdir(dir));)
		*n += entry->d_name[0] != '.';
	(void)closedir(dir);
	--*n; /* its own */
	return 0;
}

void descriptors_raise(void)
{
	struct rlimit files;

	if (getrlimit(RLIMIT_NOFILE, &files))
		return;
	files.rlim_cur = files.rlim_max;
	(void)setrlimit(RLIMIT_NOFILE, &files);
}

int descriptors_standard(void)
{
	for (int fd = 0; fd <= STDERR_FILENO; fd++)
		/* it is the lowest that is free */
		if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", O_RDWR) < 0)
			return -errno;
	return 0;
}

/* Of so many, one. */
enum { CONTROL_PART = 8, WEB_PART = 4, NG_PART = 8, CONVERSIONS_PART = 8 };

static unsigned part(unsigned in, unsigned most)
{
	uint64_t share = descriptors_limit() / in;

	if (share >= most)
		return most;
	return share ? (unsigned)share : 1;
}

unsigned descriptors_for_control(unsigned most)
{
	return part(CONTROL_PART, most);
}

unsigned descriptors_for_web(unsigned most)
{
	return part(WEB_PART, most);
}

unsigned descriptors_for_ng(unsigned most)
{
	return part(NG_PART, most);
}

unsigned descriptors_for_conversions(unsigned most)
{
	return part(CONVERSIONS_PART, most);
}

int descriptors_fail(struct cr_err *e, int err, const char *what)
{
	if (err == -ENFILE)
		return cr_fail(e, err,
			       "%s: the system is out of file descriptors; "
			       "raise the limit with sysctl fs.file-max",
			       what);
	return cr_fail(e, err,
		       "%s: out of file descriptors: limit %" PRIu64
		       " (RLIMIT_NOFILE); raise it with LimitNOFILE= or "
		       "ulimit -n",
		       what, descriptors_limit());
}
