/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The queue of waiting jobs: a ring of a power of two that doubles.
 */
#include "sim/backlog.h"

#include <errno.h>
#include <stdlib.h>

#include "base/assert.h"

static struct backlog_entry *ring_of(struct backlog *b)
{
	return b->more ? b->more : b->few;
}

static uint32_t room_of(const struct backlog *b)
{
	return b->more ? b->room : BACKLOG_FEW;
}

static int grow(struct backlog *b)
{
	uint32_t room = room_of(b);
	struct backlog_entry *more, *ring = ring_of(b);

	if (room > UINT32_MAX / 2)
		return -ENOMEM;
	more = malloc(2 * (size_t)room * sizeof(*more));
	if (!more)
		return -ENOMEM;
	for (uint32_t i = 0; i < b->count; i++)
		more[i] = ring[(b->head + i) & (room - 1)];
	free(b->more);
	b->more = more;
	b->room = 2 * room;
	b->head = 0;
	return 0;
}

int backlog_put(struct backlog *b, const struct backlog_entry *e,
		struct backlog_entry *dropped)
{
	bool full = b->most && b->count == b->most;

	if (full) {
		*dropped = ring_of(b)[b->head];
		backlog_drop(b);
	} else if (b->count == room_of(b) && grow(b)) {
		return -ENOMEM;
	}
	ring_of(b)[(b->head + b->count++) & (room_of(b) - 1)] = *e;
	return full;
}

void backlog_drop(struct backlog *b)
{
	CR_ASSERT(b->count);
	b->head = (b->head + 1) & (room_of(b) - 1);
	b->count--;
}

void backlog_fini(struct backlog *b)
{
	free(b->more);
	*b = (struct backlog){ 0 };
}
