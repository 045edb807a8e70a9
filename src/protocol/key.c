/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The key's file: one line, for its owner and a group that may read.
 */
#define _GNU_SOURCE /* mkostemp */
#include "protocol/key.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/address.h"
#include "base/random.h"

enum { RANDOM_OCTETS = 32 };

/* ~/.codec-runner/control.key. Not by the environment: su and sudo may leave
 * that of another user. */
static int own_path(char *path, size_t size, bool make, struct cr_err *e)
{
	const struct passwd *p = getpwuid(geteuid());
	int n;

	if (!p || !p->pw_dir || *p->pw_dir != '/')
		return cr_fail(e, -ENOENT, "user %u has no home",
			       (unsigned)geteuid());
	n = snprintf(path, size, "%s/.codec-runner", p->pw_dir);
	if (n < 0 || (size_t)n + sizeof("/control.key") > size)
		return cr_fail(e, -ENAMETOOLONG, "%s: too long", p->pw_dir);
	if (make && mkdir(path, 0700) && errno != EEXIST)
		return cr_fail(e, -errno, "%s: %s", path, strerror(errno));
	(void)strcat(path, "/control.key");
	return 0;
}

/* A user who may write it controls the node; so does one who may read it. */
static int check_file(int fd, const char *path, struct cr_err *e)
{
	struct stat st;

	if (fstat(fd, &st))
		return cr_fail(e, -errno, "%s: %s", path, strerror(errno));
	if (!S_ISREG(st.st_mode))
		return cr_fail(e, -EINVAL, "%s: is no file", path);
	if (st.st_mode & (S_IRWXO | S_IWGRP))
		return cr_fail(e, -EACCES,
			       "%s: others can read or write the key (mode "
			       "%03o): chmod 600 it, or 640",
			       path, (unsigned)st.st_mode & 0777);
	if (st.st_uid && st.st_uid != geteuid())
		return cr_fail(e, -EACCES,
			       "%s: the key is user %u's: chown it to root, or "
			       "to the user that starts the daemon",
			       path, (unsigned)st.st_uid);
	return 0;
}

/* Its first line. */
static int read_key_line(int fd, char key[KEY_SIZE], const char *path,
			 struct cr_err *e)
{
	ssize_t n = read(fd, key, KEY_SIZE - 1);

	if (n < 0)
		return cr_fail(e, -errno, "%s: %s", path, strerror(errno));
	key[n] = '\0';
	n = (ssize_t)strcspn(key, "\r\n");
	if (n < KEY_LEAST || n == KEY_SIZE - 1)
		return cr_fail(e, -EINVAL,
			       "%s: its first line should be a key of %d to %d "
			       "characters",
			       path, KEY_LEAST, KEY_SIZE - 2);
	key[n] = '\0';
	return 0;
}

/* -ENOENT: it is not there. */
static int read_key_file(char key[KEY_SIZE], const char *path, bool serve,
			 struct cr_err *e)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	int err = 0;

	if (fd < 0)
		return cr_fail(e, -errno, "%s: %s", path, strerror(errno));
	if (serve)
		err = check_file(fd, path, e);
	if (!err)
		err = read_key_line(fd, key, path, e);
	(void)close(fd);
	return err;
}

static int write_key_line(int fd)
{
	char line[2 * RANDOM_OCTETS + 2];
	uint8_t octet[RANDOM_OCTETS];
	size_t n = 0;

	random_fill(octet, sizeof(octet));
	for (unsigned i = 0; i < RANDOM_OCTETS; i++)
		n += (size_t)snprintf(line + n, sizeof(line) - n, "%02x",
				      octet[i]);
	line[n++] = '\n';
	if (write(fd, line, n) == (ssize_t)n)
		return 0;
	return errno ? -errno : -ENOSPC;
}

/* Whole or not at all: another daemon of the user may start just now, whose
 * key is as good. */
static int make_key(const char *path, struct cr_err *e)
{
	char fresh[PATH_MAX];
	int fd, err;

	if (snprintf(fresh, sizeof(fresh), "%s.XXXXXX", path) >=
	    (int)sizeof(fresh))
		return cr_fail(e, -ENAMETOOLONG, "%s: too long", path);
	fd = mkostemp(fresh, O_CLOEXEC);
	if (fd < 0)
		return cr_fail(e, -errno, "%s: %s", path, strerror(errno));
	errno = 0;
	err = write_key_line(fd);
	if (!err && link(fresh, path) && errno != EEXIST)
		err = -errno;
	(void)close(fd);
	(void)unlink(fresh);
	return err ? cr_fail(e, err, "%s: %s", path, strerror(-err)) : 0;
}

int key_serve(char key[KEY_SIZE], const char *path, struct cr_err *e)
{
	char own[PATH_MAX];
	int err;

	if (!path) {
		err = own_path(own, sizeof(own), true, e);
		if (err)
			return err;
		path = own;
	}
	err = read_key_file(key, path, true, e);
	if (err != -ENOENT)
		return err;
	err = make_key(path, e);
	return err ? err : read_key_file(key, path, true, e);
}

static bool is_here(const struct transport_addr *to)
{
	struct sockaddr_storage a;

	return !strcmp(to->host, "localhost") ||
	       (!address_parse_host(to->host, &a) && address_loopback(&a));
}

int key_show(char key[KEY_SIZE], const char *path,
	     const struct transport_addr *to, struct cr_err *e)
{
	char own[PATH_MAX];
	int err;

	*key = '\0';
	if (*to->path)
		return 0;
	if (path)
		return read_key_file(key, path, false, e);
	if (!is_here(to) || own_path(own, sizeof(own), false, NULL))
		return 0;
	err = read_key_file(key, own, false, e);
	return err == -ENOENT ? 0 : err;
}

bool key_matches(const char key[KEY_SIZE], const char *said)
{
	size_t has = strlen(key), n = strlen(said);
	unsigned differs = has != n;

	for (size_t i = 0; i < n; i++)
		differs |= (unsigned char)said[i] ^
			   (unsigned char)key[has ? i % has : 0];
	return !differs;
}
