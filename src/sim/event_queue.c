/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The simulator's events: the heap, the queue that stands on it, and the row.
 */
#include "sim/event_queue.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"

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

static bool event_before(struct event a, struct event b)
{
	return a.at != b.at ? a.at < b.at : a.owner < b.owner;
}

static void set_heap_place(struct event_heap *h, uint32_t i, struct event e)
{
	h->event[i] = e;
	h->place[e.owner] = i + 1;
}

/* @e goes to place @i or above it. */
static void rise_event(struct event_heap *h, uint32_t i, struct event e)
{
	while (i) {
		uint32_t up = (i - 1) / KIDS;

		if (!event_before(e, h->event[up]))
			break;
		set_heap_place(h, i, h->event[up]);
		i = up;
	}
	set_heap_place(h, i, e);
}

static uint32_t earlier_of(const struct event_heap *h, uint32_t a, uint32_t b)
{
	return event_before(h->event[b], h->event[a]) ? b : a;
}

static uint32_t first_kid(const struct event_heap *h, uint32_t i)
{
	uint32_t first = KIDS * i + 1, best = first;

	/* of four: two comparisons that do not wait for each other, then one */
	if (first + KIDS <= h->count)
		return earlier_of(h, earlier_of(h, first, first + 1),
				  earlier_of(h, first + 2, first + 3));
	for (uint32_t k = first + 1; k < h->count; k++)
		best = earlier_of(h, best, k);
	return best;
}

/* @e goes to place @i or below it. */
static void sink_event(struct event_heap *h, uint32_t i, struct event e)
{
	while (KIDS * i + 1 < h->count) {
		uint32_t kid = first_kid(h, i);

		if (!event_before(h->event[kid], e))
			break;
		set_heap_place(h, i, h->event[kid]);
		i = kid;
	}
	set_heap_place(h, i, e);
}

static void drop_from_heap(struct event_heap *h, uint32_t i)
{
	struct event last = h->event[--h->count];

	h->place[h->event[i].owner] = 0;
	if (i == h->count)
		return;
	if (i && event_before(last, h->event[(i - 1) / KIDS]))
		rise_event(h, i, last);
	else
		sink_event(h, i, last);
}

void event_heap_set(struct event_heap *h, uint32_t owner, cr_ns at)
{
	uint32_t place = h->place[owner];
	struct event e = { .at = at, .owner = owner };

	if (at == CR_NEVER) {
		if (place)
			drop_from_heap(h, place - 1);
	} else if (!place) {
		rise_event(h, h->count++, e);
	} else if (event_before(e, h->event[place - 1])) {
		rise_event(h, place - 1, e);
	} else {
		sink_event(h, place - 1, e);
	}
}

/*
 * Runs and a heap. An event in a run that is taken back leaves a hole there,
 * an entry without an owner; the first entry of a run is never one.
 */

/* place[]: 0 is nowhere; else run and index, or this: in the heap. */
#define IN_HEAP UINT32_MAX

static uint32_t encode_place(unsigned run, uint32_t index)
{
	return index * EVENT_RUNS + run + 1;
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
			q->place[event[k].owner] = encode_place(i, k);
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
static bool append_to_run(struct event_queue *q, unsigned i, struct event e)
{
	struct event_run *r = &q->run[i];
	uint32_t n = r->behind - r->head, at = r->behind & (r->room - 1);

	if (n == r->room ||
	    (n && !event_before(r->event[(r->behind - 1) & (r->room - 1)], e)))
		return false;
	r->event[at] = e;
	r->behind++;
	q->place[e.owner] = encode_place(i, at);
	return true;
}

static bool join_run(struct event_queue *q, struct event e, cr_ns now)
{
	for (unsigned i = 0; i < q->nruns; i++)
		if (q->run[i].period == e.at - now)
			return append_to_run(q, i, e);
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

		if (r->head == r->behind || !event_before(*e, first))
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
	    !event_before(r->event[(r->behind - 1) & (r->room - 1)], e))
		return false;
	r->head++;
	skip_holes(r);
	at = r->behind++ & (r->room - 1);
	r->event[at] = e;
	q->place[e.owner] = encode_place((unsigned)(r - q->run), at);
	return true;
}

static void move_event(struct event_queue *q, struct event e, cr_ns now)
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
		move_event(q, e, now);
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

/* Room for so many times the owners: the row moves on through it, and back
 * when it reaches its end, which is seldom then. */
#define ROOM 4u

int event_row_open(struct event_row *r, uint32_t owners)
{
	r->owners = owners;
	r->room = ROOM * owners + 1;
	r->head = r->behind = owners;
	r->event = calloc(r->room, sizeof(*r->event));
	r->at = calloc(owners, sizeof(*r->at));
	if (!r->event || !r->at) {
		event_row_close(r);
		return -ENOMEM;
	}
	r->event[r->behind].at = CR_NEVER;
	for (uint32_t i = 0; i < owners; i++)
		r->at[i] = CR_NEVER;
	return 0;
}

void event_row_close(struct event_row *r)
{
	free(r->event);
	free(r->at);
	*r = (struct event_row){ 0 };
}

/* Where @e is, or should be: behind all that are before it. */
static uint32_t index_in_row(const struct event_row *r, struct event e)
{
	const struct event *from = &r->event[r->head];
	uint32_t n = r->behind - r->head;

	if (!n || event_row_before(r->event[r->behind - 1], e))
		return r->behind;
	while (n > 1) {
		uint32_t half = n / 2;

		from += half * event_row_before(from[half - 1], e);
		n -= half;
	}
	return (uint32_t)(from - r->event) + event_row_before(*from, e);
}

static void shift_row(struct event_row *r, uint32_t from, uint32_t behind,
		      int by)
{
	memmove(&r->event[(int64_t)from + by], &r->event[from],
		(behind - from) * sizeof(*r->event));
}

void event_row_take_within(struct event_row *r, uint32_t owner)
{
	struct event e = { .at = r->at[owner], .owner = owner };
	uint32_t i = index_in_row(r, e);

	if (i - r->head > r->behind - i) {
		shift_row(r, i + 1, r->behind + 1, -1);
		r->behind--;
	} else {
		shift_row(r, r->head, i, 1);
		r->head++;
	}
}

void event_row_put_within(struct event_row *r, struct event e)
{
	uint32_t i;

	if (r->behind == r->room - 1) {
		uint32_t n = r->behind - r->head;

		/* Back to where there is room on both sides. */
		memmove(&r->event[r->owners], &r->event[r->head],
			(n + 1) * sizeof(*r->event));
		r->head = r->owners;
		r->behind = r->owners + n;
	}
	i = index_in_row(r, e);
	if (i == r->behind) {
		r->event[++r->behind].at = CR_NEVER;
	} else if (r->head && i - r->head < r->behind - i) {
		shift_row(r, r->head, i, -1);
		r->head--;
		i--;
	} else {
		shift_row(r, i, r->behind + 1, 1);
		r->behind++;
	}
	r->event[i] = e;
}
