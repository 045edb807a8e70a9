/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The thread that reads and writes the files of running jobs: it keeps up to
 * two seconds of speech ahead of the workers, and no other thread touches a
 * file while a job runs.
 *
 * A job is its from job_io_add() until over(): then its files are closed, its
 * output has its name or is removed, result and why are set, and it releases
 * the task no more.
 */
#ifndef JOB_JOB_IO_H
#define JOB_JOB_IO_H

#include "job/job.h"

struct job_io;

struct job_io_config {
	const struct spool *spool; /**< must outlive it */
	struct live *live;
	/** It has let go of @j. On its thread. */
	void (*over)(void *arg, struct job *j);
	void *arg;
};

/** Start the thread. 0, or -errno with @e. */
int job_io_open(struct job_io **io, const struct job_io_config *cfg,
		struct cr_err *e);
/** End it; it must have no job. NULL is fine. */
void job_io_close(struct job_io *io);

/** Take @j, whose task has joined the engine. Any thread. */
void job_io_add(struct job_io *io, struct job *j);

/** Look again: a chunk came back, or a job was cancelled. Any thread, blocks
 * nothing. */
void job_io_poke(struct job_io *io);

#endif
