/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The latest times that one thread has measured, for another one to collect.
 *
 * The writer never waits and makes no read-modify-write. A reader that comes
 * too rarely gets only the newest times, and each at most once.
 */
#ifndef MEDIA_RECENT_H
#define MEDIA_RECENT_H

#include <stdatomic.h>
#include <stdint.h>

#include "cr/time.h"

enum { RECENT_TIMES = 64 };

/** Zero is empty. */
struct recent {
	/** Release, pairs with recent_take(): the times are there. */
	atomic_uint count;
	/** Release, too: a reader that sees a time which has replaced another
	 * one also sees a count that says so. */
	_Atomic uint32_t ns[RECENT_TIMES];
};

/** Note @t (ns; cut to 0..4.29 s). The writer only. */
static inline void recent_put(struct recent *r, cr_ns t)
{
	unsigned n = atomic_load_explicit(&r->count, memory_order_relaxed);
	uint32_t ns = t < 0 ? 0 : t > UINT32_MAX ? UINT32_MAX : (uint32_t)t;

	atomic_store_explicit(&r->ns[n % RECENT_TIMES], ns,
			      memory_order_release);
	atomic_store_explicit(&r->count, n + 1, memory_order_release);
}

/** Copy what has been put since *@seen (at first 0; updated) to
 * @out[RECENT_TIMES], oldest first; returns how many. Of more than
 * RECENT_TIMES - 1 only the newest. Any thread that has *@seen to itself. */
unsigned recent_take(const struct recent *r, unsigned *seen, uint32_t *out);

#endif
