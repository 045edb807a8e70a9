/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes and removes the file of a listening socket. The kernel leaves the file
 * of a process that died, and refuses to bind where one is: we look whether
 * somebody listens. Between bind() and listen() a socket looks dead, so
 * processes that do this at one path take turns, by an empty file of theirs
 * beside it. It is there for that moment only. What somebody else has there is
 * left alone, and keeps us from starting: only a folder that others may not
 * write to keeps them from that.
 */
#include "transport/unix_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

int unix_address(struct sockaddr_un *to, const char *path, struct cr_err *e)
{
	size_t bytes = strlen(path);

	if (!bytes)
		return cr_fail(e, -EINVAL, "a socket needs a path");
	if (bytes >= sizeof(to->sun_path))
		return cr_fail(e, -ENAMETOOLONG,
			       "%s: %zu bytes; the path of a socket may have "
			       "%zu",
			       path, bytes, sizeof(to->sun_path) - 1);
	*to = (struct sockaddr_un){ .sun_family = AF_UNIX };
	memcpy(to->sun_path, path, bytes);
	return 0;
}

/* Behind the path: a name that nobody else has for a file of his own, as
 * wrappers have PATH.lock. */
#define LOCK_SUFFIX ".codec-runner-start"

/* A lock that is held. */
struct lock {
	int fd;
	char path[sizeof(((struct sockaddr_un *)0)->sun_path) +
		  sizeof(LOCK_SUFFIX)];
};

/* Is the file that was locked still there by its name? Who has had it before
 * has removed it, and somebody else may have another one by now. */
static bool is_lock_there(const struct lock *l)
{
	struct stat ours, named;

	return !fstat(l->fd, &ours) && !lstat(l->path, &named) &&
	       ours.st_dev == named.st_dev && ours.st_ino == named.st_ino;
}

/* We, or one like us that died, have made it: else it is not ours to remove,
 * nor to wait for. */
static bool is_ours(const struct lock *l)
{
	struct stat st;

	return !fstat(l->fd, &st) && S_ISREG(st.st_mode) &&
	       st.st_uid == geteuid() && !st.st_size;
}

/* 0, or -errno; the file is closed then. */
static int take_lock(const struct lock *l, const char *path, struct cr_err *e)
{
	int err;

	if (!is_ours(l)) {
		(void)close(l->fd);
		return cr_fail(e, -EEXIST,
			       "%s: %s is there and is not ours (an empty file "
			       "of this user)",
			       path, l->path);
	}
	if (!flock(l->fd, LOCK_EX | LOCK_NB))
		return 0;
	err = errno;
	(void)close(l->fd);
	if (err != EWOULDBLOCK)
		return cr_fail(e, -err, "%s: cannot lock %s: %s", path, l->path,
			       strerror(err));
	return cr_fail(e, -EADDRINUSE,
		       "%s: another process has locked %s, as one that starts "
		       "does for a moment; try again, or see lslocks(8)",
		       path, l->path);
}

/* A file, and not the folder: whoever may read that could lock it, and nobody
 * would start any more. */
static int open_lock(struct lock *l, const char *path, struct cr_err *e)
{
	l->fd = open(l->path,
		     O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC,
		     0600);
	if (l->fd < 0)
		return cr_fail(e, -errno, "%s: cannot make %s: %s", path,
			       l->path, strerror(errno));
	return take_lock(l, path, e);
}

/* Nobody else starts at @path until unlock(). */
static int lock(struct lock *l, const char *path, struct cr_err *e)
{
	int rc;

	(void)snprintf(l->path, sizeof(l->path), "%s" LOCK_SUFFIX, path);
	while (!(rc = open_lock(l, path, e)) && !is_lock_there(l))
		(void)close(l->fd);
	return rc;
}

/* How connecting to it ends: 0 or -errno. */
static int knock(const struct sockaddr_un *at)
{
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	int rc = 0;

	if (fd < 0)
		return -errno;
	if (connect(fd, (const struct sockaddr *)at, sizeof(*at)))
		rc = -errno;
	(void)close(fd);
	return rc;
}

/* Nothing is at @at afterwards; or -errno. */
static int clear_path(const struct sockaddr_un *at, struct cr_err *e)
{
	const char *path = at->sun_path;
	struct stat st;
	int rc;

	if (lstat(path, &st))
		return errno == ENOENT ? 0
				       : cr_fail(e, -errno, "%s: %s", path,
						 strerror(errno));
	if (!S_ISSOCK(st.st_mode))
		return cr_fail(e, -EEXIST, "%s: is there and is not a socket",
			       path);
	rc = knock(at);
	if (!rc || rc == -EAGAIN || rc == -EPROTOTYPE)
		return cr_fail(e, -EADDRINUSE,
			       "%s: another process listens there", path);
	if (rc != -ECONNREFUSED)
		return cr_fail(e, rc, "%s: is somebody there? %s", path,
			       strerror(-rc));
	if (unlink(path) && errno != ENOENT)
		return cr_fail(e, -errno,
			       "%s: cannot remove the old socket: %s", path,
			       strerror(errno));
	return 0;
}

/* bind() takes the mode from the socket, less the umask: never more than we
 * want; then the umask's part is given back. */
static int bind_file(int fd, const struct sockaddr_un *at,
		     struct unix_file *mine, struct cr_err *e)
{
	struct stat st;

	if (fchmod(fd, UNIX_FILE_MODE) ||
	    bind(fd, (const struct sockaddr *)at, sizeof(*at)))
		return cr_fail(e, -errno, "%s: %s", at->sun_path,
			       strerror(errno));
	if (lstat(at->sun_path, &st))
		return cr_fail(e, -errno, "%s: %s", at->sun_path,
			       strerror(errno));
	*mine = (struct unix_file){ st.st_dev, st.st_ino };
	if (chmod(at->sun_path, UNIX_FILE_MODE) || listen(fd, SOMAXCONN)) {
		int rc = -errno;

		unix_file_remove(at->sun_path, mine);
		*mine = (struct unix_file){ 0 };
		return cr_fail(e, rc, "%s: %s", at->sun_path, strerror(-rc));
	}
	return 0;
}

int unix_file_listen(int fd, const char *path, struct unix_file *mine,
		     struct cr_err *e)
{
	struct sockaddr_un at;
	int rc = unix_address(&at, path, e);
	struct lock held;

	if (!rc)
		rc = lock(&held, path, e);
	if (rc)
		return rc;
	rc = clear_path(&at, e);
	if (!rc)
		rc = bind_file(fd, &at, mine, e);
	/* Nothing is left of it. */
	(void)unlink(held.path);
	(void)close(held.fd);
	return rc;
}

void unix_file_remove(const char *path, const struct unix_file *mine)
{
	struct stat st;

	if (mine->inode && !lstat(path, &st) && st.st_ino == mine->inode &&
	    st.st_dev == mine->device)
		(void)unlink(path);
}
