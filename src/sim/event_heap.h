/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What happens next: one pending event per owner, earliest first, ties by the
 * owner's number, so that the order is total. A 4-ary heap; owners find their
 * event by number, so it can be moved or taken back.
 *
 * Thread rule: one thread.
 */
#ifndef SIM_EVENT_HEAP_H
#define SIM_EVENT_HEAP_H

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

#endif
