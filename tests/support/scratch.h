/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Temporary files and folders of a test. They live in one folder per process
 * under $TMPDIR, which goes when the process exits, whatever has failed until
 * then. Each function aborts when the machine will not give it a file.
 */
#ifndef TESTS_SCRATCH_H
#define TESTS_SCRATCH_H

enum { SCRATCH_MAX = 128 }; /**< room for any of their paths */

/** A new, empty file; its path into @path, which is returned. */
char *scratch_file(char path[SCRATCH_MAX]);
/** A new, empty folder; as scratch_file(). */
char *scratch_folder(char path[SCRATCH_MAX]);

#endif
