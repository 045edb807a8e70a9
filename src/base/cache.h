/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Hints to the cache: memory that is about to be needed and was another core's,
 * or has been pushed out by what 1,000 calls need in between. Asked for
 * together, lines come together; met one by one, each is waited for.
 */
#ifndef BASE_CACHE_H
#define BASE_CACHE_H

#include <stddef.h>
#include <stdint.h>

/** Bytes that travel together, on x86-64 and most ARM. */
#define CACHE_LINE 64u

/** Fetch the lines of the @bytes from @p on: for reading, and for writing too
 * where the CPU has an instruction for that. Never faults; @p need not be
 * aligned, nor all of it be an object. */
static inline void cache_fetch(const void *p, size_t bytes)
{
	uintptr_t end = (uintptr_t)p + bytes;
	uintptr_t at = (uintptr_t)p & ~(uintptr_t)(CACHE_LINE - 1);

	for (; at < end; at += CACHE_LINE)
		__builtin_prefetch((const void *)at, 1);
}

#endif
