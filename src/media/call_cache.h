/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A receiver's own memory of which SSRC is which call: a look into it is one
 * line of memory, a look-up in the table (media/call_table.h) several, one
 * after the other. What it knows is good until a call leaves the table.
 *
 * Thread rule: one thread, under rcu_read_begin().
 */
#ifndef MEDIA_CALL_CACHE_H
#define MEDIA_CALL_CACHE_H

#include "media/call_table.h"

#define CALL_CACHE_ENTRIES 4096u

struct call_cache_entry {
	struct call *call;
	uint64_t removals; /**< of the table, when it was looked up */
	uint32_t ssrc;
};

/** Zero is empty. */
struct call_cache {
	struct call_cache_entry entry[CALL_CACHE_ENTRIES];
};

/** As call_table_find(). */
static inline struct call *call_cache_find(struct call_cache *cache,
					   struct call_table *t, uint32_t ssrc)
{
	/* multiplied by 2^32 / golden ratio, the top bits depend on all */
	struct call_cache_entry *e =
		&cache->entry[(uint32_t)(ssrc * UINT32_C(0x9e3779b1)) /
			      (uint32_t)((UINT64_C(1) << 32) /
					 CALL_CACHE_ENTRIES)];
	/* before the look-up: a call that leaves meanwhile is not believed */
	uint64_t removals = call_table_removals(t);

	struct call *c;

	if (e->call && e->ssrc == ssrc && e->removals == removals)
		return e->call;
	c = call_table_find(t, ssrc);
	if (c) /* SSRCs of nobody do not drive out those of calls */
		*e = (struct call_cache_entry){ c, removals, ssrc };
	return c;
}

#endif
