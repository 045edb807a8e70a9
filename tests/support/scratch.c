/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "scratch.h"

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static char top[SCRATCH_MAX - 16];
static pid_t owner; /* children that exit() leave the folder alone */
static unsigned made;

static void give_up(const char *what)
{
	perror(what);
	abort();
}

static int remove_one(const char *path, const struct stat *is, int kind,
		      struct FTW *where)
{
	(void)is, (void)kind, (void)where;
	return remove(path);
}

static void remove_all(void)
{
	if (getpid() == owner)
		(void)nftw(top, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

static void open_top(void)
{
	const char *tmp = getenv("TMPDIR");
	int n = snprintf(top, sizeof(top), "%s/cr-test-XXXXXX",
			 tmp && *tmp ? tmp : "/tmp");

	if (n >= (int)sizeof(top) || !mkdtemp(top))
		give_up("a folder under TMPDIR for the test's files");
	owner = getpid();
	if (atexit(remove_all))
		give_up("atexit");
}

static char *new_path(char *path)
{
	if (!*top)
		open_top();
	(void)snprintf(path, SCRATCH_MAX, "%s/%u", top, ++made);
	return path;
}

char *scratch_file(char path[SCRATCH_MAX])
{
	FILE *f = fopen(new_path(path), "wx");

	if (!f || fclose(f))
		give_up(path);
	return path;
}

char *scratch_folder(char path[SCRATCH_MAX])
{
	if (mkdir(new_path(path), 0700))
		give_up(path);
	return path;
}
