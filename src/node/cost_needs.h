/* SPDX-License-Identifier: Apache-2.0 */
/*
 * All that has to be known of what calls cost before somebody can go on:
 * measured one after the other, as what a call costs is one thing for each pair
 * of codecs that it may have.
 *
 * Control thread.
 */
#ifndef NODE_COST_NEEDS_H
#define NODE_COST_NEEDS_H

#include "node/node.h"

struct cost_needs {
	struct node *node;
	/** All is known; or @err and @why one cannot be measured. */
	void (*done)(void *arg, int err, const struct cr_err *why);
	void *arg;
	/* its own */
	struct node_cost_wait wait;
	unsigned n, next; /**< @next is measured then */
	struct cost_need {
		struct pipeline_cfg media;
		cr_ns period;
	} need[2 * CALL_CODECS_MAX];
};

/** Measure what @cfg[@n], one or two, need; done() follows from the event loop.
 * 0, or -ENOMEM with @e: it does not. */
int cost_needs_begin(struct cost_needs *c, const struct call_cfg *cfg,
		     unsigned n, struct cr_err *e);
/** Wait no more: done() is not called. */
void cost_needs_forget(struct cost_needs *c);

#endif
