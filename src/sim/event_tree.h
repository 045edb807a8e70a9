/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What happens next, as event_heap.h, for few owners that are known from the
 * begin and nearly always have an event: a knock-out tournament, each match of
 * which the earlier event wins. To set one plays the matches on its way up, as
 * many each time and without a branch that depends on times: those of a heap
 * cannot be foreseen.
 *
 * Thread rule: one thread.
 */
#ifndef SIM_EVENT_TREE_H
#define SIM_EVENT_TREE_H

#include "sim/event_heap.h"

/** event_tree_open() first. */
struct event_tree {
	struct event *node; /**< [2 * leaves]: 1 is the winner of all, the
				 players of i are 2 i and 2 i + 1           */
	uint32_t leaves;    /**< a power of two; the last nodes             */
};

/** For owners 0..@owners - 1, without events. 0 or -ENOMEM. */
int event_tree_open(struct event_tree *t, uint32_t owners);
/** Zeroed is fine. */
void event_tree_close(struct event_tree *t);

/** The first event, at CR_NEVER: there is none. */
static inline struct event event_tree_first(const struct event_tree *t)
{
	return t->node[1];
}

/** @owner's event is at @at now; CR_NEVER: none. */
void event_tree_set(struct event_tree *t, uint32_t owner, cr_ns at);

#endif
