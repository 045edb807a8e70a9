/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The spool: the one folder whose files conversions read and write.
 *
 * Names are relative and walked component by component without following
 * symbolic links, so nothing outside the folder can be reached, not even by
 * links or by folders that are swapped meanwhile. Output grows under a
 * temporary name in the spool's root and gets its own by an atomic link or
 * rename after fsync: a crash leaves no half file under a final name. What it
 * does leave is removed when the spool is opened again; a lock on the folder
 * keeps a second daemon from doing that to a running one.
 *
 * Thread rule: constant after spool_open(); the rest may be called by any
 * thread. All of it may block on the disk.
 */
#ifndef CONVERT_SPOOL_H
#define CONVERT_SPOOL_H

#include <stdbool.h>
#include <stdint.h>

#include "cr/error.h"

/** Longest name of a file within the spool, with its NUL. */
#define SPOOL_NAME 256u

struct spool {
	int dir;	    /**< the folder; -1: closed               */
	uint64_t max_bytes; /**< largest file that is read            */
};

/** Open and lock the folder @path and remove left-over temporaries. Returns 0;
 * -EBUSY: another daemon has it; or another -errno; with @e. */
int spool_open(struct spool *s, const char *path, uint64_t max_bytes,
	       struct cr_err *e);
void spool_close(struct spool *s); /**< twice is fine */

/** Open file @name to read. Returns a descriptor and sets *@bytes to its size;
 * or -errno with @e: a name that leaves the spool, no such file, not a regular
 * one, empty, larger than max_bytes. */
int spool_read(const struct spool *s, const char *name, uint64_t *bytes,
	       struct cr_err *e);

/** May a file @name be made? 0, or -errno with @e: a bad name, no such folder,
 * there already and not @overwrite. */
int spool_check(const struct spool *s, const char *name, bool overwrite,
		struct cr_err *e);

/** Make the temporary file of conversion @id. A descriptor, or -errno with @e.
 */
int spool_create(const struct spool *s, uint32_t id, struct cr_err *e);

/** The temporary file of conversion @id, complete and open as @fd, becomes
 * @name. Returns 0, or -errno with @e: then it is still the temporary, or
 * complete under a name that may not outlast a power cut. */
int spool_commit(const struct spool *s, uint32_t id, int fd, const char *name,
		 bool overwrite, struct cr_err *e);

/** Remove the temporary file of conversion @id. */
void spool_discard(const struct spool *s, uint32_t id);

#endif
