/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A file that lines are appended to, by a thread of its own.
 *
 * A caller never waits for the disk: if the buffer is full because the
 * disk is slow, the line is dropped and counted. The file has complete lines
 * only: what a full disk has cut off is taken back, and tried again each second
 * until it has room; what comes meanwhile waits in the buffer.
 */
#ifndef OBSERVE_LINE_FILE_H
#define OBSERVE_LINE_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cr/error.h"
#include "cr/time.h"

/** Bytes that may wait for the disk. */
#define LINES_BUFFER (4u << 20)

struct lines;

struct lines_stats {
	uint64_t written; /**< lines that the kernel has taken             */
	uint64_t dropped; /**< lines for which the buffer had no room      */
	uint64_t failed;  /**< lines that could not be written, and were lost */
	uint64_t reopened; /**< times                                       */
};

/** Open @path for appending (mode 0640 if it is new) and start the thread; up
 * to @bytes wait for it. If the last line in the file is not complete, it is
 * ended first. 0, or -errno with @e. */
int lines_open(struct lines **l, const char *path, size_t bytes,
	       struct cr_err *e);

/** Append @text, which has no newline, and a newline. False: it was dropped,
 * and counted. Any thread; waits for copying only. */
bool lines_put(struct lines *l, const char *text);

/** Open the file by its name again, as somebody has moved it away: lines that
 * have been put until now go into the old one. If the new one cannot be opened,
 * the log says why ("not-reopened"), all go into the old one, and it is tried
 * again each second. The log says, too, when it is open ("reopened"). Asked
 * again before it was done, it is done once, behind the lines of the first
 * time. Returns at once. Any thread. */
void lines_reopen(struct lines *l);

/** Any thread. */
void lines_stats(struct lines *l, struct lines_stats *out);

/** Time that programs wait at their end. */
#define LINES_CLOSE_LIMIT (10 * CR_SEC)

/** Write what waits, end the thread, close the file. Waits for the disk, or
 * whoever reads, for @limit at most: what is not written then is lost, and the
 * log says so. Nobody puts any more. NULL is fine. */
void lines_close(struct lines *l, cr_ns limit);

#endif
