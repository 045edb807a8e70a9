/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The jobs of one simulated call that wait, oldest first: a bounded queue that
 * drops its oldest when full, as the live ring does, or an unbounded one.
 *
 * Thread rule: one thread.
 */
#ifndef SIM_BACKLOG_H
#define SIM_BACKLOG_H

#include <stdbool.h>
#include <stdint.h>

#include "cr/time.h"

struct backlog_entry {
	uint64_t frame;
	cr_ns arrival, eligible, deadline;
	union {
		cr_ns waited; /**< in a jitter buffer, before @arrival       */
		uint64_t seq; /**< of a packet that is no job yet            */
	};
};

/** So many wait without memory of their own: most calls never need more. */
#define BACKLOG_FEW 2u

/** A ring. Zero is empty and unbounded. */
struct backlog {
	uint32_t head, count;
	uint32_t most; /**< 0: unbounded                                    */
	uint32_t room; /**< of @more, a power of two                        */
	struct backlog_entry few[BACKLOG_FEW]; /**< the ring until ...      */
	struct backlog_entry *more;	       /**< ... this is not NULL    */
};

/** Append @e. 1: the oldest was dropped for it and is in *@dropped; 0: it was
 * not full; -ENOMEM: nothing changed. */
int backlog_put(struct backlog *b, const struct backlog_entry *e,
		struct backlog_entry *dropped);

/** Take the oldest away; there must be one. */
void backlog_drop(struct backlog *b);

void backlog_fini(struct backlog *b);

/** The oldest; NULL: none. */
static inline const struct backlog_entry *backlog_head(const struct backlog *b)
{
	const struct backlog_entry *ring = b->more ? b->more : b->few;

	return b->count ? &ring[b->head] : 0;
}

#endif
