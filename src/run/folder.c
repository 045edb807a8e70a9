/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files of a run, written through stdio: one check at the end sees any error
 * on the way.
 */
#include "run/folder.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "run/json.h"

int run_folder_make(const char *dir, struct cr_err *e)
{
	struct stat is;

	if (mkdir(dir, 0777) == 0)
		return 0;
	if (errno == ENOENT)
		return cr_fail(e, -ENOENT,
			       "%s: the folder that it is to be in is not "
			       "there; make that first (mkdir -p)",
			       dir);
	if (errno != EEXIST || stat(dir, &is))
		return cr_fail(e, -errno, "%s: %s", dir, strerror(errno));
	if (!S_ISDIR(is.st_mode))
		return cr_fail(e, -ENOTDIR,
			       "%s: is there and no folder; name another", dir);
	return 0;
}

int run_file_open(struct run_file *file, const char *dir, const char *name,
		  struct cr_err *e)
{
	int n = snprintf(file->path, sizeof(file->path), "%s/%s", dir, name);

	if (n < 0 || (size_t)n >= sizeof(file->path))
		return cr_fail(e, -ENAMETOOLONG, "%s/%s: %s", dir, name,
			       strerror(ENAMETOOLONG));
	file->f = fopen(file->path, "w");
	return file->f ? 0
		       : cr_fail(e, -errno, "%s: %s", file->path,
				 strerror(errno));
}

int run_file_close(struct run_file *file, struct cr_err *e)
{
	int bad = ferror(file->f);

	bad |= fclose(file->f);
	file->f = NULL;
	return bad ? cr_fail(e, -EIO, "%s: cannot be written (disk full?)",
			     file->path)
		   : 0;
}

int run_folder_write(const char *dir, const json_t *j, struct cr_err *e)
{
	struct run_file file;
	int rc;

	if (!j)
		return cr_fail(e, -ENOMEM, "%s/run.json: out of memory", dir);
	rc = run_file_open(&file, dir, "run.json", e);
	if (rc)
		return rc;
	run_json_print(j, file.f);
	return run_file_close(&file, e);
}
