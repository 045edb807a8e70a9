/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The thread that touches the spool, so that no other waits for a disk: it
 * looks at the files of conversions that are asked for, and reads and writes
 * those of running ones, up to two seconds of speech ahead of the workers.
 *
 * A conversion is its from conversion_io_add() until over(): then its files are
 * closed, its output has its name or is removed, result and why are set, and it
 * releases the task no more.
 */
#ifndef CONVERT_CONVERSION_IO_H
#define CONVERT_CONVERSION_IO_H

#include "convert/conversion.h"

struct conversion_io;

struct conversion_io_config {
	const struct spool *spool; /**< must outlive it */
	struct live *live;
	/** It has looked at @cv's files. On its thread. */
	void (*looked)(void *arg, struct conversion *cv);
	/** It has let go of @cv. On its thread. */
	void (*over)(void *arg, struct conversion *cv);
	void *arg;
};

/** Start the thread. 0, or -errno with @e. */
int conversion_io_open(struct conversion_io **io,
		       const struct conversion_io_config *cfg,
		       struct cr_err *e);
/** End it; it must have no conversion. NULL is fine. */
void conversion_io_close(struct conversion_io *io);

/** Look at the files that @cv names: cv->looked is 0, and cv->bytes and
 * cv->cfg.from.rate are known; or what spool_read(), reader_open() and
 * spool_check() say, with cv->why. Any thread. */
void conversion_io_look(struct conversion_io *io, struct conversion *cv);

/** Take @cv, whose task has joined the engine. Any thread. */
void conversion_io_add(struct conversion_io *io, struct conversion *cv);

/** Look again: a chunk came back, or a conversion was cancelled. Any thread,
 * blocks nothing. */
void conversion_io_poke(struct conversion_io *io);

#endif
