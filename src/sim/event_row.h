/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What happens next, as event_heap.h, for few owners that are known from the
 * begin: their events in a row, in order. The first one is taken from the front
 * for nothing; one that comes behind all others, as most do where jobs cost
 * about the same, is appended for as little; for one in between the shorter
 * side of the row makes room. A heap or a tournament goes its depth each time.
 *
 * Thread rule: one thread.
 */
#ifndef SIM_EVENT_ROW_H
#define SIM_EVENT_ROW_H

#include "sim/event_heap.h"

/** event_row_open() first. */
struct event_row {
	struct event *event; /**< [room] from @head on in order, [behind] never
				  comes                                     */
	cr_ns *at;	     /**< [owners] when each one's is; CR_NEVER: none */
	uint32_t owners, room, head, behind;
};

/** For owners 0..@owners - 1, without events. 0 or -ENOMEM. */
int event_row_open(struct event_row *r, uint32_t owners);
/** Zeroed is fine. */
void event_row_close(struct event_row *r);

/** The first event, at CR_NEVER: there is none. */
static inline struct event event_row_first(const struct event_row *r)
{
	return r->event[r->head];
}

/** @owner's event is at @at now; CR_NEVER: none. */
void event_row_set(struct event_row *r, uint32_t owner, cr_ns at);

#endif
