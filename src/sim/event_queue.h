/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What happens next, one pending event per owner, earliest first, ties by the
 * owner's number, so that the order is total.
 *
 * Most owners come again after the same time: whoever wants an event one period
 * from now comes behind all who wanted that before, so that every period has a
 * run, a ring of events in order that is appended to. What does not fit a run
 * goes to a heap.
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

static inline bool event_before(struct event a, struct event b)
{
	return a.at != b.at ? a.at < b.at : a.owner < b.owner;
}

/** Periods with a run of their own: the frame lengths of telephony. */
#define EVENT_RUNS 4u

/** A ring of events; indexes count on for ever. No hole is the first. */
struct event_run {
	struct event *event; /**< [room of the queue]                       */
	uint32_t head, behind;
	cr_ns period;
};

/** event_queue_init() first. */
struct event_queue {
	struct event first; /**< at CR_NEVER: none                          */
	struct event_run *run_of_first; /**< NULL: in the heap              */
	unsigned nruns;
	uint32_t room;	     /**< for owners, a power of two; or 0          */
	uint32_t heaped;     /**< events in the heap                        */
	uint32_t *place;     /**< [room] owner's index in @event + 1, or 0  */
	struct event *event; /**< [room] of each run, then of the heap      */
	struct event_run run[EVENT_RUNS];
};

/** Without room. */
void event_queue_init(struct event_queue *q);
/** Make room for owners 0..@owners - 1. 0, or -ENOMEM: nothing changed. */
int event_queue_grow(struct event_queue *q, uint32_t owners);
void event_queue_fini(struct event_queue *q);

/** Some owners will come every @period (> 0). */
void event_queue_expect(struct event_queue *q, cr_ns period);

/** @owner's event is at @at (>= @now) now, wherever it was before; CR_NEVER:
 * none. */
void event_queue_set(struct event_queue *q, uint32_t owner, cr_ns at,
		     cr_ns now);

/** When @owner's event is; CR_NEVER: it has none. */
static inline cr_ns event_queue_at(const struct event_queue *q, uint32_t owner)
{
	return q->place[owner] ? q->event[q->place[owner] - 1].at : CR_NEVER;
}

/** No owner: a hole's. */
#define EVENT_NOBODY UINT32_MAX

/** The owner of an event @n places behind the first one, if they are in one run
 * and that can be told at once; else EVENT_NOBODY. To look ahead. */
static inline uint32_t event_queue_peek(const struct event_queue *q, uint32_t n)
{
	const struct event_run *r = q->run_of_first;

	if (!r || r->behind - r->head <= n)
		return EVENT_NOBODY;
	return r->event[(r->head + n) & (q->room - 1)].owner;
}

/** When the first event is; CR_NEVER: there is none. */
static inline cr_ns event_queue_next(const struct event_queue *q)
{
	return q->first.at;
}

#endif
