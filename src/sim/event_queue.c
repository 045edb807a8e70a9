/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The simulator's events. One that is taken out of the middle of a run leaves a
 * hole there, an entry without an owner.
 */
#include "sim/event_queue.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Four children lie in one cache line, and the tree is half as deep. */
#define KIDS 4u

static void place_event(struct event_queue *q, struct event *where,
			struct event e)
{
	*where = e;
	q->place[e.owner] = (uint32_t)(where - q->event) + 1;
}

/* --- the heap --- */

static struct event *heap_of(const struct event_queue *q)
{
	return &q->event[EVENT_RUNS * (size_t)q->room];
}

/* @e goes to place @i of the heap or above it. */
static void rise_event(struct event_queue *q, uint32_t i, struct event e)
{
	struct event *heap = heap_of(q);

	while (i && event_before(e, heap[(i - 1) / KIDS])) {
		place_event(q, &heap[i], heap[(i - 1) / KIDS]);
		i = (i - 1) / KIDS;
	}
	place_event(q, &heap[i], e);
}

/* @e goes to place @i of the heap or below it. */
static void sink_event(struct event_queue *q, uint32_t i, struct event e)
{
	struct event *heap = heap_of(q);
	uint32_t first;

	while ((first = KIDS * i + 1) < q->heaped) {
		uint32_t kid = first;

		for (uint32_t k = first + 1; k < first + KIDS && k < q->heaped;
		     k++)
			kid = event_before(heap[k], heap[kid]) ? k : kid;
		if (!event_before(heap[kid], e))
			break;
		place_event(q, &heap[i], heap[kid]);
		i = kid;
	}
	place_event(q, &heap[i], e);
}

/* --- the runs --- */

static void skip_holes(const struct event_queue *q, struct event_run *r)
{
	while (r->head != r->behind &&
	       r->event[r->head & (q->room - 1)].owner == EVENT_NOBODY)
		r->head++;
}

/* False: @e would not be the last one there, or there is no room. */
static bool append_to_run(struct event_queue *q, struct event_run *r,
			  struct event e)
{
	uint32_t n = r->behind - r->head;

	if (n == q->room ||
	    (n && !event_before(r->event[(r->behind - 1) & (q->room - 1)], e)))
		return false;
	place_event(q, &r->event[r->behind++ & (q->room - 1)], e);
	return true;
}

static void take_event(struct event_queue *q, uint32_t owner)
{
	uint32_t at = q->place[owner] - 1, run = at / q->room;
	uint32_t i = at % q->room;
	struct event *heap = heap_of(q), last;

	q->place[owner] = 0;
	if (run != EVENT_RUNS) {
		q->event[at].owner = EVENT_NOBODY;
		skip_holes(q, &q->run[run]);
		return;
	}
	last = heap[--q->heaped];
	if (i == q->heaped)
		return;
	if (i && event_before(last, heap[(i - 1) / KIDS]))
		rise_event(q, i, last);
	else
		sink_event(q, i, last);
}

/* Handle the usual case: the first event of a run comes again a period later,
 * behind all others there. False: another case, and nothing changed. */
static bool go_round(struct event_queue *q, struct event e, cr_ns now)
{
	struct event_run *r = q->run_of_first;

	if (!r || e.owner != q->first.owner || e.at - now != r->period)
		return false;
	/* behind itself it never is: a period is not 0 */
	if (!append_to_run(q, r, e))
		return false;
	r->head++;
	skip_holes(q, r);
	return true;
}

static void find_first_of_all(struct event_queue *q)
{
	q->first = (struct event){ .at = CR_NEVER };
	q->run_of_first = NULL;
	if (q->heaped)
		q->first = *heap_of(q);
	for (unsigned i = 0; i < q->nruns; i++) {
		struct event_run *r = &q->run[i];
		const struct event *e = &r->event[r->head & (q->room - 1)];

		if (r->head == r->behind || !event_before(*e, q->first))
			continue;
		q->first = *e;
		q->run_of_first = r;
	}
}

void event_queue_set(struct event_queue *q, uint32_t owner, cr_ns at, cr_ns now)
{
	const struct event e = { .at = at, .owner = owner };
	struct event_run *r = q->run;
	unsigned i = 0;

	if (!go_round(q, e, now)) {
		if (q->place[owner])
			take_event(q, owner);
		if (at != CR_NEVER) {
			while (i < q->nruns && q->run[i].period != at - now)
				i++;
			if (i == q->nruns || !append_to_run(q, &q->run[i], e))
				rise_event(q, q->heaped++, e);
		}
	}
	/* mostly all have one period */
	if (q->nruns != 1 || q->heaped || r->head == r->behind) {
		find_first_of_all(q);
		return;
	}
	q->first = r->event[r->head & (q->room - 1)];
	q->run_of_first = r;
}

void event_queue_expect(struct event_queue *q, cr_ns period)
{
	unsigned i = 0;

	while (i < q->nruns && q->run[i].period != period)
		i++;
	if (i < EVENT_RUNS && i == q->nruns)
		q->run[q->nruns++].period = period;
}

/* --- memory --- */

void event_queue_init(struct event_queue *q)
{
	*q = (struct event_queue){ .first.at = CR_NEVER };
}

void event_queue_fini(struct event_queue *q)
{
	free(q->place);
	free(q->event);
	event_queue_init(q);
}

int event_queue_grow(struct event_queue *q, uint32_t owners)
{
	struct event_queue new = *q;

	new.room = q->room ? q->room : 64;
	if (owners < q->room)
		return 0;
	while (new.room <= owners)
		new.room *= 2;
	if (new.room > UINT32_MAX / (EVENT_RUNS + 1))
		return -ENOMEM;
	new.place = calloc(new.room, sizeof(*new.place));
	new.event = malloc((EVENT_RUNS + 1) * (size_t) new.room *
			   sizeof(*new.event));
	if (!new.place || !new.event) {
		free(new.place);
		free(new.event);
		return -ENOMEM;
	}
	for (unsigned i = 0; i < EVENT_RUNS; i++) {
		struct event_run *r = &new.run[i];
		const struct event_run *old = &q->run[i];

		r->event = &new.event[i * (size_t) new.room];
		r->head = r->behind = 0;
		for (uint32_t k = old->head; k != old->behind; k++) {
			struct event e = old->event[k & (q->room - 1)];

			if (e.owner != EVENT_NOBODY)
				place_event(&new, &r->event[r->behind++], e);
		}
	}
	for (uint32_t k = 0; k < q->heaped; k++)
		place_event(&new, &heap_of(&new)[k], heap_of(q)[k]);
	free(q->place);
	free(q->event);
	*q = new;
	return 0;
}
