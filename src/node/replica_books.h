/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a store (node/replicate.h) has of the state memory, slot by slot, and
 * therefore what it lacks: batches of changes.
 *
 * Neither clock nor socket. One thread.
 */
#ifndef NODE_REPLICA_BOOKS_H
#define NODE_REPLICA_BOOKS_H

#include <stdbool.h>

#include "cr/time.h"
#include "media/state_memory.h"

enum { REPLICA_BATCH = 128 };

/** Slots that have changed, and what they were then. */
struct replica_change {
	unsigned slot;
	char number[8]; /**< that, as a text */
	struct state_version is;
	char *text; /**< NULL: it is as it was, or (is.text 0) has gone */
	char records[STATE_RECORDS_TEXT];
};

struct replica_batch {
	unsigned n;
	struct replica_change change[REPLICA_BATCH];
};

/** What the store has: a version for each slot. */
struct replica_books {
	struct state_version has[STATE_SLOTS];
	unsigned end;	/**< no slot from here on is in the store */
	unsigned next;	/**< the slot that is looked at next      */
	unsigned calls; /**< slots that the store has             */
	/** Slots whose calls another node has; so far in this look. */
	unsigned ntaken_over, seen_taken_over;
	/** The text of a slot as it may be in a store, to be freed; NULL: out
	 * of memory. */
	char *(*text_of)(const char *kept);
};

/** Fill @out with slots of @m that the store has not as they are, times in
 * records with @shift added. Returns whether all slots have been looked at: the
 * next batch begins with the first one again. */
bool replica_batch_next(struct replica_books *b, const struct state_memory *m,
			cr_ns shift, struct replica_batch *out);
/** The store has what is in @out. */
void replica_batch_done(struct replica_books *b,
			const struct replica_batch *out);
void replica_batch_free(struct replica_batch *out);
/** The store has something, nobody knows what, in @slot: or (false) there is no
 * such slot. */
bool replica_books_found(struct replica_books *b, unsigned slot);

/** The store has nothing of us. */
void replica_books_clear(struct replica_books *b);

#endif
