/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which files a list of names, folders and glob patterns means.
 */
#include "speech/find.h"

#include <dirent.h>
#include <errno.h>
#include <glob.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

enum {
	MAX_DEPTH = 16, /* of folders: a symbolic link may lead in a circle */
};

bool find_suffix(const char *path, const char *suffix)
{
	size_t n = strlen(path), m = strlen(suffix);

	return n > m && !strcasecmp(path + n - m, suffix);
}

static int add_file(struct find_list *list, const char *path, bool named,
		    struct cr_err *e)
{
	if (list->n == list->room) {
		size_t room = list->room ? 2 * list->room : 64;
		struct find_file *files =
			realloc(list->files, room * sizeof(*files));

		if (!files)
			return cr_fail(e, -ENOMEM, "speech: out of memory");
		list->files = files;
		list->room = room;
	}
	list->files[list->n].path = strdup(path);
	if (!list->files[list->n].path)
		return cr_fail(e, -ENOMEM, "speech: out of memory");
	list->files[list->n++].named = named;
	return 0;
}

static int add_folder(struct find_list *list, const char *folder,
		      unsigned depth, struct cr_err *e);

/* A folder's entry: another folder, a recording, or nothing of ours. */
static int add_entry(struct find_list *list, const char *path, unsigned depth,
		     struct cr_err *e)
{
	struct stat st;

	if (stat(path, &st))
		return 0;
	if (S_ISDIR(st.st_mode))
		return depth < MAX_DEPTH ? add_folder(list, path, depth + 1, e)
					 : 0;
	if (S_ISREG(st.st_mode) &&
	    (find_suffix(path, ".wav") || find_suffix(path, ".g722")))
		return add_file(list, path, false, e);
	return 0;
}

static int add_folder(struct find_list *list, const char *folder,
		      unsigned depth, struct cr_err *e)
{
	DIR *dir = opendir(folder);
	char path[PATH_MAX];
	struct dirent *entry;
	int ret = 0;

	if (!dir)
		return cr_fail(e, -EIO, "speech: %s: %s", folder,
			       strerror(errno));
	while (!ret && (entry = readdir(dir))) {
		int len = snprintf(path, sizeof(path), "%s/%s", folder,
				   entry->d_name);

		if (entry->d_name[0] == '.' || len < 0 ||
		    (size_t)len >= sizeof(path))
			continue;
		ret = add_entry(list, path, depth, e);
	}
	(void)closedir(dir);
	return ret;
}

static int add_glob(struct find_list *list, const char *pattern,
		    struct cr_err *e)
{
	glob_t found;
	int ret = glob(pattern, 0, NULL, &found);

	if (ret == GLOB_NOMATCH)
		return cr_fail(e, -ENOENT,
			       "speech: %s: no such file, folder or match",
			       pattern);
	if (ret)
		return cr_fail(e, ret == GLOB_NOSPACE ? -ENOMEM : -EIO,
			       "speech: %s: cannot be searched", pattern);
	for (size_t i = 0; !ret && i < found.gl_pathc; i++)
		ret = add_entry(list, found.gl_pathv[i], 0, e);
	globfree(&found);
	return ret;
}

int find_add(struct find_list *list, const char *pattern, struct cr_err *e)
{
	struct stat st;

	if (stat(pattern, &st))
		return add_glob(list, pattern, e);
	if (S_ISDIR(st.st_mode))
		return add_folder(list, pattern, 0, e);
	return add_file(list, pattern, true, e);
}

static int by_path(const void *a, const void *b)
{
	const struct find_file *x = a, *y = b;

	return strcmp(x->path, y->path);
}

void find_sort(struct find_list *list)
{
	size_t kept = 0;

	if (list->n)
		qsort(list->files, list->n, sizeof(*list->files), by_path);
	for (size_t i = 0; i < list->n; i++) {
		struct find_file *f = &list->files[i];

		if (kept && !strcmp(list->files[kept - 1].path, f->path)) {
			list->files[kept - 1].named |= f->named;
			free(f->path);
		} else {
			list->files[kept++] = *f;
		}
	}
	list->n = kept;
}

void find_fini(struct find_list *list)
{
	for (size_t i = 0; i < list->n; i++)
		free(list->files[i].path);
	free(list->files);
	*list = (struct find_list){ 0 };
}
