/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a turn costs: CPU time of its thread, so that other programs, which the
 * kernel gives the CPU in the middle of a frame, do not count.
 *
 * The thread's CPU clock is a system call of some 0.4 us, where the clock on
 * the wall is 0.02 us and a cheap frame takes 3. So it is read for one frame in
 * some, and as long as little is known for all of a call's first: enough to
 * learn from, and each call at its own pace, so that none is left out. A
 * thousand calls of one kind have taught enough within a second. Frames that
 * follow one of their call in a row are not metered: they cost less, and how
 * many do is the scheduler's and the overload's doing. What
 * comes between the pick and the turn is a lock and a few wake-ups; by the
 * clock on the wall, and bounded, for there the CPU may be lost, too.
 *
 * Pure, but for transcode_cost_begin() and transcode_cost_end(), which read the
 * clock.
 */
#ifndef MEDIA_TRANSCODE_COST_H
#define MEDIA_TRANSCODE_COST_H

#include <stdatomic.h>
#include <stdbool.h>

#include "base/clock.h"

enum {
	TRANSCODE_COST_FIRST = 256, /**< of a call, if little is known */
	TRANSCODE_COST_EVERY = 16,  /**< then one of these             */
	TRANSCODE_COST_ROW = 8 /**< longer rows are a call's that has its worker
			     for itself: that is what it costs */
};

/** Longest time between a pick and its turn that counts. */
#define TRANSCODE_COST_PICK (50 * CR_US)

/** The row that a worker is at: turns for one call right behind those of
 * another one. Zero: it had nothing to do. */
struct transcode_row {
	bool any;	/**< turn since then */
	uint32_t call;	/**< id of the last one's */
	unsigned turns; /**< of the row; 0: none, no other call was before */
};

/** The next turn is of @call. Does it cost less, as the one before has left it
 * the caches? */
static inline bool transcode_row_next(struct transcode_row *row, uint32_t call)
{
	if (row->any && row->call != call)
		row->turns = 1;
	else if (row->turns)
		row->turns++;
	row->any = true;
	row->call = call;
	return row->turns > 1 && row->turns <= TRANSCODE_COST_ROW;
}

/** Is the next frame of a call metered? *@frames: those of it before. One
 * thread at a time. */
static inline bool transcode_cost_due(atomic_uint *frames)
{
	unsigned n = atomic_load_explicit(frames, memory_order_relaxed);

	atomic_store_explicit(frames, n + 1, memory_order_relaxed);
	return n < TRANSCODE_COST_FIRST || n % TRANSCODE_COST_EVERY == 0;
}

/** Enough was learned from the like of a call: to meter all of its first frames
 * would only cost. @id spreads calls, so that not the first frame of each,
 * which finds cold caches, is metered. Any thread; what transcode_cost_due()
 * does at the same moment may undo it, so call it again. */
static inline void transcode_cost_settle(atomic_uint *frames, unsigned id)
{
	if (atomic_load_explicit(frames, memory_order_relaxed) <
	    TRANSCODE_COST_FIRST)
		atomic_store_explicit(frames,
				      TRANSCODE_COST_FIRST +
					      id % TRANSCODE_COST_EVERY,
				      memory_order_relaxed);
}

/** What one reading of the clock costs, ns. Takes some 20 us. */
static inline cr_ns transcode_cost_of_clock(void)
{
	cr_ns least = CR_SEC;

	for (unsigned i = 0; i < 32; i++) {
		cr_ns before = clock_thread_cpu();

		least = cr_ns_min(least, clock_thread_cpu() - before);
	}
	return least;
}

/** The turn begins. Its thread; as is the other. */
static inline cr_ns transcode_cost_begin(void)
{
	return clock_thread_cpu();
}

/** It is over, but for sending: what it took since transcode_cost_begin(),
 * where
 * @picking passed before that. More than 0. */
static inline cr_ns transcode_cost_end(cr_ns begun, cr_ns picking, cr_ns clock)
{
	cr_ns took = clock_thread_cpu() - begun - clock;

	return cr_ns_max(took, 1) + cr_ns_min(picking, TRANSCODE_COST_PICK);
}

#endif
