/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Timers of one receiver: a timing wheel of two levels (Varghese and Lauck,
 * SOSP 1987). Arming, disarming and taking cost the same for any number of
 * timers, and all that fall into one tick cause one wake-up.
 *
 *   level 0   a slot for each of the next 256 ticks
 *   level 1   a slot for each of the next 255 blocks of 256 ticks. When a
 *             block begins, its timers move to level 0; those beyond the last
 *             block wait in it, and move on from there
 *
 * A timer is never early, and late by up to a tick and what its thread is late.
 *
 * Threads: one arms, disarms and takes (the receiver). Another one may arm a
 * timer before that one knows it, and closes it before its memory goes. What
 * was taken just before that may still be in the receiver's hands: it takes in
 * an RCU read-side critical section and is done with it at its end, and the
 * memory goes a grace period after the timer was closed. A mutex, which passes
 * on priority, is held for some ten instructions.
 */
#ifndef MEDIA_WHEEL_H
#define MEDIA_WHEEL_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/queue.h>

#include "cr/time.h"

/** Times are rounded up to whole ones. */
#define WHEEL_TICK CR_MS
/** Slots of a level. */
#define WHEEL_SLOTS 256u

/** A timer: part of what it is for. Zero is one that is not armed. */
struct wheel_entry {
	TAILQ_ENTRY(wheel_entry) link;
	int64_t tick;	/**< when it is due                      */
	unsigned place; /**< where it hangs; 0: nowhere          */
	bool closed;	/**< it is not armed                     */
};

TAILQ_HEAD(wheel_list, wheel_entry);

struct wheel_level {
	struct wheel_list slot[WHEEL_SLOTS];
	uint64_t used[WHEEL_SLOTS / 64]; /**< a bit for a slot with timers */
};

struct wheel {
	pthread_mutex_t lock; /**< of all but @due */
	/** Up to here all timers are in @ready, or were taken. */
	int64_t now;
	struct wheel_list ready;
	struct wheel_level level[2];
	_Atomic cr_ns due; /**< wheel_due(), relaxed */
};

/** Begin at @now without timers. */
void wheel_init(struct wheel *w, cr_ns now);
/** Nobody uses it any more; timers may still hang there. */
void wheel_fini(struct wheel *w);

/** @e is due at @due, CR_NEVER: not any more, and at no other time. Nothing, if
 * it was closed. Returns whether wheel_due() is earlier than before: whoever
 * waits for it must be woken. */
bool wheel_arm(struct wheel *w, struct wheel_entry *e, cr_ns due);
/** @e is not due any more. */
void wheel_disarm(struct wheel *w, struct wheel_entry *e);
/** So until wheel_reopen(), if that comes. */
void wheel_close(struct wheel *w, struct wheel_entry *e);
void wheel_reopen(struct wheel *w, struct wheel_entry *e);

/** When to call wheel_take(); CR_NEVER: there is no timer. At most once in 256
 * ticks there is nothing to take then, but far timers have come nearer. Any
 * thread. */
static inline cr_ns wheel_due(const struct wheel *w)
{
	return atomic_load_explicit(&w->due, memory_order_relaxed);
}

/** Take up to @n timers that are due at @now, in the order of their ticks; they
 * are armed no more. Returns how many; fewer than @n: that was all. */
unsigned wheel_take(struct wheel *w, cr_ns now, struct wheel_entry **out,
		    unsigned n);

#endif
