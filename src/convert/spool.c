/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The spool folder. The walk by openat(2) with O_NOFOLLOW does what openat2(2)
 * would do with RESOLVE_BENEATH, on any kernel and under any seccomp filter.
 */
#define _GNU_SOURCE
#include "convert/spool.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/utf8.h"

#define TEMPORARY ".codec-runner-convert-"

struct temporary {
	char name[sizeof(TEMPORARY) + 16];
};

static struct temporary temporary(uint32_t id)
{
	struct temporary t;

	(void)snprintf(t.name, sizeof(t.name), TEMPORARY "%" PRIu32, id);
	return t;
}

static int clean(int dir)
{
	int fd = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *entry;

	if (!d) {
		int err = -errno;

		if (fd >= 0)
			(void)close(fd);
		return err;
	}
	while ((entry = readdir(d)))
		if (!strncmp(entry->d_name, TEMPORARY, sizeof(TEMPORARY) - 1))
			(void)unlinkat(dir, entry->d_name, 0);
	(void)closedir(d);
	return 0;
}

int spool_open(struct spool *s, const char *path, uint64_t max_bytes,
	       struct cr_err *e)
{
	int dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int err;

	if (dir < 0)
		return cr_fail(e, -errno, "spool %s: %s", path,
			       strerror(errno));
	err = flock(dir, LOCK_EX | LOCK_NB) ? -errno : 0;
	if (err == -EWOULDBLOCK)
		err = cr_fail(e, -EBUSY,
			      "spool %s: another codec-runner uses it; give "
			      "each its own folder",
			      path);
	else if (!err)
		err = clean(dir);
	if (err && err != -EBUSY)
		(void)cr_fail(e, err, "spool %s: %s", path, strerror(-err));
	if (err)
		(void)close(dir);
	else
		*s = (struct spool){ .dir = dir, .max_bytes = max_bytes };
	return err;
}

void spool_close(struct spool *s)
{
	if (s->dir >= 0)
		(void)close(s->dir);
	s->dir = -1;
}

/* The reason that @name is none, or NULL. Names with a dot in front are
 * refused too: so are ".", "..", and our temporaries. Control characters and
 * their like (base/utf8.h) would get at the terminal of whoever lists the
 * conversions. */
static const char *bad_name(const char *name)
{
	if (!*name)
		return "is empty";
	if (strlen(name) >= SPOOL_NAME)
		return "is too long";
	if (*name == '/')
		return "is absolute; names are relative to the spool folder";
	if (!disarm_is_needless(name))
		return "has a character that is not shown, ends a line or "
		       "turns the writing";
	for (const char *p = name; p; p = strchr(p, '/')) {
		p += *p == '/';
		if (*p == '.')
			return "has a part that begins with a dot; names stay "
			       "within the spool folder";
		if (!*p || *p == '/')
			return "has an empty part";
	}
	return NULL;
}

static int complain_spool(const char *name, int err, struct cr_err *e)
{
	if (err == -ELOOP || err == -EMLINK)
		return cr_fail(e, -ELOOP, "%s: symbolic links are not followed",
			       name);
	if (err == -ENOTDIR)
		return cr_fail(e, err,
			       "%s: a part of it is no folder (symbolic links "
			       "are not followed)",
			       name);
	if (err == -ENXIO)
		return cr_fail(e, -EINVAL, "%s: not a regular file", name);
	return cr_fail(e, err, "%s: %s", name, strerror(-err));
}

/* The folder that @name lies in, as a descriptor of its own; *@last is the
 * file's name there. */
static int walk_folders(const struct spool *s, const char *name,
			const char **last, struct cr_err *e)
{
	const char *why = bad_name(name), *slash;
	char part[SPOOL_NAME];
	int dir, next;

	if (why)
		return cr_fail(e, -EINVAL, "'%s' %s", name, why);
	dir = fcntl(s->dir, F_DUPFD_CLOEXEC, 0);
	*last = name;
	while (dir >= 0 && (slash = strchr(*last, '/'))) {
		size_t n = (size_t)(slash - *last);

		memcpy(part, *last, n);
		part[n] = '\0';
		next = openat(dir, part,
			      O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		if (next < 0)
			next = -errno;
		(void)close(dir);
		if (next < 0)
			return complain_spool(name, next, e);
		dir = next;
		*last = slash + 1;
	}
	return dir < 0 ? complain_spool(name, -errno, e) : dir;
}

/* To open a device or a pipe may have effects, so the file is looked at before.
 * It may be another one by the time it is opened: hence O_NONBLOCK, and the
 * look after. Returns a descriptor, or -errno; -ENXIO: not a regular file. */
static int open_regular(int dir, const char *name, struct stat *is)
{
	int fd, err;

	if (fstatat(dir, name, is, AT_SYMLINK_NOFOLLOW))
		return -errno;
	if (!S_ISREG(is->st_mode) && !S_ISLNK(is->st_mode))
		return -ENXIO;
	fd = openat(dir, name,
		    O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	err = fstat(fd, is) ? -errno : S_ISREG(is->st_mode) ? 0 : -ENXIO;
	if (!err)
		return fd;
	(void)close(fd);
	return err;
}

int spool_read(const struct spool *s, const char *name, uint64_t *bytes,
	       struct cr_err *e)
{
	const char *last;
	struct stat is;
	int dir = walk_folders(s, name, &last, e), fd, err;

	if (dir < 0)
		return dir;
	fd = open_regular(dir, last, &is);
	(void)close(dir);
	if (fd < 0)
		return complain_spool(name, fd, e);
	err = 0;
	if (!is.st_size)
		err = cr_fail(e, -EINVAL, "%s: is empty", name);
	else if ((uint64_t)is.st_size > s->max_bytes)
		err = cr_fail(e, -EFBIG,
			      "%s: has %lld bytes, and %" PRIu64
			      " are the most a conversion may read "
			      "(--convert-max-mib)",
			      name, (long long)is.st_size, s->max_bytes);
	if (err) {
		(void)close(fd);
		return err;
	}
	*bytes = (uint64_t)is.st_size;
	return fd;
}

int spool_check(const struct spool *s, const char *name, bool overwrite,
		struct cr_err *e)
{
	const char *last;
	struct stat is;
	int dir = walk_folders(s, name, &last, e), err = 0;

	if (dir < 0)
		return dir;
	if (!fstatat(dir, last, &is, AT_SYMLINK_NOFOLLOW)) {
		if (!S_ISREG(is.st_mode))
			err = cr_fail(e, -EINVAL,
				      "%s: is there and not a regular file",
				      name);
		else if (!overwrite)
			err = cr_fail(e, -EEXIST,
				      "%s: is there already; name another, or "
				      "say overwrite",
				      name);
	} else if (errno != ENOENT) {
		err = complain_spool(name, -errno, e);
	}
	(void)close(dir);
	return err;
}

int spool_create(const struct spool *s, uint32_t id, struct cr_err *e)
{
	struct temporary t = temporary(id);
	int fd = openat(s->dir, t.name,
			O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
			0666);

	return fd < 0 ? complain_spool(t.name, -errno, e) : fd;
}

/* A link fails where a file is; a rename replaces it. Both are atomic. */
static int give_name(const struct spool *s, const struct temporary *t, int dir,
		     const char *last, bool overwrite)
{
	if (overwrite)
		return renameat(s->dir, t->name, dir, last) ? -errno : 0;
	if (linkat(s->dir, t->name, dir, last, 0))
		return -errno;
	(void)unlinkat(s->dir, t->name, 0);
	return 0;
}

int spool_commit(const struct spool *s, uint32_t id, int fd, const char *name,
		 bool overwrite, struct cr_err *e)
{
	struct temporary t = temporary(id);
	const char *last;
	int dir = walk_folders(s, name, &last, e), err;

	if (dir < 0)
		return dir;
	err = fsync(fd) ? -errno : 0;
	if (!err)
		err = give_name(s, &t, dir, last, overwrite);
	/* O_PATH descriptors cannot be synced */
	if (!err) {
		int folder =
			openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

		err = folder < 0 || fsync(folder) ? -errno : 0;
		if (folder >= 0)
			(void)close(folder);
	}
	(void)close(dir);
	return err ? complain_spool(name, err, e) : 0;
}

void spool_discard(const struct spool *s, uint32_t id)
{
	struct temporary t = temporary(id);

	(void)unlinkat(s->dir, t.name, 0);
}
