/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The jobs of one simulated call that wait, oldest first: a bounded queue that
 * drops its oldest when full, as the live ring does, or an unbounded one.
 *
 * Thread rule: one thread.
 */
#ifndef SIM_BACKLOG_H
#define SIM_BACKLOG_H

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#include "base/assert.h"
#include "cr/time.h"

struct backlog_entry {
	uint64_t frame;
	cr_ns arrival, eligible, deadline;
	union {
		cr_ns waited; /**< in a jitter buffer, before @arrival; or
				   BACKLOG_CONCEALED                         */
		uint64_t seq; /**< of a packet that is no job yet            */
	};
};

/** It never came: what stands in for it has not waited, and is to be kept
 * (cr_job.must_keep), as live (media/frame_ring.h). */
#define BACKLOG_CONCEALED INT64_C(-1)

static inline bool backlog_must_keep(const struct backlog_entry *e)
{
	return e->waited == BACKLOG_CONCEALED;
}

/** In a jitter buffer, before it became a job. */
static inline cr_ns backlog_waited(const struct backlog_entry *e)
{
	return e->waited > 0 ? e->waited : 0;
}

/** So many wait without memory of their own: most calls never need more. */
#define BACKLOG_FEW 2u

/** A ring. Zero is empty and unbounded. */
struct backlog {
	uint32_t head, count;
	uint32_t most; /**< 0: unbounded                                    */
	uint32_t room; /**< of @more, a power of two                        */
	struct backlog_entry *more;	       /**< NULL: the ring is ...   */
	struct backlog_entry few[BACKLOG_FEW]; /**< ... this                */
};

static inline void backlog_fini(struct backlog *b)
{
	free(b->more);
	*b = (struct backlog){ 0 };
}

static inline struct backlog_entry *backlog_ring(struct backlog *b)
{
	return b->more ? b->more : b->few;
}

static inline uint32_t backlog_room(const struct backlog *b)
{
	return b->more ? b->room : BACKLOG_FEW;
}

/** Double the room of @b, which is full. 0 or -ENOMEM: nothing changed. */
static inline int backlog_grow(struct backlog *b)
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

/** The oldest; NULL: none. */
static inline const struct backlog_entry *backlog_head(const struct backlog *b)
{
	const struct backlog_entry *ring = b->more ? b->more : b->few;

	return b->count ? &ring[b->head] : 0;
}

/** Take the oldest away; there must be one. An empty ring starts from its
 * begin, which is in the cache. */
static inline void backlog_drop(struct backlog *b)
{
	CR_ASSERT(b->count);
	b->head = --b->count ? (b->head + 1) & (backlog_room(b) - 1) : 0;
}

/** Append @e. 1: the oldest was dropped for it and is in *@dropped; 0: it was
 * not full; -ENOMEM: nothing changed. Inline, so that @e need not be made
 * before it is copied. */
static inline int backlog_put(struct backlog *b, const struct backlog_entry *e,
			      struct backlog_entry *dropped)
{
	bool full = b->most && b->count == b->most;

	if (full) {
		/* analyzer: who gives NULL has set no limit
		 * NOLINTNEXTLINE(clang-analyzer-core.NullDereference) */
		*dropped = backlog_ring(b)[b->head];
		backlog_drop(b);
	} else if (b->count == backlog_room(b) && backlog_grow(b)) {
		return -ENOMEM;
	}
	backlog_ring(b)[(b->head + b->count++) & (backlog_room(b) - 1)] = *e;
	return full;
}

#endif
