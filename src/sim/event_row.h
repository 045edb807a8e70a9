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

#include <stdbool.h>

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

/** Is @a before @b? Without a branch: nobody can foresee it. */
static inline bool event_row_before(struct event a, struct event b)
{
	return (a.at < b.at) | ((a.at == b.at) & (a.owner < b.owner));
}

/** The same as event_row_take() and event_row_put(), where what they mostly do
 * will not do. */
void event_row_take_within(struct event_row *r, uint32_t owner);
void event_row_put_within(struct event_row *r, struct event e);

/** Take out the event of @owner, which has one. */
static inline void event_row_take(struct event_row *r, uint32_t owner)
{
	if (r->event[r->head].owner == owner)
		r->head++;
	else
		event_row_take_within(r, owner);
	r->at[owner] = CR_NEVER;
}

/** The event of @owner, which has none, is at @at, not CR_NEVER. */
static inline void event_row_put(struct event_row *r, uint32_t owner, cr_ns at)
{
	struct event e = { .at = at, .owner = owner };
	uint32_t behind = r->behind;

	r->at[owner] = at;
	if (behind < r->room - 1 && behind > r->head &&
	    event_row_before(r->event[behind - 1], e)) {
		r->event[behind] = e;
		r->event[++r->behind].at = CR_NEVER;
	} else {
		event_row_put_within(r, e);
	}
}

#endif
