/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE /* S_ISVTX */
#include "base/trust.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum trust trust_of(const struct stat *st, struct cr_err *who)
{
	unsigned mode = st->st_mode & 07777;

	if ((mode & S_IWOTH) && !(S_ISDIR(st->st_mode) && (mode & S_ISVTX))) {
		(void)cr_fail(who, 0, "everybody can write it (mode %03o)",
			      mode);
		return TRUST_ANY;
	}
	if (st->st_uid && st->st_uid != geteuid()) {
		(void)cr_fail(who, 0, "it is user %u's", (unsigned)st->st_uid);
		return TRUST_ANY;
	}
	if ((mode & S_IWGRP) && st->st_gid && st->st_gid != getegid()) {
		(void)cr_fail(who, 0, "group %u can write it (mode %03o)",
			      (unsigned)st->st_gid, mode);
		return TRUST_GROUP;
	}
	return TRUST_OWN;
}

enum trust trust_of_path(const char *path, struct cr_err *who)
{
	struct stat st;

	return stat(path, &st) ? TRUST_OWN : trust_of(&st, who);
}

int trust_code(const char *path, struct cr_err *e)
{
	const char *slash = strrchr(path, '/');
	char folder[PATH_MAX];
	struct cr_err who = { "" };

	if (!slash) /* one of the system's libraries */
		return 0;
	(void)snprintf(folder, sizeof(folder), "%.*s", (int)(slash - path) + 1,
		       path);
	if (trust_of_path(path, &who) == TRUST_ANY)
		return cr_fail(e, -ENOEXEC,
			       "%s is not loaded, as %s: chown root, chmod o-w",
			       path, who.text);
	if (trust_of_path(folder, &who) == TRUST_ANY)
		return cr_fail(e, -ENOEXEC,
			       "%s is not loaded, as of its folder %s: chown "
			       "root, chmod o-w",
			       path, who.text);
	return 0;
}
