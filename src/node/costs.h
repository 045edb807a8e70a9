/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a frame of each codec pair costs on this machine (mean, variance, 99th
 * percentile): measured once when the pair is first asked for, then learned
 * from the calls that run.
 * Control thread.
 */
#ifndef NODE_COSTS_H
#define NODE_COSTS_H

#include "cost/learner.h"
#include "media/pipeline.h"
#include "node/info.h"
#include "cr/sched.h"

struct costs;

/** One codec pair with modes and frame length. */
struct cost_entry {
	char name[96];	     /**< "pcmu>amr/12.2@20ms"              */
	struct cr_cost cost; /**< CPU time per packet               */
	struct cost_learner learner;
	unsigned calls; /**< running now                        */
	cr_ns period;	/**< between two packets                */
	struct cost_entry *next;
};

struct costs *costs_new(void);	  /**< NULL: out of memory */
void costs_free(struct costs *c); /**< NULL is fine */

/**
 * The entry for @media with packets every @period; measures the pair (some
 * 20 ms of CPU time) when it is new. Returns NULL with @e when the codecs
 * refuse or memory is short. Valid until costs_free().
 */
struct cost_entry *costs_get(struct costs *c, const struct pipeline_cfg *media,
			     cr_ns period, struct cr_err *e);

/** @n more packets of @entry have taken @ns[] each. Its cost follows when there
 * are LEARNER_ENOUGH of them. */
void costs_learn(struct cost_entry *entry, const uint32_t *ns, unsigned n);

/** Measured load of all running calls, ppm of one CPU. */
int64_t costs_load_ppm(const struct costs *c);

/** Entry number @i into @out. False: there are no more. */
bool costs_at(const struct costs *c, unsigned i, struct node_cost_info *out);

#endif
