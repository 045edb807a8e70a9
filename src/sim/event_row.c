/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/event_row.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

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
static uint32_t place_of(const struct event_row *r, struct event e)
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

static void shift(struct event_row *r, uint32_t from, uint32_t behind, int by)
{
	memmove(&r->event[(int64_t)from + by], &r->event[from],
		(behind - from) * sizeof(*r->event));
}

void event_row_take_within(struct event_row *r, uint32_t owner)
{
	struct event e = { .at = r->at[owner], .owner = owner };
	uint32_t i = place_of(r, e);

	if (i - r->head > r->behind - i) {
		shift(r, i + 1, r->behind + 1, -1);
		r->behind--;
	} else {
		shift(r, r->head, i, 1);
		r->head++;
	}
}

/* Back to where there is room on both sides. */
static void go_back(struct event_row *r)
{
	uint32_t n = r->behind - r->head;

	memmove(&r->event[r->owners], &r->event[r->head],
		(n + 1) * sizeof(*r->event));
	r->head = r->owners;
	r->behind = r->owners + n;
}

void event_row_put_within(struct event_row *r, struct event e)
{
	uint32_t i;

	if (r->behind == r->room - 1)
		go_back(r);
	i = place_of(r, e);
	if (i == r->behind) {
		r->event[++r->behind].at = CR_NEVER;
	} else if (r->head && i - r->head < r->behind - i) {
		shift(r, r->head, i, -1);
		r->head--;
		i--;
	} else {
		shift(r, i, r->behind + 1, 1);
		r->behind++;
	}
	r->event[i] = e;
}
