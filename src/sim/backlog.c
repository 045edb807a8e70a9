/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The queue of waiting jobs: a ring of a power of two that doubles.
 */
#include "sim/backlog.h"

#include <errno.h>
#include <stdlib.h>

#include "base/assert.h"

static int grow(struct backlog *b)
{
	uint32_t room = b->room ? 2 * b->room : 2;
	struct backlog_entry *entry;

	if (b->room > UINT32_MAX / 2)
		return -ENOMEM;
	entry = malloc(room * sizeof(*entry));
	if (!entry)
		return -ENOMEM;
	for (uint32_t i = 0; i < b->count; i++)
		entry[i] = b->entry[(b->head + i) & (b->room - 1)];
	free(b->entry);
	b->entry = entry;
	b->room = room;
	b->head = 0;
	return 0;
}

int backlog_put(struct backlog *b, const struct backlog_entry *e,
		struct backlog_entry *dropped)
{
	bool full = b->most && b->count == b->most;

	if (full) {
		*dropped = b->entry[b->head];
		backlog_drop(b);
	} else if (b->count == b->room && grow(b)) {
		return -ENOMEM;
	}
	b->entry[(b->head + b->count++) & (b->room - 1)] = *e;
	return full;
}

void backlog_drop(struct backlog *b)
{
	CR_ASSERT(b->count);
	b->head = (b->head + 1) & (b->room - 1);
	b->count--;
}

void backlog_fini(struct backlog *b)
{
	free(b->entry);
	*b = (struct backlog){ 0 };
}
