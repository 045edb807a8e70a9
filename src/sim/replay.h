/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a trace file says about jobs, to be played again: per call, when they
 * came and what they took. Calls are numbered in the order of their first
 * arrival.
 *
 * Thread rule: constant after replay_open(); any thread.
 */
#ifndef SIM_REPLAY_H
#define SIM_REPLAY_H

#include <stddef.h>
#include <stdint.h>

#include "cr/error.h"
#include "cr/time.h"

struct replay_job {
	cr_ns at;   /**< arrival, from the first of the file            */
	cr_ns cost; /**< inside the codecs; 0: it was not worked on     */
	uint32_t call, seq;
};

/** Zero is empty. */
struct replay {
	struct replay_job *job; /**< [njobs], by call, then by seq          */
	size_t njobs;
	size_t *first; /**< [ncalls + 1] index of each call's first job     */
	size_t ncalls;
};

/** Read the trace at @path. 0, or -errno with @e; also -ENODATA: no jobs. */
int replay_open(struct replay *r, const char *path, struct cr_err *e);
void replay_close(struct replay *r);

/** Jobs of call @i of a campaign; there are more calls in it than in the
 * trace: they share. */
static inline const struct replay_job *replay_call(const struct replay *r,
						   size_t i, size_t *count)
{
	i %= r->ncalls;
	*count = r->first[i + 1] - r->first[i];
	return &r->job[r->first[i]];
}

#endif
