/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What happens next, one pending event per owner, earliest first, ties by the
 * owner's number, so that the order is total: a heap, a queue for many owners,
 * and a row for few.
 *
 * Thread rule: one thread.
 */
#ifndef SIM_EVENT_QUEUE_H
#define SIM_EVENT_QUEUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cr/time.h"

struct event {
	cr_ns at;
	uint32_t owner;
};

/** Zero is empty. */
struct event_heap {
	struct event *event; /**< [room], the first @count are the heap     */
	uint32_t *place;     /**< [room] owner's index + 1; 0: no event     */
	uint32_t count, room;
};

/** Make room for owners 0..@owners - 1. 0 or -ENOMEM, then nothing changed. */
int event_heap_grow(struct event_heap *h, uint32_t owners);
void event_heap_fini(struct event_heap *h);

/** @owner's event is at @at now, wherever it was before; CR_NEVER: none. */
void event_heap_set(struct event_heap *h, uint32_t owner, cr_ns at);

/** When @owner's event is; CR_NEVER: it has none. */
static inline cr_ns event_heap_at(const struct event_heap *h, uint32_t owner)
{
	return h->place[owner] ? h->event[h->place[owner] - 1].at : CR_NEVER;
}

/** When the first event is; CR_NEVER: there is none. */
static inline cr_ns event_heap_next(const struct event_heap *h)
{
	return h->count ? h->event[0].at : CR_NEVER;
}

/*
 * What happens next, as a heap, for many owners most of whom come again
 * after the same time: whoever wants an event one period from now comes behind
 * all who wanted that before, so that every period has a run, a ring of events
 * in order that is appended to. What does not fit a run goes to a heap.
 *
 * Thread rule: one thread.
 */

/** Periods with a run of their own: the frame lengths of telephony. */
#define EVENT_RUNS 4u

/** A ring; indexes count on for ever. */
struct event_run {
	struct event *event; /**< [room], a power of two                    */
	uint32_t room;
	uint32_t head, behind; /**< of the first, no hole; behind the last  */
	cr_ns period;
};

/** event_queue_init() first. */
struct event_queue {
	struct event first; /**< at CR_NEVER: none                          */
	struct event_run *run_of_first; /**< NULL: in the heap              */
	unsigned nruns;
	uint32_t room;	 /**< for owners                                    */
	uint32_t *place; /**< [room] owner's index in its run, see the code */
	struct event_run run[EVENT_RUNS];
	struct event_heap heap; /**< the others                             */
};

void event_queue_init(struct event_queue *q);
/** Make room for owners 0..@owners - 1. 0, or -ENOMEM: nothing is lost. */
int event_queue_grow(struct event_queue *q, uint32_t owners);
void event_queue_fini(struct event_queue *q);

/** Some owners will come every @period (> 0). 0, or -ENOMEM. */
int event_queue_expect(struct event_queue *q, cr_ns period);

/** @owner's event is at @at (>= @now) now, wherever it was before; CR_NEVER:
 * none. */
void event_queue_set(struct event_queue *q, uint32_t owner, cr_ns at,
		     cr_ns now);

/** When @owner's event is; CR_NEVER: it has none. */
cr_ns event_queue_at(const struct event_queue *q, uint32_t owner);

/** No owner: a hole's. */
#define EVENT_NOBODY UINT32_MAX

/** The owner of an event @n places behind the first one, if they are in one run
 * and that can be told at once; else EVENT_NOBODY. To look ahead. */
static inline uint32_t event_queue_peek(const struct event_queue *q, uint32_t n)
{
	const struct event_run *r = q->run_of_first;

	if (!r || r->behind - r->head <= n)
		return EVENT_NOBODY;
	return r->event[(r->head + n) & (r->room - 1)].owner;
}

/** When the first event is; CR_NEVER: there is none. */
static inline cr_ns event_queue_next(const struct event_queue *q)
{
	return q->first.at;
}

/*
 * What happens next, as a heap, for few owners that are known from the
 * begin: their events in a row, in order. The first one is taken from the front
 * for nothing; one that comes behind all others, as most do where jobs cost
 * about the same, is appended for as little; for one in between the shorter
 * side of the row makes room. A heap or a tournament goes its depth each time.
 *
 * Thread rule: one thread.
 */

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
