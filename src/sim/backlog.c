/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The memory of a queue of waiting jobs: a ring of a power of two that doubles.
 */
#include "sim/backlog.h"

#include <stdlib.h>

int backlog_grow(struct backlog *b)
{
	uint32_t room = backlog_room(b);
	struct backlog_entry *more, *ring = backlog_ring(b);

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

void backlog_fini(struct backlog *b)
{
	free(b->more);
	*b = (struct backlog){ 0 };
}
