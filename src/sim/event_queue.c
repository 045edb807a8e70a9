/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs and a heap. An event in a run that is taken back leaves a hole there,
 * an entry without an owner; the first entry of a run is never one.
 */
#include "sim/event_queue.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"

/* place[]: 0 is nowhere; else run and index, or this: in the heap. */
#define IN_HEAP UINT32_MAX

static uint32_t place_of(unsigned run, uint32_t index)
{
	return index * EVENT_RUNS + run + 1;
}

static bool before(struct event a, struct event b)
{
	return a.at != b.at ? a.at < b.at : a.owner < b.owner;
}

void event_queue_init(struct event_queue *q)
{
	*q = (struct event_queue){ .first.at = CR_NEVER };
}

void event_queue_fini(struct event_queue *q)
{
	for (unsigned i = 0; i < q->nruns; i++)
		free(q->run[i].event);
	free(q->place);
	event_heap_fini(&q->heap);
	event_queue_init(q);
}

/* Lay the ring out anew for @room events. */
static int grow_run(struct event_queue *q, unsigned i, uint32_t room)
{
	struct event_run *r = &q->run[i];
	struct event *event = malloc(room * sizeof(*event));
	uint32_t n = r->behind - r->head;

	if (!event)
		return -ENOMEM;
	for (uint32_t k = 0; k < n; k++) {
		event[k] = r->event[(r->head + k) & (r->room - 1)];
		if (event[k].owner != EVENT_NOBODY)
			q->place[event[k].owner] = place_of(i, k);
	}
	free(r->event);
	r->event = event;
	r->room = room;
	r->head = 0;
	r->behind = n;
	return 0;
}

int event_queue_grow(struct event_queue *q, uint32_t owners)
{
	uint32_t room = q->room ? q->room : 64;
	uint32_t *place;
	int rc;

	if (owners <= q->room)
		return 0;
	while (room < owners)
		room *= 2;
	rc = room > UINT32_MAX / EVENT_RUNS - 1
		     ? -ENOMEM
		     : event_heap_grow(&q->heap, room);
	for (unsigned i = 0; i < q->nruns && !rc; i++)
		rc = grow_run(q, i, room);
	if (rc)
		return rc;
	place = realloc(q->place, room * sizeof(*place));
	if (!place)
		return -ENOMEM;
	memset(place + q->room, 0, (room - q->room) * sizeof(*place));
	q->place = place;
	q->room = room;
	return 0;
}

int event_queue_expect(struct event_queue *q, cr_ns period)
{
	unsigned i = 0;

	while (i < q->nruns && q->run[i].period != period)
		i++;
	if (i < q->nruns || i == EVENT_RUNS)
		return 0;
	if (grow_run(q, i, q->room ? q->room : 64))
		return -ENOMEM;
	q->run[i].period = period;
	q->nruns++;
	return 0;
}

static void skip_holes(struct event_run *r)
{
	while (r->head != r->behind &&
	       r->event[r->head & (r->room - 1)].owner == EVENT_NOBODY)
		r->head++;
}

static void leave_run(struct event_queue *q, uint32_t place)
{
	struct event_run *r = &q->run[place % EVENT_RUNS];

	r->event[place / EVENT_RUNS].owner = EVENT_NOBODY;
	skip_holes(r);
}

/* False: @e would not be the last one there, or there is no room. */
static bool append(struct event_queue *q, unsigned i, struct event e)
{
	struct event_run *r = &q->run[i];
	uint32_t n = r->behind - r->head, at = r->behind & (r->room - 1);

	if (n == r->room ||
	    (n && !before(r->event[(r->behind - 1) & (r->room - 1)], e)))
		return false;
	r->event[at] = e;
	r->behind++;
	q->place[e.owner] = place_of(i, at);
	return true;
}

static bool join_run(struct event_queue *q, struct event e, cr_ns now)
{
	for (unsigned i = 0; i < q->nruns; i++)
		if (q->run[i].period == e.at - now)
			return append(q, i, e);
	return false;
}

static void find_first_of_all(struct event_queue *q)
{
	struct event first = { .at = CR_NEVER };
	struct event_run *run = NULL;

	if (q->heap.count)
		first = q->heap.event[0];
	for (unsigned i = 0; i < q->nruns; i++) {
		struct event_run *r = &q->run[i];
		const struct event *e = &r->event[r->head & (r->room - 1)];

		if (r->head == r->behind || !before(*e, first))
			continue;
		first = *e;
		run = r;
	}
	q->first = first;
	q->run_of_first = run;
}

/* Mostly all have one period. */
static void find_first(struct event_queue *q)
{
	struct event_run *r = q->run;

	if (q->nruns != 1 || q->heap.count || r->head == r->behind) {
		find_first_of_all(q);
		return;
	}
	q->first = r->event[r->head & (r->room - 1)];
	q->run_of_first = r;
}

/* What nearly always happens: the first of a run comes again a period later,
 * behind all others there. False: it is something else, and nothing changed. */
static bool go_round(struct event_queue *q, struct event e, cr_ns now)
{
	struct event_run *r = q->run_of_first;
	uint32_t at;

	if (!r || e.owner != q->first.owner || e.at - now != r->period ||
	    !before(r->event[(r->behind - 1) & (r->room - 1)], e))
		return false;
	r->head++;
	skip_holes(r);
	at = r->behind++ & (r->room - 1);
	r->event[at] = e;
	q->place[e.owner] = place_of((unsigned)(r - q->run), at);
	return true;
}

static void move(struct event_queue *q, struct event e, cr_ns now)
{
	uint32_t was = q->place[e.owner];

	if (was && was != IN_HEAP)
		leave_run(q, was - 1);
	if (join_run(q, e, now))
		e.at = CR_NEVER;
	else
		q->place[e.owner] = e.at == CR_NEVER ? 0 : IN_HEAP;
	if (was == IN_HEAP || e.at != CR_NEVER)
		event_heap_set(&q->heap, e.owner, e.at);
}

void event_queue_set(struct event_queue *q, uint32_t owner, cr_ns at, cr_ns now)
{
	const struct event e = { .at = at, .owner = owner };

	if (!go_round(q, e, now))
		move(q, e, now);
	find_first(q);
}

cr_ns event_queue_at(const struct event_queue *q, uint32_t owner)
{
	uint32_t place = q->place[owner];

	if (!place)
		return CR_NEVER;
	if (place == IN_HEAP)
		return event_heap_at(&q->heap, owner);
	place--;
	return q->run[place % EVENT_RUNS].event[place / EVENT_RUNS].at;
}
