/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How many calls of each flow speak, set while they are up: lines
 * "FLOW=N [FLOW=N]..." from a pipe, and "end" for the run's end. The first N
 * calls of the flow send, the others send nothing; a plan spreads the phases of
 * any first N evenly.
 *
 * Main thread; the pacer reads the limits.
 */
#ifndef FEEDER_SPEAKERS_H
#define FEEDER_SPEAKERS_H

#include <event2/event.h>
#include <stdatomic.h>

#include "campaign/campaign.h"
#include "cr/error.h"
#include "cr/time.h"

struct speakers;

struct speakers_cfg {
	const struct campaign *campaign;
	int fd; /**< where lines come from; borrowed */
	/** @line holds from @now on. */
	void (*set)(void *arg, cr_ns now, const char *line);
	/** The line "end" came. */
	void (*end)(void *arg);
	/** @why names the line; nothing more is read. */
	void (*failed)(void *arg, int err, const char *why);
	void *arg;
};

/** Make one; nobody speaks. NULL: no memory. */
struct speakers *speakers_new(const struct speakers_cfg *cfg);

/** Begin to read. 0, or -errno with @e: a file is no pipe. */
int speakers_read(struct speakers *s, struct event_base *base,
		  struct cr_err *e);

/** So many calls of @flow speak. Relaxed: a call may be a packet late. */
const atomic_uint *speakers_limit(const struct speakers *s, unsigned flow);

/** Take a line. 0, or -EINVAL with @e and nothing set. */
int speakers_take_line(struct speakers *s, const char *line, struct cr_err *e);

void speakers_free(struct speakers *s); /**< NULL is fine */

#endif
