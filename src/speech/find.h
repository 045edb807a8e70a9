/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which files a list of names, folders and glob patterns means. Only for
 * src/speech.
 */
#ifndef SPEECH_FIND_H
#define SPEECH_FIND_H

#include <stdbool.h>
#include <stddef.h>

#include "cr/error.h"

struct find_file {
	char *path;
	bool named; /**< by itself, not found in a folder or by a pattern */
};

/** Files found so far. Zero is empty. */
struct find_list {
	struct find_file *files;
	size_t n, room;
};

/**
 * Add what @pattern means: a file, a folder (its .wav and .g722 files and those
 * of all folders below), or a glob pattern of both. Returns 0; -ENOENT
 * (nothing there), -EIO, -ENOMEM with @e.
 */
int find_add(struct find_list *list, const char *pattern, struct cr_err *e);

/** Sort by path, octet by octet, and drop files found twice. */
void find_sort(struct find_list *list);

/** Free everything; the list is empty then. */
void find_fini(struct find_list *list);

/** Does @path end in @suffix (".wav"), in either case? Pure. */
bool find_suffix(const char *path, const char *suffix);

#endif
