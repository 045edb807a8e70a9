/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/event_heap.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* Four children lie in one cache line, and the tree is half as deep. */
#define KIDS 4u

int event_heap_grow(struct event_heap *h, uint32_t owners)
{
	uint32_t room = h->room ? h->room : 64;
	struct event *event;
	uint32_t *place;

	if (owners <= h->room)
		return 0;
	while (room < owners)
		room *= 2;
	event = realloc(h->event, room * sizeof(*event));
	if (!event)
		return -ENOMEM;
	h->event = event;
	place = realloc(h->place, room * sizeof(*place));
	if (!place)
		return -ENOMEM;
	memset(place + h->room, 0, (room - h->room) * sizeof(*place));
	h->place = place;
	h->room = room;
	return 0;
}

void event_heap_fini(struct event_heap *h)
{
	free(h->event);
	free(h->place);
	*h = (struct event_heap){ 0 };
}

static bool before(struct event a, struct event b)
{
	return a.at != b.at ? a.at < b.at : a.owner < b.owner;
}

static void put(struct event_heap *h, uint32_t i, struct event e)
{
	h->event[i] = e;
	h->place[e.owner] = i + 1;
}

/* @e goes to place @i or above it. */
static void rise(struct event_heap *h, uint32_t i, struct event e)
{
	while (i) {
		uint32_t up = (i - 1) / KIDS;

		if (!before(e, h->event[up]))
			break;
		put(h, i, h->event[up]);
		i = up;
	}
	put(h, i, e);
}

static uint32_t first_of(const struct event_heap *h, uint32_t a, uint32_t b)
{
	return before(h->event[b], h->event[a]) ? b : a;
}

static uint32_t first_kid(const struct event_heap *h, uint32_t i)
{
	uint32_t first = KIDS * i + 1, best = first;

	/* of four: two comparisons that do not wait for each other, then one */
	if (first + KIDS <= h->count)
		return first_of(h, first_of(h, first, first + 1),
				first_of(h, first + 2, first + 3));
	for (uint32_t k = first + 1; k < h->count; k++)
		best = first_of(h, best, k);
	return best;
}

/* @e goes to place @i or below it. */
static void sink(struct event_heap *h, uint32_t i, struct event e)
{
	while (KIDS * i + 1 < h->count) {
		uint32_t kid = first_kid(h, i);

		if (!before(h->event[kid], e))
			break;
		put(h, i, h->event[kid]);
		i = kid;
	}
	put(h, i, e);
}

static void take_out(struct event_heap *h, uint32_t i)
{
	struct event last = h->event[--h->count];

	h->place[h->event[i].owner] = 0;
	if (i == h->count)
		return;
	if (i && before(last, h->event[(i - 1) / KIDS]))
		rise(h, i, last);
	else
		sink(h, i, last);
}

void event_heap_set(struct event_heap *h, uint32_t owner, cr_ns at)
{
	uint32_t place = h->place[owner];
	struct event e = { .at = at, .owner = owner };

	if (at == CR_NEVER) {
		if (place)
			take_out(h, place - 1);
	} else if (!place) {
		rise(h, h->count++, e);
	} else if (before(e, h->event[place - 1])) {
		rise(h, place - 1, e);
	} else {
		sink(h, place - 1, e);
	}
}
