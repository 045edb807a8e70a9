/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parts that the book of costs lacks are measured on a thread of their own, of
 * a low priority, one at a time; whoever needs them waits without holding
 * anybody up.
 *
 *   wait -> [the part's job: queue -> thread] -> [ready] -> done()
 *                    ^                              |
 *                    +--- another part is missing --+
 *
 * All who need a part wait at its one job. Those that are ready are told one
 * at a time, with the event loop's turn between two.
 *
 * Control thread, but for the thread's own function.
 */
#ifndef NODE_MEASURING_H
#define NODE_MEASURING_H

#include <event2/event.h>

#include "node/costs.h"
#include "node/node.h"

struct measuring;

/** Start the thread. 0, or -errno with @e. */
int measuring_open(struct measuring **m, struct event_base *base,
		   struct costs *costs, struct cr_err *e);

/** Nobody waits any more. What is being measured ends within a few frames; a
 * codec that does not come back is left behind with its thread. NULL is fine.
 */
void measuring_close(struct measuring *m);

/** @w waits for all that it needs. 0 or -ENOMEM with @e. */
int measuring_begin(struct measuring *m, struct node_cost_wait *w,
		    struct cr_err *e);

/** Measure @part; @w, unless it is NULL, waits for that. 0 or -ENOMEM with @e.
 */
int measuring_ask(struct measuring *m, const struct cost_part *part,
		  struct node_cost_wait *w, struct cr_err *e);

/** @w does not wait any more; done() is not called. */
void measuring_forget(struct measuring *m, struct node_cost_wait *w);

/** Parts measured so far. */
unsigned measuring_count(const struct measuring *m);

#endif
