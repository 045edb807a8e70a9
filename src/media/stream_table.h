/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The calls by SSRC: lock-free look-ups by the receivers while the control
 * thread adds and removes (liburcu's cds_lfht).
 *
 * Readers hold rcu_read_begin() from look-up to last use; threads that call
 * anything here are registered with liburcu.
 */
#ifndef MEDIA_STREAM_TABLE_H
#define MEDIA_STREAM_TABLE_H

#include "media/rtp_stream.h"

struct stream_table;

/** For about as many as @calls: more take longer to find. NULL: out of memory.
 */
struct stream_table *stream_table_new(unsigned calls);

void stream_table_free(
	struct stream_table *t); /**< must be empty; NULL is fine */

/** Add @c under its SSRC. -EEXIST when the SSRC is taken. Control thread. */
int stream_table_add(struct stream_table *t, struct transcoder *c);

/** Take @c out; rx may still hold it until a grace period has passed. */
void stream_table_del(struct stream_table *t, struct transcoder *c);

/** Under rcu_read_begin(): the call that @ssrc names, or NULL. */
struct transcoder *stream_table_find(struct stream_table *t, uint32_t ssrc);

/** How many calls have been taken out so far. A reader that finds no more than
 * when it looked up a call, in this read-side section or one before, may go on
 * with that call in this one. Any thread. */
uint64_t stream_table_removals(const struct stream_table *t);

/* --- a receiver's memory of it --- */

/*
 * A receiver's own memory of which SSRC is which call: a look into it is one
 * line of memory, a look-up in the table several, one
 * after the other. What it knows is good until a call leaves the table.
 *
 * Thread rule: one thread, under rcu_read_begin().
 */

#define STREAM_CACHE_ENTRIES 4096u

struct stream_cache_entry {
	struct transcoder *call;
	uint64_t removals; /**< of the table, when it was looked up */
	uint32_t ssrc;
};

/** Zero is empty. */
struct stream_cache {
	struct stream_cache_entry entry[STREAM_CACHE_ENTRIES];
};

/** As stream_table_find(). */
static inline struct transcoder *stream_cache_find(struct stream_cache *cache,
						   struct stream_table *t,
						   uint32_t ssrc)
{
	/* multiplied by 2^32 / golden ratio, the top bits depend on all */
	struct stream_cache_entry *e =
		&cache->entry[(uint32_t)(ssrc * UINT32_C(0x9e3779b1)) /
			      (uint32_t)((UINT64_C(1) << 32) /
					 STREAM_CACHE_ENTRIES)];
	/* before the look-up: a call that leaves meanwhile is not believed */
	uint64_t removals = stream_table_removals(t);

	struct transcoder *c;

	if (e->call && e->ssrc == ssrc && e->removals == removals)
		return e->call;
	c = stream_table_find(t, ssrc);
	if (c) /* SSRCs of nobody do not drive out those of calls */
		*e = (struct stream_cache_entry){ c, removals, ssrc };
	return c;
}

#endif
