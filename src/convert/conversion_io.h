/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The thread that touches the spool, so that no other waits for a disk: it
 * looks at the files of jobs that are asked for, and reads and writes those of
 * running ones, up to two seconds of speech ahead of the workers.
 *
 * A job is its from job_io_add() until over(): then its files are closed, its
 * output has its name or is removed, result and why are set, and it releases
 * the task no more.
 */
#ifndef CONVERT_CONVERSION_IO_H
#define CONVERT_CONVERSION_IO_H

#include "convert/conversion.h"

struct job_io;

struct job_io_config {
	const struct spool *spool; /**< must outlive it */
	struct live *live;
	/** It has looked at @j's files. On its thread. */
	void (*looked)(void *arg, struct job *j);
	/** It has let go of @j. On its thread. */
	void (*over)(void *arg, struct job *j);
	void *arg;
};

/** Start the thread. 0, or -errno with @e. */
int job_io_open(struct job_io **io, const struct job_io_config *cfg,
		struct cr_err *e);
/** End it; it must have no job. NULL is fine. */
void job_io_close(struct job_io *io);

/** Look at the files that @j names: j->looked is 0, and j->bytes and
 * j->cfg.from.rate are known; or what spool_read(), reader_open() and
 * spool_check() say, with j->why. Any thread. */
void job_io_look(struct job_io *io, struct job *j);

/** Take @j, whose task has joined the engine. Any thread. */
void job_io_add(struct job_io *io, struct job *j);

/** Look again: a chunk came back, or a job was cancelled. Any thread, blocks
 * nothing. */
void job_io_poke(struct job_io *io);

#endif
