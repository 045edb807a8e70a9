/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The WAV files that a campaign's conversions read, in the daemon's spool
 * folder: recorded speech, so long as the campaign says, every file's its own.
 * They are made before the campaign begins and removed after it.
 */
#ifndef FEEDER_CONVERSION_FILES_H
#define FEEDER_CONVERSION_FILES_H

#include "campaign/campaign.h"
#include "cr/error.h"

/** Longest name of a file in the spool folder, with its NUL. */
#define CONVERSION_NAME 64u

struct conversion_files {
	const char *spool; /**< the folder, as this program sees it         */
	char tag[32];	   /**< how all names begin: no other run's do      */
	int64_t count;	   /**< made so far                                 */
};

/** What they are made of. */
struct conversion_speech {
	const struct campaign *campaign;
	uint64_t seed;
	void (*progress)(void *arg, unsigned done, unsigned total);
	void *arg;
};

/** Make the files in the folder @spool, which must outlive @f. 0, or -errno
 * with @e: no such folder, disk full, no recordings; either way
 * conversion_files_remove(). */
int conversion_files_make(struct conversion_files *f, const char *spool,
			  const struct conversion_speech *from,
			  struct cr_err *e);

/** Name of number @i in the spool folder: its input (@ending "wav") or what is
 * made of it. Returns @name[CONVERSION_NAME]. */
const char *conversion_file(const struct conversion_files *f, int64_t i,
			    const char *ending, char *name);

/** Remove the inputs. Zero or twice is fine. */
void conversion_files_remove(struct conversion_files *f);

#endif
