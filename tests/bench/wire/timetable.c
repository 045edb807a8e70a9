/* SPDX-License-Identifier: Apache-2.0 */
/*
 * When the packets of many calls are due.
 */
#include "timetable.h"

#include <errno.h>
#include <stdlib.h>

#include "base/random.h"

/* When a call's packets are due, after the beginning of a period. */
struct timetable_turn {
	cr_ns phase;
	unsigned call;
};

static int by_phase(const void *a, const void *b)
{
	const struct timetable_turn *x = a, *y = b;

	if (x->phase != y->phase)
		return x->phase < y->phase ? -1 : 1;
	return (x->call > y->call) - (x->call < y->call);
}

int timetable_open(struct timetable *t, unsigned calls, cr_ns every,
		   cr_ns patience, cr_ns start, bool even, uint64_t seed)
{
	uint64_t random = seed + 1;

	*t = (struct timetable){ .calls = calls,
				 .every = every,
				 .patience = patience,
				 .start = start };
	t->turns = calloc(calls, sizeof(*t->turns));
	if (!t->turns)
		return -ENOMEM;
	for (unsigned i = 0; i < calls; i++) {
		uint64_t r = splitmix64(&random) >> 32;

		t->turns[i].call = i;
		t->turns[i].phase =
			even ? every * i / calls : (cr_ns)r * every >> 32;
	}
	qsort(t->turns, calls, sizeof(*t->turns), by_phase);
	return 0;
}

void timetable_close(struct timetable *t)
{
	free(t->turns);
}

cr_ns timetable_due(const struct timetable *t)
{
	return t->start + (cr_ns)(t->next / t->calls) * t->every +
	       t->turns[t->next % t->calls].phase;
}

unsigned timetable_call(const struct timetable *t)
{
	return t->turns[t->next % t->calls].call;
}

void timetable_hold(struct timetable *t, cr_ns now)
{
	cr_ns late = now - timetable_due(t);

	if (late <= t->patience)
		return;
	t->start += late;
	t->held += late;
}
