/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Counters that one thread writes and any thread reads. They only count:
 * relaxed, and no read-modify-write, which would lock the bus for each packet.
 */
#ifndef BASE_COUNTER_H
#define BASE_COUNTER_H

#include <stdatomic.h>
#include <stdint.h>

/** Any thread. */
static inline uint64_t counter_read(const atomic_ullong *counter)
{
	return atomic_load_explicit(counter, memory_order_relaxed);
}

/** Add @n. The one thread that writes @counter. */
static inline void counter_add(atomic_ullong *counter, uint64_t n)
{
	atomic_store_explicit(counter, counter_read(counter) + n,
			      memory_order_relaxed);
}

#endif
