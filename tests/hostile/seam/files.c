/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files that cannot be opened, read, written, kept, cut, linked, renamed or
 * deleted. What the C library does inside is not seen.
 */
#define _GNU_SOURCE
#include "seam_impl.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* What wakes threads up and what signals write is never full, nor broken. */
static bool is_file(int fd)
{
	struct stat st;

	return !syscall(SYS_fstat, fd, &st) && S_ISREG(st.st_mode);
}

/* O_TMPFILE has O_DIRECTORY in it. */
static mode_t mode_of(int flags, va_list more)
{
	bool has = flags & O_CREAT || (flags & O_TMPFILE) == O_TMPFILE;

	return has ? (mode_t)va_arg(more, int) : 0;
}

int open(const char *path, int flags, ...)
{
	va_list more;
	mode_t mode;

	NEXT(open);
	va_start(more, flags);
	mode = mode_of(flags, more);
	va_end(more);
	FAIL(SEAM_DESCRIPTOR, EMFILE, -1)
	return next(path, flags, mode);
}

int openat(int folder, const char *path, int flags, ...)
{
	va_list more;
	mode_t mode;

	NEXT(openat);
	va_start(more, flags);
	mode = mode_of(flags, more);
	va_end(more);
	FAIL(SEAM_DESCRIPTOR, EMFILE, -1)
	return next(folder, path, flags, mode);
}

ssize_t write(int fd, const void *data, size_t bytes)
{
	NEXT(write);
	if (seam_armed() && is_file(fd))
		FAIL(SEAM_WRITE, ENOSPC, -1)
	return next(fd, data, bytes);
}

ssize_t pwrite(int fd, const void *data, size_t bytes, off_t at)
{
	NEXT(pwrite);
	FAIL(SEAM_WRITE, ENOSPC, -1)
	return next(fd, data, bytes, at);
}

ssize_t read(int fd, void *data, size_t bytes)
{
	NEXT(read);
	if (seam_armed() && is_file(fd))
		FAIL(SEAM_FILE, EIO, -1)
	return next(fd, data, bytes);
}

ssize_t pread(int fd, void *data, size_t bytes, off_t at)
{
	NEXT(pread);
	FAIL(SEAM_FILE, EIO, -1)
	return next(fd, data, bytes, at);
}

FILE *fopen(const char *path, const char *how)
{
	NEXT(fopen);
	FAIL(SEAM_DESCRIPTOR, EMFILE, NULL)
	return next(path, how);
}

DIR *opendir(const char *path)
{
	NEXT(opendir);
	FAIL(SEAM_DESCRIPTOR, EMFILE, NULL)
	return next(path);
}

int fstat(int fd, struct stat *is)
{
	NEXT(fstat);
	FAIL(SEAM_FILE, EIO, -1)
	return next(fd, is);
}

int fstatat(int folder, const char *path, struct stat *is, int flags)
{
	NEXT(fstatat);
	FAIL(SEAM_FILE, EIO, -1)
	return next(folder, path, is, flags);
}

int stat(const char *path, struct stat *is)
{
	NEXT(stat);
	FAIL(SEAM_FILE, EIO, -1)
	return next(path, is);
}

int lstat(const char *path, struct stat *is)
{
	NEXT(lstat);
	FAIL(SEAM_FILE, EIO, -1)
	return next(path, is);
}

int fsync(int fd)
{
	NEXT(fsync);
	FAIL(SEAM_FILE, EIO, -1)
	return next(fd);
}

int ftruncate(int fd, off_t bytes)
{
	NEXT(ftruncate);
	FAIL(SEAM_FILE, EIO, -1)
	return next(fd, bytes);
}

int fchmod(int fd, mode_t mode)
{
	NEXT(fchmod);
	FAIL(SEAM_FILE, EIO, -1)
	return next(fd, mode);
}

int chmod(const char *path, mode_t mode)
{
	NEXT(chmod);
	FAIL(SEAM_FILE, EIO, -1)
	return next(path, mode);
}

int linkat(int from, const char *old, int to, const char *path, int flags)
{
	NEXT(linkat);
	FAIL(SEAM_FILE, EIO, -1)
	return next(from, old, to, path, flags);
}

int renameat(int from, const char *old, int to, const char *path)
{
	NEXT(renameat);
	FAIL(SEAM_FILE, EIO, -1)
	return next(from, old, to, path);
}

int unlinkat(int folder, const char *path, int flags)
{
	NEXT(unlinkat);
	FAIL(SEAM_FILE, EIO, -1)
	return next(folder, path, flags);
}

int unlink(const char *path)
{
	NEXT(unlink);
	FAIL(SEAM_FILE, EIO, -1)
	return next(path);
}
