/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The run folder: where a run leaves run.json, calls.csv and its trace.
 *
 * Messages name the file and what is wrong with it. Thread rule: a run_file is
 * its opener's; the rest may be called by any thread.
 */
#ifndef RUN_FOLDER_H
#define RUN_FOLDER_H

#include <stdio.h>

#include <jansson.h>

#include "cr/error.h"

/** Longest path of a file in a run folder, with its NUL. */
#define RUN_PATH_MAX 4096u

/** A file that is being written. */
struct run_file {
	FILE *f;
	char path[RUN_PATH_MAX]; /**< for messages */
};

/** Make the folder @dir (one level), unless it is there. 0, or -errno with @e;
 * -ENOTDIR: a file has the name. */
int run_folder_make(const char *dir, struct cr_err *e);

/** Create or replace @dir/@name. 0 and @file (run_file_close()), or -errno with
 * @e: -ENAMETOOLONG or what fopen(3) says. */
int run_file_open(struct run_file *file, const char *dir, const char *name,
		  struct cr_err *e);

/** Close it. 0, or -EIO with @e when not all of it was written: disk full. */
int run_file_close(struct run_file *file, struct cr_err *e);

/** Write @j (borrowed; NULL: -ENOMEM) to @dir/run.json. 0, or -errno with
 * @e. */
int run_folder_write(const char *dir, const json_t *j, struct cr_err *e);

#endif
