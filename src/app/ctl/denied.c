/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The group that may is the socket's; or its folder's, which keeps us from
 * looking at the socket.
 */
#include "app/ctl/denied.h"

#include <errno.h>
#include <grp.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int look_at_folder(const char *path, struct stat *st)
{
	const char *slash = strrchr(path, '/');
	char folder[PATH_MAX] = ".";

	if (slash)
		(void)snprintf(folder, sizeof(folder), "%.*s",
			       (int)(slash - path) + 1, path);
	return stat(folder, st);
}

/* The group whose members may connect, or NULL: no group that people join. */
static const char *group_of(const char *path)
{
	const struct group *g;
	struct stat st;

	mode_t right = S_IWGRP;

	if (stat(path, &st)) {
		right = S_IXGRP;
		if (errno != EACCES || look_at_folder(path, &st))
			return NULL;
	}
	if (!st.st_gid || !(st.st_mode & right))
		return NULL;
	g = getgrgid(st.st_gid);
	return g ? g->gr_name : NULL;
}

bool denied_by(const char *path, char *way, size_t size)
{
	const char *group;
	struct stat st;

	if (!access(path, W_OK) || errno != EACCES)
		return false;
	if (!stat(path, &st) && !S_ISSOCK(st.st_mode)) {
		(void)snprintf(way, size, "it is no socket, name one (%s/...)",
			       path);
		return true;
	}
	group = group_of(path);
	if (group)
		(void)snprintf(way, size,
			       "members of the group %s may: sudo usermod -aG "
			       "%s $USER and log in again, or use sudo",
			       group, group);
	else
		(void)snprintf(way, size, "use sudo");
	return true;
}
