/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a packet of each codec pair costs on this machine (mean, variance, 99th
 * percentile): reckoned from its parts (node/cost_part.h), then learned from
 * the calls that run. The book measures nothing: it says which part it has to
 * be told first.
 *
 * It never fills. An entry that no call has stays, with what was learned,
 * until it is needed for another pair: then the one that was used longest ago
 * gives way, once there are COSTS_KEPT of them.
 *
 * Control thread.
 */
#ifndef NODE_COSTS_H
#define NODE_COSTS_H

#include <sys/queue.h>

#include "cost/learner.h"
#include "media/pipeline.h"
#include "node/cost_part.h"
#include "node/info.h"
#include "cr/sched.h"

enum {
	/** Entries without calls; 3.5 KB each. */
	COSTS_KEPT = 1024,
	/** Entries that costs_at() shows at most. */
	COSTS_SHOWN = 32
};

struct costs;

/** One codec pair with modes and frame length. */
struct cost_entry {
	char name[96];	     /**< "pcmu>amr/12.2@20ms"              */
	struct cr_cost cost; /**< CPU time per packet               */
	cr_ns measured;	     /**< its mean by the parts; see costs_find() */
	struct cost_learner learner;
	unsigned calls;	  /**< running now                        */
	unsigned holders; /**< costs_hold()                       */
	cr_ns period;	  /**< between two packets                */
	TAILQ_ENTRY(cost_entry) link;
	LIST_ENTRY(cost_entry) chain;
};

struct costs *costs_new(void);	  /**< NULL: out of memory */
void costs_free(struct costs *c); /**< NULL is fine */

/**
 * The entry for @media with packets every @period into *@out: valid until the
 * next costs_find(), or as long as it is held. -EAGAIN: *@missing has to be put
 * into the book first; -ENOMEM with @e.
 */
int costs_find(struct costs *c, const struct pipeline_cfg *media, cr_ns period,
	       struct cost_entry **out, struct cost_part *missing,
	       struct cr_err *e);

/** CPU time of sending a packet on loopback, which every entry has. */
cr_ns costs_send(const struct costs *c);

/** @part costs @v. 0 or -ENOMEM. What is there already stays. */
int costs_put(struct costs *c, const struct cost_part *part,
	      const struct cost_value *v);

/** Keep @entry until it is released as often as held. */
void costs_hold(struct costs *c, struct cost_entry *entry);
void costs_release(struct costs *c, struct cost_entry *entry);

/** @n more packets of @entry have taken @ns[] each. Its cost follows when there
 * are LEARNER_ENOUGH of them. */
void costs_learn(struct cost_entry *entry, const uint32_t *ns, unsigned n);

/** Measured load of all running calls, ppm of one CPU. */
int64_t costs_load_ppm(const struct costs *c);

/** Entries there are. */
unsigned costs_count(const struct costs *c);

/** Entry number @i of those shown into @out: those that calls have, then those
 * used last, COSTS_SHOWN in all. False: there are no more. */
bool costs_at(const struct costs *c, unsigned i, struct node_cost_info *out);

#endif
